//! Loads a table on PostgreSQL: rows by COPY, then statistics, then indexes, on several connections.

use std::time::Instant;

use dbdyno_model::connection::Engine;

use super::open;
use crate::driver::ClientTarget;
use crate::tables::create::create;
use crate::tables::{Order, refused, units};
use crate::tpcc::postgres::connect::open_at;
use crate::tpcc::postgres::copy_into::copy_into;
use crate::tpcc::postgres::crew::{Crew, sql};
use crate::tpcc::{LoadError, Loaded};

pub(in crate::tables) fn load(order: Order<'_>) -> Result<Loaded, LoadError> {
    let contents = order.contents;
    let mut own = open(order.connection).map_err(|error| order.unreachable(error))?;
    // All at once, so that a server that admits fewer says so before anything is made.
    let target = ClientTarget::of(order.connection);
    let server = target.map_err(|error| order.unreachable(error))?;
    let clients = (0..order.threads)
        .map(|_| open_at(&server))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| order.unreachable(error))?;
    let mut crew = Crew {
        server: &server,
        clients,
        progress: order.progress,
        stop: order.stop,
    };
    let table = contents.table();
    let start = Instant::now();
    create(&mut own, contents, Engine::Postgres)?;
    let units = units(contents.rows());
    let rows = crew.work("rows", &units, contents.rows(), &|client, unit, meter| {
        copy_into(client, table, meter, |copy| {
            contents.copy(unit.clone(), copy)
        })
    })?;
    let seconds_rows = start.elapsed().as_secs_f64();
    // Before the indexes: without them there is less to do.
    let analyze = [format!("VACUUM (ANALYZE) {table}")];
    run_all(&mut crew, ("analyze", "analyze"), table, &analyze)?;
    let seconds_analyze = start.elapsed().as_secs_f64() - seconds_rows;
    let indexes = contents.indexes(Engine::Postgres);
    run_all(&mut crew, ("keys", "index"), table, &indexes)?;
    for statement in contents.finish(Engine::Postgres) {
        own.run(&statement).map_err(refused("alter", table))?;
    }
    order.vouch(&mut own)?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Loaded {
        rows,
        seconds,
        seconds_rows,
        seconds_analyze,
        seconds_keys: seconds - seconds_rows - seconds_analyze,
    })
}

/// As many statements at once as there are connections.
fn run_all(
    crew: &mut Crew<'_>,
    (phase, operation): (&'static str, &'static str),
    table: &str,
    statements: &[String],
) -> Result<(), LoadError> {
    let total = statements.len() as u64;
    crew.work(phase, statements, total, &|client, statement, meter| {
        let done = client.batch_execute(statement);
        done.map_err(sql(operation, format!("table {table}")))?;
        meter.add(1);
        Ok(())
    })?;
    Ok(())
}
