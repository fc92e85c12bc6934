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
use super::{connect, schema, stored};
use crate::driver::ClientTarget;
use crate::generate::Encoded;
use crate::ledger::{Begun, Done, Ledger, Plan, Start, Step, ahead};
use crate::tpcc::load::{Loaded, Progress, ledger, rows_of, steps, unit_name, units};
use crate::tpcc::load_error::{ClientError, LoadError};
use crate::tpcc::schema::Table;
use crate::tpcc::shift::Meter;
use crate::tpcc::stored::left_to_resume;
use crate::tpcc::{Config, DISTRICTS, MAX_WAREHOUSES, rows};

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
    if !(1..=MAX_WAREHOUSES).contains(&config.warehouses) {
        return Err(LoadError::Warehouses(config.warehouses));
    }
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
    let analyze = ledger.recorded(&done, "analyze", steps(&ANALYZE));
    crew.steps("analyze", "analyze", &analyze)?;
    let seconds_analyze = clock.elapsed().as_secs_f64() - seconds_rows;
    add_keys(&mut crew)?;
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

fn plan<'l>(ledger: &'l Ledger, config: &Config) -> Plan<'l, 'static> {
    let own = (stored::TABLE, stored::CREATE);
    let others = schema::CREATE.map(|(table, create)| (table.name(), create));
    let tables = [own].into_iter().chain(others);
    Plan {
        ledger,
        tables: tables
            .map(|(name, create)| (name, create.to_owned()))
            .collect(),
        insert: Some(stored::begin(config)),
    }
}

fn copy_rows(
    crew: &mut Crew<'_>,
    config: &Config,
    ledger: &Ledger,
    done: &Done,
) -> Result<u64, LoadError> {
    let units = done.ahead(units(config.warehouses), unit_name)?;
    let total = rows_of(&units, config.seed);
    crew.work("rows", &units, total, &|client, unit, meter| {
        let record = ledger.record_unit(&unit_name(unit));
        let &(table, warehouse) = unit;
        copy_into(client, table.name(), &record, meter, |copy| {
            copy.rows(config.seed, table, warehouse)
        })
    })
}

/// The same without a server.
pub(crate) fn copy_unit_nowhere(
    seed: u64,
    &(table, warehouse): &(Table, u32),
    meter: &Meter<'_>,
) -> Result<Encoded, LoadError> {
    copy_nowhere(meter, |copy| copy.rows(seed, table, warehouse))
}

impl Copy<'_> {
    fn rows(&mut self, seed: u64, table: Table, warehouse: u32) -> io::Result<()> {
        let w = warehouse;
        match table {
            Table::Warehouse => self.each([rows::warehouse(seed, w)], |to, row| to.warehouse(&row)),
            Table::District => self.each(rows::districts(seed, w), |to, row| to.district(&row)),
            Table::Item => self.each(rows::items(seed), |to, row| to.item(&row)),
            Table::Stock => self.each(rows::stock(seed, w), |to, row| to.stock(w, &row)),
            _ => (1..=DISTRICTS).try_for_each(|d| self.district_rows(seed, table, w, d)),
        }
    }

    fn district_rows(&mut self, seed: u64, table: Table, w: u32, d: u32) -> io::Result<()> {
        match table {
            Table::Customer => self.each(rows::customers(seed, w, d), |to, row| {
                to.customer(w, d, &row);
            }),
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
    (Table::Stock, "VACUUM (ANALYZE) stock"),
    (Table::OrderLine, "VACUUM (ANALYZE) order_line"),
    (Table::Customer, "VACUUM (ANALYZE) customer"),
    (Table::History, "VACUUM (ANALYZE) history"),
    (Table::Orders, "VACUUM (ANALYZE) orders"),
    (Table::Item, "VACUUM (ANALYZE) item"),
    (Table::NewOrder, "VACUUM (ANALYZE) new_order"),
    (Table::District, "VACUUM (ANALYZE) district"),
    (Table::Warehouse, "VACUUM (ANALYZE) warehouse"),
];

fn add_keys(crew: &mut Crew<'_>) -> Result<(), LoadError> {
    let indexes = ahead_of(&mut crew.clients[0], steps(&schema::INDEXES))?;
    crew.steps("keys", "index", &indexes)?;
    // Quick, and each needs a lock that would keep the others waiting: one after the other.
    let client = &mut crew.clients[0];
    let keyed = Table::ALL.into_iter();
    let keyed = keyed.filter(|table| *table != Table::History);
    for key in ahead_of(client, keyed.map(primary_key).collect())? {
        key.run(client, Engine::Postgres, "add the primary key of")?;
    }
    for keys in ahead_of(client, steps(&schema::FOREIGN_KEYS))? {
        keys.run(client, Engine::Postgres, "add the foreign keys of")?;
    }
    let checks = ahead_of(client, steps(&schema::VALIDATIONS))?;
    crew.steps("keys", "check the foreign keys of", &checks)
}

fn ahead_of(client: &mut Client, steps: Vec<Step>) -> Result<Vec<Step>, LoadError> {
    ahead(steps, client, Engine::Postgres)
}

fn primary_key(table: Table) -> Step {
    let name = table.name();
    let key = format!("{name}_pkey");
    let add = format!("ALTER TABLE {name} ADD CONSTRAINT {key} PRIMARY KEY USING INDEX {key}");
    Step::new(name, add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Generator;
    use crate::tpcc::generate;
    use crate::tpcc::postgres::copy::Encoder;

    #[test]
    fn what_is_generated_is_what_the_encoder_makes() {
        let config = Config {
            warehouses: 1,
            seed: 7,
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
        let stock = encoded(&|to| rows::stock(7, 1).for_each(|row| to.stock(1, &row)));
        assert_eq!(told(Table::Stock), stock);
        let lines = encoded(&|to| {
            for d in 1..=DISTRICTS {
                rows::order_lines(7, 1, d).for_each(|row| to.order_line(1, d, &row));
            }
        });
        assert_eq!(told(Table::OrderLine), lines);
        assert_eq!(generated.rows(), rows_of(&units(1), 7));
    }

    #[test]
    fn what_was_made_is_found_again_in_the_catalogue() {
        let marks = |steps: Vec<Step>| steps.iter().flat_map(Step::marks).count();
        assert_eq!(marks(steps(&schema::INDEXES)), schema::INDEXES.len());
        assert_eq!(marks(steps(&schema::FOREIGN_KEYS)), 10);
        assert_eq!(marks(steps(&schema::VALIDATIONS)), 10);
        let key = primary_key(Table::Stock).marks();
        assert_eq!(key, ["stock constraint stock_pkey"]);
    }
}
