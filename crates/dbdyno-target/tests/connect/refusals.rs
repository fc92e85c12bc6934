//! Every way to be turned away has a name and a hint, and none repeats a password.

use std::time::Duration;

use dbdyno_model::{Address, Connection, Secret};
use dbdyno_target::connection::{ConnectError, connect};
use dbdyno_testing::{Running, binaries};

#[test]
fn every_way_to_be_turned_away_has_a_name_and_a_hint() {
    let running = Running::start(binaries(), &[("password_encryption", "scram-sha-256")]);
    let mut admin = running.client();
    admin
        .batch_execute("CREATE ROLE app LOGIN PASSWORD 'right'; CREATE ROLE stranger LOGIN")
        .unwrap();
    let hba = running.server.data().join("pg_hba.conf");
    std::fs::write(
        &hba,
        "local all app scram-sha-256\nlocal all stranger reject\nlocal all postgres trust\n",
    )
    .unwrap();
    admin.batch_execute("SELECT pg_reload_conf()").unwrap();
    std::thread::sleep(Duration::from_millis(300));

    let app = Connection {
        user: "app".into(),
        password: Some(Secret::new("wrong-secret")),
        ..running.connection()
    };
    let error = failure(&app);
    assert!(
        matches!(error, ConnectError::WrongPassword { .. }),
        "{error:?}"
    );
    let none = Connection {
        password: None,
        ..app.clone()
    };
    assert!(matches!(
        failure(&none),
        ConnectError::PasswordNeeded { .. }
    ));
    let right = Connection {
        password: Some(Secret::new("right")),
        ..app.clone()
    };
    connect(&Connection {
        database: "postgres".into(),
        ..right.clone()
    })
    .unwrap();
    let nowhere = Connection {
        database: "nowhere".into(),
        ..right
    };
    assert!(matches!(
        failure(&nowhere),
        ConnectError::UnknownDatabase { .. }
    ));
    let stranger = Connection {
        user: "stranger".into(),
        ..app.clone()
    };
    assert!(matches!(
        failure(&stranger),
        ConnectError::NoHbaEntry { .. }
    ));

    let socket = Connection {
        port: 1,
        ..app.clone()
    };
    assert!(matches!(failure(&socket), ConnectError::NoSocket { .. }));
    let tcp = |host: &str, port| Connection {
        address: Address::Tcp(host.into()),
        port,
        ..app.clone()
    };
    let refused = failure(&tcp("127.0.0.1", 1));
    assert!(matches!(refused, ConnectError::Refused { .. }));
    assert!(refused.to_string().contains("127.0.0.1, port 1"));
    assert!(matches!(
        failure(&tcp("no-such-host.invalid", 5432)),
        ConnectError::NoSuchHost { .. }
    ));

    // It accepts, by its backlog, and says nothing.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = Connection {
        connect_timeout_s: 1,
        ..tcp("127.0.0.1", listener.local_addr().unwrap().port())
    };
    assert!(matches!(failure(&silent), ConnectError::Timeout { .. }));
}

/// The error, after a look for the password in all that it says.
fn failure(connection: &Connection) -> ConnectError {
    let error = connect(connection).err().unwrap();
    let text = format!("{error} {error:?} {:?}", error.hint());
    assert!(!text.contains("wrong-secret"), "{text}");
    assert!(error.hint().is_some(), "{text}");
    error
}
