//! Ways to break TPC-C's data, each with its repair and exactly the conditions that must see it.

use std::collections::BTreeSet;

use dbdyno_bench::tpcc::{Config, Mode, When};
use dbdyno_testing::binaries;

use super::{client, failing, load_quietly, run, start};

/// Damage, repair, and the numbers behind 3.3.2 of the conditions that fail in between.
///
/// For a database of one warehouse after a short run, where orders below 2101 were delivered by the
/// load and those above 2200 not at all.
const CASES: [(&str, &str, &[u32]); 13] = [
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
        "UPDATE orders SET o_carrier_id = 1 WHERE o_d_id = 2 AND o_id = 2900;
         UPDATE order_line SET ol_delivery_d = now() WHERE ol_d_id = 2 AND ol_o_id = 2900;
         UPDATE order_line SET ol_amount = 0 WHERE ol_d_id = 2 AND ol_o_id = 2900;
         DELETE FROM new_order WHERE no_d_id = 2 AND no_o_id = 2900",
        "UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 2 AND o_id = 2900;
         UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 2 AND ol_o_id = 2900;
         INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (1, 2, 2900)",
        &[3],
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
        "UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 5 AND o_id = 8;
         UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 5 AND ol_o_id = 8",
        "UPDATE orders SET o_carrier_id = 1 WHERE o_d_id = 5 AND o_id = 8;
         UPDATE order_line SET ol_delivery_d = now() WHERE ol_d_id = 5 AND ol_o_id = 8",
        &[5, 11],
    ),
    (
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + CASE o_id WHEN 7 THEN 1 ELSE -1 END
         WHERE o_d_id = 4 AND o_id IN (7, 8)",
        "UPDATE orders SET o_ol_cnt = o_ol_cnt - CASE o_id WHEN 7 THEN 1 ELSE -1 END
         WHERE o_d_id = 4 AND o_id IN (7, 8)",
        &[6],
    ),
    (
        "UPDATE order_line SET ol_delivery_d = NULL
         WHERE ol_d_id = 6 AND ol_o_id = 9 AND ol_number = 1",
        "UPDATE order_line SET ol_delivery_d = now()
         WHERE ol_d_id = 6 AND ol_o_id = 9 AND ol_number = 1",
        &[7],
    ),
    (
        "UPDATE warehouse SET w_ytd = w_ytd + 1;
         UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 7",
        "UPDATE warehouse SET w_ytd = w_ytd - 1;
         UPDATE district SET d_ytd = d_ytd - 1 WHERE d_id = 7",
        &[8, 9],
    ),
    (
        "UPDATE history SET h_d_id = 9 WHERE ctid = '(0,1)' AND h_d_id = 1",
        "UPDATE history SET h_d_id = 1 WHERE h_d_id = 9 AND h_c_d_id = 1",
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
        "INSERT INTO new_order (no_w_id, no_d_id, no_o_id)
         SELECT 1, 9, min(no_o_id) - 1 FROM new_order WHERE no_d_id = 9",
        "DELETE FROM new_order WHERE no_d_id = 9
         AND no_o_id = (SELECT min(no_o_id) FROM new_order WHERE no_d_id = 9)",
        &[5, 11],
    ),
    (
        "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_d_id = 1 AND c_id = 11",
        "UPDATE customer SET c_ytd_payment = c_ytd_payment - 1 WHERE c_d_id = 1 AND c_id = 11",
        &[12],
    ),
];

#[test]
fn every_damage_is_named() {
    let running = start(binaries());
    let connection = running.database("damage");
    let config = Config {
        warehouses: 1,
        seed: 9,
        ..Config::default()
    };
    load_quietly(&connection, &config, 2);
    run(&connection, &config, Mode::Pipelined, 4, 100);
    let mut client = client(&connection);
    // Foreign keys would forbid some of it.
    client
        .batch_execute("SET session_replication_role = replica")
        .unwrap();

    let mut seen = BTreeSet::new();
    for (damage, repair, expected) in CASES {
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
