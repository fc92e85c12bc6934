//! How a table is used, and what all tables of the connected database come to together.

use serde::{Deserialize, Serialize};

/// Counters of one table since the statistics were reset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TableUsage {
    pub sequential_scans: u64,
    /// Rows that sequential scans read.
    pub sequential_rows: u64,
    pub index_scans: u64,
    /// Rows that index scans fetched from the table.
    pub index_rows: u64,
    pub inserted: u64,
    pub updated: u64,
    pub hot_updated: u64,
    /// Updates whose new version went to another page; counted from 16 on.
    pub newpage_updated: Option<u64>,
    pub deleted: u64,
    /// By hand and by autovacuum.
    pub vacuums: u64,
}

/// All tables of the connected database, listed one by one or not; no other database is read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TableTotals {
    /// Those that hold rows themselves, and so partitions too.
    pub tables: u64,
    /// How many of them stand in `tables` in full.
    pub listed: u64,
    /// By the planner's pages, without indexes.
    pub bytes: u64,
    pub dead_tuples: u64,
    /// Past the server's vacuum threshold; a table with options of its own is not counted.
    pub due_for_vacuum: u64,
    /// Partitions and materialized views are not counted, and neither are partitioned tables.
    pub without_primary_key: u64,
    /// Partitioned tables that are no partitions themselves; their partitions count as tables.
    pub partitioned: u64,
    /// Those without a primary key some partition of which has none of its own either.
    pub partitioned_without_primary_key: u64,
    /// The largest of these.
    pub keyless: Vec<PartitionedTable>,
    /// With `autovacuum_enabled` off.
    pub excluded_from_autovacuum: u64,
}

/// A table that is as large as its partitions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PartitionedTable {
    pub schema: String,
    pub name: String,
    pub partitions: u64,
    /// By the planner's pages, or the rows that were counted, without indexes.
    pub size_bytes: u64,
}
