//! What the terminals count is what the database holds, in each way to drive it.

use std::collections::BTreeSet;
use std::ops::Range;

use dbdyno_bench::tpcc::{Config, Mode, When, constants, read_back};
use dbdyno_model::connection::Connection;
use dbdyno_testing::MySqlBinaries;

use super::{Client, database, start};
use crate::{failing, load_quietly, run};

#[test]
fn needs_mysql_what_the_terminals_count_is_what_the_database_holds() {
    // Each as it is meant to be driven, then in one of the ways that are the same for all servers, and
    // then by its routines.
    let plain = [Mode::Unbatched, Mode::Batched];
    for (binaries, plain) in MySqlBinaries::all().iter().zip(plain.into_iter().cycle()) {
        let server = start(binaries);
        let modes = [Mode::Pipelined, plain, Mode::Procedures];
        counts_agree(&database(&server, "counts"), &modes);
    }
}

fn counts_agree(connection: &Connection, modes: &[Mode]) {
    let config = Config {
        warehouses: 2,
        seed: 4,
        ..Config::default()
    };
    load_quietly(connection, &config, 2);
    let stored = read_back(connection).unwrap();
    assert_eq!((stored.config, stored.constants), (config, constants(4)));
    assert_eq!(failing(connection, When::AfterLoad), BTreeSet::new());

    let mut sum = [0; 5];
    for (mode, before) in modes.iter().zip(1..) {
        let counts = run(connection, &config, *mode, 4, 460);
        assert_eq!(failing(connection, When::AfterRun), BTreeSet::new());
        // 20 decks a terminal hold the mix exactly.
        let [new_orders, others @ ..] = counts.committed;
        assert_eq!(new_orders + counts.rolled_back, 800);
        assert!(counts.rolled_back > 0);
        assert_eq!(others, [800, 80, 80, 80]);
        for (sum, committed) in sum.iter_mut().zip(counts.committed) {
            *sum += committed;
        }
        agree(
            connection,
            sum,
            80 * before..165 * before,
            &format!("{mode:?}"),
        );
    }
}

/// What is stored agrees with the sums of what was committed, and with itself.
fn agree(connection: &Connection, committed: [u64; 5], remote: Range<i64>, mode: &str) {
    let [new_orders, payments, _, deliveries, _] = committed;
    let mut client = Client::open(connection);
    let mut is = |sql: &str, expected: u64| {
        assert_eq!(client.number(sql), expected as i64, "{mode}: {sql}");
    };
    is("SELECT sum(d_next_o_id - 3001) FROM district", new_orders);
    is("SELECT count(*) - 60000 FROM orders", new_orders);
    is("SELECT count(*) - 60000 FROM history", payments);
    is("SELECT sum(c_payment_cnt - 1) FROM customer", payments);
    // Ten orders each: the load leaves enough of them.
    is("SELECT sum(c_delivery_cnt) FROM customer", 10 * deliveries);
    for sql in ZEROES {
        is(sql, 0);
    }
    assert!(client.number("SELECT sum(s_remote_cnt) FROM stock") > 0);
    let paid = client.number("SELECT count(*) FROM history WHERE h_w_id <> h_c_w_id");
    assert!(remote.contains(&paid), "{paid}");
}

/// What has to come to nothing after a run, whatever it did.
const ZEROES: [&str; 9] = [
    // Stocks add up to the lines ordered, also where an order names an item twice.
    "SELECT sum(s_ytd) - (SELECT sum(ol_quantity) FROM order_line WHERE ol_o_id > 3000) FROM stock",
    "SELECT sum(s_order_cnt) - (SELECT count(*) FROM order_line WHERE ol_o_id > 3000) FROM stock",
    "SELECT sum(s_remote_cnt)
        - (SELECT count(*) FROM order_line WHERE ol_supply_w_id <> ol_w_id) FROM stock",
    "SELECT count(*) FROM stock WHERE s_quantity NOT BETWEEN 10 AND 100",
    "SELECT count(*) FROM order_line JOIN item ON i_id = ol_i_id
        WHERE ol_o_id > 3000 AND ol_amount <> ol_quantity * i_price",
    "SELECT count(*) FROM order_line JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id
        WHERE ol_o_id > 3000 AND ol_dist_info <> elt(ol_d_id, s_dist_01, s_dist_02, s_dist_03,
            s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10)",
    "SELECT count(*) FROM orders WHERE (o_all_local = 1) = EXISTS (
        SELECT 1 FROM order_line WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id
        AND ol_o_id = o_id AND ol_supply_w_id <> o_w_id)",
    "SELECT count(*) FROM history
        JOIN customer ON c_w_id = h_c_w_id AND c_d_id = h_c_d_id AND c_id = h_c_id
        WHERE c_credit = 'BC' AND c_payment_cnt > 1
        AND (c_data NOT LIKE concat_ws(' ', c_id, c_d_id, c_w_id, '%') OR length(c_data) > 500)",
    "SELECT count(*) FROM history
        JOIN warehouse ON w_id = h_w_id JOIN district ON d_w_id = h_w_id AND d_id = h_d_id
        WHERE h_id > 60000 AND h_data <> concat(w_name, '    ', d_name)",
];
