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

use dbdyno_model::connection::Connection;

use super::connect::{open_at, try_set};
use super::load_data::{Encoder, Form, Source, source};
use super::schema::Schema;
use super::{schema, stored};
use crate::driver::target;
use crate::tpcc::Config;
use crate::tpcc::crew::{Crew, refused};
use crate::tpcc::load::{Loaded, Progress, Unit, rows_total, units};
use crate::tpcc::load_error::{ClientError, LoadError};
use crate::tpcc::names::{Names, statements};
use crate::tpcc::schema::Table;
use crate::tpcc::shift::Meter;
use crate::wire::Link;
use crate::wire::{Target, WireError};

/// Bytes of a file sent at a time: large enough that system calls do not count.
const CHUNK: usize = 256 * 1024;

/// Rows and bytes of one INSERT: enough to hide its own costs, and far below the smallest
/// `max_allowed_packet` that anybody has.
const INSERT_ROWS: u64 = 500;
const INSERT_BYTES: usize = 512 * 1024;

/// Creates and fills the tables on `threads` connections, which it does not share with anybody.
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
    let target = target(connect).map_err(|error| unreachable(error.into()))?;
    let open = || open_for_load(&target).map_err(|error| unreachable(error.into()));
    let crew = Crew {
        target: &target,
        threads: threads.max(1),
        open: &open,
        progress,
        stop,
    };
    let mut own = open()?;
    // All at once, so that a server that admits fewer says so before anything is made.
    let others: Vec<Link> = (0..crew.threads)
        .map(|_| open())
        .collect::<Result<_, _>>()?;
    drop(others);
    let start = Instant::now();
    let form = form(&mut own).map_err(sql("read", "@@local_infile"))?;
    create_tables(&mut own, config)?;
    let rows = load_rows(&crew, config, form)?;
    let seconds_rows = start.elapsed().as_secs_f64();
    add_keys(&crew, &mut own, config)?;
    let seconds_keys = start.elapsed().as_secs_f64() - seconds_rows;
    let analyze = statements(config, &schema::ANALYZE);
    crew.statements("analyze", "analyze", &analyze)?;
    stored::finish(&mut own).map_err(sql("update", "table dbdyno_tpcc"))?;
    let seconds = start.elapsed().as_secs_f64();
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

/// All tables or none. CREATE TABLE commits, so that a name already taken is looked for before
/// anything is made, and what a refusal leaves half-made is removed.
fn create_tables(link: &mut Link, config: &Config) -> Result<(), LoadError> {
    let taken = first_taken(link, config).map_err(sql("look for", "the tables"))?;
    if let Some(table) = taken {
        let source = None;
        return Err(LoadError::Exists { table, source });
    }
    let mut created = Vec::new();
    let all = create_each(link, config, &mut created);
    if all.is_err() && !created.is_empty() {
        // Nobody needs to know that this failed too.
        let _ = link.run(&format!("DROP TABLE IF EXISTS {}", created.join(", ")));
    }
    all
}

fn first_taken(link: &mut Link, config: &Config) -> Result<Option<String>, WireError> {
    let mut names = vec![stored::TABLE.to_owned()];
    for set in config.names() {
        names.extend(Table::ALL.map(|table| set.table(table).to_owned()));
    }
    let list: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    let look = format!(
        "SELECT table_name FROM information_schema.tables
         WHERE table_schema = database() AND table_name IN ({})",
        list.join(", ")
    );
    let mut found: Vec<String> = Vec::new();
    link.rows(&look, |mut row| {
        found.push(row.text()?.to_owned());
        Ok(())
    })?;
    Ok(names.into_iter().find(|name| found.contains(name)))
}

fn create_each(
    link: &mut Link,
    config: &Config,
    created: &mut Vec<String>,
) -> Result<(), LoadError> {
    let schema = Schema::of(config.layout);
    let create = format!("{} {}", stored::CREATE, schema::OPTIONS);
    create_one(link, stored::TABLE, &create)?;
    created.push(stored::TABLE.to_owned());
    // Before the others: it says what they are called.
    stored::begin(link, config).map_err(sql("insert into", "table dbdyno_tpcc"))?;
    for (table, create) in statements(config, schema.create) {
        create_one(link, &table, &format!("{create} {}", schema.options))?;
        created.push(table);
    }
    Ok(())
}

fn create_one(link: &mut Link, table: &str, create: &str) -> Result<(), LoadError> {
    let done = link.run(create);
    done.map(drop).map_err(|error| not_created(table, error))
}

/// Somebody else may have been quicker.
fn not_created(table: &str, error: WireError) -> LoadError {
    const TABLE_EXISTS: u16 = 1050;
    let source = ClientError::from(error);
    if source.number() == Some(TABLE_EXISTS) {
        let (table, source) = (table.to_owned(), Some(source));
        return LoadError::Exists { table, source };
    }
    LoadError::Sql {
        operation: "create",
        object: format!("table {table}"),
        source,
    }
}

fn load_rows(crew: &Crew<'_>, config: &Config, form: Form) -> Result<u64, LoadError> {
    let units = units(config);
    let total = rows_total(config);
    crew.work("rows", &units, total, &|link, unit, meter| {
        let &Unit {
            set,
            table,
            warehouse,
        } = unit;
        let rows = || source(config.layout, config.set_seed(set), table, warehouse);
        let names = Names::new(config.layout, set, config.sets);
        let place = Place::columns_of(names.table(table));
        send_rows(link, form, place, &rows, meter)
    })
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

/// Sends the rows of one unit, in one transaction. MariaDB locks an empty table as a whole for its
/// first rows, and of threads that begin one together all but one may be told of a deadlock.
pub(crate) fn send_rows(
    link: &mut Link,
    form: Form,
    place: Place<'_>,
    rows: &dyn Fn() -> Source,
    meter: &Meter<'_>,
) -> Result<(), LoadError> {
    const TRIES: u32 = 20;
    for _ in 1..TRIES {
        let sent = send_once(link, form, place, rows(), meter);
        if !matches!(&sent, Err(error) if error.is_deadlock()) {
            return sent;
        }
    }
    send_once(link, form, place, rows(), meter)
}

fn send_once(
    link: &mut Link,
    form: Form,
    place: Place<'_>,
    rows: Source,
    meter: &Meter<'_>,
) -> Result<(), LoadError> {
    let mut counted = 0;
    let mut count = |rows| {
        counted += rows;
        meter.add(rows);
    };
    let sent = match form {
        Form::File => send_file(link, place, rows, meter, &mut count),
        Form::Values => insert(link, place.table, rows, meter, &mut count),
    };
    sent.inspect_err(|_| meter.take_back(counted))
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
        let any = !meter.stopped() && encoder.fill(&mut rows, CHUNK, u64::MAX);
        if any {
            let count = encoder.take(part);
            sent += count;
            counted(count);
        }
        any
    };
    let done = link
        .send_file(&load, next)
        .map_err(refused("load into", table))?;
    if meter.stopped() {
        return Err(LoadError::Stopped);
    }
    all_taken(done.affected, sent).map_err(refused("load into", table))
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
    link.run("BEGIN").map_err(failed)?;
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
    link.run("COMMIT").map_err(failed)?;
    Ok(())
}

fn add_keys(crew: &Crew<'_>, own: &mut Link, config: &Config) -> Result<(), LoadError> {
    let schema = Schema::of(config.layout);
    let indexes = statements(config, &schema.indexes(config.foreign_keys));
    crew.statements("keys", "index", &indexes)?;
    if !config.foreign_keys {
        return Ok(());
    }
    // Quick, and each needs a lock on its parents that would keep the others waiting, or be a
    // deadlock: one after the other.
    for (table, statement) in statements(config, schema.foreign_keys) {
        if crew.stop.load(Ordering::Relaxed) {
            return Err(LoadError::Stopped);
        }
        own.run(&statement)
            .map_err(refused("add the foreign keys of", &table))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_left_out_is_missed() {
        assert!(all_taken(3, 3).is_ok());
        let error = all_taken(2, 3).unwrap_err();
        assert!(error.to_string().contains("2 rows of 3"), "{error}");
    }

    #[test]
    fn a_table_that_somebody_else_made_is_told_apart() {
        let refused = |number| {
            let error = crate::wire::ServerError {
                sqlstate: "42S01".to_owned(),
                number: Some(number),
                message: String::new(),
                hint: None,
                fatal: false,
            };
            not_created("stock", error.into())
        };
        assert!(matches!(
            refused(1050),
            LoadError::Exists { table, .. } if table == "stock"
        ));
        assert!(matches!(refused(1142), LoadError::Sql { .. }));
    }
}
