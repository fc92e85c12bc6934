//! Everything that was read from one host and server at one time.

use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::postgres::Postgres;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Facts {
    /// `dbdyno.facts/1`.
    pub schema: String,
    pub collected_at: String,
    /// None when the server runs elsewhere.
    pub host: Option<Host>,
    pub postgres: Option<Postgres>,
    pub intent: Intent,
    /// Collectors that failed, and why; they stopped nothing.
    pub failures: Vec<CollectorFailure>,
}

impl Facts {
    pub const SCHEMA: &str = "dbdyno.facts/1";
}

/// What the user said that no file or view tells.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Intent {
    /// Memory the server may have, where the user capped it; otherwise the host's effective memory.
    pub memory_bytes: Option<u64>,
    /// CPUs the server may have, where the host is not visible.
    pub cpus: Option<u32>,
    /// Connections that will be active at once.
    pub active_connections: Option<u32>,
    /// The load that will be run, where one is declared; otherwise the counters decide.
    pub workload: Option<DeclaredWorkload>,
    /// A lab server of ours: nothing of the user's depends on it.
    pub lab: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeclaredWorkload {
    pub name: String,
    /// Short transactions that write.
    pub writes: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CollectorFailure {
    pub collector: String,
    pub why: String,
}
