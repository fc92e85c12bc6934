//! Loads, checks, recognises and removes the database, whichever engine it is of.
//!
//! All of it blocks, and must not be called from within an async runtime.

use std::sync::atomic::AtomicBool;

use dbdyno_model::connection::{Connection, Engine};
use dbdyno_model::run::Check;

use super::conditions::When;
use super::load::{Loaded, Progress, rows_of, units};
use super::load_error::{ClientError, LoadError};
use super::schema::Table;
use super::stored::{ReadBackError, StoredConfig};
use super::{Config, MAX_WAREHOUSES, mysql, postgres};
use crate::generate::{Generated, Generator};
use crate::ledger::Start;

/// Creates and fills the tables on `threads` connections.
///
/// Raising `stop` ends it within about a second, with what was loaded left behind for [`resume`] or
/// [`clean`].
pub fn load(
    connect: &Connection,
    config: &Config,
    threads: usize,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    start(connect, config, threads, Start::Fresh, progress, stop)
}

/// Goes on with a load that did not end, or begins it where there is nothing; the rows told are
/// those that were missing.
pub fn resume(
    connect: &Connection,
    config: &Config,
    threads: usize,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    start(connect, config, threads, Start::Resume, progress, stop)
}

fn start(
    connect: &Connection,
    config: &Config,
    threads: usize,
    start: Start,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    match connect.engine {
        Engine::Postgres => postgres::loader::load(connect, config, threads, start, progress, stop),
        Engine::MySql => mysql::loader::load(connect, config, threads, start, progress, stop),
    }
}

/// Encodes all rows as this engine takes them, and sends them nowhere.
pub(crate) fn generate(
    generator: &Generator<'_>,
    engine: Engine,
    config: &Config,
) -> Result<Generated, LoadError> {
    if !(1..=MAX_WAREHOUSES).contains(&config.warehouses) {
        return Err(LoadError::Warehouses(config.warehouses));
    }
    let (units, seed) = (units(config.warehouses), config.seed);
    let rows = rows_of(&units, seed);
    let table = |&(table, _): &(Table, u32)| table.name();
    generator.generate(&units, rows, &table, &|unit, meter| match engine {
        Engine::Postgres => postgres::loader::copy_unit_nowhere(seed, unit, meter),
        Engine::MySql => mysql::loader::encode_unit_nowhere(seed, unit, meter),
    })
}

/// Checks all conditions; takes seconds. PostgreSQL needs the right to create temporary tables.
pub fn check(connect: &Connection, when: When) -> Result<Vec<Check>, ClientError> {
    match connect.engine {
        Engine::Postgres => postgres::consistency::check(connect, when),
        Engine::MySql => mysql::consistency::check(connect, when),
    }
}

/// What the database says was loaded into it.
pub fn read_back(connect: &Connection) -> Result<StoredConfig, ReadBackError> {
    match connect.engine {
        Engine::Postgres => postgres::stored::read_back(&mut postgres::connect::open(connect)?),
        Engine::MySql => mysql::stored::read_back(&mut mysql::connect::open(connect)?),
    }
}

/// Drops the nine tables, if `dbdyno_tpcc` vouches that they are ours; whether it did.
pub fn clean(connect: &Connection) -> Result<bool, ClientError> {
    match connect.engine {
        Engine::Postgres => {
            let mut client = postgres::connect::open(connect)?;
            Ok(postgres::stored::clean(&mut client)?)
        }
        Engine::MySql => mysql::stored::clean(&mut mysql::connect::open(connect)?),
    }
}
