//! Loads a table on MySQL or MariaDB: rows by LOAD DATA or INSERT, then indexes, then statistics.
//!
//! Rows come in the order of the primary key, in which InnoDB keeps them.

use std::time::Instant;

use crate::driver::target;
use crate::tables::{Order, unit_name};
use crate::tpcc::crew::{Crew, refused};
use crate::tpcc::mysql::loader::{Place, form, open_for_load, send_rows};
use crate::tpcc::{LoadError, Loaded};
use crate::wire::Link;

pub(in crate::tables) fn load(order: Order<'_>) -> Result<Loaded, LoadError> {
    let (contents, ledger) = (order.contents, order.ledger);
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
