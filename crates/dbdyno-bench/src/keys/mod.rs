//! Inserts and selects by primary key: what its kind, the order and the size of a batch cost.
//!
//! After dbbenchmark's sequential and random INSERT and SELECT (2010-08), with the kinds of keys between
//! which "Tuning InnoDB Primary Keys" (Percona, 2018-08) lets one choose. A run's rows a second are its
//! transactions a second times [`Config::rows_per_transaction`]; what the keys did to table and index
//! is told by [`footprint`].
//!
//! The load is in no case what inserts left: pages are as full as a sorted load makes them, and the
//! run's own inserts split them from there.

mod config;
mod demands;
mod filler;
mod fresh;
mod layout;
mod pick;
mod terminal;
mod value;

use std::sync::atomic::AtomicBool;

use dbdyno_model::Footprint;
use dbdyno_model::connection::Connection;
use dbdyno_model::run::Check;

pub use crate::tables::ReadBackError;
pub use config::{Config, Key, Kind, MAX_ROWS_PER_TRANSACTION, Order};
pub use terminal::Terminal;

use crate::ledger::Start;
use crate::tables;
use crate::tpcc::{ClientError, LoadError, Loaded, Progress, When};

/// First steps of the paths of random streams: one for each use, never reused.
mod stream {
    pub(super) const PERMUTATION: u64 = 101;
    pub(super) const PLACES: u64 = 102;
    pub(super) const REST: u64 = 103;
    pub(super) const FILLER: u64 = 104;
    pub(super) const OFFSETS: u64 = 105;
    pub(super) const INSERTS: u64 = 106;
    pub(super) const SELECTS: u64 = 107;
    pub(super) const FRESH_FILLER: u64 = 108;
}

/// Creates and fills the tables on `threads` connections. Blocks; not for use within an async runtime.
///
/// Raising `stop` ends it within about a second, with what was loaded left behind for [`resume`] or
/// [`clean`].
pub fn load(
    connection: &Connection,
    config: &Config,
    threads: usize,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    tables::load(connection, config, threads, Start::Fresh, progress, stop)
}

/// Goes on with a load that did not end, or begins it where there is nothing; the rows told are
/// those that were missing. Blocks; not for use within an async runtime.
pub fn resume(
    connection: &Connection,
    config: &Config,
    threads: usize,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    tables::load(connection, config, threads, Start::Resume, progress, stop)
}

/// Looks at every row. Blocks; not for use within an async runtime.
pub fn check(
    connection: &Connection,
    config: &Config,
    when: When,
) -> Result<Vec<Check>, ClientError> {
    let demands = demands::demands(config, when, connection.engine);
    tables::check(connection, config, demands)
}

/// What was loaded to its end, as one of `kind` goes about it.
pub fn read_back(connection: &Connection, kind: Kind) -> Result<Config, ReadBackError> {
    let any = Config::new(kind);
    let found = tables::read_back(connection, &any, kind.name())?;
    Config::of_identity(kind, &found).ok_or(ReadBackError::Other {
        table: layout::STORED,
        found,
        wants: match kind {
            Kind::Inserts => "no load of inserts writes",
            Kind::Selects => "selects cannot run on: they take rows in the order of their keys",
        },
    })
}

/// Whether a load of ours has left tables, or the record of one. Blocks.
pub fn is_left(connection: &Connection, config: &Config) -> Result<bool, ClientError> {
    tables::is_left(connection, config)
}

/// Drops the tables, if they are ours; whether they were. Blocks.
pub fn clean(connection: &Connection, config: &Config) -> Result<bool, ClientError> {
    tables::clean(connection, config)
}

/// What table and index take now. Reads all of the table; blocks.
pub fn footprint(connection: &Connection, config: &Config) -> Result<Footprint, ClientError> {
    tables::footprint::footprint(connection, config)
}
