//! Several hosts in one target, and services: which server is taken, and what is said of the rest.

use std::fs;
use std::path::PathBuf;

use dbdyno_model::{Address, Connection};
use dbdyno_target::connection::{Candidates, ConnectError, connect, resolve};
use dbdyno_testing::{Running, binaries};

/// With nothing in the environment, and no password file.
fn candidates(target: &str) -> Candidates {
    let nothing = |name: &str| (name == "PGPASSFILE").then(|| "/dev/null".to_owned());
    resolve(target, &nothing).unwrap()
}

fn directory(connection: &Connection) -> PathBuf {
    match &connection.address {
        Address::Socket(directory) => directory.clone(),
        Address::Tcp(_) => panic!("a lab server listens on a socket"),
    }
}

/// A list of a host where nothing listens and these servers.
fn after_a_dead_one(servers: &[&Running], rest: &str) -> String {
    let (mut hosts, mut ports) = ("127.0.0.1".to_owned(), "1".to_owned());
    for server in servers {
        let connection = server.connection();
        hosts.push_str(&format!(",{}", directory(&connection).display()));
        ports.push_str(&format!(",{}", connection.port));
    }
    format!("host={hosts} port={ports} user=postgres dbname=postgres {rest}")
}

#[test]
fn the_first_that_answers_and_is_of_the_kind_is_taken() {
    let primary = Running::start(binaries(), &[]);
    let (primary, standby) = primary.with_standby(&[], &[]);
    let (on_primary, on_standby) = (
        directory(&primary.connection()),
        directory(&standby.connection()),
    );
    let chosen = |servers: &[&Running], rest: &str| {
        let target = after_a_dead_one(servers, rest);
        candidates(&target).choose()
    };
    let both = [&standby, &primary];
    for (kind, expected) in [
        ("any", &on_standby),
        ("read-write", &on_primary),
        ("primary", &on_primary),
        ("read-only", &on_standby),
        ("standby", &on_standby),
        ("prefer-standby", &on_standby),
    ] {
        let taken = chosen(&both, &format!("target_session_attrs={kind}")).unwrap();
        assert_eq!(&directory(&taken), expected, "{kind}");
        connect(&taken).unwrap();
    }
    // Where there is no standby, whoever answers will do.
    let taken = chosen(&[&primary], "target_session_attrs=prefer-standby").unwrap();
    assert_eq!(directory(&taken), on_primary);
    let taken = chosen(
        &both,
        "load_balance_hosts=random target_session_attrs=primary",
    )
    .unwrap();
    assert_eq!(directory(&taken), on_primary);

    // Options are part of what a session is.
    let silent = "target_session_attrs=read-only options='-c default_transaction_read_only=on'";
    let taken = chosen(&[&primary], silent).unwrap();
    assert_eq!(directory(&taken), on_primary);
    let mut client = connect(&taken).unwrap();
    let row = client.query_one("SHOW default_transaction_read_only", &[]);
    assert_eq!(row.unwrap().get::<_, String>(0), "on");

    let error = chosen(&[&primary], "target_session_attrs=standby").unwrap_err();
    let told = error.to_string();
    assert!(
        told.contains("nothing listens on 127.0.0.1, port 1"),
        "{told}"
    );
    assert!(told.contains("it is a primary that takes writes"), "{told}");
    assert!(told.contains("target_session_attrs=standby"), "{told}");
    assert!(error.hint().unwrap().contains("target_session_attrs=any"));
}

#[test]
fn a_server_that_turns_us_away_ends_the_search() {
    let running = Running::start(binaries(), &[]);
    let target = after_a_dead_one(&[&running, &running], "");
    let target = target.replace("dbname=postgres", "dbname=nowhere");
    let error = candidates(&target).choose().unwrap_err();
    let ConnectError::NoneOf { reasons, untried } = &error else {
        panic!("{error:?}");
    };
    assert_eq!((reasons.len(), *untried), (2, 1));
    assert!(matches!(reasons[0].1, ConnectError::Refused { .. }));
    assert!(matches!(reasons[1].1, ConnectError::UnknownDatabase { .. }));
    assert!(error.to_string().contains("1 more not tried"), "{error}");
    assert!(error.hint().unwrap().contains("dbname="));

    // One that was named alone is not asked before it is needed.
    let alone = candidates("host=127.0.0.1 port=1").choose().unwrap();
    assert_eq!(alone.port, 1);
    let wanted = candidates("host=127.0.0.1 port=1 target_session_attrs=primary");
    let error = wanted.choose().unwrap_err();
    assert!(matches!(error, ConnectError::Refused { .. }), "{error:?}");
}

#[test]
fn a_service_reaches_its_server() {
    let running = Running::start(binaries(), &[]);
    let connection = running.connection();
    let files = tempfile::tempdir().unwrap();
    let file = files.path().join("services");
    let text = format!(
        "[lab]\nhost=127.0.0.1,{}\nport=1,{}\nuser=postgres\ndbname=postgres\n\
         options=-c statement_timeout=1234\n",
        directory(&connection).display(),
        connection.port
    );
    fs::write(&file, text).unwrap();
    let file = file.display().to_string();
    let environment = |name: &str| match name {
        "PGSERVICE" => Some("lab".to_owned()),
        "PGSERVICEFILE" => Some(file.clone()),
        "PGPASSFILE" => Some("/dev/null".to_owned()),
        _ => None,
    };
    let taken = resolve("", &environment).unwrap().choose().unwrap();
    let mut client = connect(&taken).unwrap();
    let row = client.query_one("SHOW statement_timeout", &[]).unwrap();
    assert_eq!(row.get::<_, String>(0), "1234ms");
}
