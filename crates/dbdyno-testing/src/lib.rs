//! What tests with real servers share: binaries, a home of their own, a running server, a small disk.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod daemon;
mod listening;
mod mysql;
mod place;
mod running;
mod servers;
mod small_disk;
mod sysbench;

pub use listening::Listening;
pub use mysql::{MySql, MySqlBinaries};
pub use place::Place;
pub use running::{Running, settings};
pub use servers::{all_binaries, binaries, every_major, is_packaged};
pub use small_disk::SmallDisk;
pub use sysbench::sysbench_table;
