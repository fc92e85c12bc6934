//! What the terminals count is what the database holds, on every server that is at hand.

use std::collections::BTreeSet;

use dbdyno_bench::tpcc::{Config, Mode, When, constants, read_back};
use dbdyno_testing::all_binaries;

use super::{failing, load_quietly, number, run, start};

#[test]
fn what_the_terminals_count_is_what_the_database_holds() {
    // Every version as `tune` drives it, and one of them in each other way.
    let all = all_binaries();
    let first = all.first().expect("a server").clone();
    let others = [Mode::Unbatched, Mode::Batched, Mode::Procedures];
    let others = others.map(|mode| (first.clone(), mode));
    let all = all.into_iter().map(|binaries| (binaries, Mode::Pipelined));
    for (binaries, mode) in all.chain(others) {
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

        let counts = run(&connection, &config, mode, 4, 460);
        assert_eq!(failing(&connection, When::AfterRun), BTreeSet::new());

        // 20 decks a terminal hold the mix exactly.
        let [
            new_orders,
            payments,
            order_statuses,
            deliveries,
            stock_levels,
        ] = counts.committed;
        assert_eq!(new_orders + counts.rolled_back, 800);
        assert!(counts.rolled_back > 0);
        assert_eq!(
            [payments, order_statuses, deliveries, stock_levels],
            [800, 80, 80, 80]
        );
        let is = |sql: &str, expected: u64| {
            assert_eq!(number(&connection, sql), expected as i64, "{sql}");
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
        assert!(number(&connection, "SELECT sum(s_remote_cnt) FROM stock") > 0);
        let remote = number(
            &connection,
            "SELECT count(*) FROM history WHERE h_w_id <> h_c_w_id",
        );
        assert!((80..165).contains(&remote), "{remote}");
        is(
            "SELECT count(*) FROM history JOIN customer
                ON c_w_id = h_c_w_id AND c_d_id = h_c_d_id AND c_id = h_c_id
             WHERE c_credit = 'BC' AND c_payment_cnt > 1
               AND (c_data NOT LIKE format('%s %s %s %%', c_id, c_d_id, c_w_id)
                    OR length(c_data) > 500)",
            0,
        );
    }
}
