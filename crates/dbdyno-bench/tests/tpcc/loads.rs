//! Loads: the same rows from a seed on any number of threads, refused, stopped and cleaned.

use std::sync::atomic::{AtomicBool, Ordering};

use dbdyno_bench::tpcc::{Config, LoadError, ReadBackError, clean, load, read_back};
use dbdyno_testing::binaries;

use super::{client, load_quietly, number, start};

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
    let running = start(binaries());
    let mut loads = Vec::new();
    for (name, threads, seed) in [("one", 1, 5), ("three", 3, 5), ("other", 2, 6)] {
        let connection = running.database(name);
        let config = Config {
            warehouses: 1,
            seed,
            ..Config::default()
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
    let running = start(binaries());
    let connection = running.database("stops");
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
    assert_eq!(
        number(
            &connection,
            "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        ),
        0
    );

    // A table of the user's own is neither filled nor dropped.
    client(&connection)
        .batch_execute("CREATE TABLE orders (x integer); INSERT INTO orders VALUES (1)")
        .unwrap();
    let refused = load(&connection, &config, 1, &|_| (), &never).unwrap_err();
    assert!(matches!(refused, LoadError::Exists { table, .. } if table == "orders"));
    assert!(!clean(&connection).unwrap());
    assert_eq!(number(&connection, "SELECT count(*) FROM orders"), 1);

    let none = Config {
        warehouses: 0,
        seed: 1,
        ..Config::default()
    };
    let refused = load(&connection, &none, 1, &|_| (), &never).unwrap_err();
    assert!(matches!(refused, LoadError::Warehouses(0)));
}
