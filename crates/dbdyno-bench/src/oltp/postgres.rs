//! Fills the tables on PostgreSQL: rows by COPY, then statistics, then keys.

use std::time::Instant;

use dbdyno_model::connection::Engine;

use super::load::{Order, part_name};
use super::rows::{Row, part};
use super::tables::name;
use super::{Config, LoadError};
use crate::generate::Encoded;
use crate::ledger::{Done, TextSql, ahead};
use crate::tpcc::postgres::copy::Encoder;
use crate::tpcc::postgres::copy_into::{copy_into, copy_nowhere};
use crate::tpcc::postgres::crew::Crew;
use crate::tpcc::shift::Meter;
use crate::tpcc::{self, Loaded};

/// Makes the tables as soon as the server has admitted all connections, and fills them.
pub(super) fn fill(
    order: Order<'_>,
    begin: impl FnOnce(&mut dyn TextSql) -> Result<Done, LoadError>,
) -> Result<Loaded, LoadError> {
    let mut crew = Crew::open(order.connect, order.threads, order.progress, order.stop)?;
    let (config, ledger) = (*order.config, order.ledger);
    let clock = Instant::now();
    let done = begin(&mut crew.clients[0])?;
    let (parts, total) = order.parts(&done)?;
    let rows = crew.work("rows", &parts, total, &|client, unit, meter| {
        let record = ledger.record_unit(&part_name(unit));
        let &(table, index) = unit;
        copy_into(client, &name(table), &record, meter, |copy| {
            copy.each(part(config, table, index), |to, row| encode(to, &row))
        })
    })?;
    let seconds_rows = clock.elapsed().as_secs_f64();
    // Without indexes VACUUM has less to do.
    let vacuum = order.steps(|name| format!("VACUUM (ANALYZE) {name}"));
    let vacuum = ledger.recorded(&done, "analyze", vacuum);
    crew.steps("analyze", "analyze", &vacuum)?;
    let seconds_analyze = clock.elapsed().as_secs_f64() - seconds_rows;
    let keys = order.steps(|name| keys(name, config.table_size));
    let keys = ahead(keys, &mut crew.clients[0], Engine::Postgres)?;
    crew.steps("keys", "index", &keys)?;
    ledger.close(&mut crew.clients[0], None)?;
    let seconds = clock.elapsed().as_secs_f64();
    Ok(Loaded {
        rows,
        seconds,
        seconds_rows,
        seconds_analyze,
        seconds_keys: seconds - seconds_rows - seconds_analyze,
    })
}

/// The rows of a part without a server.
pub(super) fn copy_part_nowhere(
    config: Config,
    &(table, index): &(u32, u64),
    meter: &Meter<'_>,
) -> Result<Encoded, tpcc::LoadError> {
    copy_nowhere(meter, |copy| {
        copy.each(part(config, table, index), |to, row| encode(to, &row))
    })
}

fn encode(to: &mut Encoder, row: &Row) {
    to.row(4)
        .int4(row.id)
        .int4(row.k)
        .field(row.c.as_bytes())
        .field(row.pad.as_bytes());
}

/// Both keys, under sysbench's names, and the sequence behind the rows that have their ids already:
/// one text and so one transaction.
fn keys(name: &str, rows: u64) -> String {
    let number = name.trim_start_matches("sbtest");
    format!(
        "ALTER TABLE {name} ADD PRIMARY KEY (id); CREATE INDEX k_{number} ON {name} (k);
         SELECT setval(pg_get_serial_sequence('{name}', 'id'), {rows})"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_named_as_sysbench_names_them() {
        let sql = keys("sbtest12", 34);
        assert!(sql.contains("CREATE INDEX k_12 ON sbtest12 (k);"), "{sql}");
        assert!(sql.contains("('sbtest12', 'id'), 34)"), "{sql}");
    }
}
