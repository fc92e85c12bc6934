//! Fills the tables on PostgreSQL: rows by COPY, then statistics, then keys.

use std::time::Instant;

use super::LoadError;
use super::load::Order;
use super::rows::{Row, part, parts};
use super::tables::{name, names};
use crate::driver::ClientTarget;
use crate::tpcc::Loaded;
use crate::tpcc::postgres::connect::open_at;
use crate::tpcc::postgres::copy::Encoder;
use crate::tpcc::postgres::copy_into::copy_into;
use crate::tpcc::postgres::crew::{Crew, sql};

/// Makes the tables as soon as the server has admitted all connections, and fills them.
pub(super) fn fill(
    order: Order<'_>,
    create: impl FnOnce() -> Result<(), LoadError>,
) -> Result<Loaded, LoadError> {
    let server = ClientTarget::of(order.connect).map_err(|error| order.unreachable(error))?;
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
    let config = *order.config;
    let start = Instant::now();
    create()?;
    let units = parts(&config);
    let rows = crew.work(
        "rows",
        &units,
        config.rows(),
        &|client, &(table, index), meter| {
            copy_into(client, &name(table), meter, |copy| {
                copy.each(part(config, table, index), |to, row| encode(to, &row))
            })
        },
    )?;
    let seconds_rows = start.elapsed().as_secs_f64();
    // Without indexes VACUUM has less to do.
    let vacuum = |name: &str| format!("VACUUM (ANALYZE) {name}");
    statements(&mut crew, &order, ("analyze", "analyze"), &vacuum)?;
    let seconds_analyze = start.elapsed().as_secs_f64() - seconds_rows;
    let keys = |name: &str| keys(name, config.table_size);
    statements(&mut crew, &order, ("keys", "index"), &keys)?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Loaded {
        rows,
        seconds,
        seconds_rows,
        seconds_analyze,
        seconds_keys: seconds - seconds_rows - seconds_analyze,
    })
}

/// What each table needs in a phase, of which the name and what it does are given.
fn statements(
    crew: &mut Crew<'_>,
    order: &Order<'_>,
    (phase, operation): (&'static str, &'static str),
    statement: &(dyn Fn(&str) -> String + Sync),
) -> Result<(), LoadError> {
    let names: Vec<String> = names(order.config).collect();
    let total = names.len() as u64;
    crew.work(phase, &names, total, &|client, name, meter| {
        let done = client.batch_execute(&statement(name));
        done.map_err(sql(operation, format!("table {name}")))?;
        meter.add(1);
        Ok(())
    })?;
    Ok(())
}

fn encode(to: &mut Encoder, row: &Row) {
    to.row(4)
        .int4(row.id)
        .int4(row.k)
        .field(row.c.as_bytes())
        .field(row.pad.as_bytes());
}

/// Both keys, under sysbench's names, and the sequence behind the rows that have their ids already.
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
