//! TPC-C against real servers: rows, keys, transactions, and checks that see every kind of damage.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod counts;
mod damage;
mod failures;
mod isolation;
mod layouts;
mod loads;
mod mysql;
mod procedures;
mod resume;
mod sysbench;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use dbdyno_bench::driver::{ClientTarget, target};
use dbdyno_bench::reactor::{Alarm, Reactor};
use dbdyno_bench::tpcc::{
    Config, End, Mode, TRANSACTIONS, Terminal, When, check, constants, install, load, read_back,
};
use dbdyno_bench::wire::{Session, Target};
use dbdyno_model::connection::Connection;
use dbdyno_target::lab::Binaries;
use dbdyno_testing::Running;
use postgres::Client;

fn start(binaries: Binaries) -> Running {
    Running::start(binaries, &[("fsync", "off")])
}

fn client(connection: &Connection) -> Client {
    ClientTarget::of(connection).unwrap().open().unwrap()
}

fn number(connection: &Connection, sql: &str) -> i64 {
    client(connection).query_one(sql, &[]).unwrap().get(0)
}

fn load_quietly(connection: &Connection, config: &Config, threads: usize) -> u64 {
    let loaded = load(
        connection,
        config,
        threads,
        &|_| (),
        &AtomicBool::new(false),
    );
    loaded.unwrap_or_else(|error| panic!("{error:?}")).rows
}

/// Names of the checks that fail.
fn failing(connection: &Connection, when: When) -> BTreeSet<String> {
    let stored = read_back(connection).unwrap();
    let checks = check(connection, &stored.config, when).unwrap();
    let numbers: Vec<String> = (1..=12).map(|number| format!("3.3.2.{number}")).collect();
    let names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, numbers);
    checks
        .into_iter()
        .filter(|check| !check.passed)
        .map(|check| {
            let detail = check.detail.expect("a failed check says why");
            assert!(detail.contains("warehouse "), "{detail}");
            check.name
        })
        .collect()
}

/// Each of so many transactions is one statement and one round trip where routines do them.
fn one_statement_each(connection: &Connection, stored: &Config, transactions: u32) {
    let reactor = Reactor::new(Alarm::new().unwrap()).unwrap();
    let target = target(connection).unwrap();
    let running = async {
        let session = Session::open(&reactor, &target).await.unwrap();
        let constants = constants(stored.seed);
        let terminal = Terminal::prepare(session, stored, Mode::Procedures, &constants, 5, 0);
        let mut terminal = terminal.await.unwrap();
        for _ in 0..transactions {
            let before = terminal.session().sent();
            let transaction = TRANSACTIONS[terminal.next()];
            terminal.execute().await.unwrap();
            let after = terminal.session().sent();
            let statements = after.statements - before.statements;
            let round_trips = after.round_trips - before.round_trips;
            assert_eq!((statements, round_trips), (1, 1), "{transaction}");
        }
    };
    reactor.block_on(running).unwrap();
}

#[derive(Default, Debug)]
struct Counts {
    committed: [u64; 5],
    rolled_back: u64,
    retried: u64,
}

/// Runs this many transactions on each of the terminals at once, as a driver would.
fn run(connection: &Connection, stored: &Config, mode: Mode, terminals: u32, each: u32) -> Counts {
    install(connection, stored, mode).unwrap();
    let reactor = Reactor::new(Alarm::new().unwrap()).unwrap();
    let target = target(connection).unwrap();
    let mut total = Counts::default();
    let add = |counts: Counts| {
        for (all, one) in total.committed.iter_mut().zip(counts.committed) {
            *all += one;
        }
        total.rolled_back += counts.rolled_back;
        total.retried += counts.retried;
        ControlFlow::Continue(())
    };
    let terminals =
        (0..terminals).map(|index| terminal(&reactor, &target, *stored, mode, index, each));
    let go_on = || ControlFlow::Continue(());
    reactor.run(terminals, add, go_on).unwrap();
    total
}

async fn terminal(
    reactor: &Reactor,
    target: &Target,
    stored: Config,
    mode: Mode,
    index: u32,
    transactions: u32,
) -> Counts {
    let session = Session::open(reactor, target).await.unwrap();
    let constants = constants(stored.seed);
    let mut terminal = Terminal::prepare(session, &stored, mode, &constants, 77, index)
        .await
        .unwrap();
    let mut counts = Counts::default();
    for _ in 0..transactions {
        let transaction = terminal.next();
        loop {
            match terminal.execute().await {
                Ok(End::Committed) => counts.committed[transaction] += 1,
                Ok(End::RolledBack) => {
                    assert_eq!(TRANSACTIONS[transaction], "new_order");
                    counts.rolled_back += 1;
                }
                Err(error) => {
                    let code = error.server().map(|server| server.sqlstate.as_str());
                    assert!(matches!(code, Some("40P01" | "40001")), "{error:?}");
                    terminal.rollback().await.unwrap();
                    counts.retried += 1;
                    continue;
                }
            }
            break;
        }
    }
    counts
}
