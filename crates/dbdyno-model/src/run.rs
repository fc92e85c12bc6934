//! One measured execution of a workload.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Run {
    /// Position in the trial, from 1.
    pub number: u32,
    pub arm: String,
    /// Pair the run belongs to, from 1; none for a recovery run.
    pub pair: Option<u32>,
    pub started_at: String,
    pub connections: u32,
    pub seed: u64,
    /// The measured window: after the warm-up, before the closing checkpoint.
    pub window: Segment,
    /// The closing checkpoint under load, charged to the arm.
    pub checkpoint: Segment,
    /// Transactions a second over window and checkpoint: the primary metric.
    pub tps_with_checkpoint: f64,
    /// Transactions a second over the window alone.
    pub tps: f64,
    /// New orders committed in the window, a minute; TPC-C only.
    pub notpm: Option<f64>,
    /// Seconds that MSER-5 cut off the beginning.
    pub warm_up_s: f64,
    /// False where the warm-up did not end within half of the run, or the window still drifts.
    pub steady: bool,
    /// Least-squares slope over the window, relative to its mean.
    pub slope: Option<f64>,
    /// Closed loop: from the actual start.
    pub latency_ms: Option<Latency>,
    pub per_transaction: Vec<TransactionStats>,
    pub errors: BTreeMap<String, u64>,
    pub retries: u64,
    /// Rolled back as the specification asks (1 % of new orders); not errors.
    pub intended_rollbacks: u64,
    pub server: ServerUse,
    pub driver: DriverUse,
    pub conditions: Conditions,
    pub series: Vec<Second>,
    pub open_loop: Option<OpenLoop>,
    pub recovery: Option<Recovery>,
    /// Checks after the run; a failed one makes the run worthless.
    pub consistency: Vec<Check>,
    /// Why the pair of this run does not count, where it does not.
    pub discarded: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Segment {
    pub seconds: f64,
    /// Committed.
    pub transactions: u64,
}

/// Percentiles in milliseconds, from HdrHistograms with 3 significant digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latency {
    pub count: u64,
    pub mean: f64,
    pub p50: f64,
    /// Documents that were written before it was kept have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90: Option<f64>,
    pub p95: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

impl Latency {
    /// From whatever knows the value in milliseconds at a quantile, 0..1.
    pub fn of(count: u64, mean_ms: f64, ms_at: impl Fn(f64) -> f64) -> Self {
        Self {
            count,
            mean: mean_ms,
            p50: ms_at(0.5),
            p90: Some(ms_at(0.9)),
            p95: ms_at(0.95),
            p99: ms_at(0.99),
            p999: ms_at(0.999),
            max: ms_at(1.0),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TransactionStats {
    pub name: String,
    pub count: u64,
    pub retries: u64,
    pub latency_ms: Option<Latency>,
    /// Every latency in nanoseconds: an HdrHistogram of 3 digits, V2 with DEFLATE, in base64.
    /// Percentiles of several runs come from their merged histograms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub histogram: Option<String>,
}

/// What the server used over window and checkpoint.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ServerUse {
    pub cpu_us_per_transaction: Option<f64>,
    pub wal_bytes_per_transaction: Option<f64>,
    pub full_page_images: Option<u64>,
    pub checkpoints_timed: Option<u64>,
    pub checkpoints_requested: Option<u64>,
    pub blocks_hit: Option<u64>,
    pub blocks_read: Option<u64>,
    pub read_bytes: Option<u64>,
    pub write_bytes: Option<u64>,
    pub dead_tuples: Option<u64>,
    pub database_bytes: Option<u64>,
    /// How far the checkpoint of InnoDB's redo log moved on.
    pub checkpoint_moved_bytes: Option<u64>,
    /// What of that log was behind its checkpoint at the end.
    pub checkpoint_age_bytes: Option<u64>,
    /// Of InnoDB's buffer pool, at the beginning.
    pub dirty_pages_before: Option<u64>,
    /// And at the end.
    pub dirty_pages: Option<u64>,
    /// Written back by InnoDB.
    pub pages_flushed: Option<u64>,
    /// InnoDB's own, those of its redo log among them.
    pub fsyncs: Option<u64>,
    /// How often the server was seen to have been restarted, where that is watched. The figures
    /// beside it are then the sums of its lives; what it did right before an end is in none.
    pub restarts: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DriverUse {
    pub cpu_us_per_transaction: Option<f64>,
    pub threads: u32,
    pub peak_rss_bytes: Option<u64>,
}

/// What else happened on the machine over window and checkpoint.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Conditions {
    /// Share of all CPU time that the hypervisor gave to others.
    pub steal: Option<f64>,
    /// Share of all CPU time that processes other than server and driver took.
    pub strangers_cpu: Option<f64>,
    pub psi_cpu_some: Option<f64>,
    pub psi_io_some: Option<f64>,
    pub psi_memory_some: Option<f64>,
}

/// One second of a run. Counters are differences over that second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Second {
    /// End of the second, from the start of the load.
    pub at_s: f64,
    /// How long it was, where it was cut short: the last one of what was observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_to_s: Option<f64>,
    pub phase: Phase,
    /// Ended: committed, and rolled back as intended.
    pub transactions: u64,
    pub errors: u64,
    pub retries: u64,
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    pub wal_bytes: Option<u64>,
    pub full_page_images: Option<u64>,
    pub checkpoints_timed: Option<u64>,
    pub checkpoints_requested: Option<u64>,
    pub blocks_hit: Option<u64>,
    pub blocks_read: Option<u64>,
    /// Not a difference: as it stood at the end of the second.
    pub dead_tuples: Option<u64>,
    pub database_bytes: Option<u64>,
    pub server_cpu_s: Option<f64>,
    pub server_read_bytes: Option<u64>,
    pub server_write_bytes: Option<u64>,
    pub driver_cpu_s: Option<f64>,
    pub steal: Option<f64>,
    pub psi_cpu_some: Option<f64>,
    pub psi_io_some: Option<f64>,
    pub psi_memory_some: Option<f64>,
}

impl Second {
    /// Whether it was not cut short.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.cut_to_s.is_none()
    }

    #[must_use]
    pub fn length_s(&self) -> f64 {
        self.cut_to_s.unwrap_or(1.0)
    }

    /// Transactions a second, also where it was shorter than one.
    #[must_use]
    pub fn tps(&self) -> f64 {
        self.transactions as f64 / self.length_s()
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    #[default]
    Closed,
    Checkpoint,
    OpenLoop,
}

/// A step at one fixed arrival rate, timed from the intended start of each transaction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenLoop {
    pub rate_tps: f64,
    pub seconds: f64,
    pub transactions: u64,
    pub latency_ms: Option<Latency>,
    #[serde(default)]
    pub per_transaction: Vec<TransactionStats>,
    /// Transactions that were due but not begun when the step ended.
    pub backlog: u64,
}

/// Crash recovery after SIGKILL under load, without the closing checkpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recovery {
    pub seconds: f64,
    /// WAL that the load wrote before the kill; what was behind a checkpoint is not replayed.
    pub written_bytes: Option<u64>,
    /// Seconds of load before the kill.
    pub load_s: f64,
}

/// One named consistency condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// `3.3.2.1`, or the name a script gave it.
    pub name: String,
    pub description: String,
    pub passed: bool,
    /// What broke it, where it is broken; why it does not apply to the data, where it did not have to
    /// hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Check {
    /// Whether it says anything of the data.
    #[must_use]
    pub fn applies(&self) -> bool {
        !(self.passed && self.detail.is_some())
    }
}
