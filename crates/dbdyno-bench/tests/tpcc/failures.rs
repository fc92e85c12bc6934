//! Attempts that fail half-way: the cause is told, nothing is left behind, the input can be repeated.

use dbdyno_testing::binaries;
use postgres::error::SqlState;

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
async fn about_to_order(connection: &Connection, stored: &Config) -> Terminal {
    let (client, task) = config(connection).connect(NoTls).await.unwrap();
    tokio::task::spawn_local(task);
    let mut terminal = Terminal::prepare(client, stored, &constants(stored.seed), 3, 0)
        .await
        .unwrap();
    terminal
        .client()
        .batch_execute("SET lock_timeout = '50ms'")
        .await
        .unwrap();
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
    };
    load_quietly(&connection, &stored, 2);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let on_runtime = tokio::task::LocalSet::new();
    let mut terminal = on_runtime.block_on(&runtime, about_to_order(&connection, &stored));
    let mut other = client(&connection);
    let before = state(&mut other);

    // Each makes another statement of the transaction the first to fail; those behind it fail too.
    let blocks = [
        "BEGIN; SELECT FROM stock FOR UPDATE",
        "BEGIN; SELECT FROM district FOR UPDATE",
        "BEGIN; LOCK TABLE order_line IN SHARE MODE",
    ];
    for block in blocks {
        other.batch_execute(block).unwrap();
        let error = on_runtime
            .block_on(&runtime, terminal.execute())
            .unwrap_err();
        let code = error.code().cloned();
        assert_eq!(
            code,
            Some(SqlState::LOCK_NOT_AVAILABLE),
            "{block}: {error:?}"
        );
        on_runtime.block_on(&runtime, terminal.rollback()).unwrap();
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
    let error = on_runtime
        .block_on(&runtime, terminal.execute())
        .unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE));
    on_runtime.block_on(&runtime, terminal.rollback()).unwrap();
    assert_eq!(state(&mut other), before);
    other.batch_execute("DROP FUNCTION refuse CASCADE").unwrap();

    let end = on_runtime.block_on(&runtime, terminal.execute()).unwrap();
    assert_eq!(end, End::Committed);
    assert_ne!(state(&mut other), before);
    assert_eq!(failing(&connection, When::AfterRun), BTreeSet::new());
}
