//! What users type, resolved on a machine that is made up.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

pub(super) fn machine() -> Machine {
    Machine {
        user: Some("os".into()),
        home: Some("/nonexistent".into()),
        socket_directories: vec!["/nonexistent/run".into(), "/nonexistent/tmp".into()],
        service_directories: Vec::new(),
        mysql_sockets: Vec::new(),
        mysql_option_files: Vec::new(),
    }
}

/// What the target comes to on that machine, with nothing else in the environment.
pub(super) fn on(
    machine: &Machine,
    target: &str,
    variables: &[(&str, &str)],
) -> Result<Candidates, ConnectionError> {
    let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
    let environment = |name: &str| variables.get(name).map(|value| (*value).to_owned());
    resolve_on(machine, target, &environment, None)
}

fn with(target: &str, variables: &[(&str, &str)]) -> Result<Connection, ConnectionError> {
    on(&machine(), target, variables).map(Candidates::first)
}

fn plain(target: &str) -> Connection {
    with(target, &[]).unwrap()
}

fn tcp(host: &str) -> Address {
    Address::Tcp(host.into())
}

fn password(connection: &Connection) -> Option<&str> {
    connection.password.as_ref().map(Secret::expose)
}

#[test]
fn a_full_uri_fills_every_part() {
    let c = plain(
        "postgres://a%40b:p%3Aw%2f@db.example:6000/my%20db?sslmode=verify-ca&sslrootcert=/r.crt&connect_timeout=3",
    );
    assert_eq!((c.user.as_str(), password(&c)), ("a@b", Some("p:w/")));
    assert_eq!((c.address, c.port), (tcp("db.example"), 6000));
    assert_eq!(c.database, "my db");
    assert_eq!(c.ssl_mode, SslMode::VerifyCa);
    assert_eq!(c.ssl_root_cert, Some("/r.crt".into()));
    assert_eq!(c.connect_timeout_s, 3);
}

#[test]
fn the_query_of_a_uri_may_hold_everything() {
    let c = plain("postgresql:///?host=/run/pg&port=5433&user=u&password=p&dbname=d&ssl=true");
    assert_eq!(c.address, Address::Socket("/run/pg".into()));
    assert_eq!(
        (c.port, c.user.as_str(), c.database.as_str()),
        (5433, "u", "d")
    );
    assert_eq!(password(&c), Some("p"));
    let azure = plain("postgres://db/d?user=me@server&password=p@q");
    assert_eq!(
        (azure.user.as_str(), password(&azure)),
        ("me@server", Some("p@q"))
    );
}

#[test]
fn ipv6_stands_in_brackets_and_an_encoded_socket_path_is_a_host() {
    let c = plain("postgres://u@[2001:db8::1]:5433/d");
    assert_eq!((c.address, c.port), (tcp("2001:db8::1"), 5433));
    assert_eq!(plain("postgres://[::1]").address, tcp("::1"));
    assert_eq!(
        plain("postgres://%2Fvar%2Frun/d").address,
        Address::Socket("/var/run".into())
    );
    for broken in ["postgres://[::1", "postgres://[::1]x", "postgres://::1/d"] {
        assert!(with(broken, &[]).is_err(), "{broken}");
    }
}

#[test]
fn parameters_may_be_quoted_escaped_and_spaced() {
    let c = plain(r"host = db  user='it\'s me' password='a b\\c' dbname=x\ y port=5433");
    assert_eq!(c.address, tcp("db"));
    assert_eq!((c.user.as_str(), password(&c)), ("it's me", Some(r"a b\c")));
    assert_eq!((c.database.as_str(), c.port), ("x y", 5433));
}

#[test]
fn what_is_not_given_comes_from_the_environment_and_then_from_this_machine() {
    let c = plain("");
    assert_eq!(c.address, Address::Socket("/tmp".into()));
    assert_eq!(
        (c.user.as_str(), c.database.as_str(), c.port),
        ("os", "os", 5432)
    );
    assert_eq!((c.ssl_mode, c.connect_timeout_s), (SslMode::Disable, 10));
    let variables = [
        ("PGHOST", "envhost"),
        ("PGPORT", "7000"),
        ("PGUSER", "envuser"),
        ("PGPASSWORD", "envpw"),
        ("PGDATABASE", "envdb"),
        ("PGSSLMODE", "disable"),
        ("PGCONNECT_TIMEOUT", "0"),
    ];
    let c = with("postgres://typed@/shop", &variables).unwrap();
    assert_eq!((c.address, c.port), (tcp("envhost"), 7000));
    assert_eq!((c.user.as_str(), c.database.as_str()), ("typed", "shop"));
    assert_eq!(c.password.unwrap().expose(), "envpw");
    assert_eq!((c.ssl_mode, c.connect_timeout_s), (SslMode::Disable, 0));
    assert_eq!(plain("shop").database, "shop");
}

#[test]
fn the_socket_directory_with_the_socket_wins_over_the_first_that_exists() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let machine = Machine {
        socket_directories: vec![first.path().into(), second.path().into()],
        ..machine()
    };
    assert_eq!(machine.socket_directory(5432), first.path());
    std::fs::write(second.path().join(".s.PGSQL.5432"), "").unwrap();
    assert_eq!(machine.socket_directory(5432), second.path());
}

#[test]
fn silence_about_tls_depends_on_where_the_server_is() {
    let mode = |target| plain(target).ssl_mode;
    assert_eq!(mode("host=/run/x"), SslMode::Disable);
    assert_eq!(mode("host=/run/x sslmode=verify-full"), SslMode::Disable);
    assert_eq!(mode("host=localhost"), SslMode::Prefer);
    assert_eq!(mode("host=127.0.0.1"), SslMode::Prefer);
    assert_eq!(mode("host=::1"), SslMode::Prefer);
    assert_eq!(mode("host=10.0.0.1"), SslMode::VerifyFull);
    assert_eq!(mode("host=10.0.0.1 sslmode=prefer"), SslMode::Prefer);
    assert_eq!(
        mode("host=localhost sslrootcert=system"),
        SslMode::VerifyFull
    );
    assert!(with("host=db sslrootcert=system sslmode=require", &[]).is_err());
    assert!(with("host=db sslmode=verify", &[]).is_err());
}

#[test]
fn the_users_own_root_certificate_is_found_as_libpq_finds_it() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".postgresql/root.crt");
    std::fs::create_dir(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "").unwrap();
    let home = home.path().display().to_string();
    let c = with("host=db", &[("HOME", &home)]).unwrap();
    assert_eq!(c.ssl_root_cert, Some(file));
    let c = with("host=db sslmode=prefer", &[("HOME", &home)]).unwrap();
    assert_eq!(c.ssl_root_cert, None);
}

#[test]
fn an_authority_is_never_everybodys_and_revoked_certificates_are_never_passed_over() {
    let bare = with("host=db sslmode=verify-ca", &[]).unwrap_err();
    assert!(matches!(bare, ConnectionError::NoAuthority), "{bare}");
    assert!(bare.hint().unwrap().contains("sslrootcert=FILE"));

    let home = tempfile::tempdir().unwrap();
    let own = home.path().join(".postgresql");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("root.crl"), "").unwrap();
    let home = home.path().display().to_string();
    let variables = [("HOME", home.as_str())];
    for target in [
        "host=db sslrootcert=/r.crt",
        "host=db sslmode=verify-ca sslrootcert=/r.crt",
        // With roots, libpq verifies in this mode as well.
        "host=db sslmode=require sslrootcert=/r.crt",
    ] {
        let error = with(target, &variables).unwrap_err();
        assert!(error.to_string().contains("root.crl"), "{target}: {error}");
        assert!(error.hint().is_some());
    }
    for target in [
        "host=db sslrootcert=system",
        "host=db sslmode=require",
        "host=db sslmode=prefer",
        "host=localhost",
        "host=/run/x sslmode=verify-full",
    ] {
        assert!(with(target, &variables).is_ok(), "{target}");
    }
    std::fs::write(own.join("root.crt"), "").unwrap();
    std::fs::remove_file(own.join("root.crl")).unwrap();
    let c = with("host=db sslmode=verify-ca", &variables).unwrap();
    assert_eq!(c.ssl_root_cert, Some(own.join("root.crt")));
}

#[test]
fn what_cannot_be_done_is_said_with_the_way_out() {
    let error = |target| with(target, &[]).unwrap_err();
    assert!(matches!(
        error("host=a,b port=1,2,3"),
        ConnectionError::PortCount { hosts: 2, ports: 3 }
    ));
    assert!(matches!(
        error("redis://h"),
        ConnectionError::OtherScheme(_)
    ));
    assert!(matches!(
        error("user:pw@host"),
        ConnectionError::NotUnderstood
    ));
    assert!(matches!(
        error("service=x"),
        ConnectionError::NoService { .. }
    ));
    assert!(matches!(
        error("hostaddr=10.0.0.1"),
        ConnectionError::Unsupported { .. }
    ));
    assert!(matches!(
        error("host=h hots=1"),
        ConnectionError::UnknownParameter { .. }
    ));
    for port in ["0", "65536", "-1", "x"] {
        assert!(with(&format!("port={port}"), &[]).is_err());
    }
    for host in ["@abstract", "a b", "rel/path"] {
        assert!(with(&format!("host='{host}'"), &[]).is_err());
    }
}

#[test]
fn no_error_repeats_the_password_of_a_target_that_cannot_be_read() {
    const P: &str = "hunter";
    for target in [
        "postgres://u:hunter/two@host/db",
        "postgres://u:hunter@two@host/db",
        "postgres://u:hunter%zz@host/db",
        "postgres://u:1?hunter=b/x@host/db",
        "postgres://u:a?b&hunter=c/d@host",
        "postgres://u:hunter",
        "postgres://u:hunter/db",
        "postgres://u:hunter@host:port/db",
        "postgres://u:hunter@host/db?sslmod=x",
        "postgres://u:a@hunter?x=y@host/db",
        "postgre://u:hunter@host/db",
        "u:hunter@host/db",
        "u:hunter=@host/db",
        "host=h password=a hunter",
        "host=h password=a hunter=b",
        "host=h password='hunter",
        "password=hunter port=x",
        "password=hunter host=a,b port=1,2,3",
        "postgres://u:hunter,host/db",
        "postgres://u:1,hunter:hunter/db",
        "postgres://u:hunter@a,b:port/db",
        "password=hunter service=nowhere",
        "password=hunter nosuch=1",
        "hunter@=x",
    ] {
        let error = with(target, &[]).unwrap_err();
        let text = format!("{error} {error:?} {:?}", error.hint());
        assert!(!text.contains(P), "{target}: {text}");
    }
}

fn encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, b| {
        if b.is_ascii_alphanumeric() {
            out.push(char::from(b));
        } else {
            write!(out, "%{b:02X}").unwrap();
        }
        out
    })
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

proptest! {
    #[test]
    fn no_string_makes_it_panic(text in "\\PC*") {
        let _ = with(&text, &[]);
        let _ = with(&format!("postgres://{text}"), &[]);
        let _ = with(&format!("host=h {text}"), &[]);
    }

    #[test]
    fn what_looks_like_a_connection_does_not_make_it_panic(
        text in "(postgres://)?[a-z:@/?&=%'\\\\,\\[\\] 0-9]{0,60}"
    ) {
        let _ = with(&text, &[]);
    }

    #[test]
    fn both_forms_carry_every_value_unchanged(
        user in "[^\0]{1,12}",
        password in "[^\0]{1,12}",
        database in "[^\0]{1,12}",
        host in "[a-z][a-z0-9.-]{0,20}",
        port in 1_u16..,
    ) {
        let uri = format!(
            "postgres://{}:{}@{host}:{port}/{}",
            encode(&user), encode(&password), encode(&database)
        );
        let conninfo = format!(
            "user={} password={} host={host} port={port} dbname={}",
            quote(&user), quote(&password), quote(&database)
        );
        for target in [uri, conninfo] {
            let c = with(&target, &[]).unwrap();
            prop_assert_eq!(&c.user, &user);
            prop_assert_eq!(c.password.as_ref().unwrap().expose(), &password);
            prop_assert_eq!(&c.database, &database);
            prop_assert_eq!(&c.address, &Address::Tcp(host.clone()));
            prop_assert_eq!(c.port, port);
        }
    }

    #[test]
    fn no_error_repeats_a_password(
        password in "[A-Z]{6}[@/?:%&= #'\\\\A-Z]{0,6}[A-Z]{2}",
        tail in "(@host|@host:port|)(/db)?(\\?sslmod=1|\\?port=x|)",
    ) {
        for target in [
            format!("postgres://u:{password}{tail}"),
            format!("u:{password}{tail}"),
            format!("host=h password={password} port=x"),
            format!("password={password} host=h nosuch=1"),
        ] {
            if let Err(error) = with(&target, &[]) {
                let text = format!("{error} {error:?} {:?}", error.hint());
                for piece in password.split(|c: char| !c.is_ascii_uppercase()) {
                    prop_assert!(piece.len() < 4 || !text.contains(piece), "{}: {}", target, text);
                }
            }
        }
    }
}
