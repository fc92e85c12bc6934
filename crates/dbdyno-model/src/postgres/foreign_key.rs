//! Foreign keys of the connected database whose own columns no index serves.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ForeignKeys {
    /// All there are; those of partitions count with their parent.
    pub foreign_keys: u64,
    pub unindexed: u64,
    /// Unindexed ones whose parents lose rows, on tables whose pages nobody has counted, and whose size
    /// was not asked for since they are many or locked: their rows stand in, at 50 a page.
    pub unmeasured: u64,
    /// Unindexed ones, those on the largest tables first.
    pub listed: Vec<UnindexedForeignKey>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct UnindexedForeignKey {
    pub name: String,
    pub schema: String,
    pub table: String,
    pub columns: Vec<String>,
    /// By the planner's pages, and where there are none by its file; none for a partitioned table,
    /// which has none of its own.
    pub table_bytes: Option<u64>,
    /// Of the partitions of a partitioned table that have no such index either, by the planner's pages or
    /// the rows that were counted; none for any other.
    pub partition_bytes: Option<u64>,
    /// An index begins with one of the columns, and serves as far as that one tells rows apart; of a
    /// partitioned table on each of these partitions.
    pub partly_indexed: bool,
    pub parent_schema: String,
    pub parent: String,
    /// Rows deleted from the parent, with its partitions, since the statistics were reset.
    pub parent_deleted: u64,
    pub parent_updated: u64,
}
