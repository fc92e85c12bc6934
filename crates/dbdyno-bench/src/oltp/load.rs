//! Makes, fills and removes the tables, on either engine.
//!
//! All of it blocks, and must not be called from within an async runtime.

use std::sync::atomic::AtomicBool;

use dbdyno_model::connection::{Connection, Engine};

use super::{Config, LoadError, mysql, postgres, tables};
use crate::tpcc::{self, ClientError, Loaded, Progress};
use crate::wire::{Link, WireError};

/// How a load connects, and whom it tells and obeys.
#[derive(Clone, Copy)]
pub(super) struct Order<'a> {
    pub(super) connect: &'a Connection,
    pub(super) config: &'a Config,
    pub(super) threads: usize,
    pub(super) progress: &'a (dyn Fn(Progress) + Sync),
    pub(super) stop: &'a AtomicBool,
}

impl Order<'_> {
    pub(super) fn unreachable(&self, source: impl Into<ClientError>) -> tpcc::LoadError {
        tpcc::LoadError::Connect {
            server: self.connect.display(),
            source: source.into(),
        }
    }
}

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
    if let Some(reason) = config.refusal() {
        return Err(LoadError::Config(reason));
    }
    let order = Order {
        connect,
        config,
        threads: threads.max(1),
        progress,
        stop,
    };
    let mut link = tables::open(connect).map_err(|error| order.unreachable(error))?;
    let present = tables::columns(&mut link, connect.engine).map_err(sql("look for"))?;
    let mut names = tables::names(config);
    if let Some(taken) = names.find(|name| present.contains_key(name)) {
        return Err(LoadError::Exists(taken));
    }
    let create = || create(&mut link, config, connect.engine);
    match connect.engine {
        Engine::Postgres => postgres::fill(order, create),
        Engine::MySql => mysql::fill(order, create),
    }
}

/// All of them or none.
fn create(link: &mut Link, config: &Config, engine: Engine) -> Result<(), LoadError> {
    let all = tables::names(config).map(|name| tables::create(&name, engine));
    if engine == Engine::Postgres {
        // One text of statements is one transaction.
        let all: Vec<String> = all.collect();
        link.run(&all.join(";\n")).map_err(sql("create"))?;
        return Ok(());
    }
    let made = all.enumerate().try_for_each(|(made, create)| {
        let done = link.run(&create).map(drop);
        done.map_err(|error| (made, error))
    });
    made.map_err(|(made, error)| {
        for name in tables::names(config).take(made) {
            // Nobody needs to know that this failed too.
            let _ = link.run(&format!("DROP TABLE IF EXISTS {name}"));
        }
        sql("create")(error)
    })
}

/// Drops the tables, where they are there and have sysbench's four columns, and says whether there
/// were any; others are left alone.
pub fn clean(connect: &Connection, config: &Config) -> Result<bool, LoadError> {
    let unreachable = |source| tpcc::LoadError::Connect {
        server: connect.display(),
        source,
    };
    let mut link = tables::open(connect).map_err(unreachable)?;
    let present = tables::columns(&mut link, connect.engine).map_err(sql("look for"))?;
    let mut dropped = false;
    for name in tables::names(config) {
        let columns = present.get(&name);
        if columns.is_some_and(|columns| tables::are_ours(columns)) {
            let drop = format!("DROP TABLE IF EXISTS {name}");
            link.run(&drop).map_err(sql("drop"))?;
            dropped = true;
        }
    }
    Ok(dropped)
}

/// A statement about the tables that was refused.
fn sql(operation: &'static str) -> impl Fn(WireError) -> LoadError {
    move |source| {
        LoadError::Load(tpcc::LoadError::Sql {
            operation,
            object: "the tables sbtest".to_owned(),
            source: source.into(),
        })
    }
}
