//! Sequences of the connected database that may run out: those that end with a small integer type.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Sequences {
    pub sequences: u64,
    /// End beyond 32 bits, which nothing reaches: not read.
    pub wide: u64,
    /// End within 32 bits, and the role may not read them, or somebody has them locked.
    pub unreadable: u64,
    /// End within 32 bits, and were left out because their tables have the fewest rows.
    pub left_out: u64,
    pub listed: Vec<Sequence>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Sequence {
    pub schema: String,
    pub name: String,
    /// `smallint`, `integer` or `bigint`.
    pub data_type: String,
    /// None while it was never used.
    pub last_value: Option<i64>,
    pub increment: i64,
    /// Last value that both the sequence and its column can hold.
    pub limit: i64,
    /// Starts over at its end.
    pub cycles: bool,
    /// The column that it fills, where it is owned by one.
    pub column: Option<SequenceColumn>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SequenceColumn {
    pub schema: String,
    pub table: String,
    pub column: String,
    /// `smallint`, `integer`, `bigint`, or another type in the server's words.
    pub data_type: String,
    /// Rows inserted since the statistics were reset.
    pub inserted: u64,
}
