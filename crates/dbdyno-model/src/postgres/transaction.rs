//! Transactions that are open, what keeps vacuum from removing rows, and how fast ids are used up.

use serde::{Deserialize, Serialize};

/// A session of a client with a transaction open, without what it runs: that has literals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct OpenTransaction {
    pub pid: u32,
    pub database: String,
    pub role: String,
    pub application: String,
    /// `active`, `idle in transaction`, …
    pub state: String,
    pub open_s: f64,
    /// How long it has been in this state.
    pub state_s: Option<f64>,
    /// Transactions that began since; none where it holds nothing back.
    pub xid_age: Option<u64>,
    /// `Lock: transactionid`, where it waits.
    pub waits_for: Option<String>,
    /// From 14 on, where the server computes it.
    pub query_id: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HolderKind {
    Session,
    PreparedTransaction,
    ReplicationSlot,
    /// A standby that reports what its own queries still need.
    Standby,
}

/// Something whose snapshot still sees rows that died since.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct XminHolder {
    pub kind: HolderKind,
    /// Process id, gid, slot's or standby's name.
    pub name: String,
    /// Role and application of a session; empty elsewhere.
    #[serde(default)]
    pub who: String,
    /// Transactions that began since.
    pub xid_age: u64,
    #[serde(default)]
    pub held_s: Option<f64>,
    /// None where it holds back every database.
    #[serde(default)]
    pub database: Option<String>,
    /// Holds back the system catalogs alone.
    #[serde(default)]
    pub catalogs_only: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TransactionIds {
    /// The id that the next transaction gets, counted from the beginning of time.
    pub next: u64,
}
