//! sysbench's workloads against real servers: rows, transactions, checks that see damage.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod foreign;
mod mysql;
mod resume;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use dbdyno_bench::driver::{ClientTarget, target};
use dbdyno_bench::oltp::{Config, Distribution, Kind, LoadError, Terminal, check, clean, load};
use dbdyno_bench::reactor::{Alarm, Reactor};
use dbdyno_bench::tpcc::When;
use dbdyno_bench::wire::{Session, Target};
use dbdyno_model::connection::Connection;
use dbdyno_target::lab::Binaries;
use dbdyno_testing::{Running, all_binaries, binaries};
use postgres::Client;

/// Of each test: terminals, and transactions on each.
const TERMINALS: u32 = 4;
const EACH: u32 = 100;

fn start(binaries: Binaries) -> Running {
    // Rows are few and hot: deadlocks are many.
    Running::start(binaries, &[("fsync", "off"), ("deadlock_timeout", "10ms")])
}

fn client(connection: &Connection) -> Client {
    ClientTarget::of(connection).unwrap().open().unwrap()
}

/// Two tables of a thousand rows.
fn config(kind: Kind) -> Config {
    Config {
        tables: 2,
        table_size: 1_000,
        seed: 5,
        segments: TERMINALS,
        ..Config::new(kind)
    }
}

fn load_quietly(connection: &Connection, config: &Config, threads: usize) {
    let never = AtomicBool::new(false);
    let loaded = load(connection, config, threads, &|_| (), &never);
    let loaded = loaded.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(loaded.rows, u64::from(config.tables) * config.table_size);
}

/// Names of the checks that fail.
fn failing(connection: &Connection, config: &Config, when: When) -> BTreeSet<String> {
    let checks = check(connection, config, when).unwrap();
    let names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, ["rows", "ids", "shape", "index"]);
    let failed = checks.into_iter().filter(|check| !check.passed);
    failed
        .map(|check| {
            let detail = check.detail.expect("a failed check says why");
            assert!(detail.contains("sbtest"), "{detail}");
            check.name
        })
        .collect()
}

/// Runs transactions on several terminals at once, as a driver would; returns how many ended.
fn run(connection: &Connection, config: &Config) -> u64 {
    let reactor = Reactor::new(Alarm::new().unwrap()).unwrap();
    let target = target(connection).unwrap();
    let mut ended = 0;
    let add = |count: u64| {
        ended += count;
        ControlFlow::Continue(())
    };
    let terminals = (0..TERMINALS).map(|index| terminal(&reactor, &target, config, index));
    let go_on = || ControlFlow::Continue(());
    reactor.run(terminals, add, go_on).unwrap();
    ended
}

async fn terminal(reactor: &Reactor, target: &Target, config: &Config, index: u32) -> u64 {
    let session = Session::open(reactor, target).await.unwrap();
    let mut terminal = Terminal::prepare(session, config, 77, index).await.unwrap();
    let mut ended = 0;
    for _ in 0..EACH {
        assert_eq!(terminal.next(), 0);
        while let Err(error) = terminal.execute().await {
            let server = error.server().unwrap_or_else(|| panic!("{error:?}"));
            // MariaDB's serialization failure has no SQLSTATE of its own.
            let passes = matches!(server.sqlstate.as_str(), "40P01" | "40001")
                || server.number == Some(1020)
                || Terminal::is_collision(&error);
            assert!(passes && terminal.may_retry(), "{error:?}");
            terminal.rollback().await.unwrap();
        }
        ended += 1;
    }
    ended
}

/// What a kind of transactions must have made of the tables, as SQL and its number for each run.
fn expected(kind: Kind, runs: i64) -> Vec<(&'static str, i64)> {
    const ROWS: &str = "SELECT (SELECT count(*) FROM sbtest1) + (SELECT count(*) FROM sbtest2)";
    let ended = i64::from(TERMINALS * EACH) * runs;
    match kind {
        Kind::Insert => vec![(ROWS, 2_000 + ended)],
        // How many depends on how often a row is drawn twice.
        Kind::Delete => Vec::new(),
        _ => vec![(ROWS, 2_000)],
    }
}

/// The sum of k, which each update of the index raises by one.
const SUM: &str = "SELECT (SELECT sum(k) FROM sbtest1) + (SELECT sum(k) FROM sbtest2)";

/// Loads, runs one way and the other, checks and cleans, with what asks the database for numbers.
fn cycle(connection: &Connection, kind: Kind, mut number: impl FnMut(&str) -> i64) {
    let config = config(kind);
    load_quietly(connection, &config, 2);
    assert_eq!(
        failing(connection, &config, When::AfterLoad),
        BTreeSet::new()
    );
    let before = number(SUM);
    for (pipelined, runs) in [(false, 1), (true, 2)] {
        let config = Config {
            pipelined,
            distribution: Distribution::ALL[runs as usize + 1],
            ..config
        };
        assert_eq!(run(connection, &config), u64::from(TERMINALS * EACH));
        let failed = failing(connection, &config, When::AfterRun);
        assert_eq!(failed, BTreeSet::new(), "{config:?}");
        for (sql, expected) in expected(kind, runs) {
            assert_eq!(number(sql), expected, "{config:?}: {sql}");
        }
        if kind == Kind::UpdateIndex {
            let updates = i64::from(TERMINALS * EACH) * runs;
            assert_eq!(number(SUM) - before, updates, "{config:?}");
        }
        if !kind.writes() {
            assert_eq!(number(SUM), before, "{config:?}");
        }
    }
    clean(connection, &config).unwrap();
}

#[test]
fn every_kind_loads_runs_and_is_cleaned() {
    for binaries in all_binaries() {
        let running = start(binaries);
        for kind in Kind::ALL {
            let connection = running.database(&kind.name().replace('-', "_"));
            let mut client = client(&connection);
            cycle(&connection, kind, |sql| {
                let sql = format!("SELECT ({sql})::bigint");
                client.query_one(&sql, &[]).unwrap().get(0)
            });
            let left = "SELECT count(*) FROM pg_class WHERE relname LIKE 'sbtest%'";
            let left: i64 = client.query_one(left, &[]).unwrap().get(0);
            assert_eq!(left, 0);
        }
    }
}

#[test]
fn a_seed_gives_the_same_rows_on_any_number_of_threads() {
    let running = start(binaries());
    let mut loads = Vec::new();
    for (name, threads, seed) in [("one", 1, 5), ("three", 3, 5), ("other", 2, 6)] {
        let connection = running.database(name);
        let config = Config {
            seed,
            ..config(Kind::ReadWrite)
        };
        load_quietly(&connection, &config, threads);
        let sums = ["sbtest1", "sbtest2"].map(|table| {
            let sql = format!("SELECT sum(hashtextextended(t::text, 0))::text FROM {table} AS t");
            let row = client(&connection).query_one(&sql, &[]).unwrap();
            row.get::<_, String>(0)
        });
        assert_ne!(sums[0], sums[1]);
        loads.push(sums);
    }
    assert_eq!(loads[0], loads[1]);
    assert_ne!(loads[0], loads[2]);
}

#[test]
fn ids_go_on_behind_the_load() {
    let running = start(binaries());
    let connection = running.database("sequence");
    load_quietly(&connection, &config(Kind::Insert), 1);
    let insert = "INSERT INTO sbtest2 (k) VALUES (1) RETURNING id";
    let id: i32 = client(&connection).query_one(insert, &[]).unwrap().get(0);
    assert_eq!(id, 1_001);
}

#[test]
fn loads_are_refused_stopped_and_cleaned() {
    let running = start(binaries());
    let connection = running.database("stops");
    let config = config(Kind::ReadWrite);
    let never = AtomicBool::new(false);
    let mut client = client(&connection);

    let stop = AtomicBool::new(false);
    let raise = |_| stop.store(true, Ordering::Relaxed);
    let stopped = load(&connection, &config, 2, &raise, &stop).unwrap_err();
    let is_stopped = matches!(
        stopped,
        LoadError::Load(dbdyno_bench::tpcc::LoadError::Stopped)
    );
    assert!(is_stopped, "{stopped:?}");
    let refused = load(&connection, &config, 1, &|_| (), &never).unwrap_err();
    let unfinished = matches!(
        &refused,
        LoadError::Load(dbdyno_bench::tpcc::LoadError::Unfinished { loaded })
            if loaded.contains("tables=2 table_size=1000")
    );
    assert!(unfinished, "{refused:?}");
    assert!(refused.hint().is_some());
    clean(&connection, &config).unwrap();
    clean(&connection, &config).unwrap();

    // A table of the user's own is neither filled nor dropped, and none is made beside it.
    client
        .batch_execute("CREATE TABLE sbtest2 (id integer, k integer, c text)")
        .unwrap();
    let refused = load(&connection, &config, 1, &|_| (), &never).unwrap_err();
    assert!(matches!(refused, LoadError::Exists(table) if table == "sbtest2"));
    clean(&connection, &config).unwrap();
    let left = "SELECT string_agg(relname, ' ') FROM pg_class WHERE relname LIKE 'sbtest%'";
    let left: String = client.query_one(left, &[]).unwrap().get(0);
    assert_eq!(left, "sbtest2");

    let none = Config {
        tables: 0,
        ..config
    };
    let refused = load(&connection, &none, 1, &|_| (), &never).unwrap_err();
    assert!(matches!(refused, LoadError::Config(_)));
}

/// Damage, repair, and the checks that fail in between.
const CASES: [(&str, &str, &[&str]); 5] = [
    (
        "DELETE FROM sbtest2 WHERE id = 7",
        "INSERT INTO sbtest2 SELECT 7, k, c, pad FROM sbtest2 WHERE id = 8",
        &["rows"],
    ),
    (
        "UPDATE sbtest1 SET id = 1001 WHERE id = 1",
        "UPDATE sbtest1 SET id = 1 WHERE id = 1001",
        &["ids"],
    ),
    (
        "UPDATE sbtest1 SET pad = pad || '1' WHERE id = 5",
        "UPDATE sbtest1 SET pad = (SELECT pad FROM sbtest1 WHERE id = 6) WHERE id = 5",
        &["shape"],
    ),
    (
        "DROP INDEX k_1",
        "CREATE INDEX k_1 ON sbtest1 (k)",
        &["index"],
    ),
    (
        "ALTER TABLE sbtest2 RENAME TO mine",
        "ALTER TABLE mine RENAME TO sbtest2",
        &["rows"],
    ),
];

#[test]
fn every_damage_is_named() {
    let running = start(binaries());
    let connection = running.database("damage");
    let config = config(Kind::ReadWrite);
    load_quietly(&connection, &config, 2);
    let mut client = client(&connection);
    for (damage, repair, expected) in CASES {
        client.batch_execute(damage).unwrap();
        let expected: BTreeSet<String> = expected.iter().map(|name| (*name).to_owned()).collect();
        let failed = failing(&connection, &config, When::AfterRun);
        assert_eq!(failed, expected, "{damage}");
        client.batch_execute(repair).unwrap();
    }
    assert_eq!(
        failing(&connection, &config, When::AfterLoad),
        BTreeSet::new()
    );
}
