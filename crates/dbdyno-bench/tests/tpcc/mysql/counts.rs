//! What the terminals count is what the database holds, in each way to drive it and on each server.

use std::collections::BTreeSet;
use std::ops::Range;

use dbdyno_bench::tpcc::{Config, Mode, When, constants, install, read_back};
use dbdyno_model::connection::Connection;
use dbdyno_testing::MySqlBinaries;

use super::{Client, damage, database, isolation, plans, start};
use crate::{failing, load_quietly, one_statement_each, run};

const TERMINALS: u32 = 4;

/// Decks that each terminal plays in each mode; 23 cards hold the mix exactly.
const DECKS: u32 = 15;

/// What leaves the data sound shares a load; the damage comes last.
#[test]
fn needs_mysql_what_the_terminals_count_is_what_the_database_holds() {
    for binaries in &MySqlBinaries::all() {
        let server = start(binaries);
        let connection = database(&server, "counts");
        let config = Config {
            warehouses: 2,
            seed: 4,
            ..Config::default()
        };
        load_quietly(&connection, &config, 2);
        let stored = read_back(&connection).unwrap();
        assert_eq!((stored.config, stored.constants), (config, constants(4)));
        assert_eq!(failing(&connection, When::AfterLoad), BTreeSet::new());
        counts_agree(&connection, &config);
        plans::stocks_are_locked_by_their_key(&connection, &config, binaries.is_mariadb());

        install(&connection, &config, Mode::Procedures).unwrap();
        one_statement_each(&connection, &config, 460);
        assert_eq!(failing(&connection, When::AfterRun), BTreeSet::new());
        isolation::is_shown_and_keeps_the_data_sound(&connection, &config);
        damage::is_named_all_at_once(&connection);
    }
}

fn counts_agree(connection: &Connection, config: &Config) {
    let played = u64::from(TERMINALS * DECKS);
    let mut sum = [0; 5];
    for (mode, before) in Mode::ALL.into_iter().zip(1..) {
        let counts = run(connection, config, mode, TERMINALS, 23 * DECKS);
        assert_eq!(failing(connection, When::AfterRun), BTreeSet::new());
        let [new_orders, others @ ..] = counts.committed;
        assert_eq!(new_orders + counts.rolled_back, 10 * played);
        assert!(counts.rolled_back > 0);
        assert_eq!(others, [10 * played, played, played, played]);
        for (sum, committed) in sum.iter_mut().zip(counts.committed) {
            *sum += committed;
        }
        let remote = 55 * before..125 * before;
        agree(connection, sum, remote, &format!("{mode:?}"));
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
