//! Counters of every database, and what sessions were seen to wait for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// pg_stat_database and pg_stat_database_conflicts of one database.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DatabaseCounters {
    /// None for what all databases share.
    pub name: Option<String>,
    /// Sessions since the reset (14 and later), and those that did not end well.
    pub sessions: Option<u64>,
    pub sessions_abandoned: Option<u64>,
    pub sessions_fatal: Option<u64>,
    pub sessions_killed: Option<u64>,
    /// None where data checksums are off.
    pub checksum_failures: Option<u64>,
    pub checksum_last_failure: Option<String>,
    /// Queries that a standby cancelled because replay needed what they held.
    pub conflicts_snapshot: u64,
    pub conflicts_lock: u64,
    pub conflicts_other: u64,
    /// Age of these counters in seconds; each database has a reset of its own.
    pub stats_age_s: Option<f64>,
}

impl DatabaseCounters {
    pub fn conflicts(&self) -> u64 {
        // A document may come from anywhere.
        self.conflicts_snapshot
            .saturating_add(self.conflicts_lock)
            .saturating_add(self.conflicts_other)
    }
}

/// Several looks at pg_stat_activity over the window, added up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Waits {
    pub looks: u64,
    /// Sessions at work.
    pub active: u64,
    /// Those of them that waited, by `type:event` (`LWLock:LockManager`).
    pub events: BTreeMap<String, u64>,
    /// The same of the startup process, which replays the log on a standby.
    pub startup_events: BTreeMap<String, u64>,
    /// Most relations that one session had locked when the locks were looked at.
    pub most_relation_locks: Option<u64>,
}
