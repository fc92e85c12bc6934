//! Loads, checks, recognises and removes the database, whichever engine it is of.
//!
//! All of it blocks, and must not be called from within an async runtime.

use std::sync::atomic::AtomicBool;

use dbdyno_model::connection::{Connection, Engine};
use dbdyno_model::run::Check;

use super::conditions::When;
use super::load::{Loaded, Progress};
use super::load_error::{ClientError, LoadError};
use super::stored::{ReadBackError, StoredConfig};
use super::{Config, Mode, mysql, postgres, procedures};

/// Creates and fills the tables on `threads` connections.
///
/// Raising `stop` ends it within about a second, with what was loaded left behind for [`clean`].
pub fn load(
    connect: &Connection,
    config: &Config,
    threads: usize,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    match connect.engine {
        Engine::Postgres => postgres::loader::load(connect, config, threads, progress, stop),
        Engine::MySql => mysql::loader::load(connect, config, threads, progress, stop),
    }
}

/// Makes what a mode needs on the server beside the load, unless it is there already.
pub fn install(connect: &Connection, _: &Config, mode: Mode) -> Result<(), LoadError> {
    match mode {
        Mode::Procedures => procedures::install(connect),
        Mode::Unbatched | Mode::Batched | Mode::Pipelined => Ok(()),
    }
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

/// Drops our routines, and the nine tables, if `dbdyno_tpcc` vouches that they are ours; whether
/// there was anything to drop.
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
