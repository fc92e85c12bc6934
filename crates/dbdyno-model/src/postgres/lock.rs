//! Sessions that wait for a lock at the moment of reading, and for whom.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LockWaits {
    pub waiting: u64,
    /// Those that wait longest.
    pub listed: Vec<LockWait>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LockWait {
    pub pid: u32,
    pub database: String,
    pub role: String,
    /// Known from 14 on.
    pub waiting_s: Option<f64>,
    /// `relation`, `transactionid`, `tuple`, …
    pub lock: String,
    pub mode: String,
    /// `schema.table`, where the lock is on a table of the connected database.
    pub relation: Option<String>,
    pub blocked_by: Vec<u32>,
}
