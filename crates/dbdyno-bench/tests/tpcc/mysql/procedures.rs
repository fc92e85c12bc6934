//! Routines on the server: made once, refused and removed. What they do is counted with the other modes.

use dbdyno_bench::tpcc::{Config, LoadError, Mode, clean, install};
use dbdyno_model::connection::Connection;
use dbdyno_testing::MySqlBinaries;

use super::{Client, database, start};

/// One that is made again runs as its invoker.
const ROUTINES: &str = "SELECT concat(routine_name, ' ', security_type)
    FROM information_schema.routines WHERE routine_schema = database() ORDER BY routine_name";

#[test]
fn needs_mysql_routines_are_made_once_and_removed() {
    for binaries in &MySqlBinaries::all() {
        let server = start(binaries);
        made_once_and_removed(&database(&server, "made"));
    }
}

fn made_once_and_removed(connection: &Connection) {
    let config = Config {
        warehouses: 1,
        seed: 1,
        ..Config::default()
    };
    let make = |mode| install(connection, &config, mode);
    let mut client = Client::open(connection);
    make(Mode::Pipelined).unwrap();
    assert!(client.texts(ROUTINES).is_empty());

    // Who may not make them is told what is missing.
    client.run("CREATE USER guest@localhost; GRANT SELECT ON made.* TO guest@localhost");
    let guest = Connection {
        user: "guest".into(),
        ..connection.clone()
    };
    let refused = install(&guest, &config, Mode::Procedures).unwrap_err();
    assert!(
        matches!(&refused, LoadError::Routine { name, .. } if name == "dbdyno_new_order"),
        "{refused:?}"
    );
    let hint = refused.hint().unwrap_or_default();
    assert!(hint.contains("CREATE ROUTINE"), "{refused:?}: {hint}");

    make(Mode::Procedures).unwrap();
    let all = [
        "dbdyno_delivery INVOKER",
        "dbdyno_new_order INVOKER",
        "dbdyno_order_status INVOKER",
        "dbdyno_payment INVOKER",
        "dbdyno_stock_level INVOKER",
    ];
    assert_eq!(client.texts(ROUTINES), all);

    // What is there as it should be stays; what an earlier version has made is replaced.
    client.run(
        "ALTER PROCEDURE dbdyno_delivery SQL SECURITY DEFINER;
         ALTER PROCEDURE dbdyno_payment SQL SECURITY DEFINER COMMENT 'dbdyno 0'",
    );
    make(Mode::Procedures).unwrap();
    let [_, others @ ..] = &all;
    let found = client.texts(ROUTINES);
    assert_eq!(found[0], "dbdyno_delivery DEFINER");
    assert_eq!(found[1..], *others);

    // Somebody else's is neither replaced nor removed.
    client.run("ALTER PROCEDURE dbdyno_payment COMMENT 'ours'");
    let refused = make(Mode::Procedures).unwrap_err();
    assert!(
        matches!(&refused, LoadError::RoutineTaken(name) if name == "dbdyno_payment"),
        "{refused:?}"
    );
    assert!(clean(connection).unwrap());
    assert_eq!(client.texts(ROUTINES), ["dbdyno_payment INVOKER"]);
    assert!(!clean(connection).unwrap());
}
