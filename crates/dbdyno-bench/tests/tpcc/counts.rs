//! What the terminals count is what the database holds, on every server that is at hand.

use std::collections::BTreeSet;
use std::ops::Range;

use dbdyno_bench::tpcc::{Config, Mode, When, constants, install, read_back};
use dbdyno_model::connection::Connection;
use dbdyno_testing::{all_binaries, is_packaged};

use super::{failing, load_quietly, number, one_statement_each, run, start};

const TERMINALS: u32 = 4;

/// Decks that each terminal plays in each mode; 23 cards hold the mix exactly.
const DECKS: u32 = 15;

#[test]
fn what_the_terminals_count_is_what_the_database_holds() {
    // A distribution's and the newest in every way, those between as `tune` drives them and by
    // routines, which are written in the server's own language.
    let all = all_binaries();
    let newest = all.iter().map(|binaries| binaries.version.major).max();
    for binaries in all {
        let is_newest = Some(binaries.version.major) == newest;
        let modes: &[Mode] = match is_newest || is_packaged(&binaries) {
            true => &Mode::ALL,
            false => &[Mode::Pipelined, Mode::Procedures],
        };
        let running = start(binaries);
        let connection = running.database("counts");
        let config = Config {
            warehouses: 2,
            seed: 4,
            ..Config::default()
        };
        load_quietly(&connection, &config, 2);
        let stored = read_back(&connection).unwrap();
        assert_eq!((stored.config, stored.constants), (config, constants(4)));
        assert_eq!(failing(&connection, When::AfterLoad), BTreeSet::new());
        counts_agree(&connection, &config, modes);

        install(&connection, &config, Mode::Procedures).unwrap();
        one_statement_each(&connection, &config, 460);
        assert_eq!(failing(&connection, When::AfterRun), BTreeSet::new());
    }
}

fn counts_agree(connection: &Connection, config: &Config, modes: &[Mode]) {
    let played = u64::from(TERMINALS * DECKS);
    let mut sum = [0; 5];
    for (mode, before) in modes.iter().zip(1..) {
        let counts = run(connection, config, *mode, TERMINALS, 23 * DECKS);
        assert_eq!(failing(connection, When::AfterRun), BTreeSet::new());
        let [new_orders, others @ ..] = counts.committed;
        assert_eq!(new_orders + counts.rolled_back, 10 * played);
        assert!(counts.rolled_back > 0);
        assert_eq!(others, [10 * played, played, played, played]);
        for (sum, committed) in sum.iter_mut().zip(counts.committed) {
            *sum += committed;
        }
        agree(connection, sum, 55 * before..125 * before, *mode);
    }
}

/// What is stored agrees with the sums of what was committed, and with itself.
fn agree(connection: &Connection, committed: [u64; 5], remote: Range<i64>, mode: Mode) {
    let [new_orders, payments, _, deliveries, _] = committed;
    let is = |sql: &str, expected: u64| {
        assert_eq!(number(connection, sql), expected as i64, "{mode:?}: {sql}");
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
    assert!(number(connection, "SELECT sum(s_remote_cnt) FROM stock") > 0);
    let paid = number(
        connection,
        "SELECT count(*) FROM history WHERE h_w_id <> h_c_w_id",
    );
    assert!(remote.contains(&paid), "{paid}");
    is(
        "SELECT count(*) FROM history JOIN customer
            ON c_w_id = h_c_w_id AND c_d_id = h_c_d_id AND c_id = h_c_id
         WHERE c_credit = 'BC' AND c_payment_cnt > 1
           AND (c_data NOT LIKE format('%s %s %s %%', c_id, c_d_id, c_w_id)
                OR length(c_data) > 500)",
        0,
    );
}
