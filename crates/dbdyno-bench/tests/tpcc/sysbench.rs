//! Tables as sysbench-tpcc's own statements make them: found, run in every mode, checked, left alone.

use dbdyno_bench::tpcc::{Expected, Layout, clean, find};
use dbdyno_bench::wire::Link;
use dbdyno_model::connection::Engine;
use dbdyno_testing::all_binaries;

use super::*;

/// Tables, their columns and primary keys in `create_tables` of sysbench-tpcc's `tpcc_common.lua`
/// (commit 025cbde). TINY and TIME are types that it chooses by the driver.
const TABLES: [(&str, &str, &str); 9] = [
    (
        "warehouse",
        "w_id smallint not null, w_name varchar(10), w_street_1 varchar(20), \
         w_street_2 varchar(20), w_city varchar(20), w_state char(2), w_zip char(9), \
         w_tax decimal(4,2), w_ytd decimal(12,2)",
        "w_id",
    ),
    (
        "district",
        "d_id TINY not null, d_w_id smallint not null, d_name varchar(10), \
         d_street_1 varchar(20), d_street_2 varchar(20), d_city varchar(20), d_state char(2), \
         d_zip char(9), d_tax decimal(4,2), d_ytd decimal(12,2), d_next_o_id int",
        "d_w_id, d_id",
    ),
    (
        "customer",
        "c_id int not null, c_d_id TINY not null, c_w_id smallint not null, \
         c_first varchar(16), c_middle char(2), c_last varchar(16), c_street_1 varchar(20), \
         c_street_2 varchar(20), c_city varchar(20), c_state char(2), c_zip char(9), \
         c_phone char(16), c_since TIME, c_credit char(2), c_credit_lim bigint, \
         c_discount decimal(4,2), c_balance decimal(12,2), c_ytd_payment decimal(12,2), \
         c_payment_cnt smallint, c_delivery_cnt smallint, c_data text",
        "c_w_id, c_d_id, c_id",
    ),
    (
        "history",
        "h_c_id int, h_c_d_id TINY, h_c_w_id smallint, h_d_id TINY, h_w_id smallint, \
         h_date TIME, h_amount decimal(6,2), h_data varchar(24)",
        "",
    ),
    (
        "orders",
        "o_id int not null, o_d_id TINY not null, o_w_id smallint not null, o_c_id int, \
         o_entry_d TIME, o_carrier_id TINY, o_ol_cnt TINY, o_all_local TINY",
        "o_w_id, o_d_id, o_id",
    ),
    (
        "new_orders",
        "no_o_id int not null, no_d_id TINY not null, no_w_id smallint not null",
        "no_w_id, no_d_id, no_o_id",
    ),
    (
        "order_line",
        "ol_o_id int not null, ol_d_id TINY not null, ol_w_id smallint not null, \
         ol_number TINY not null, ol_i_id int, ol_supply_w_id smallint, ol_delivery_d TIME, \
         ol_quantity TINY, ol_amount decimal(6,2), ol_dist_info char(24)",
        "ol_w_id, ol_d_id, ol_o_id, ol_number",
    ),
    (
        "stock",
        "s_i_id int not null, s_w_id smallint not null, s_quantity smallint, \
         s_dist_01 char(24), s_dist_02 char(24), s_dist_03 char(24), s_dist_04 char(24), \
         s_dist_05 char(24), s_dist_06 char(24), s_dist_07 char(24), s_dist_08 char(24), \
         s_dist_09 char(24), s_dist_10 char(24), s_ytd decimal(8,0), s_order_cnt smallint, \
         s_remote_cnt smallint, s_data varchar(50)",
        "s_w_id, s_i_id",
    ),
    (
        "item",
        "i_id int not null, i_im_id int, i_name varchar(24), i_price decimal(5,2), \
         i_data varchar(50)",
        "i_id",
    ),
];

/// Its indexes, by name, table and columns.
const INDEXES: [(&str, &str, &str); 6] = [
    (
        "idx_customer",
        "customer",
        "c_w_id, c_d_id, c_last, c_first",
    ),
    ("idx_orders", "orders", "o_w_id, o_d_id, o_c_id, o_id"),
    ("fkey_stock_2", "stock", "s_i_id"),
    ("fkey_order_line_2", "order_line", "ol_supply_w_id, ol_i_id"),
    ("fkey_history_1", "history", "h_c_w_id, h_c_d_id, h_c_id"),
    ("fkey_history_2", "history", "h_w_id, h_d_id"),
];

/// Its foreign keys: name, table and columns, and what they refer to.
const FOREIGN_KEYS: [(&str, &str, &str, &str, &str); 10] = [
    (
        "new_orders_1",
        "new_orders",
        "no_w_id, no_d_id, no_o_id",
        "orders",
        "o_w_id, o_d_id, o_id",
    ),
    (
        "orders_1",
        "orders",
        "o_w_id, o_d_id, o_c_id",
        "customer",
        "c_w_id, c_d_id, c_id",
    ),
    (
        "customer_1",
        "customer",
        "c_w_id, c_d_id",
        "district",
        "d_w_id, d_id",
    ),
    (
        "history_1",
        "history",
        "h_c_w_id, h_c_d_id, h_c_id",
        "customer",
        "c_w_id, c_d_id, c_id",
    ),
    (
        "history_2",
        "history",
        "h_w_id, h_d_id",
        "district",
        "d_w_id, d_id",
    ),
    ("district_1", "district", "d_w_id", "warehouse", "w_id"),
    (
        "order_line_1",
        "order_line",
        "ol_w_id, ol_d_id, ol_o_id",
        "orders",
        "o_w_id, o_d_id, o_id",
    ),
    (
        "order_line_2",
        "order_line",
        "ol_supply_w_id, ol_i_id",
        "stock",
        "s_w_id, s_i_id",
    ),
    ("stock_1", "stock", "s_w_id", "warehouse", "w_id"),
    ("stock_2", "stock", "s_i_id", "item", "i_id"),
];

/// Makes its tables of one set, with the rows of a load of ours in the same database.
fn prepare(connection: &Connection) {
    let (tiny, time, options) = match connection.engine {
        Engine::Postgres => ("smallint", "timestamp", ""),
        Engine::MySql => ("tinyint", "datetime", "/*! ENGINE = innodb */"),
    };
    let mut statements = Vec::new();
    if connection.engine == Engine::MySql {
        // As sysbench-tpcc has it: else each foreign key copies its table.
        statements.push("SET foreign_key_checks = 0".to_owned());
    }
    for (table, columns, key) in TABLES {
        let key = match key {
            "" => String::new(),
            key => format!(", primary key ({key})"),
        };
        let types = columns.replace("TINY", tiny).replace("TIME", time);
        statements.push(format!("CREATE TABLE {table}1 ({types}{key}) {options}"));
        let names = columns.split(", ").map(|column| {
            let (name, _) = column.split_once(' ').unwrap();
            name
        });
        let names = names.collect::<Vec<&str>>().join(", ");
        let ours = match table {
            "new_orders" => "new_order",
            table => table,
        };
        statements.push(format!(
            "INSERT INTO {table}1 ({names}) SELECT {names} FROM {ours}"
        ));
    }
    for (name, table, columns) in INDEXES {
        statements.push(format!("CREATE INDEX {name}1 ON {table}1 ({columns})"));
    }
    for (name, table, columns, of, referred) in FOREIGN_KEYS {
        statements.push(format!(
            "ALTER TABLE {table}1 ADD CONSTRAINT fkey_{name}_1
             FOREIGN KEY ({columns}) REFERENCES {of}1 ({referred})"
        ));
    }
    let mut link = Link::open(&target(connection).unwrap()).unwrap();
    for sql in statements {
        link.run(&sql)
            .unwrap_or_else(|error| panic!("{error}: {sql}"));
    }
}

/// In an empty database.
pub(crate) fn is_driven(connection: &Connection) {
    let ours = Config {
        warehouses: 2,
        seed: 6,
        ..Config::default()
    };
    load_quietly(connection, &ours, 2);
    prepare(connection);
    // With it goes what says that anything here is ours.
    assert!(clean(connection).unwrap());
    let expected = Expected {
        layout: Some(Layout::Sysbench),
        seed: 9,
        ..Expected::default()
    };
    let found = find(connection, &expected).unwrap().config;
    let theirs = Config {
        warehouses: 2,
        seed: 9,
        sets: 1,
        layout: Layout::Sysbench,
        foreign_keys: true,
    };
    assert_eq!(found, theirs);
    assert_eq!(broken(connection, &found, When::AfterLoad), [""; 0]);
    for mode in Mode::ALL {
        let counts = run(connection, &found, mode, 4, 115);
        assert!(
            counts.committed.iter().all(|count| *count > 0),
            "{counts:?}"
        );
        let broken = broken(connection, &found, When::AfterRun);
        assert_eq!(broken, [""; 0], "{mode:?}");
    }
    // Nothing but our routines is removed.
    clean(connection).unwrap();
    assert_eq!(find(connection, &expected).unwrap().config, theirs);
}

/// Names of the checks that fail or do not apply.
fn broken(connection: &Connection, config: &Config, when: When) -> Vec<String> {
    let checks = check(connection, config, when).unwrap();
    assert_eq!(checks.len(), 12);
    let broken = checks
        .into_iter()
        .filter(|check| !check.passed || !check.applies());
    broken.map(|check| check.name).collect()
}

#[test]
fn tables_that_sysbench_tpcc_made_are_driven_and_checked() {
    for binaries in all_binaries() {
        let running = start(binaries);
        is_driven(&running.database("theirs"));
    }
}
