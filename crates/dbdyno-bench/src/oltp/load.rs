//! Makes, fills and removes the tables, on either engine.
//!
//! All of it blocks, and must not be called from within an async runtime.

use std::sync::atomic::AtomicBool;

use dbdyno_model::connection::{Connection, Engine};

use super::rows::{part_rows, parts};
use super::{Config, LoadError, mysql, postgres, tables};
use crate::generate::{Generated, Generator};
use crate::ledger::{BeginError, Begun, Done, Ledger, Plan, Start, Step, TextSql, present};
use crate::tpcc::{self, ClientError, Loaded, Progress};
use crate::wire::WireError;

/// Holds the record of a load that is under way.
pub(super) const LEDGER: &str = "dbdyno_sbtest_units";

/// How a load connects, and whom it tells and obeys.
#[derive(Clone, Copy)]
pub(super) struct Order<'a> {
    pub(super) connect: &'a Connection,
    pub(super) config: &'a Config,
    pub(super) ledger: &'a Ledger,
    pub(super) threads: usize,
    pub(super) progress: &'a (dyn Fn(Progress) + Sync),
    pub(super) stop: &'a AtomicBool,
}

impl Order<'_> {
    /// Parts that are not there yet, and their rows.
    pub(super) fn parts(&self, done: &Done) -> Result<(Vec<(u32, u64)>, u64), LoadError> {
        let ahead = done.ahead(parts(self.config), part_name)?;
        let rows = ahead.iter().map(|&(_, part)| part_rows(self.config, part));
        let rows = rows.sum();
        Ok((ahead, rows))
    }

    /// A statement about each table.
    pub(super) fn steps(&self, statement: impl Fn(&str) -> String) -> Vec<Step> {
        tables::names(self.config)
            .map(|name| {
                let sql = statement(&name);
                Step::new(name, sql)
            })
            .collect()
    }
}

/// As the record of a load names it.
pub(super) fn part_name(&(table, part): &(u32, u64)) -> String {
    format!("{} part {part}", tables::name(table))
}

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
/// those that were missing. A load that has ended is refused like any other tables that are there:
/// runs have changed them, perhaps.
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
    if let Some(reason) = config.refusal() {
        return Err(LoadError::Config(reason));
    }
    let engine = connect.engine;
    let loaded = identity(config);
    let ledger = Ledger::new(engine, LEDGER, loaded.as_str());
    let order = Order {
        connect,
        config,
        ledger: &ledger,
        threads: threads.max(1),
        progress,
        stop,
    };
    let create = |name: String| {
        let create = tables::create(&name, engine, &loaded);
        (name, create)
    };
    let plan = Plan {
        ledger: &ledger,
        tables: tables::names(config).map(create).collect(),
        insert: None,
    };
    let begin = |own: &mut dyn TextSql| -> Result<Done, LoadError> {
        match plan.begin(own, start)? {
            Begun::Ready(done) => Ok(done),
            Begun::Unrecorded(table) => Err(LoadError::Exists(table)),
        }
    };
    match engine {
        Engine::Postgres => postgres::fill(order, begin),
        Engine::MySql => mysql::fill(order, begin),
    }
}

/// All that decides which rows there are.
fn identity(config: &Config) -> String {
    let Config {
        tables,
        table_size,
        distribution,
        seed,
        ..
    } = config;
    let rand_type = distribution.name();
    format!("tables={tables} table_size={table_size} rand_type={rand_type} seed={seed}")
}

/// Encodes all rows as this engine takes them, and sends them nowhere.
pub(crate) fn generate(
    generator: &Generator<'_>,
    engine: Engine,
    config: &Config,
) -> Result<Generated, LoadError> {
    if let Some(reason) = config.refusal() {
        return Err(LoadError::Config(reason));
    }
    let (parts, rows, config) = (parts(config), config.rows(), *config);
    let encoded = generator.generate(&parts, rows, &|_| "sbtest", &|part, meter| match engine {
        Engine::Postgres => postgres::copy_part_nowhere(config, part, meter),
        Engine::MySql => mysql::encode_part_nowhere(config, part, meter),
    });
    Ok(encoded?)
}

/// Drops those of the tables that a load of ours has made, and says whether there were any; what
/// sysbench or anybody else made is left alone, see [`super::survey`].
pub fn clean(connect: &Connection, config: &Config) -> Result<bool, LoadError> {
    let unreachable = |source| tpcc::LoadError::Connect {
        server: connect.display(),
        source,
    };
    let mut link = tables::open(connect).map_err(unreachable)?;
    // The record first: what is removed in part cannot be resumed.
    let record = present(&mut link, connect.engine, &[LEDGER]);
    let mut dropped = !record.map_err(refused("look for"))?.is_empty();
    if dropped {
        let drop = format!("DROP TABLE IF EXISTS {LEDGER}");
        link.run(&drop).map_err(sql("drop"))?;
    }
    let found = tables::found(&mut link, connect.engine).map_err(sql("look for"))?;
    for (table, found) in found {
        if table <= config.tables && found.is_ours() {
            let drop = format!("DROP TABLE IF EXISTS {}", tables::name(table));
            link.run(&drop).map_err(sql("drop"))?;
            dropped = true;
        }
    }
    Ok(dropped)
}

/// A statement about the tables that was refused.
fn sql(operation: &'static str) -> impl Fn(WireError) -> LoadError {
    move |source| refused(operation)(source.into())
}

fn refused(operation: &'static str) -> impl Fn(ClientError) -> LoadError {
    move |source| {
        LoadError::Load(tpcc::LoadError::Sql {
            operation,
            object: "the tables sbtest".to_owned(),
            source,
        })
    }
}

impl From<BeginError> for LoadError {
    fn from(error: BeginError) -> Self {
        match error {
            BeginError::Exists { table, .. } => Self::Exists(table),
            BeginError::Load(error) => Self::Load(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Distribution, Kind};
    use super::*;

    #[test]
    fn loads_of_other_rows_are_told_apart_whatever_is_done_with_them() {
        let config = Config::new(Kind::ReadWrite);
        let same = Config {
            kind: Kind::PointSelect,
            range_size: 7,
            pipelined: true,
            ..config
        };
        assert_eq!(identity(&config), identity(&same));
        let others = [
            Config {
                tables: 2,
                ..config
            },
            Config {
                table_size: 9,
                ..config
            },
            Config { seed: 2, ..config },
            Config {
                distribution: Distribution::Uniform,
                ..config
            },
        ];
        for other in others {
            assert_ne!(identity(&config), identity(&other));
        }
    }
}
