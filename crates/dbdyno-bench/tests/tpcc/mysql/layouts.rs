//! Several sets of tables, and sysbench-tpcc's: loaded, run, checked, damaged, found again and cleaned.

use std::collections::BTreeSet;

use dbdyno_bench::tpcc::{
    Config, Expected, Layout, Mode, ReadBackError, When, check, clean, find, read_back,
};
use dbdyno_testing::MySqlBinaries;

use super::{Client, database, start};
use crate::{failing, load_quietly, run};

const TABLES: &str =
    "SELECT count(*) FROM information_schema.tables WHERE table_schema = database()";

const FOREIGN_KEYS: &str = "SELECT count(*) FROM information_schema.referential_constraints
    WHERE constraint_schema = database()";

/// On one server: names alone differ from those of the tables that all servers are counted with.
#[test]
fn needs_mysql_sets_are_loaded_run_checked_and_cleaned() {
    for binaries in MySqlBinaries::all().iter().take(1) {
        let server = start(binaries);
        let connection = database(&server, "sets");
        let mut client = Client::open(&connection);
        let config = Config {
            seed: 5,
            sets: 2,
            foreign_keys: false,
            ..Config::default()
        };
        load_quietly(&connection, &config, 3);
        assert_eq!(read_back(&connection).unwrap().config, config);
        assert_eq!(client.number(TABLES), 2 * 9 + 1);
        assert_eq!(client.number(FOREIGN_KEYS), 0);
        assert_eq!(failing(&connection, When::AfterLoad), BTreeSet::new());

        let mut committed = 0;
        for mode in Mode::ALL {
            committed += run(&connection, &config, mode, 4, 115).committed[0];
            assert_eq!(failing(&connection, When::AfterRun), BTreeSet::new());
        }
        let mut ordered = |set: u32| {
            client.number(&format!(
                "SELECT sum(d_next_o_id - 3001) FROM district{set}"
            ))
        };
        let (first, second) = (ordered(1), ordered(2));
        assert_eq!(first + second, committed as i64);
        assert!(first.abs_diff(second) < 200, "{first} {second}");

        client.run("UPDATE warehouse2 SET w_ytd = w_ytd + 1");
        let checks = check(&connection, &config, When::AfterRun).unwrap();
        let failed: Vec<_> = checks.iter().filter(|check| !check.passed).collect();
        assert_eq!(failed.len(), 2, "{failed:?}");
        for check in failed {
            let detail = check.detail.as_deref().unwrap();
            assert!(detail.starts_with("set 2, warehouse 1: "), "{detail}");
        }
        assert!(clean(&connection).unwrap());
        assert_eq!(client.number(TABLES), 0);
    }
}

/// On one server, the other one: tables and catalogue are written and read in the same words for both.
#[test]
fn needs_mysql_the_tables_of_sysbench_are_loaded_run_and_checked() {
    for binaries in MySqlBinaries::all().iter().rev().take(1) {
        let server = start(binaries);
        let connection = database(&server, "sysbench");
        let mut client = Client::open(&connection);
        let config = Config {
            warehouses: 1,
            seed: 6,
            sets: 2,
            layout: Layout::Sysbench,
            foreign_keys: true,
        };
        load_quietly(&connection, &config, 3);
        assert_eq!(read_back(&connection).unwrap().config, config);
        assert_eq!(client.number(FOREIGN_KEYS), 2 * 10);
        assert_eq!(failing(&connection, When::AfterLoad), BTreeSet::new());
        let mut indexes = client.texts(
            "SELECT DISTINCT cast(concat(table_name, ' ', index_name) AS char)
             FROM information_schema.statistics
             WHERE table_schema = database() AND index_name <> 'PRIMARY'
               AND table_name LIKE '%1'",
        );
        indexes.sort();
        let expected = [
            "customer1 idx_customer1",
            "history1 fkey_history_11",
            "history1 fkey_history_21",
            "order_line1 fkey_order_line_21",
            "orders1 idx_orders1",
            "stock1 fkey_stock_21",
        ];
        assert_eq!(indexes, expected);
        let history = client.texts(
            "SELECT cast(column_name AS char) FROM information_schema.columns
             WHERE table_schema = database() AND table_name = 'history1'
             ORDER BY ordinal_position",
        );
        assert_eq!((history.len(), history[0].as_str()), (8, "h_c_id"));
        for mode in Mode::ALL {
            run(&connection, &config, mode, 4, 115);
            assert_eq!(failing(&connection, When::AfterRun), BTreeSet::new());
        }

        // Without the table that vouches for them they might be sysbench-tpcc's, here with its option
        // for a key of the history.
        client.run("DROP TABLE dbdyno_tpcc");
        client.run(
            "ALTER TABLE history1 ADD COLUMN id int NOT NULL AUTO_INCREMENT FIRST,
             ADD PRIMARY KEY (id)",
        );
        let unasked = find(&connection, &Expected::default()).unwrap_err();
        assert!(matches!(unasked, ReadBackError::NotLoaded));
        let expected = Expected {
            layout: Some(Layout::Sysbench),
            sets: Some(2),
            seed: 9,
            ..Expected::default()
        };
        let found = find(&connection, &expected).unwrap().config;
        assert_eq!(found, Config { seed: 9, ..config });
        run(&connection, &found, Mode::Pipelined, 4, 115);
        let checks = check(&connection, &found, When::AfterRun).unwrap();
        assert!(checks.iter().all(|check| check.passed && check.applies()));
        client.run(
            "DELETE FROM order_line1 WHERE ol_w_id = 1 AND ol_d_id = 4 AND ol_o_id = 7;
             DELETE FROM orders1 WHERE o_w_id = 1 AND o_d_id = 4 AND o_id = 7;
             DELETE FROM history1 WHERE h_w_id = 1 AND h_d_id = 4 LIMIT 10",
        );
        let checks = check(&connection, &found, When::AfterRun).unwrap();
        assert!(checks.iter().all(|check| check.passed), "{checks:?}");
        let apart = checks.iter().filter(|check| !check.applies()).count();
        assert_eq!(apart, 4);
        // Nothing but our routines.
        assert!(clean(&connection).unwrap());
        assert!(!clean(&connection).unwrap());
        assert_eq!(client.number(TABLES), 2 * 9);
        client.run("DROP TABLE new_orders2");
        let told = find(&connection, &expected).unwrap_err().to_string();
        assert!(told.contains("new_orders2"), "{told}");
    }
}
