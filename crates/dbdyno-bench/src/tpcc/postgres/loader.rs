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

use dbdyno_model::connection::{Connection, Engine};
use postgres::Client;

use super::copy_into::{Copy, copy_into, copy_nowhere};
use super::crew::Crew;
use super::schema::Schema;
use super::stored;
use crate::generate::Encoded;
use crate::ledger::{Begun, Done, Ledger, Plan, Start, Step, ahead};
use crate::tpcc::load::{Loaded, Progress, Unit, ledger, rows_of, steps, unit_name, units};
use crate::tpcc::load_error::LoadError;
use crate::tpcc::names::{Layout, Names, statements};
use crate::tpcc::schema::Table;
use crate::tpcc::shift::Meter;
use crate::tpcc::stored::left_to_resume;
use crate::tpcc::{Config, DISTRICTS, rows};

/// Creates and fills the tables on `threads` connections, or goes on with that.
///
/// Blocks, and must not be called from within an async runtime. Raising `stop` ends it within about
/// a second, with what was loaded left behind.
pub(crate) fn load(
    connect: &Connection,
    config: &Config,
    threads: usize,
    start: Start,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    config.is_possible()?;
    let mut crew = Crew::open(connect, threads, progress, stop)?;
    let clock = Instant::now();
    let ledger = ledger(Engine::Postgres, config);
    let client = &mut crew.clients[0];
    let done = match plan(&ledger, config).begin(client, start)? {
        Begun::Ready(done) => done,
        Begun::Unrecorded(table) => {
            let read = stored::read_back(client);
            return left_to_resume(read, Engine::Postgres, config, table);
        }
    };
    let rows = copy_rows(&mut crew, config, &ledger, &done)?;
    let seconds_rows = clock.elapsed().as_secs_f64();
    let analyze = ledger.recorded(&done, "analyze", steps(config, &ANALYZE));
    crew.steps("analyze", "analyze", &analyze)?;
    let seconds_analyze = clock.elapsed().as_secs_f64() - seconds_rows;
    add_keys(&mut crew, config)?;
    ledger.close(&mut crew.clients[0], Some(stored::FINISH))?;
    let seconds = clock.elapsed().as_secs_f64();
    Ok(Loaded {
        rows,
        seconds,
        seconds_rows,
        seconds_analyze,
        seconds_keys: seconds - seconds_rows - seconds_analyze,
    })
}

fn plan<'l>(ledger: &'l Ledger, config: &Config) -> Plan<'l> {
    let own = (stored::TABLE.to_owned(), stored::CREATE.to_owned());
    let others = statements(config, Schema::of(config.layout).create);
    Plan {
        ledger,
        tables: [own].into_iter().chain(others).collect(),
        insert: Some(stored::begin(config)),
    }
}

fn copy_rows(
    crew: &mut Crew<'_>,
    config: &Config,
    ledger: &Ledger,
    done: &Done,
) -> Result<u64, LoadError> {
    let units = done.ahead(units(config), unit_name)?;
    let total = rows_of(config, &units);
    crew.work("rows", &units, total, &|client, unit, meter| {
        let record = ledger.record_unit(&unit_name(unit));
        let names = Names::new(config.layout, unit.set, config.sets);
        copy_into(client, names.table(unit.table), &record, meter, |copy| {
            copy.rows(config, unit)
        })
    })
}

/// The same without a server.
pub(in crate::tpcc) fn copy_unit_nowhere(
    config: &Config,
    unit: &Unit,
    meter: &Meter<'_>,
) -> Result<Encoded, LoadError> {
    copy_nowhere(meter, |copy| copy.rows(config, unit))
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

const ANALYZE: [(Table, &str); 9] = [
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

fn add_keys(crew: &mut Crew<'_>, config: &Config) -> Result<(), LoadError> {
    let schema = Schema::of(config.layout);
    let indexes = ahead_of(&mut crew.clients[0], steps(config, schema.indexes))?;
    crew.steps("keys", "index", &indexes)?;
    // Quick, and each needs a lock that would keep the others waiting: one after the other.
    let client = &mut crew.clients[0];
    for key in ahead_of(client, primary_keys(config))? {
        key.run(client, Engine::Postgres, "add the primary key of")?;
    }
    if !config.foreign_keys {
        return Ok(());
    }
    for keys in ahead_of(client, steps(config, schema.foreign_keys))? {
        keys.run(client, Engine::Postgres, "add the foreign keys of")?;
    }
    let checks = ahead_of(client, steps(config, schema.validations))?;
    crew.steps("keys", "check the foreign keys of", &checks)
}

fn ahead_of(client: &mut Client, steps: Vec<Step>) -> Result<Vec<Step>, LoadError> {
    ahead(steps, client, Engine::Postgres)
}

fn primary_keys(config: &Config) -> Vec<Step> {
    let keyed = Table::ALL.into_iter();
    let keyed = keyed.filter(|table| *table != Table::History);
    let mut keys = Vec::new();
    for names in config.names() {
        keys.extend(keyed.clone().map(|table| primary_key(names.table(table))));
    }
    keys
}

fn primary_key(name: &str) -> Step {
    let key = format!("{name}_pkey");
    let add = format!("ALTER TABLE {name} ADD CONSTRAINT {key} PRIMARY KEY USING INDEX {key}");
    Step::new(name, add)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::generate::Generator;
    use crate::tpcc::generate;
    use crate::tpcc::postgres::copy::Encoder;

    #[test]
    fn what_is_generated_is_what_the_encoder_makes() {
        for layout in Layout::ALL {
            let config = Config {
                seed: 7,
                layout,
                ..Config::default()
            };
            let generator = Generator {
                threads: 2,
                progress: &|_| (),
                stop: &AtomicBool::new(false),
            };
            let generated = generate(&generator, Engine::Postgres, &config).unwrap();
            let told = |table: Table| {
                let mut told = generated.tables.iter();
                let told = told.find(|told| told.table == table.name()).unwrap();
                (told.rows, told.bytes)
            };
            let encoded = |encode: &dyn Fn(&mut Encoder)| {
                let mut encoder = Encoder::default();
                encoder.header();
                encode(&mut encoder);
                encoder.trailer();
                let bytes = encoder.bytes().len() as u64;
                (encoder.clear(), bytes)
            };
            let items = encoded(&|to| rows::items(7).for_each(|row| to.item(&row)));
            assert_eq!(told(Table::Item), items);
            let stock = encoded(&|to| {
                rows::stock(7, 1).for_each(|row| to.stock(layout, 1, &row));
            });
            assert_eq!(told(Table::Stock), stock);
            let lines = encoded(&|to| {
                for d in 1..=DISTRICTS {
                    rows::order_lines(7, 1, d).for_each(|row| to.order_line(1, d, &row));
                }
            });
            assert_eq!(told(Table::OrderLine), lines);
            assert_eq!(generated.rows(), rows_of(&config, &units(&config)));
        }
    }

    #[test]
    fn every_set_is_generated() {
        let generated = |sets| {
            let config = Config {
                sets,
                ..Config::default()
            };
            let generator = Generator {
                threads: 2,
                progress: &|_| (),
                stop: &AtomicBool::new(false),
            };
            let generated = generate(&generator, Engine::Postgres, &config).unwrap();
            assert_eq!(generated.rows(), rows_of(&config, &units(&config)));
            assert_eq!(generated.tables.len(), 9);
            generated.bytes()
        };
        assert!(generated(2) > generated(1));
    }

    #[test]
    fn what_was_made_is_found_again_in_the_catalogue() {
        for layout in Layout::ALL {
            let config = Config {
                sets: 2,
                layout,
                ..Config::default()
            };
            let marks = |steps: Vec<Step>| {
                let marks: HashSet<String> = steps.iter().flat_map(Step::marks).collect();
                marks.len()
            };
            let schema = Schema::of(layout);
            let indexes = steps(&config, schema.indexes);
            assert_eq!(marks(indexes), 2 * schema.indexes.len(), "{layout:?}");
            assert_eq!(marks(steps(&config, schema.foreign_keys)), 2 * 10);
            assert_eq!(marks(steps(&config, schema.validations)), 2 * 10);
            assert_eq!(marks(primary_keys(&config)), 2 * 8);
        }
        let key = primary_key("stock2").marks();
        assert_eq!(key, ["stock2 constraint stock2_pkey"]);
    }
}
