//! Several sets of tables, and sysbench-tpcc's: loaded, run, checked, damaged, found again and cleaned.

use std::collections::BTreeSet;

use dbdyno_bench::tpcc::{
    Config, Expected, Layout, Mode, ReadBackError, When, check, clean, find, load, read_back,
};
use dbdyno_model::connection::Connection;
use dbdyno_testing::binaries;

use super::{client, failing, load_quietly, number, run, start};

const TABLES: &str = "SELECT count(*) FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'";

/// Names in alphabetical order.
fn names(connection: &Connection, sql: &str) -> Vec<String> {
    let rows = client(connection).query(sql, &[]).unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

fn hash(connection: &Connection, table: &str) -> String {
    let sql = format!("SELECT sum(hashtextextended(t::text, 0))::text FROM {table} AS t");
    client(connection).query_one(&sql, &[]).unwrap().get(0)
}

#[test]
fn sets_are_loaded_run_checked_and_cleaned() {
    let running = start(binaries());
    let connection = running.database("sets");
    let config = Config {
        seed: 5,
        sets: 2,
        foreign_keys: false,
        ..Config::default()
    };
    load_quietly(&connection, &config, 3);
    assert_eq!(read_back(&connection).unwrap().config, config);
    assert_eq!(number(&connection, TABLES), 2 * 9 + 1);
    let keys = "SELECT count(*) FROM pg_constraint WHERE contype = 'f'";
    assert_eq!(number(&connection, keys), 0);
    assert_eq!(failing(&connection, When::AfterLoad), BTreeSet::new());

    // The first set has the rows of a load without others, and each its own.
    let alone = running.database("alone");
    let one = Config {
        seed: 5,
        ..Config::default()
    };
    load_quietly(&alone, &one, 2);
    for table in ["customer", "order_line", "item", "stock"] {
        let first = hash(&connection, &format!("{table}1"));
        assert_eq!(first, hash(&alone, table), "{table}");
        assert_ne!(first, hash(&connection, &format!("{table}2")), "{table}");
    }

    let ordered = |set: u32| {
        let sql = format!("SELECT sum(d_next_o_id - 3001)::bigint FROM district{set}");
        number(&connection, &sql)
    };
    let mut committed = 0;
    for mode in Mode::ALL {
        committed += run(&connection, &config, mode, 4, 115).committed[0];
        assert_eq!(failing(&connection, When::AfterRun), BTreeSet::new());
    }
    assert_eq!(ordered(1) + ordered(2), committed as i64);
    // About 600, of which each set has about a half.
    assert!(ordered(1).abs_diff(ordered(2)) < 200, "{}", ordered(1));

    client(&connection)
        .batch_execute("UPDATE warehouse2 SET w_ytd = w_ytd + 1")
        .unwrap();
    let checks = check(&connection, &config, When::AfterRun).unwrap();
    let failed: Vec<_> = checks.iter().filter(|check| !check.passed).collect();
    let failed_names: Vec<&str> = failed.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(failed_names, ["3.3.2.1", "3.3.2.8"]);
    for check in failed {
        let detail = check.detail.as_deref().unwrap();
        assert!(detail.starts_with("set 2, warehouse 1: "), "{detail}");
    }

    assert!(clean(&connection).unwrap());
    assert_eq!(number(&connection, TABLES), 0);
}

#[test]
fn what_is_named_like_a_table_of_any_set_refuses_the_load() {
    let running = start(binaries());
    let connection = running.database("taken");
    client(&connection)
        .batch_execute("CREATE TABLE stock3 (x integer)")
        .unwrap();
    let config = Config {
        sets: 3,
        ..Config::default()
    };
    let refused = load(&connection, &config, 1, &|_| (), &false.into()).unwrap_err();
    assert!(refused.to_string().contains("stock3"), "{refused}");
    assert_eq!(number(&connection, TABLES), 1);
    let none = Config { sets: 0, ..config };
    let refused = load(&connection, &none, 1, &|_| (), &false.into()).unwrap_err();
    assert!(refused.to_string().contains("0 sets"), "{refused}");
}

#[test]
fn a_load_of_the_first_version_is_recognised_and_cleaned() {
    let running = start(binaries());
    let connection = running.database("first");
    client(&connection)
        .batch_execute(
            "CREATE TABLE dbdyno_tpcc (schema_version integer, warehouses integer, seed text,
                c_load integer[], ready boolean);
             INSERT INTO dbdyno_tpcc VALUES (1, 1, '1', '{1,2,3}', true);
             CREATE TABLE stock (s_i_id integer); CREATE TABLE stock1 (x integer)",
        )
        .unwrap();
    let other = read_back(&connection).unwrap_err();
    assert!(matches!(
        other,
        ReadBackError::Version { found: 1, known: 2 }
    ));
    assert!(clean(&connection).unwrap());
    let left = names(
        &connection,
        "SELECT relname::text FROM pg_class
         WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'",
    );
    assert_eq!(left, ["stock1"]);
}

#[test]
fn the_tables_of_sysbench_are_loaded_run_and_checked() {
    let running = start(binaries());
    let connection = running.database("sysbench");
    let config = Config {
        warehouses: 2,
        seed: 6,
        sets: 1,
        layout: Layout::Sysbench,
        foreign_keys: true,
    };
    load_quietly(&connection, &config, 3);
    assert_eq!(read_back(&connection).unwrap().config, config);
    assert_eq!(failing(&connection, When::AfterLoad), BTreeSet::new());
    has_the_keys_of_sysbench(&connection);
    for mode in Mode::ALL {
        run(&connection, &config, mode, 4, 115);
        assert_eq!(failing(&connection, When::AfterRun), BTreeSet::new());
    }

    // Without the table that vouches for them they might be sysbench-tpcc's.
    client(&connection)
        .batch_execute("DROP TABLE dbdyno_tpcc")
        .unwrap();
    let unknown = read_back(&connection).unwrap_err();
    assert!(matches!(unknown, ReadBackError::NotLoaded));
    let expected = Expected {
        layout: Some(Layout::Sysbench),
        seed: 9,
        ..Expected::default()
    };
    let unasked = find(&connection, &Expected::default()).unwrap_err();
    assert!(matches!(unasked, ReadBackError::NotLoaded));
    let found = find(&connection, &expected).unwrap().config;
    assert_eq!(found, Config { seed: 9, ..config });
    let more = Expected {
        warehouses: Some(3),
        ..expected
    };
    let told = find(&connection, &more).unwrap_err().to_string();
    assert!(
        told.contains("--warehouses 3") && told.contains("--warehouses 2"),
        "{told}"
    );
    run(&connection, &found, Mode::Pipelined, 4, 115);
    assert_eq!(apart(&connection, &found), BTreeSet::new());
    purge(&connection);
    let sums = ["3.3.2.8", "3.3.2.9", "3.3.2.10", "3.3.2.12"];
    assert_eq!(
        apart(&connection, &found),
        sums.map(str::to_owned).into_iter().collect()
    );
    // Nothing but our routines.
    assert!(clean(&connection).unwrap());
    assert!(!clean(&connection).unwrap());
    assert_eq!(number(&connection, TABLES), 9);

    client(&connection)
        .batch_execute("DROP TABLE item1 CASCADE")
        .unwrap();
    let told = find(&connection, &expected).unwrap_err().to_string();
    assert!(told.contains("table item1: it is missing"), "{told}");
}

/// Names of the checks that do not apply; all others hold.
fn apart(connection: &Connection, config: &Config) -> BTreeSet<String> {
    let checks = check(connection, config, When::AfterRun).unwrap();
    assert_eq!(checks.len(), 12);
    assert!(checks.iter().all(|check| check.passed), "{checks:?}");
    let apart = checks.into_iter().filter(|check| !check.applies());
    apart.map(|check| check.name).collect()
}

/// What sysbench-tpcc does with --enable_purge=yes: an order that was delivered long ago, and payments.
fn purge(connection: &Connection) {
    let removed = client(connection).batch_execute(
        "DELETE FROM order_line1 WHERE ol_w_id = 1 AND ol_d_id = 4 AND ol_o_id = 7;
         DELETE FROM orders1 WHERE o_w_id = 1 AND o_d_id = 4 AND o_id = 7;
         DELETE FROM history1 WHERE ctid IN
            (SELECT ctid FROM history1 WHERE h_w_id = 1 AND h_d_id = 4 LIMIT 10)",
    );
    removed.unwrap();
}

/// Indexes and foreign keys as its `create_tables` names them, and a few of its types.
fn has_the_keys_of_sysbench(connection: &Connection) {
    let indexes = names(
        connection,
        r#"SELECT indexname::text COLLATE "C" FROM pg_indexes
           WHERE schemaname = 'public' ORDER BY 1"#,
    );
    let expected = [
        "customer1_pkey",
        "district1_pkey",
        "fkey_history_11",
        "fkey_history_21",
        "fkey_order_line_21",
        "fkey_stock_21",
        "idx_customer1",
        "idx_orders1",
        "item1_pkey",
        "new_orders1_pkey",
        "order_line1_pkey",
        "orders1_pkey",
        "stock1_pkey",
        "warehouse1_pkey",
    ];
    assert_eq!(indexes, expected);
    let foreign = names(
        connection,
        r#"SELECT conname::text COLLATE "C" FROM pg_constraint
           WHERE contype = 'f' AND convalidated ORDER BY 1"#,
    );
    let expected = [
        "fkey_customer_1_1",
        "fkey_district_1_1",
        "fkey_history_1_1",
        "fkey_history_2_1",
        "fkey_new_orders_1_1",
        "fkey_order_line_1_1",
        "fkey_order_line_2_1",
        "fkey_orders_1_1",
        "fkey_stock_1_1",
        "fkey_stock_2_1",
    ];
    assert_eq!(foreign, expected);
    let types = names(
        connection,
        "SELECT format('%s %s', attname, format_type(atttypid, atttypmod)) FROM pg_attribute
         WHERE attrelid = 'customer1'::regclass AND attnum > 0 ORDER BY attnum",
    );
    assert_eq!(types.len(), 21);
    let expected = [
        "c_since timestamp without time zone",
        "c_credit character(2)",
        "c_credit_lim bigint",
        "c_discount numeric(4,2)",
        "c_balance numeric(12,2)",
        "c_ytd_payment numeric(12,2)",
        "c_payment_cnt smallint",
        "c_delivery_cnt smallint",
        "c_data text",
    ];
    assert_eq!(types[12..], expected);
}
