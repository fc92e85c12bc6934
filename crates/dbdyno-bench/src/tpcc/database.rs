//! Loads, checks, recognises and removes the database, whichever engine it is of.
//!
//! All of it blocks, and must not be called from within an async runtime.

use std::sync::atomic::AtomicBool;

use dbdyno_model::connection::{Connection, Engine};
use dbdyno_model::run::Check;

use super::conditions::When;
use super::foreign;
use super::load::{LEDGER, Loaded, Progress, Unit, rows_of, units};
use super::load_error::{ClientError, LoadError};
use super::stored::{Expected, ReadBackError, StoredConfig};
use super::{Config, Layout, Mode, mysql, postgres, procedures};
use crate::generate::{Generated, Generator};
use crate::ledger::{Start, present};
use crate::tables;

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
    config.is_possible()?;
    let units = units(config);
    let rows = rows_of(config, &units);
    let table = |unit: &Unit| unit.table.name();
    generator.generate(&units, rows, &table, &|unit, meter| match engine {
        Engine::Postgres => postgres::loader::copy_unit_nowhere(config, unit, meter),
        Engine::MySql => mysql::loader::encode_unit_nowhere(config, unit, meter),
    })
}

/// Makes what a mode needs on the server beside the load, unless it is there already.
pub fn install(connect: &Connection, config: &Config, mode: Mode) -> Result<(), LoadError> {
    match mode {
        Mode::Procedures => procedures::install(connect, config),
        Mode::Unbatched | Mode::Batched | Mode::Pipelined => Ok(()),
    }
}

/// Checks all conditions in all sets; takes seconds. PostgreSQL needs the right to create temporary
/// tables.
pub fn check(connect: &Connection, config: &Config, when: When) -> Result<Vec<Check>, ClientError> {
    match connect.engine {
        Engine::Postgres => postgres::consistency::check(connect, config, when),
        Engine::MySql => mysql::consistency::check(connect, config, when),
    }
}

/// What the database says was loaded into it.
pub fn read_back(connect: &Connection) -> Result<StoredConfig, ReadBackError> {
    match connect.engine {
        Engine::Postgres => postgres::stored::read_back(&mut postgres::connect::open(connect)?),
        Engine::MySql => mysql::stored::read_back(&mut mysql::connect::open(connect)?),
    }
}

/// The same where a user says something of it, which has to be so. Where nothing was loaded by us and
/// sysbench's layout is asked for, what sysbench-tpcc has made.
pub fn find(connect: &Connection, expected: &Expected) -> Result<StoredConfig, ReadBackError> {
    let found = match read_back(connect) {
        Err(ReadBackError::NotLoaded) if expected.layout == Some(Layout::Sysbench) => {
            foreign::read(connect, expected.seed)?
        }
        read => read?,
    };
    expected.agrees(&found.config)?;
    Ok(found)
}

/// Whether a load of ours has left tables, or the record of one.
pub fn is_left(connect: &Connection) -> Result<bool, ClientError> {
    let mut link = tables::open(connect)?;
    let ours = [postgres::stored::TABLE, LEDGER];
    let found = present(&mut link, connect.engine, &ours)?;
    Ok(!found.is_empty())
}

/// Drops our routines, the record of a load, and the tables of all sets, if `dbdyno_tpcc` vouches that
/// they are ours; whether there was anything to drop.
pub fn clean(connect: &Connection) -> Result<bool, ClientError> {
    let routines = procedures::remove(connect)?;
    let tables = match connect.engine {
        Engine::Postgres => {
            let mut client = postgres::connect::open(connect)?;
            postgres::stored::clean(&mut client)?
        }
        Engine::MySql => mysql::stored::clean(&mut mysql::connect::open(connect)?)?,
    };
    Ok(tables || routines)
}
