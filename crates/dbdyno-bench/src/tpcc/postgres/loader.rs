//! Loads the database: rows by COPY, then statistics, then keys, on several connections.
//!
//! VACUUM comes before the keys: without indexes it has less to do, and the foreign keys are
//! checked three times as fast with statistics and a visibility map. COPY is binary, which costs
//! the server a fifth less than text for order lines, and no more for the rest.
//!
//! A unit of work is one table of one warehouse, so that rows are spread evenly over any number of
//! threads; every unit draws from streams of its own, so that the rows do not depend on the number.

use std::io;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use dbdyno_model::connection::Connection;
use postgres::Client;
use postgres::error::SqlState;

use super::copy_into::{Copy, copy_into};
use super::crew::{Crew, sql};
use super::schema::Schema;
use super::{connect, stored};
use crate::driver::ClientTarget;
use crate::tpcc::load::{Loaded, Progress, Unit, rows_total, units};
use crate::tpcc::load_error::{ClientError, LoadError};
use crate::tpcc::names::{Layout, Names, statements};
use crate::tpcc::schema::Table;
use crate::tpcc::shift::Meter;
use crate::tpcc::{Config, DISTRICTS, rows};

/// Creates and fills the tables on `threads` connections.
///
/// Blocks, and must not be called from within an async runtime. Raising `stop` ends it within about
/// a second, with what was loaded left behind for `clean`.
pub(crate) fn load(
    connect: &Connection,
    config: &Config,
    threads: usize,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    config.is_possible()?;
    let unreachable = |source: ClientError| LoadError::Connect {
        server: connect.display(),
        source,
    };
    let server = ClientTarget::of(connect).map_err(|error| unreachable(error.into()))?;
    let clients = (0..threads.max(1))
        .map(|_| connect::open_at(&server))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| unreachable(error.into()))?;
    let mut crew = Crew {
        server: &server,
        clients,
        progress,
        stop,
    };
    let start = Instant::now();
    create_tables(&mut crew.clients[0], config)?;
    let rows = copy_rows(&mut crew, config)?;
    let seconds_rows = start.elapsed().as_secs_f64();
    analyze(&mut crew, config)?;
    let seconds_analyze = start.elapsed().as_secs_f64() - seconds_rows;
    add_keys(&mut crew, config)?;
    stored::finish(&mut crew.clients[0]).map_err(sql("update", "table dbdyno_tpcc"))?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Loaded {
        rows,
        seconds,
        seconds_rows,
        seconds_analyze,
        seconds_keys: seconds - seconds_rows - seconds_analyze,
    })
}

/// All tables or none: a name already taken leaves the database as it was.
fn create_tables(client: &mut Client, config: &Config) -> Result<(), LoadError> {
    let failed = |table: &str| {
        let table = table.to_owned();
        move |source: postgres::Error| match source.code() {
            Some(code) if *code == SqlState::DUPLICATE_TABLE => LoadError::Exists {
                table,
                source: Some(source.into()),
            },
            _ => sql("create", format!("table {table}"))(source),
        }
    };
    let mut transaction = client.transaction().map_err(sql("begin", "the load"))?;
    stored::begin(&mut transaction, config).map_err(failed("dbdyno_tpcc"))?;
    for (table, create) in statements(config, Schema::of(config.layout).create) {
        transaction.batch_execute(&create).map_err(failed(&table))?;
    }
    transaction.commit().map_err(sql("create", "the tables"))
}

fn copy_rows(crew: &mut Crew<'_>, config: &Config) -> Result<u64, LoadError> {
    let units = units(config);
    let total = rows_total(config);
    crew.work("rows", &units, total, &|client, unit, rows| {
        copy_unit(client, config, unit, rows)
    })
}

fn copy_unit(
    client: &mut Client,
    config: &Config,
    unit: &Unit,
    meter: &Meter<'_>,
) -> Result<(), LoadError> {
    let names = Names::new(config.layout, unit.set, config.sets);
    copy_into(client, names.table(unit.table), meter, |copy| {
        copy.rows(config, unit)
    })
}

impl Copy<'_> {
    fn rows(&mut self, config: &Config, unit: &Unit) -> io::Result<()> {
        let Unit {
            set,
            table,
            warehouse: w,
        } = *unit;
        let (layout, seed) = (config.layout, config.set_seed(set));
        match table {
            Table::Warehouse => self.each([rows::warehouse(seed, w)], |to, row| to.warehouse(&row)),
            Table::District => self.each(rows::districts(seed, w), |to, row| to.district(&row)),
            Table::Item => self.each(rows::items(seed), |to, row| to.item(&row)),
            Table::Stock => self.each(rows::stock(seed, w), |to, row| {
                to.stock(layout, w, &row);
            }),
            Table::Customer => (1..=DISTRICTS).try_for_each(|d| self.customers(layout, seed, w, d)),
            _ => (1..=DISTRICTS).try_for_each(|d| self.district_rows(seed, table, w, d)),
        }
    }

    fn customers(&mut self, layout: Layout, seed: u64, w: u32, d: u32) -> io::Result<()> {
        self.each(rows::customers(seed, w, d), |to, row| {
            to.customer(layout, w, d, &row);
        })
    }

    fn district_rows(&mut self, seed: u64, table: Table, w: u32, d: u32) -> io::Result<()> {
        match table {
            Table::History => self.each(rows::history(seed, w, d), |to, row| {
                to.history(w, d, &row);
            }),
            Table::NewOrder => {
                let new = rows::orders(seed, w, d).filter(|order| order.carrier.is_none());
                self.each(new, |to, row| to.new_order(w, d, &row))
            }
            Table::OrderLine => self.each(rows::order_lines(seed, w, d), |to, row| {
                to.order_line(w, d, &row);
            }),
            _ => self.each(rows::orders(seed, w, d), |to, row| to.order(w, d, &row)),
        }
    }
}

fn analyze(crew: &mut Crew<'_>, config: &Config) -> Result<(), LoadError> {
    const ORDER: [(Table, &str); 9] = [
        (Table::Stock, "VACUUM (ANALYZE) {stock}"),
        (Table::OrderLine, "VACUUM (ANALYZE) {order_line}"),
        (Table::Customer, "VACUUM (ANALYZE) {customer}"),
        (Table::History, "VACUUM (ANALYZE) {history}"),
        (Table::Orders, "VACUUM (ANALYZE) {orders}"),
        (Table::Item, "VACUUM (ANALYZE) {item}"),
        (Table::NewOrder, "VACUUM (ANALYZE) {new_order}"),
        (Table::District, "VACUUM (ANALYZE) {district}"),
        (Table::Warehouse, "VACUUM (ANALYZE) {warehouse}"),
    ];
    crew.statements("analyze", "analyze", &statements(config, &ORDER))
}

fn add_keys(crew: &mut Crew<'_>, config: &Config) -> Result<(), LoadError> {
    let schema = Schema::of(config.layout);
    crew.statements("keys", "index", &statements(config, schema.indexes))?;
    // Quick, and each needs a lock that would keep the others waiting: one after the other.
    let client = &mut crew.clients[0];
    for names in config.names() {
        for table in Table::ALL {
            if table == Table::History {
                continue;
            }
            let name = names.table(table);
            let key = format!("{name}_pkey");
            client
                .batch_execute(&format!(
                    "ALTER TABLE {name} ADD CONSTRAINT {key} PRIMARY KEY USING INDEX {key}"
                ))
                .map_err(sql("add the primary key of", format!("table {name}")))?;
        }
    }
    if !config.foreign_keys {
        return Ok(());
    }
    for (table, statement) in statements(config, schema.foreign_keys) {
        client
            .batch_execute(&statement)
            .map_err(sql("add the foreign keys of", format!("table {table}")))?;
    }
    let validations = statements(config, schema.validations);
    crew.statements("keys", "check the foreign keys of", &validations)
}
