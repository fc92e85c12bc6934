//! What pg_stat_statements counted in the connected database.

use serde::{Deserialize, Serialize};

/// The heaviest statements in full by several measures, all of them in numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Statements {
    /// Seconds since the counters were reset; the extension says so from 1.9 on.
    pub age_s: Option<f64>,
    /// How often statements had to be forgotten for new ones; from 1.9 on.
    pub evictions: Option<u64>,
    pub statements: u64,
    pub calls: u64,
    pub total_ms: f64,
    pub temp_blocks_written: u64,
    pub wal_bytes: u64,
    /// Time spent compiling (JIT), most of it within `total_ms`; from 1.10 on.
    pub jit_ms: Option<f64>,
    /// Seconds between the two readings of the counters; 0 where they were read once.
    pub window_s: f64,
    /// The one with the largest share of the time first.
    pub listed: Vec<TrackedStatement>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TrackedStatement {
    /// `queryid`.
    pub id: String,
    /// Normalised, without any literal, and cut to a bounded length.
    pub text: String,
    pub calls: u64,
    /// Time of execution, without planning.
    pub total_ms: f64,
    pub rows: u64,
    pub blocks_hit: u64,
    pub blocks_read: u64,
    pub temp_blocks_written: u64,
    pub wal_bytes: u64,
    /// Time spent compiling (JIT); from 1.10 on.
    pub jit_ms: Option<f64>,
    pub calls_in_window: Option<u64>,
    pub ms_in_window: Option<f64>,
}

impl TrackedStatement {
    /// Blocks of tables and indexes, wherever they were found.
    pub fn blocks(&self) -> u64 {
        self.blocks_hit.saturating_add(self.blocks_read)
    }

    /// None where it was never called.
    pub fn per_call(&self, amount: u64) -> Option<f64> {
        (self.calls > 0).then(|| amount as f64 / self.calls as f64)
    }
}
