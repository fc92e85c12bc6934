//! What differs between two sets of facts, and between what the rules say of them.

use serde::{Deserialize, Serialize};

use crate::Severity;

/// The document that one `diff` writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Diff {
    /// `dbdyno.diff/1`: fields may be added, meanings never change.
    pub schema: String,
    pub dbdyno_version: String,
    pub a: Side,
    pub b: Side,
    /// Only those with a difference.
    pub groups: Vec<Group>,
    /// That appeared, vanished or changed their severity; this dbdyno judged both sides.
    pub findings: Vec<FindingChange>,
    /// Facts that differ and always do: counters, moments, what is free just now.
    pub left_out: Vec<String>,
}

impl Diff {
    pub const SCHEMA: &str = "dbdyno.diff/1";
}

/// One of the two files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Side {
    /// As it was typed.
    pub name: String,
    pub collected_at: String,
    pub dbdyno_version: String,
}

/// Differences of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Group {
    /// `host: kernel settings`, `PostgreSQL 15.18, port 5432: settings`.
    pub name: String,
    pub differences: Vec<Difference>,
}

/// One fact or setting that is not the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Difference {
    pub what: String,
    /// None where only the other side has it.
    pub a: Option<String>,
    pub b: Option<String>,
}

/// A rule that does not say the same of both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingChange {
    pub server: String,
    pub rule: String,
    /// None where the rule found nothing.
    pub a: Option<Severity>,
    pub b: Option<Severity>,
    /// B's, or A's where it vanished.
    pub message: String,
}
