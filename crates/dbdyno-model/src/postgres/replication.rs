//! Who replicates from the server, from whom it replicates, and what keeps its log.

use serde::{Deserialize, Serialize};

use crate::Fact;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Replication {
    /// Who the log is sent to: standbys, subscribers, archivers of the log and base backups.
    pub senders: Fact<Vec<Sender>>,
    /// Of a standby: its connection to the sending server.
    pub receiver: Fact<Receiver>,
    /// Of a standby: how far it has replayed.
    pub replay: Fact<Replay>,
    pub archiver: Fact<Archiver>,
    pub promotion: Fact<Promotion>,
}

/// A server counts what is read from it while it is a standby, too, and what its primary did then not
/// at all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Promotion {
    /// Seconds since it became a primary; none where it always was one, or is none.
    pub age_s: Option<f64>,
}

/// One row of pg_stat_replication; bytes are counted from where the sending server is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Sender {
    /// What synchronous_standby_names goes by.
    pub application_name: String,
    /// `startup`, `catchup`, `streaming`, `backup` or `stopping`.
    pub state: String,
    /// `async`, `potential`, `sync` or `quorum`.
    pub sync_state: String,
    /// The slot that keeps the log for it; none where nothing does.
    pub slot: Option<String>,
    pub logical: bool,
    pub unsent_bytes: Option<u64>,
    pub unflushed_bytes: Option<u64>,
    pub unreplayed_bytes: Option<u64>,
    /// None on an idle server that has caught up.
    pub replay_lag_s: Option<f64>,
    /// Age in transactions of the rows that it asked to keep (hot_standby_feedback).
    pub xmin_age: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Receiver {
    /// `streaming`, `waiting`, …; none where no WAL receiver runs.
    pub status: Option<String>,
    pub slot: Option<String>,
    /// Seconds since the sending server was last heard of.
    pub silent_s: Option<f64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Replay {
    /// Received and not replayed; none before anything was received.
    pub unreplayed_bytes: Option<u64>,
    /// Since the newest transaction that was replayed; it grows while the primary is idle, too.
    pub newest_transaction_s: Option<f64>,
    /// `not paused`, `pause requested` or `paused`.
    pub pause: String,
}

/// pg_stat_archiver, and the segments that wait.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Archiver {
    pub archived: u64,
    pub failed: u64,
    /// Seconds since the last success; none where there was none.
    pub last_archived_s: Option<f64>,
    pub last_failed_s: Option<f64>,
    pub last_failed_wal: Option<String>,
    /// Segments that are complete and not archived, where the role may list them.
    pub waiting: Option<u64>,
}
