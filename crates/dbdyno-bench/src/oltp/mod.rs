//! The `oltp-*` workloads of sysbench 1.0.20, on its own tables: `sbtest1` and so on, of four columns.
//!
//! Tables that `sysbench prepare` made can be driven from here, and the reverse. What differs: the
//! numbers follow from our own seed, `oltp-insert` sends a prepared statement in place of text, and
//! ids always come from the server (`auto_inc=on`).
//!
//! By default each statement is a round trip, as sysbench sends them, so that numbers can be
//! compared. Pipelined, those that need no answer to each other share one: see [`Config::pipelined`].

mod check;
mod config;
mod distribution;
mod input;
mod kind;
mod load;
mod load_error;
mod mysql;
mod postgres;
mod rows;
mod statements;
mod stored;
mod tables;
mod terminal;

pub use check::check;
pub use config::Config;
pub use distribution::{Distribution, UnknownDistribution};
pub use kind::{Kind, UnknownKind};
pub(crate) use load::generate;
pub use load::{clean, load, resume};
pub use load_error::LoadError;
pub use stored::{Expected, ReadBackError, Survey, is_left, read_back, survey};
pub use tables::name as table_name;
pub use terminal::Terminal;

/// First steps of the paths of random streams: one for each use, never reused, and none of TPC-C's.
mod stream {
    pub(super) const ROWS: u64 = 101;
    pub(super) const TERMINAL: u64 = 102;
}
