//! Sizing and rate formulas, each a named function with its unit and its source.

pub mod bloat;
pub mod btree;
pub mod io;
pub mod memory;
pub mod storage;
pub mod vacuum;
pub mod wal;

pub const KIB: u64 = 1024;
pub const MIB: u64 = 1024 * KIB;
pub const GIB: u64 = 1024 * MIB;

/// PostgreSQL's page.
pub const PAGE_BYTES: u64 = 8 * KIB;
