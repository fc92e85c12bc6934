//! Loads: the same rows from a seed by files and by INSERT, refused, stopped and cleaned.

use std::sync::atomic::{AtomicBool, Ordering};

use dbdyno_bench::tpcc::{Config, LoadError, ReadBackError, clean, load, read_back};
use dbdyno_bench::wire::WireError;
use dbdyno_testing::MySqlBinaries;

use super::{Client, database, start};
use crate::load_quietly;

const TABLES: &str = "warehouse, district, customer, history, orders, new_order, \
    order_line, item, stock";

#[test]
fn needs_mysql_a_seed_gives_the_same_rows_on_any_number_of_threads_and_by_insert() {
    for binaries in &MySqlBinaries::all() {
        let server = start(binaries);
        let mut loads = Vec::new();
        for (name, threads, seed, files) in [
            ("files", 1, 5, true),
            ("inserted", 3, 5, false),
            ("other", 2, 6, true),
        ] {
            let connection = database(&server, name);
            let mut client = Client::open(&connection);
            client.run(&format!("SET GLOBAL local_infile = {files}"));
            let config = Config {
                warehouses: 1,
                seed,
                ..Config::default()
            };
            let rows = load_quietly(&connection, &config, threads);
            let counted: i64 = TABLES
                .split(", ")
                .map(|table| client.number(&format!("SELECT count(*) FROM {table}")))
                .sum();
            assert_eq!(counted as u64, rows);
            let keys = client.number(
                "SELECT count(*) FROM information_schema.referential_constraints
                 WHERE constraint_schema = database()",
            );
            assert_eq!(keys, 10);
            loads.push(checksums(&mut client, TABLES));
        }
        assert_eq!(loads[0], loads[1]);
        for (index, (same, other)) in loads[0].iter().zip(&loads[2]).enumerate() {
            // The new orders are the same numbers whatever the seed.
            assert!(same != other || index == 5);
        }
    }
}

/// Of each table, whatever the order of its rows.
pub(super) fn checksums(client: &mut Client, tables: &str) -> Vec<i64> {
    let Client { reactor, session } = client;
    let read = async {
        let statement = session.prepare(&format!("CHECKSUM TABLE {tables}")).await?;
        session.queue(&statement, |_| {})?;
        let mut sums = Vec::new();
        session
            .rows(&statement, |mut row| {
                row.skip()?;
                sums.push(row.int()?);
                Ok(())
            })
            .await?;
        Ok::<_, WireError>(sums)
    };
    let sums = reactor.block_on(read).unwrap().unwrap();
    assert_eq!(sums.len(), tables.split(',').count());
    sums
}

/// On one server: what is looked for and refused is the same for both.
#[test]
fn needs_mysql_loads_are_refused_stopped_and_cleaned() {
    let all = MySqlBinaries::all();
    let server = start(&all[0]);
    let connection = database(&server, "stops");
    let config = Config {
        warehouses: 2,
        seed: 1,
        ..Config::default()
    };
    let not_loaded = read_back(&connection).unwrap_err();
    assert!(matches!(not_loaded, ReadBackError::NotLoaded));
    assert!(!clean(&connection).unwrap());

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
    let unfinished = read_back(&connection).unwrap_err();
    assert!(matches!(unfinished, ReadBackError::Unfinished));

    let never = AtomicBool::new(false);
    let refused = load(&connection, &config, 1, &|_| (), &never).unwrap_err();
    assert!(
        matches!(&refused, LoadError::Unfinished { loaded } if loaded.contains("warehouses=2")),
        "{refused:?}"
    );
    assert!(refused.hint().is_some());
    assert!(clean(&connection).unwrap());
    let mut client = Client::open(&connection);
    let tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = database()";
    assert_eq!(client.number(tables), 0);

    // A table of the user's own is neither filled nor dropped, and none is made beside it.
    client.run("CREATE TABLE orders (x int); INSERT INTO orders VALUES (1)");
    let refused = load(&connection, &config, 1, &|_| (), &never).unwrap_err();
    assert!(matches!(refused, LoadError::Exists { table, .. } if table == "orders"));
    assert!(!clean(&connection).unwrap());
    assert_eq!(client.number("SELECT count(*) FROM orders"), 1);
    assert_eq!(client.number(tables), 1);

    let none = Config {
        warehouses: 0,
        seed: 1,
        ..Config::default()
    };
    let refused = load(&connection, &none, 1, &|_| (), &never).unwrap_err();
    assert!(matches!(refused, LoadError::Warehouses(0)));
}
