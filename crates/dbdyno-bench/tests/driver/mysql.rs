//! The driver against MySQL and MariaDB, where their protocol, their locks or their way to die matters.
//! What thinks, draws and counts is the same code on every server, and tested on PostgreSQL.

mod logins;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dbdyno_bench::Workload;
use dbdyno_bench::driver::{Driver, DriverError, NoSampler, Options, Until, target};
use dbdyno_bench::wire::Link;
use dbdyno_model::connection::Connection;
use dbdyno_testing::{MySql, MySqlBinaries};

use super::killed::killed_under_load;
use super::{alone, observe, script};

/// A server whose process may be killed: what it has written is the kernel's then, on disk or not.
fn start(binaries: &MySqlBinaries) -> MySql {
    let settings = [
        ("innodb-flush-log-at-trx-commit", "2"),
        ("sync-binlog", "0"),
        ("local-infile", "1"),
    ];
    MySql::start(binaries, &settings)
}

fn open(connection: &Connection) -> Link {
    Link::open(&target(connection).unwrap()).unwrap()
}

/// A new database on the server.
fn database(server: &MySql, name: &str) -> Connection {
    let made = open(&server.connection()).run(&format!("CREATE DATABASE {name}"));
    made.unwrap();
    Connection {
        database: name.into(),
        ..server.connection()
    }
}

fn numbers(connection: &Connection, sql: &str) -> Vec<i64> {
    let mut numbers = Vec::new();
    open(connection)
        .rows(sql, |mut row| {
            numbers.push(row.int()?);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
    numbers
}

fn number(connection: &Connection, sql: &str) -> i64 {
    numbers(connection, sql)[0]
}

/// Reads a script and runs its setup.
fn load(connection: &Connection, text: &str) -> Workload {
    let workload = script(text);
    let loaded = workload.load(connection, 1, &|_| (), &AtomicBool::new(false));
    loaded.unwrap_or_else(|error| panic!("{error}"));
    workload
}

fn drive(connection: &Connection, workload: &Workload, options: &Options) -> Driver {
    let started = Driver::start(connection, workload, options);
    started.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn needs_mysql_an_interrupt_and_a_stall_are_told_as_they_are() {
    let _alone = alone();
    for binaries in &MySqlBinaries::all() {
        let server = start(binaries);
        cancels(&database(&server, "cancels"));
        keeps_its_rate(&database(&server, "paced"));
        // MySQL makes a certificate for itself.
        if binaries.is_mariadb() {
            logins::refuses_to_go_without_tls(&server);
        }
    }
}

const HELD: &str = "\
-- dbdyno: setup
CREATE TABLE held (id int PRIMARY KEY, n bigint NOT NULL);
INSERT INTO held VALUES (1, 0);
-- dbdyno: transaction wait
UPDATE held SET n = n + 1 WHERE id = 1;
";

/// An interrupt leaves no statement behind that goes on waiting for a lock.
fn cancels(connection: &Connection) {
    const CONNECTIONS: u32 = 3;
    let workload = load(connection, HELD);
    let mut holder = open(connection);
    for sql in ["BEGIN", "SELECT n FROM held WHERE id = 1 FOR UPDATE"] {
        holder.run(sql).unwrap();
    }
    let waiting = || {
        let updates = "SELECT count(*) FROM information_schema.processlist
            WHERE info LIKE '%UPDATE held SET n%' AND id <> connection_id()";
        number(connection, updates)
    };
    let options = Options {
        connections: CONNECTIONS,
        ..Options::default()
    };
    let mut driver = drive(connection, &workload, &options);
    await_that(|| waiting() == i64::from(CONNECTIONS));
    let stop = Arc::clone(&options.stop);
    let setter = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
        Instant::now()
    });
    let until = Until::Elapsed(Duration::from_secs(40));
    let error = driver
        .observe(until, &mut NoSampler, &mut |_| ())
        .unwrap_err();
    let set = setter.join().unwrap();
    assert!(
        matches!(error, DriverError::Interrupted { observed: Some(_) }),
        "{error}"
    );
    drop(driver);
    assert!(set.elapsed() < Duration::from_secs(10));
    // InnoDB itself would let them wait for 50 s.
    await_that(|| waiting() == 0);
}

/// For ten seconds at most.
fn await_that(condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(10));
        thread::sleep(Duration::from_millis(50));
    }
}

const TALLY: &str = "\
-- dbdyno: setup
CREATE TABLE tally (id int PRIMARY KEY, n bigint NOT NULL);
INSERT INTO tally VALUES (0, 0), (1, 0), (2, 0), (3, 0);
-- dbdyno: transaction count
UPDATE tally SET n = n + 1 WHERE id = :client_id;
";

/// What comes due while the table is locked waits for the rest of a second, and is charged with it.
fn keeps_its_rate(connection: &Connection) {
    let workload = load(connection, TALLY);
    let options = Options {
        connections: 4,
        ..Options::default()
    };
    let mut driver = drive(connection, &workload, &options);
    driver.set_open_loop(200.0).unwrap();
    let locking = connection.clone();
    let locker = thread::spawn(move || {
        thread::sleep(Duration::from_millis(500));
        let mut link = open(&locking);
        for sql in ["LOCK TABLES tally WRITE", "DO sleep(1)", "UNLOCK TABLES"] {
            link.run(sql)
                .unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
    });
    let observed = observe(&mut driver, 3.0);
    locker.join().unwrap();
    let stopped = driver.stop().unwrap();

    let arrivals = observed.open_loop.unwrap();
    let due = arrivals.begun + arrivals.backlog;
    assert!(due.abs_diff(600) <= 60, "{arrivals:?}");
    let latency = observed.latency(0.0).overall.unwrap();
    assert!(latency.p99 > 500.0, "{latency:?}");
    let totals = observed.totals(0.0);
    assert!(totals.errors.is_empty(), "{totals:?}");
    let counted = number(connection, "SELECT CAST(sum(n) AS signed) FROM tally");
    assert_eq!(counted as u64, stopped.committed);
}

#[test]
fn needs_mysql_a_server_that_is_killed_twice_is_loaded_again_and_lost_nothing() {
    let _alone = alone();
    for binaries in &MySqlBinaries::all() {
        let mut server = start(binaries);
        let connection = database(&server, "killed");
        let writing = || {
            let writers = "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx
                WHERE trx_mysql_thread_id > 0 AND trx_rows_modified > 0";
            numbers(&connection, writers)
        };
        let ordered = || {
            let orders = "SELECT CAST(sum(d_next_o_id - 3001) AS signed) FROM district";
            number(&connection, orders)
        };
        let observed = killed_under_load(&connection, writing, || server.crash(), ordered);
        let counts = &observed.counts_200ms;
        assert!(counts.contains(&0), "the gap is seen: {counts:?}");
    }
}
