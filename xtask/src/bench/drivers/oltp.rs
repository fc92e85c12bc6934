//! sysbench's tables, as several drivers share them.

pub(super) const DATABASE: &str = "sbtest";
pub(super) const TABLES: u32 = 4;
/// Of each table.
pub(super) const ROWS: u32 = 100_000;
