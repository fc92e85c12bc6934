//! Loads the database: rows by LOAD DATA LOCAL, then keys, then statistics, on several connections.
//!
//! Where the server does not take files (`local_infile`, off on MySQL unless somebody has switched it
//! on), rows come by INSERT, some hundreds in a statement. InnoDB keeps rows in their primary key:
//! they arrive in its order, which fills one page after the other. All other keys come afterwards:
//! sorted and built at once they cost a fraction of what they cost row by row.
//!
//! A unit of work is one table of one warehouse, so that rows are spread evenly over any number of
//! threads; every unit draws from streams of its own, so that the rows do not depend on the number.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use dbdyno_model::connection::{Connection, Engine};

use super::connect::{open_at, try_set};
use super::load_data::{Encoder, Form, Source, source};
use super::schema::Schema;
use super::{schema, stored};
use crate::generate::Encoded;
use crate::ledger::{Begun, Done, INNODB, Ledger, Plan, Start, ahead};
use crate::tpcc::Config;
use crate::tpcc::crew::{Crew, refused};
use crate::tpcc::load::{Loaded, Progress, Unit, ledger, rows_of, steps, unit_name, units};
use crate::tpcc::load_error::LoadError;
use crate::tpcc::names::{Names, statements};
use crate::tpcc::shift::Meter;
use crate::tpcc::stored::left_to_resume;
use crate::wire::Link;
use crate::wire::{Target, WireError};

/// Bytes of a file sent at a time: large enough that system calls do not count.
const CHUNK: usize = 256 * 1024;

/// Rows and bytes of one INSERT: enough to hide its own costs, and far below the smallest
/// `max_allowed_packet` that anybody has.
const INSERT_ROWS: u64 = 500;
const INSERT_BYTES: usize = 512 * 1024;

/// Creates and fills the tables on `threads` connections, which it does not share with anybody, or
/// goes on with that.
pub(crate) fn load(
    connect: &Connection,
    config: &Config,
    threads: usize,
    start: Start,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    config.is_possible()?;
    let (crew, mut own) = Crew::open(connect, threads, progress, stop)?;
    let clock = Instant::now();
    let form = form(&mut own).map_err(sql("read", "@@local_infile"))?;
    let ledger = ledger(Engine::MySql, config);
    let done = match plan(&ledger, config).begin(&mut own, start)? {
        Begun::Ready(done) => done,
        Begun::Unrecorded(table) => {
            let read = stored::read_back(&mut own);
            return left_to_resume(read, Engine::MySql, config, table);
        }
    };
    let rows = load_rows(&crew, config, form, &ledger, &done)?;
    let seconds_rows = clock.elapsed().as_secs_f64();
    add_keys(&crew, &mut own, config)?;
    let seconds_keys = clock.elapsed().as_secs_f64() - seconds_rows;
    let analyze = ledger.recorded(&done, "analyze", steps(config, &schema::ANALYZE));
    crew.steps("analyze", "analyze", &analyze)?;
    ledger.close(&mut own, Some(stored::FINISH))?;
    let seconds = clock.elapsed().as_secs_f64();
    Ok(Loaded {
        rows,
        seconds,
        seconds_rows,
        seconds_analyze: seconds - seconds_rows - seconds_keys,
        seconds_keys,
    })
}

fn sql(operation: &'static str, object: &'static str) -> impl FnOnce(WireError) -> LoadError {
    move |source| LoadError::Sql {
        operation,
        object: object.to_owned(),
        source: source.into(),
    }
}

/// With settings of the session that make a load fast, none of which outlives it.
pub(crate) fn open_for_load(target: &Target) -> Result<Link, WireError> {
    let mut link = open_at(target)?;
    // Unique checks stay on: there is nothing unique but the primary key, and without them MariaDB
    // sorts the first rows of an empty table in files of its own, which takes it twice the CPU.
    link.run(
        "SET SESSION foreign_key_checks = 0, innodb_lock_wait_timeout = 86400,
            wait_timeout = 86400",
    )?;
    if !is_replicated(&mut link)? {
        try_set(&mut link, "sql_log_bin = 0")?;
    }
    Ok(link)
}

/// Whether other servers follow this one or it follows others, as far as this user may see. Rows
/// that were kept from the binary log would be missing there when transactions come to them.
fn is_replicated(link: &mut Link) -> Result<bool, WireError> {
    const CONNECTIONS: &str = "SELECT count(*) FROM information_schema.processlist
        WHERE command LIKE 'Binlog Dump%' OR user = 'system user'";
    let mut connections = 0;
    let read = link.rows(CONNECTIONS, |mut row| {
        connections = row.int()?;
        Ok(())
    });
    match read {
        Ok(_) => Ok(connections > 0),
        // Not to be found out: rather slow than wrong.
        Err(WireError::Server(error)) if !error.fatal => Ok(true),
        Err(error) => Err(error),
    }
}

/// How the server takes rows.
pub(crate) fn form(link: &mut Link) -> Result<Form, WireError> {
    let mut files = false;
    link.rows("SELECT @@local_infile", |mut row| {
        files = row.int()? != 0;
        Ok(())
    })?;
    Ok(if files { Form::File } else { Form::Values })
}

fn plan<'l>(ledger: &'l Ledger, config: &Config) -> Plan<'l> {
    let schema = Schema::of(config.layout);
    let own = (
        stored::TABLE.to_owned(),
        format!("{} {INNODB}", stored::CREATE),
    );
    let others = statements(config, schema.create).into_iter();
    let others = others.map(|(table, create)| (table, format!("{create} {}", schema.options)));
    Plan {
        ledger,
        tables: [own].into_iter().chain(others).collect(),
        insert: Some(stored::begin(config)),
    }
}

fn load_rows(
    crew: &Crew<'_>,
    config: &Config,
    form: Form,
    ledger: &Ledger,
    done: &Done,
) -> Result<u64, LoadError> {
    let units = done.ahead(units(config), unit_name)?;
    let total = rows_of(config, &units);
    crew.work("rows", &units, total, &|link, unit, meter| {
        let record = ledger.record_unit(&unit_name(unit));
        let rows = || source_of(config, unit);
        let names = Names::new(config.layout, unit.set, config.sets);
        let place = Place::columns_of(names.table(unit.table));
        send_rows(link, form, place, &record, &rows, meter)
    })
}

fn source_of(config: &Config, unit: &Unit) -> Source {
    let seed = config.set_seed(unit.set);
    source(config.layout, seed, unit.table, unit.warehouse)
}

/// The rows of a unit without a server, as a file.
pub(in crate::tpcc) fn encode_unit_nowhere(
    config: &Config,
    unit: &Unit,
    meter: &Meter<'_>,
) -> Result<Encoded, LoadError> {
    encode_nowhere(source_of(config, unit), meter)
}

/// Where rows go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) table: &'a str,
    /// What becomes of the fields of a line; nothing where they are the columns.
    pub(crate) fields: &'a str,
}

impl<'a> Place<'a> {
    pub(crate) fn columns_of(table: &'a str) -> Self {
        Self { table, fields: "" }
    }
}

/// Runs `record` and sends the rows of one unit, in one transaction. MariaDB locks an empty
/// table as a whole for its first rows, and of threads that begin one together all but one may be
/// told of a deadlock.
pub(crate) fn send_rows(
    link: &mut Link,
    form: Form,
    place: Place<'_>,
    record: &str,
    rows: &dyn Fn() -> Source,
    meter: &Meter<'_>,
) -> Result<(), LoadError> {
    const TRIES: u32 = 20;
    for _ in 1..TRIES {
        let sent = send_once(link, form, place, record, rows(), meter);
        if !matches!(&sent, Err(error) if error.is_deadlock()) {
            return sent;
        }
    }
    send_once(link, form, place, record, rows(), meter)
}

fn send_once(
    link: &mut Link,
    form: Form,
    place: Place<'_>,
    record: &str,
    rows: Source,
    meter: &Meter<'_>,
) -> Result<(), LoadError> {
    let mut counted = 0;
    let mut count = |rows| {
        counted += rows;
        meter.add(rows);
    };
    let sent = in_transaction(link, place.table, record, |link| match form {
        Form::File => send_file(link, place, rows, meter, &mut count),
        Form::Values => insert(link, place.table, rows, meter, &mut count),
    });
    sent.inspect_err(|_| meter.take_back(counted))
}

fn in_transaction(
    link: &mut Link,
    table: &str,
    record: &str,
    rows: impl FnOnce(&mut Link) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    let failed = refused("load into", table);
    link.run("BEGIN").map_err(failed)?;
    // First, so that who loads the same unit waits for this one row: waiting for the others, while what was cut off is
    // still rolled back, makes that rollback quadratic.
    link.run(record).map_err(failed)?;
    rows(link)?;
    link.run("COMMIT").map_err(failed)?;
    Ok(())
}

fn send_file(
    link: &mut Link,
    Place { table, fields }: Place<'_>,
    mut rows: Source,
    meter: &Meter<'_>,
    counted: &mut dyn FnMut(u64),
) -> Result<(), LoadError> {
    let load = format!(
        "LOAD DATA LOCAL INFILE 'dbdyno' INTO TABLE {table} CHARACTER SET utf8mb4 {fields}"
    );
    let mut encoder = Encoder::new(Form::File);
    let mut sent = 0;
    let next = |part: &mut Vec<u8>| {
        let count = next_part(&mut encoder, &mut rows, meter, part);
        sent += count;
        counted(count);
        count > 0
    };
    let done = link
        .send_file(&load, next)
        .map_err(refused("load into", table))?;
    if meter.stopped() {
        return Err(LoadError::Stopped);
    }
    all_taken(done.affected, sent).map_err(refused("load into", table))
}

/// Rows that follow in a file; none at its end or when somebody wants to stop.
fn next_part(
    encoder: &mut Encoder,
    rows: &mut Source,
    meter: &Meter<'_>,
    part: &mut Vec<u8>,
) -> u64 {
    if !meter.stopped() && encoder.fill(rows, CHUNK, u64::MAX) {
        encoder.take(part)
    } else {
        0
    }
}

/// The same file without a server.
pub(crate) fn encode_nowhere(mut rows: Source, meter: &Meter<'_>) -> Result<Encoded, LoadError> {
    let mut encoder = Encoder::new(Form::File);
    let mut part = Vec::new();
    let mut encoded = Encoded::default();
    loop {
        let count = next_part(&mut encoder, &mut rows, meter, &mut part);
        if count == 0 {
            break;
        }
        meter.add(count);
        encoded.rows += count;
        encoded.bytes += part.len() as u64;
    }
    if meter.stopped() {
        return Err(LoadError::Stopped);
    }
    Ok(encoded)
}

/// A file from a client is loaded as if by INSERT IGNORE: what does not fit is left out in silence.
fn all_taken(taken: u64, sent: u64) -> Result<(), WireError> {
    if taken == sent {
        return Ok(());
    }
    Err(WireError::protocol(format!(
        "the server took {taken} rows of {sent}"
    )))
}

fn insert(
    link: &mut Link,
    table: &str,
    mut rows: Source,
    meter: &Meter<'_>,
    counted: &mut dyn FnMut(u64),
) -> Result<(), LoadError> {
    let failed = refused("insert into", table);
    let head = format!("INSERT INTO {table} VALUES ");
    let mut encoder = Encoder::new(Form::Values);
    let mut statement = Vec::new();
    loop {
        if meter.stopped() {
            return Err(LoadError::Stopped);
        }
        encoder.head(&head);
        if !encoder.fill(&mut rows, INSERT_BYTES, INSERT_ROWS) {
            break;
        }
        let count = encoder.take(&mut statement);
        // Nothing but ASCII is ever written.
        let sql = std::str::from_utf8(&statement).unwrap_or_default();
        let done = link.run(sql).map_err(failed)?;
        all_taken(done.affected, count).map_err(failed)?;
        counted(count);
    }
    Ok(())
}

fn add_keys(crew: &Crew<'_>, own: &mut Link, config: &Config) -> Result<(), LoadError> {
    let schema = Schema::of(config.layout);
    let indexes = steps(config, &schema.indexes(config.foreign_keys));
    crew.steps("keys", "index", &ahead(indexes, own, Engine::MySql)?)?;
    if !config.foreign_keys {
        return Ok(());
    }
    let foreign_keys = steps(config, schema.foreign_keys);
    // Quick, and each needs a lock on its parents that would keep the others waiting, or be a
    // deadlock: one after the other.
    for keys in ahead(foreign_keys, own, Engine::MySql)? {
        if crew.stop.load(Ordering::Relaxed) {
            return Err(LoadError::Stopped);
        }
        keys.run(own, Engine::MySql, "add the foreign keys of")?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "loader_tests.rs"]
mod tests;
