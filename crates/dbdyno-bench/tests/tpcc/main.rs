//! TPC-C against real servers: rows, keys, transactions, and checks that see every kind of damage.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod counts;
mod damage;
mod failures;
mod loads;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use dbdyno_bench::tpcc::postgres::{End, Terminal};
use dbdyno_bench::tpcc::{Config, TRANSACTIONS, When, check, constants, load};
use dbdyno_model::connection::{Address, Connection};
use dbdyno_target::lab::Binaries;
use dbdyno_testing::Running;
use postgres::{Client, NoTls};

fn start(binaries: Binaries) -> Running {
    Running::start(binaries, &[("fsync", "off")])
}

fn client(connection: &Connection) -> Client {
    postgres::Config::from(config(connection))
        .connect(NoTls)
        .unwrap()
}

fn config(connection: &Connection) -> tokio_postgres::Config {
    let Address::Socket(directory) = &connection.address else {
        panic!("not a socket")
    };
    let mut config = tokio_postgres::Config::new();
    config
        .host_path(directory)
        .port(connection.port)
        .user(&connection.user)
        .dbname(&connection.database);
    config
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
    let checks = check(connection, when).unwrap();
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

#[derive(Default, Debug)]
struct Counts {
    committed: [u64; 5],
    rolled_back: u64,
    retried: u64,
}

/// Runs this many transactions on each of the terminals at once, as a driver would.
fn run(connection: &Connection, stored: &Config, terminals: u32, each: u32) -> Counts {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut total = Counts::default();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let mut tasks = Vec::new();
        for index in 0..terminals {
            let config = config(connection);
            tasks.push(tokio::task::spawn_local(terminal(
                config, *stored, index, each,
            )));
        }
        for task in tasks {
            let counts = task.await.unwrap();
            for (all, one) in total.committed.iter_mut().zip(counts.committed) {
                *all += one;
            }
            total.rolled_back += counts.rolled_back;
            total.retried += counts.retried;
        }
    });
    total
}

async fn terminal(
    config: tokio_postgres::Config,
    stored: Config,
    index: u32,
    transactions: u32,
) -> Counts {
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::task::spawn_local(connection);
    let constants = constants(stored.seed);
    let mut terminal = Terminal::prepare(client, &stored, &constants, 77, index)
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
                    let code = error.code().map(|code| code.code().to_owned());
                    assert_eq!(code.as_deref(), Some("40P01"), "{error:?}");
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
