//! Loads a table on MySQL or MariaDB: rows by LOAD DATA or INSERT, then indexes, then statistics.
//!
//! Rows come in the order of the primary key, in which InnoDB keeps them.

use std::time::Instant;

use dbdyno_model::connection::Engine;

use crate::driver::target;
use crate::tables::create::create;
use crate::tables::{Order, refused, units};
use crate::tpcc::crew::Crew;
use crate::tpcc::mysql::loader::{Place, form, open_for_load, send_rows};
use crate::tpcc::{LoadError, Loaded};
use crate::wire::Link;

pub(in crate::tables) fn load(order: Order<'_>) -> Result<Loaded, LoadError> {
    let contents = order.contents;
    let target = target(order.connection).map_err(|error| order.unreachable(error))?;
    let open = || open_for_load(&target).map_err(|error| order.unreachable(error));
    let crew = Crew {
        target: &target,
        threads: order.threads,
        open: &open,
        progress: order.progress,
        stop: order.stop,
    };
    let table = contents.table();
    let mut own = open()?;
    // All at once, so that a server that admits fewer says so before anything is made.
    let others: Vec<Link> = (0..crew.threads)
        .map(|_| open())
        .collect::<Result<_, _>>()?;
    drop(others);
    let start = Instant::now();
    let form = form(&mut own).map_err(refused("choose how to fill", table))?;
    create(&mut own, contents, Engine::MySql)?;
    let units = units(contents.rows());
    let rows = crew.work("rows", &units, contents.rows(), &|link, unit, meter| {
        let rows = || contents.lines(form, unit.clone());
        let fields = contents.fields();
        send_rows(link, form, Place { table, fields }, &rows, meter)
    })?;
    let seconds_rows = start.elapsed().as_secs_f64();
    let indexes = contents.indexes(Engine::MySql);
    run_all(&crew, ("keys", "index"), table, &indexes)?;
    for statement in contents.finish(Engine::MySql) {
        own.run(&statement).map_err(refused("alter", table))?;
    }
    let seconds_keys = start.elapsed().as_secs_f64() - seconds_rows;
    let analyze = [format!("ANALYZE TABLE {table}")];
    run_all(&crew, ("analyze", "analyze"), table, &analyze)?;
    order.vouch(&mut own)?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Loaded {
        rows,
        seconds,
        seconds_rows,
        seconds_analyze: seconds - seconds_rows - seconds_keys,
        seconds_keys,
    })
}

/// As many statements at once as there are threads.
fn run_all(
    crew: &Crew<'_>,
    (phase, operation): (&'static str, &'static str),
    table: &str,
    statements: &[String],
) -> Result<(), LoadError> {
    let total = statements.len() as u64;
    crew.work(phase, statements, total, &|link, statement, meter| {
        link.run(statement).map_err(refused(operation, table))?;
        meter.add(1);
        Ok(())
    })?;
    Ok(())
}
