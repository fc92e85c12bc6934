//! Everything that was read from one host and server at one time.

use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::postgres::Postgres;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Facts {
    /// `dbdyno.facts/1`: fields may be added, meanings never change.
    pub schema: String,
    /// The dbdyno that read them.
    pub dbdyno_version: String,
    pub collected_at: String,
    /// Seconds between the two readings of each counter, as asked for; 0 where each was read once.
    pub window_s: f64,
    /// None when the server runs elsewhere.
    pub host: Option<Host>,
    pub postgres: Option<Postgres>,
    pub intent: Intent,
    /// Collectors that failed, and why; they stopped nothing.
    pub failures: Vec<CollectorFailure>,
    /// Further servers on the same host, each with the host as that server has it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Facts>,
    /// Servers that were found running on the host and could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreached: Vec<Unreached>,
}

impl Facts {
    pub const SCHEMA: &str = "dbdyno.facts/1";

    /// These facts and those of each further server.
    pub fn each(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.others)
    }
}

/// A server that was found by its process and not read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Unreached {
    /// None is PostgreSQL; a server of another engine is named, and not read.
    pub engine: Option<String>,
    pub port: Option<u16>,
    pub data_directory: Option<String>,
    /// What its main process holds of the host's memory: of a PostgreSQL no less than its shared memory.
    pub resident_bytes: Option<u64>,
    pub why: String,
    /// What would open it.
    pub next: Option<String>,
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
