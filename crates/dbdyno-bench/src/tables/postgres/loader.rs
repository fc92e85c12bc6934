//! Loads a table on PostgreSQL: rows by COPY, then statistics, then indexes, on several connections.

use std::time::Instant;

use super::open;
use crate::tables::{Order, unit_name};
use crate::tpcc::postgres::copy_into::copy_into;
use crate::tpcc::postgres::crew::Crew;
use crate::tpcc::{LoadError, Loaded};

pub(in crate::tables) fn load(order: Order<'_>) -> Result<Loaded, LoadError> {
    let (contents, ledger) = (order.contents, order.ledger);
    let mut own = open(order.connection).map_err(|error| order.unreachable(error))?;
    let mut crew = Crew::open(order.connection, order.threads, order.progress, order.stop)?;
    let table = contents.table();
    let clock = Instant::now();
    let Some(done) = order.begin(&mut own)? else {
        return Ok(Loaded::NOTHING);
    };
    let (units, total) = order.units(&done)?;
    let rows = crew.work("rows", &units, total, &|client, unit, meter| {
        let record = ledger.record_unit(&unit_name(unit));
        copy_into(client, table, &record, meter, |copy| {
            contents.copy(unit.clone(), copy)
        })
    })?;
    let seconds_rows = clock.elapsed().as_secs_f64();
    // Before the indexes: without them there is less to do.
    let analyze = order.steps([format!("VACUUM (ANALYZE) {table}")]);
    let analyze = ledger.recorded(&done, "analyze", analyze);
    crew.steps("analyze", "analyze", &analyze)?;
    let seconds_analyze = clock.elapsed().as_secs_f64() - seconds_rows;
    crew.steps("keys", "index", &order.indexes(&mut own)?)?;
    order.finish(&mut own)?;
    order.close(&mut own)?;
    let seconds = clock.elapsed().as_secs_f64();
    Ok(Loaded {
        rows,
        seconds,
        seconds_rows,
        seconds_analyze,
        seconds_keys: seconds - seconds_rows - seconds_analyze,
    })
}
