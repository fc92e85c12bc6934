//! TPC-C against real servers: rows, keys, transactions, and checks that see every kind of damage.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

#[path = "tpcc/damage.rs"]
mod damage;
#[path = "tpcc/failures.rs"]
mod failures;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use dbdyno_bench::tpcc::postgres::{End, Terminal};
use dbdyno_bench::tpcc::{
    Config, LoadError, ReadBackError, TRANSACTIONS, When, check, clean, constants, load, read_back,
};
use dbdyno_model::connection::{Address, Connection};
use dbdyno_target::lab::{Binaries, Home, Lab, LabOptions, Server, Wanted};
use postgres::{Client, NoTls};

/// A running server with everything that has to outlive it.
struct Fixture {
    server: Server,
    _lab: Lab,
    _directory: tempfile::TempDir,
}

impl Fixture {
    fn start(binaries: Binaries) -> Self {
        let directory = tempfile::tempdir().unwrap();
        // The server's account has to pass through.
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(directory.path(), mode).unwrap();
        let root = directory.path().display().to_string();
        let home = Home::find(&|name| (name == "DBDYNO_DATA_DIR").then(|| root.clone())).unwrap();
        let lab = Lab::create(&home, binaries, &LabOptions::default()).unwrap();
        let settings = BTreeMap::from([("fsync".to_owned(), "off".to_owned())]);
        let server = lab.start_empty(&settings).unwrap();
        Self {
            server,
            _lab: lab,
            _directory: directory,
        }
    }

    /// A new database on the server.
    fn database(&self, name: &str) -> Connection {
        let mut connection = self.server.connection();
        client(&connection)
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .unwrap();
        connection.database = name.into();
        connection
    }
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

/// The servers that `cargo xtask test` brought, else what the machine has.
fn servers() -> Vec<Binaries> {
    let directories = std::env::var("DBDYNO_TEST_PG_DIRS").unwrap_or_default();
    let mut found: Vec<Binaries> = directories
        .split(':')
        .filter(|directory| !directory.is_empty())
        .map(|directory| Binaries::at(Path::new(directory)).unwrap())
        .collect();
    if found.is_empty() {
        let home = Home::find(&|name| std::env::var(name).ok()).unwrap();
        found.push(Binaries::find(&Wanted::default(), &home, &|_| ()).unwrap());
    }
    found
}

#[test]
fn what_the_terminals_count_is_what_the_database_holds() {
    for binaries in servers() {
        let fixture = Fixture::start(binaries);
        let connection = fixture.database("counts");
        let config = Config {
            warehouses: 2,
            seed: 4,
        };
        load_quietly(&connection, &config, 2);
        let stored = read_back(&mut client(&connection)).unwrap();
        assert_eq!((stored.config, stored.constants), (config, constants(4)));
        assert_eq!(failing(&connection, When::AfterLoad), BTreeSet::new());

        let counts = run(&connection, &config, 4, 460);
        assert_eq!(failing(&connection, When::AfterRun), BTreeSet::new());

        // 20 decks a terminal hold the mix exactly.
        let [
            new_orders,
            payments,
            order_statuses,
            deliveries,
            stock_levels,
        ] = counts.committed;
        assert_eq!(new_orders + counts.rolled_back, 800);
        assert!(counts.rolled_back > 0);
        assert_eq!(
            [payments, order_statuses, deliveries, stock_levels],
            [800, 80, 80, 80]
        );
        let is = |sql: &str, expected: u64| {
            assert_eq!(number(&connection, sql), expected as i64, "{sql}");
        };
        is("SELECT sum(d_next_o_id - 3001) FROM district", new_orders);
        is("SELECT count(*) - 60000 FROM orders", new_orders);
        is("SELECT count(*) - 60000 FROM history", payments);
        is(
            "SELECT sum(c_payment_cnt - 1)::bigint FROM customer",
            payments,
        );
        // Ten orders each: the load leaves enough of them.
        is(
            "SELECT sum(c_delivery_cnt)::bigint FROM customer",
            10 * deliveries,
        );
        // Stocks add up to the lines ordered, also where an order names an item twice.
        is(
            "SELECT abs(sum(s_ytd) - (SELECT sum(ol_quantity) FROM order_line WHERE ol_o_id > 3000))
                  + abs(sum(s_order_cnt) - (SELECT count(*) FROM order_line WHERE ol_o_id > 3000))
                  + abs(sum(s_remote_cnt) - (SELECT count(*) FROM order_line
                                             WHERE ol_supply_w_id <> ol_w_id))
             FROM stock",
            0,
        );
        is(
            "SELECT count(*) FROM stock WHERE s_quantity NOT BETWEEN 10 AND 100",
            0,
        );
        is(
            "SELECT count(*) FROM order_line JOIN item ON i_id = ol_i_id
             WHERE ol_o_id > 3000 AND ol_amount <> ol_quantity * i_price",
            0,
        );
        is(
            "SELECT count(*) FROM order_line
             JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id
             WHERE ol_o_id > 3000
               AND ol_dist_info <> (to_jsonb(stock) ->> format('s_dist_%s', lpad(ol_d_id::text, 2, '0')))",
            0,
        );
        is(
            "SELECT count(*) FROM orders WHERE (o_all_local = 1) = EXISTS (
                SELECT FROM order_line WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id
                AND ol_o_id = o_id AND ol_supply_w_id <> o_w_id)",
            0,
        );
        assert!(number(&connection, "SELECT sum(s_remote_cnt) FROM stock") > 0);
        let remote = number(
            &connection,
            "SELECT count(*) FROM history WHERE h_w_id <> h_c_w_id",
        );
        assert!((80..165).contains(&remote), "{remote}");
        is(
            "SELECT count(*) FROM history JOIN customer
                ON c_w_id = h_c_w_id AND c_d_id = h_c_d_id AND c_id = h_c_id
             WHERE c_credit = 'BC' AND c_payment_cnt > 1
               AND (c_data NOT LIKE format('%s %s %s %%', c_id, c_d_id, c_w_id)
                    OR length(c_data) > 500)",
            0,
        );
    }
}

#[test]
fn every_damage_is_named() {
    let fixture = Fixture::start(servers().remove(0));
    let connection = fixture.database("damage");
    let config = Config {
        warehouses: 1,
        seed: 9,
    };
    load_quietly(&connection, &config, 2);
    run(&connection, &config, 4, 100);
    let mut client = client(&connection);
    // Foreign keys would forbid some of it.
    client
        .batch_execute("SET session_replication_role = replica")
        .unwrap();

    let mut seen = BTreeSet::new();
    for (damage, repair, expected) in damage::CASES {
        client.batch_execute(damage).unwrap();
        let expected: BTreeSet<String> = expected
            .iter()
            .map(|number| format!("3.3.2.{number}"))
            .collect();
        assert_eq!(failing(&connection, When::AfterRun), expected, "{damage}");
        client.batch_execute(repair).unwrap();
        seen.extend(expected);
    }
    assert_eq!(seen.len(), 12);
    assert_eq!(failing(&connection, When::AfterRun), BTreeSet::new());
    // What a run changes is no longer as the load left it.
    assert_eq!(
        failing(&connection, When::AfterLoad),
        BTreeSet::from(["3.3.2.11".to_owned()])
    );
}

#[test]
fn a_seed_gives_the_same_rows_on_any_number_of_threads() {
    const TABLES: [&str; 9] = [
        "warehouse",
        "district",
        "customer",
        "history",
        "orders",
        "new_order",
        "order_line",
        "item",
        "stock",
    ];
    let fixture = Fixture::start(servers().remove(0));
    let mut loads = Vec::new();
    for (name, threads, seed) in [("one", 1, 5), ("three", 3, 5), ("other", 2, 6)] {
        let connection = fixture.database(name);
        let config = Config {
            warehouses: 1,
            seed,
        };
        let rows = load_quietly(&connection, &config, threads);
        let mut client = client(&connection);
        let mut counted = 0;
        let hashes = TABLES.map(|table| {
            let row = client
                .query_one(
                    &format!(
                        "SELECT count(*), sum(hashtextextended(t::text, 0))::text FROM {table} AS t"
                    ),
                    &[],
                )
                .unwrap();
            counted += row.get::<_, i64>(0);
            row.get::<_, String>(1)
        });
        assert_eq!(counted as u64, rows);
        let keys: i64 = client
            .query_one(
                "SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND convalidated",
                &[],
            )
            .unwrap()
            .get(0);
        assert_eq!(keys, 10);
        loads.push(hashes);
    }
    assert_eq!(loads[0], loads[1]);
    for (same, other) in loads[0].iter().zip(&loads[2]) {
        // The new orders are the same numbers whatever the seed.
        assert!(same != other || same == &loads[0][5]);
    }
}

#[test]
fn loads_are_refused_stopped_and_cleaned() {
    let fixture = Fixture::start(servers().remove(0));
    let connection = fixture.database("stops");
    let config = Config {
        warehouses: 2,
        seed: 1,
    };
    let not_loaded = read_back(&mut client(&connection)).unwrap_err();
    assert!(matches!(not_loaded, ReadBackError::NotLoaded));
    assert!(!clean(&mut client(&connection)).unwrap());

    let stop = AtomicBool::new(false);
    let stopped = load(
        &connection,
        &config,
        2,
        &|progress| {
            assert!(progress.rows <= progress.rows_total);
            stop.store(true, Ordering::Relaxed);
        },
        &stop,
    )
    .unwrap_err();
    assert!(matches!(stopped, LoadError::Stopped), "{stopped:?}");
    let unfinished = read_back(&mut client(&connection)).unwrap_err();
    assert!(matches!(unfinished, ReadBackError::Unfinished));

    let never = AtomicBool::new(false);
    let refused = load(&connection, &config, 1, &|_| (), &never).unwrap_err();
    assert!(matches!(refused, LoadError::Exists { .. }), "{refused:?}");
    assert!(refused.hint().is_some());
    assert!(clean(&mut client(&connection)).unwrap());
    assert_eq!(
        number(
            &connection,
            "SELECT count(*) FROM pg_class WHERE relname = 'stock'"
        ),
        0
    );

    // A table of the user's own is neither filled nor dropped.
    client(&connection)
        .batch_execute("CREATE TABLE orders (x integer); INSERT INTO orders VALUES (1)")
        .unwrap();
    let refused = load(&connection, &config, 1, &|_| (), &never).unwrap_err();
    assert!(matches!(
        refused,
        LoadError::Exists {
            table: "orders",
            ..
        }
    ));
    assert!(!clean(&mut client(&connection)).unwrap());
    assert_eq!(number(&connection, "SELECT count(*) FROM orders"), 1);

    let none = Config {
        warehouses: 0,
        seed: 1,
    };
    let refused = load(&connection, &none, 1, &|_| (), &never).unwrap_err();
    assert!(matches!(refused, LoadError::Warehouses(0)));
}
