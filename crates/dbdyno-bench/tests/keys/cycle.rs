//! What every server goes through: load, run, check, measure and clean, the same on both engines.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use dbdyno_bench::driver::target;
use dbdyno_bench::friends;
use dbdyno_bench::keys::{self, Config, Key, Kind, Order, Terminal};
use dbdyno_bench::reactor::{Alarm, Reactor};
use dbdyno_bench::tpcc::When;
use dbdyno_bench::wire::{Link, Session, Target, WireError};
use dbdyno_model::connection::{Connection, Engine};
use dbdyno_model::run::Check;

use super::within;

/// Of most tests.
pub(crate) const ROWS: u64 = 2_000;
const TERMINALS: u32 = 3;

/// Rows of a statement, statements of a transaction, and transactions on each terminal.
const WAYS: [(u32, Option<u32>, u32); 4] = [
    (1, None, 60),
    (10, None, 30),
    (1, Some(5), 30),
    (7, Some(3), 20),
];

/// Tables of ours that there are, on either engine.
pub(crate) const TABLES: &str = "SELECT count(*) FROM information_schema.tables
    WHERE table_name LIKE 'dbdyno%' AND table_schema NOT IN ('mysql', 'performance_schema', 'sys')";

pub(crate) fn open(connection: &Connection) -> Link {
    Link::open(&target(connection).unwrap()).unwrap()
}

pub(crate) fn number(connection: &Connection, sql: &str) -> i64 {
    let mut number = None;
    open(connection)
        .rows(sql, |mut row| {
            number = Some(row.int()?);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
    number.unwrap()
}

pub(crate) fn texts(connection: &Connection, sql: &str) -> Vec<String> {
    let mut texts = Vec::new();
    open(connection)
        .rows(sql, |mut row| {
            texts.push(row.text()?.to_owned());
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
    texts
}

pub(crate) fn keys_config(kind: Kind, key: Key, order: Order) -> Config {
    Config {
        key,
        order,
        rows: ROWS,
        seed: 5,
        ..Config::new(kind)
    }
}

pub(crate) fn load_quietly(connection: &Connection, config: &Config, threads: usize) {
    let never = AtomicBool::new(false);
    let loaded = keys::load(connection, config, threads, &|_| (), &never);
    let loaded = loaded.unwrap_or_else(|error| panic!("{config:?}: {error:?}"));
    assert_eq!(loaded.rows, config.rows);
}

fn failed(checks: Vec<Check>, expected: &[&str]) -> BTreeSet<String> {
    let names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, expected);
    let failed = checks.into_iter().filter(|check| !check.passed);
    failed
        .map(|check| {
            assert!(check.detail.is_some(), "a failed check says why");
            check.name
        })
        .collect()
}

/// Names of the checks that fail.
pub(crate) fn failing(connection: &Connection, config: &Config, when: When) -> BTreeSet<String> {
    let checks = keys::check(connection, config, when).unwrap();
    failed(checks, &["load", "rows", "keys", "duplicates", "fillers"])
}

/// Prepares one terminal and lets it go.
pub(crate) fn prepare(connection: &Connection, config: &Config) -> Result<(), WireError> {
    let reactor = Reactor::new(Alarm::new().unwrap()).unwrap();
    let target = target(connection).unwrap();
    let prepared = reactor.block_on(async {
        let session = Session::open(&reactor, &target).await?;
        Terminal::prepare(session, config, 1, 0).await.map(drop)
    });
    prepared.unwrap()
}

/// Whether the same transaction may pass the next time.
fn may_pass(error: &WireError) -> bool {
    // MariaDB's serialization failure has no SQLSTATE of its own.
    error.server().is_some_and(|server| {
        matches!(server.sqlstate.as_str(), "40P01" | "40001") || server.number == Some(1020)
    })
}

/// So many transactions on each of the terminals at once, as a driver would; returns how many ended.
pub(crate) fn insert(connection: &Connection, config: &Config, terminals: u32, each: u32) -> u64 {
    let reactor = Reactor::new(Alarm::new().unwrap()).unwrap();
    let target = target(connection).unwrap();
    let mut ended = 0;
    let add = |count: u64| {
        ended += count;
        ControlFlow::Continue(())
    };
    let terminals = (0..terminals).map(|index| terminal(&reactor, &target, config, index, each));
    let go_on = || ControlFlow::Continue(());
    reactor.run(terminals, add, go_on).unwrap();
    ended
}

async fn terminal(
    reactor: &Reactor,
    target: &Target,
    config: &Config,
    index: u32,
    each: u32,
) -> u64 {
    let session = Session::open(reactor, target).await.unwrap();
    let prepared = Terminal::prepare(session, config, 77, index).await;
    let mut terminal = prepared.unwrap_or_else(|error| panic!("{config:?}: {error}"));
    let mut ended = 0;
    for _ in 0..each {
        assert_eq!(terminal.next(), 0);
        while let Err(error) = terminal.execute().await {
            assert!(may_pass(&error), "{config:?}: {error:?}");
            terminal.rollback().await.unwrap();
        }
        ended += 1;
    }
    ended
}

/// Every kind of key in every order, inserted and selected in every way. The terminals have the same
/// seed each time, and yet insert other keys.
pub(crate) fn keys(connection: &Connection) {
    for kind in Kind::ALL {
        for key in Key::ALL {
            for order in Order::ALL {
                let config = keys_config(kind, key, order);
                load_quietly(connection, &config, 2);
                assert_eq!(
                    failing(connection, &config, When::AfterLoad),
                    BTreeSet::new(),
                    "{config:?}"
                );
                plausible(connection, &config, ROWS);
                let rows = run_all_ways(connection, &config);
                plausible(connection, &config, rows);
                assert!(keys::clean(connection, &config).unwrap());
                assert!(!keys::clean(connection, &config).unwrap());
                assert_eq!(number(connection, TABLES), 0, "{config:?}");
            }
        }
    }
}

/// Returns how many rows there are afterwards.
fn run_all_ways(connection: &Connection, config: &Config) -> u64 {
    let mut rows = config.rows;
    for (batch, transaction, each) in WAYS {
        let config = Config {
            batch,
            transaction,
            ..*config
        };
        let ended = insert(connection, &config, TERMINALS, each);
        assert_eq!(ended, u64::from(TERMINALS * each));
        if config.writes() {
            rows += ended * config.rows_per_transaction();
        }
        let stored = number(connection, "SELECT count(*) FROM dbdyno_keys");
        assert_eq!(stored as u64, rows, "{config:?}");
        assert_eq!(
            failing(connection, &config, When::AfterRun),
            BTreeSet::new(),
            "{config:?}"
        );
    }
    rows
}

fn plausible(connection: &Connection, config: &Config, rows: u64) {
    let footprint = &keys::footprint(connection, config).unwrap();
    assert_eq!(footprint.rows, rows, "{config:?}");
    // A row has its letters and a key at least; no page is less than a quarter full.
    let least = rows * u64::from(config.filler + 8);
    let most = least * 8 + 1_000_000;
    assert!(within(&footprint.table_bytes, least, most), "{footprint:?}");
    assert!(within(&footprint.index_bytes, 0, most), "{footprint:?}");
    assert!(
        within(&footprint.total_bytes, least, 2 * most),
        "{footprint:?}"
    );
    assert!(footprint.bytes_per_row().is_some_and(|bytes| bytes > 108.0));
    assert!(footprint.cache_bytes.is_some_and(|bytes| bytes > 1 << 20));
    assert!(!footprint.fills.is_empty());
    let is_known = connection.engine == Engine::MySql || {
        let extension = "SELECT count(*) FROM pg_extension WHERE extname = 'pgstattuple'";
        number(connection, extension) > 0
    };
    for fill in &footprint.fills {
        match fill.fill.get() {
            Some(share) => assert!((0.2..=1.0).contains(&share), "{fill:?}"),
            None => assert!(!is_known, "{fill:?}"),
        }
    }
}

pub(crate) fn friends_config(kind: friends::Kind) -> friends::Config {
    friends::Config {
        rows: ROWS,
        friends: 20,
        seed: 5,
        ..friends::Config::new(kind)
    }
}

/// By either key; both tables hold the same rows.
pub(crate) fn friends(connection: &Connection) {
    const ALL: [&str; 5] = ["load", "rows", "users", "friends", "duplicates"];
    let cast = match connection.engine {
        Engine::Postgres => "bigint",
        Engine::MySql => "signed",
    };
    let mut sums = Vec::new();
    for kind in friends::Kind::ALL {
        let config = friends_config(kind);
        let never = AtomicBool::new(false);
        let loaded = friends::load(connection, &config, 2, &|_| (), &never);
        let loaded = loaded.unwrap_or_else(|error| panic!("{config:?}: {error:?}"));
        assert_eq!(loaded.rows, ROWS);
        for when in [When::AfterLoad, When::AfterRun] {
            let checks = friends::check(connection, &config, when).unwrap();
            assert_eq!(failed(checks, &ALL), BTreeSet::new(), "{config:?}");
            ask(connection, &config);
        }
        sums.push(number(
            connection,
            &format!(
                "SELECT CAST(sum(id * user_id * 7 + id * friend_user_id) AS {cast})
                 FROM dbdyno_friends"
            ),
        ));
        let footprint = friends::footprint(connection, &config).unwrap();
        assert_eq!(footprint.rows, ROWS);
        assert!(within(&footprint.table_bytes, ROWS * 30, 1_000_000));
        assert!(within(&footprint.index_bytes, ROWS * 16, 1_000_000));
        let fills = match connection.engine {
            Engine::Postgres => 4,
            Engine::MySql => 3,
        };
        assert_eq!(footprint.fills.len(), fills, "{footprint:?}");
        open(connection)
            .run("DELETE FROM dbdyno_friends WHERE id = 7")
            .unwrap();
        let checks = friends::check(connection, &config, When::AfterRun).unwrap();
        let missed: Vec<String> = failed(checks, &ALL).into_iter().collect();
        assert_eq!(missed, ["rows", "users"]);
        assert!(friends::clean(connection, &config).unwrap());
        assert_eq!(number(connection, TABLES), 0);
    }
    assert_eq!(sums[0], sums[1]);
}

/// Each of some hundred queries has to find as many friends as were loaded, or it fails.
fn ask(connection: &Connection, config: &friends::Config) {
    let reactor = Reactor::new(Alarm::new().unwrap()).unwrap();
    let target = target(connection).unwrap();
    let asked = reactor.block_on(async {
        let session = Session::open(&reactor, &target).await?;
        let mut terminal = friends::Terminal::prepare(session, config, 3, 1).await?;
        for _ in 0..300 {
            assert_eq!(terminal.next(), 0);
            terminal.execute().await?;
        }
        Ok::<(), WireError>(())
    });
    asked.unwrap().unwrap();
}
