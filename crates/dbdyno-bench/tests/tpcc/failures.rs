//! Attempts that fail half-way: the cause is told, nothing is left behind, the input can be repeated.

use dbdyno_bench::tpcc::install;
use dbdyno_testing::binaries;

use super::*;

/// What new orders change, as one text.
const STATE: &str = "SELECT concat_ws(' ',
    (SELECT sum(d_next_o_id) FROM district), (SELECT count(*) FROM orders),
    (SELECT count(*) FROM new_order), (SELECT count(*) FROM order_line),
    (SELECT sum(s_quantity + s_ytd + s_order_cnt + s_remote_cnt) FROM stock))";

fn state(client: &mut Client) -> String {
    client.query_one(STATE, &[]).unwrap().get(0)
}

/// A terminal that has drawn a new order and waits for no lock.
async fn about_to_order(
    reactor: &Reactor,
    connection: &Connection,
    stored: &Config,
    mode: Mode,
) -> Terminal {
    let target = target(connection).unwrap();
    let session = Session::open(reactor, &target).await.unwrap();
    let constants = constants(stored.seed);
    let terminal = Terminal::prepare(session, stored, mode, &constants, 3, 0);
    let mut terminal = terminal.await.unwrap();
    terminal.session().queue_text("SET lock_timeout = '50ms'");
    terminal.session().done().await.unwrap();
    while terminal.next() != 0 {}
    terminal
}

#[test]
fn a_failed_attempt_leaves_nothing_behind_and_can_be_repeated() {
    let running = start(binaries());
    let connection = running.database("failures");
    let stored = Config {
        warehouses: 1,
        seed: 2,
        ..Config::default()
    };
    load_quietly(&connection, &stored, 2);
    for mode in [Mode::Pipelined, Mode::Procedures] {
        install(&connection, &stored, mode).unwrap();
        fails_and_is_repeated(&connection, &stored, mode);
        assert_eq!(failing(&connection, When::AfterRun), BTreeSet::new());
    }
}

fn fails_and_is_repeated(connection: &Connection, stored: &Config, mode: Mode) {
    let reactor = Reactor::new(Alarm::new().unwrap()).unwrap();
    let about_to_order = about_to_order(&reactor, connection, stored, mode);
    let mut terminal = reactor.block_on(about_to_order).unwrap();
    let mut other = client(connection);
    let before = state(&mut other);

    // Each makes another statement of the transaction the first to fail; those behind it fail too.
    let blocks = [
        "BEGIN; SELECT FROM stock FOR UPDATE",
        "BEGIN; SELECT FROM district FOR UPDATE",
        "BEGIN; LOCK TABLE order_line IN SHARE MODE",
    ];
    for block in blocks {
        other.batch_execute(block).unwrap();
        let error = reactor.block_on(terminal.execute()).unwrap().unwrap_err();
        let code = error.server().map(|server| server.sqlstate.as_str());
        assert_eq!(code, Some("55P03"), "{mode:?} {block}: {error:?}");
        reactor.block_on(terminal.rollback()).unwrap().unwrap();
        other.batch_execute("ROLLBACK").unwrap();
        assert_eq!(state(&mut other), before, "{block}");
    }

    // A failure at the commit itself.
    other
        .batch_execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '40001'; END $$;
             CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON orders
                DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()",
        )
        .unwrap();
    let error = reactor.block_on(terminal.execute()).unwrap().unwrap_err();
    let code = error.server().map(|server| server.sqlstate.as_str());
    assert_eq!(code, Some("40001"), "{error:?}");
    reactor.block_on(terminal.rollback()).unwrap().unwrap();
    assert_eq!(state(&mut other), before);
    other.batch_execute("DROP FUNCTION refuse CASCADE").unwrap();

    let end = reactor.block_on(terminal.execute()).unwrap().unwrap();
    assert_eq!(end, End::Committed);
    assert_ne!(state(&mut other), before);
}
