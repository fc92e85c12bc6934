//! Indexes of the connected database: what each costs, what it is used for and what it is needed for.

use serde::{Deserialize, Serialize};

/// The invalid, the largest, the unused and the redundant ones in full, all of them in numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Indexes {
    /// A partitioned one counts beside its parts.
    pub indexes: u64,
    /// By the planner's pages.
    pub bytes: u64,
    pub invalid: u64,
    /// Valid, never scanned since the statistics were reset, and enforcing nothing.
    pub unused: u64,
    pub unused_bytes: u64,
    /// Covered by another index of the same table.
    pub redundant: u64,
    /// The largest first.
    pub listed: Vec<Index>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Index {
    pub schema: String,
    pub table: String,
    pub name: String,
    /// `btree`, `hash`, `gin`, …
    pub method: String,
    /// Key columns in their order; `(expression)` stands for what is no column.
    pub columns: Vec<String>,
    /// Of a partitioned one, as all that is counted, that of its parts together.
    pub size_bytes: u64,
    /// As last counted by vacuum, analyze or the build.
    pub pages: u64,
    /// Planner's estimate, of the same time as `pages`.
    pub entries: Option<f64>,
    /// Own option; none where it is the method's default.
    pub fillfactor: Option<u32>,
    /// Data of an average entry with its padding, without headers; none where pg_stats shows this
    /// role no statistics of the columns.
    pub key_bytes: Option<f64>,
    pub scans: u64,
    /// Kept from 16 on; none where it was never scanned.
    pub since_last_scan_s: Option<f64>,
    /// Blocks of the index that were asked for, and how many of them were not in shared buffers.
    pub blocks_fetched: u64,
    pub blocks_read: u64,
    pub unique: bool,
    pub primary: bool,
    pub valid: bool,
    /// Each write keeps it up, valid or not: from the first build's end on, which duplicates prevent.
    pub ready: bool,
    /// It is being built or dropped now, or another one of the table built; none where the role may
    /// not see builds.
    pub building: Option<bool>,
    /// A constraint that it enforces, or a foreign key that refers to it.
    pub constraint: Option<String>,
    pub replica_identity: bool,
    /// `CLUSTER` without a name rewrites the table in its order, and refuses where it is gone.
    pub clustered: bool,
    /// Part of a partitioned index, with which it comes and goes.
    pub partition: bool,
    /// Of an index of a partitioned table, which holds nothing itself.
    pub parts: Option<IndexParts>,
    /// Its first columns are those of a foreign key of the table.
    pub supports_foreign_key: bool,
    /// ANALYZE keeps statistics on its expressions, which plans use without scanning it.
    pub has_expressions: bool,
    pub partial: bool,
    /// A primary key may take it over as far as its order, operator classes, collations and nulls go;
    /// none in older facts.
    pub fit_for_key: Option<bool>,
    pub covered_by: Option<Cover>,
}

/// The indexes of partitions that a partitioned index consists of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct IndexParts {
    /// On partitions that hold rows themselves.
    pub indexes: u64,
    /// Rows inserted into these partitions since the statistics were reset.
    pub inserted: u64,
    /// A constraint, a foreign key, a replica identity or `CLUSTER` of some partition goes by its part.
    pub bound: bool,
}

/// Another index of the same table that serves every scan of this one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Cover {
    pub index: String,
    /// The same columns, or else the first ones of a longer key.
    pub duplicate: bool,
    /// The partitioned index that it goes with.
    pub part_of: Option<PartitionedIndex>,
}

/// An index of a partitioned table that is no part of another one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PartitionedIndex {
    pub schema: String,
    pub name: String,
}
