//! Ways to break TPC-C's data, each with its repair and exactly the conditions that must see it.

use std::collections::BTreeSet;

use dbdyno_bench::tpcc::{Config, Mode, When};
use dbdyno_model::connection::Connection;
use dbdyno_testing::MySqlBinaries;

use super::{Client, database, start};
use crate::{failing, load_quietly, run};

/// Damage, repair, and the numbers behind 3.3.2 of the conditions that fail in between.
const CASES: [(&str, &str, &[u32]); 9] = [
    (
        "UPDATE warehouse SET w_ytd = w_ytd + 1",
        "UPDATE warehouse SET w_ytd = w_ytd - 1",
        &[1, 8],
    ),
    (
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 3",
        "UPDATE district SET d_next_o_id = d_next_o_id - 1 WHERE d_id = 3",
        &[2],
    ),
    (
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 4 AND o_id = 7",
        "UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE o_d_id = 4 AND o_id = 7",
        &[4, 6],
    ),
    (
        "UPDATE order_line SET ol_o_id = -1 WHERE ol_d_id = 4 AND ol_o_id = 7",
        "UPDATE order_line SET ol_o_id = 7 WHERE ol_d_id = 4 AND ol_o_id = -1",
        &[6, 7],
    ),
    (
        "INSERT INTO new_order (no_w_id, no_d_id, no_o_id)
         SELECT 1, 9, min(no_o_id) - 1 FROM new_order WHERE no_d_id = 9",
        "DELETE FROM new_order WHERE no_d_id = 9 ORDER BY no_o_id LIMIT 1",
        &[5, 11],
    ),
    (
        "UPDATE history SET h_d_id = 9 WHERE h_id = 1",
        "UPDATE history SET h_d_id = 1 WHERE h_id = 1",
        &[9],
    ),
    (
        "UPDATE customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1
         WHERE c_d_id = 8 AND c_id = 10",
        "UPDATE customer SET c_balance = c_balance - 1, c_ytd_payment = c_ytd_payment + 1
         WHERE c_d_id = 8 AND c_id = 10",
        &[10],
    ),
    (
        "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_d_id = 1 AND c_id = 11",
        "UPDATE customer SET c_ytd_payment = c_ytd_payment - 1 WHERE c_d_id = 1 AND c_id = 11",
        &[12],
    ),
    (
        "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (7, 1, 1), (7, 1, 3)",
        "DELETE FROM new_order WHERE no_w_id = 7",
        &[3, 5],
    ),
];

fn conditions(numbers: &[u32]) -> BTreeSet<String> {
    let names = numbers.iter().map(|number| format!("3.3.2.{number}"));
    names.collect()
}

/// A session that may break what foreign keys would keep whole.
fn vandal(connection: &Connection) -> Client {
    let mut client = Client::open(connection);
    client.run("SET foreign_key_checks = 0");
    client
}

/// On one server: the sums that it is asked for and what is made of them are the same on the other,
/// where [`is_named_all_at_once`] asks for each of them too.
#[test]
fn needs_mysql_damage_is_named() {
    let all = MySqlBinaries::all();
    let server = start(&all[0]);
    let connection = database(&server, "damage");
    let config = Config {
        warehouses: 1,
        seed: 9,
        ..Config::default()
    };
    load_quietly(&connection, &config, 2);
    run(&connection, &config, Mode::Pipelined, 4, 100);
    let mut client = vandal(&connection);
    let mut seen = BTreeSet::new();
    for (damage, repair, expected) in CASES {
        client.run(damage);
        let expected = conditions(expected);
        assert_eq!(failing(&connection, When::AfterRun), expected, "{damage}");
        client.run(repair);
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

/// Leaves the damage behind.
pub(super) fn is_named_all_at_once(connection: &Connection) {
    let mut client = vandal(connection);
    for (damage, ..) in CASES {
        client.run(damage);
    }
    let all: Vec<u32> = (1..=12).collect();
    assert_eq!(failing(connection, When::AfterRun), conditions(&all));
}
