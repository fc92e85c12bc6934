//! Loads a table on MySQL or MariaDB: rows by LOAD DATA or INSERT, then indexes, then statistics.
//!
//! Rows come in the order of the primary key, in which InnoDB keeps them.

use std::time::Instant;

use crate::tables::{Order, unit_name};
use crate::tpcc::crew::{Crew, refused};
use crate::tpcc::mysql::loader::{Place, form, send_rows};
use crate::tpcc::{LoadError, Loaded};

pub(in crate::tables) fn load(order: Order<'_>) -> Result<Loaded, LoadError> {
    let (contents, ledger) = (order.contents, order.ledger);
    let (crew, mut own) = Crew::open(order.connection, order.threads, order.progress, order.stop)?;
    let table = contents.table();
    let clock = Instant::now();
    let form = form(&mut own).map_err(refused("choose how to fill", table))?;
    let Some(done) = order.begin(&mut own)? else {
        return Ok(Loaded::NOTHING);
    };
    let (units, total) = order.units(&done)?;
    let rows = crew.work("rows", &units, total, &|link, unit, meter| {
        let record = ledger.record_unit(&unit_name(unit));
        let rows = || contents.lines(form, unit.clone());
        let fields = contents.fields();
        send_rows(link, form, Place { table, fields }, &record, &rows, meter)
    })?;
    let seconds_rows = clock.elapsed().as_secs_f64();
    crew.steps("keys", "index", &order.indexes(&mut own)?)?;
    order.finish(&mut own)?;
    let seconds_keys = clock.elapsed().as_secs_f64() - seconds_rows;
    let analyze = order.steps([format!("ANALYZE TABLE {table}")]);
    let analyze = ledger.recorded(&done, "analyze", analyze);
    crew.steps("analyze", "analyze", &analyze)?;
    order.close(&mut own)?;
    let seconds = clock.elapsed().as_secs_f64();
    Ok(Loaded {
        rows,
        seconds,
        seconds_rows,
        seconds_analyze: seconds - seconds_rows - seconds_keys,
        seconds_keys,
    })
}
