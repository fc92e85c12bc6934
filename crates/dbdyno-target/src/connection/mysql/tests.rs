//! MySQL's URIs and option files, resolved on a machine that is made up.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use proptest::prelude::*;

use super::super::{Candidates, resolve_on as resolve_any};
use super::*;

fn machine() -> Machine {
    Machine {
        user: Some("os".into()),
        home: Some("/nonexistent".into()),
        socket_directories: vec!["/nonexistent/run".into()],
        service_directories: Vec::new(),
        mysql_sockets: vec!["/nonexistent/a.sock".into(), "/nonexistent/b.sock".into()],
        mysql_option_files: Vec::new(),
    }
}

/// Resolved by the entry point of all engines.
fn on(
    machine: &Machine,
    target: &str,
    variables: &[(&str, &str)],
) -> Result<Connection, ConnectionError> {
    let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
    let environment = |name: &str| variables.get(name).map(|value| (*value).to_owned());
    resolve_any(machine, target, &environment, None).map(Candidates::first)
}

fn with(target: &str, variables: &[(&str, &str)]) -> Result<Connection, ConnectionError> {
    on(&machine(), target, variables)
}

fn plain(target: &str) -> Connection {
    with(target, &[]).unwrap()
}

fn tcp(host: &str) -> Address {
    Address::Tcp(host.into())
}

fn socket(path: impl AsRef<Path>) -> Address {
    Address::Socket(path.as_ref().into())
}

fn password(connection: &Connection) -> Option<&str> {
    connection.password.as_ref().map(Secret::expose)
}

#[test]
fn a_full_uri_fills_every_part() {
    let c = plain(
        "mysql://a%40b:p%3Aw%2f@db.example:6000/my%20db?ssl-mode=verify_ca&ssl_ca=/r.pem&connect-timeout=3",
    );
    assert_eq!(c.engine, Engine::MySql);
    assert_eq!((c.user.as_str(), password(&c)), ("a@b", Some("p:w/")));
    assert_eq!((c.address, c.port), (tcp("db.example"), 6000));
    assert_eq!(c.database, "my db");
    assert_eq!(c.ssl_mode, SslMode::VerifyCa);
    assert_eq!(c.ssl_root_cert, Some("/r.pem".into()));
    assert_eq!(c.connect_timeout_s, 3);
    let c = plain("mariadb://[2001:db8::1]:3307");
    assert_eq!((c.address, c.port), (tcp("2001:db8::1"), 3307));
    assert_eq!((c.user.as_str(), c.database.as_str()), ("os", ""));
    assert_eq!((c.engine, c.connect_timeout_s), (Engine::MySql, 10));
}

#[test]
fn localhost_is_the_socket_unless_a_port_is_typed() {
    let first = socket("/nonexistent/a.sock");
    for target in [
        "mysql://",
        "mysql:///d",
        "mysql://localhost",
        "mysql://u@localhost/d",
    ] {
        let c = plain(target);
        assert_eq!((c.address, c.port), (first.clone(), 3306), "{target}");
    }
    assert_eq!(plain("mysql://localhost:3306").address, tcp("localhost"));
    assert_eq!(plain("mysql://u@:3307/d").address, tcp("localhost"));
    assert_eq!(plain("mysql://127.0.0.1").address, tcp("127.0.0.1"));
    let named = socket("/run/s");
    assert_eq!(plain("mysql:///d?socket=/run/s").address, named);
    assert_eq!(
        plain("mysql://localhost:1/d?socket=%2Frun%2Fs").address,
        named
    );
    assert_eq!(plain("mysql://%2Frun%2Fs/d").address, named);
    assert!(with("mysql://db/d?socket=/run/s", &[]).is_err());
    assert!(with("mysql:///d?socket=run/s", &[]).is_err());
}

#[test]
fn the_first_socket_that_exists_wins() {
    let directory = tempfile::tempdir().unwrap();
    let second = directory.path().join("second");
    fs::write(&second, "").unwrap();
    let machine = Machine {
        mysql_sockets: vec![directory.path().join("first"), second.clone()],
        ..machine()
    };
    let address = |variables: &[(&str, &str)]| {
        let resolved = on(&machine, "mysql://", variables);
        resolved.unwrap().address
    };
    assert_eq!(address(&[]), socket(second));
    assert_eq!(address(&[("MYSQL_UNIX_PORT", "/own")]), socket("/own"));
}

#[test]
fn what_is_not_typed_comes_from_the_environment() {
    let variables = [
        ("MYSQL_PWD", "envpw"),
        ("MYSQL_HOST", "envhost"),
        ("MYSQL_TCP_PORT", "7000"),
        ("MYSQL_UNIX_PORT", "/own"),
    ];
    let c = with("mysql://typed@/shop", &variables).unwrap();
    assert_eq!((c.address.clone(), c.port), (tcp("envhost"), 7000));
    assert_eq!((c.user.as_str(), password(&c)), ("typed", Some("envpw")));
    let c = with("mysql://u:typed@db:1/shop", &variables).unwrap();
    assert_eq!((c.address.clone(), c.port), (tcp("db"), 1));
    assert_eq!(password(&c), Some("typed"));
    // A port of the environment is no wish for TCP.
    let c = with("mysql://localhost", &variables).unwrap();
    assert_eq!((c.address, c.port), (socket("/own"), 7000));
    assert!(with("mysql://", &[("MYSQL_TCP_PORT", "x")]).is_err());
}

/// A machine whose own option file and whose user's have these texts.
fn with_files(directory: &Path, everybodys: &str, users: &str) -> Machine {
    fs::write(directory.join("my.cnf"), everybodys).unwrap();
    fs::write(directory.join(".my.cnf"), users).unwrap();
    Machine {
        home: Some(directory.into()),
        mysql_option_files: vec!["/nonexistent/my.cnf".into(), directory.join("my.cnf")],
        ..machine()
    }
}

#[test]
fn option_files_fill_what_is_left_and_the_users_own_comes_last() {
    let directory = tempfile::tempdir().unwrap();
    let machine = with_files(
        directory.path(),
        "[client]\nuser=all\nport=3310\nsocket=/file.sock\nssl-ca=/ca.pem\n[mysqld]\nport=1\n",
        "[client]\nuser = me\npassword = \"s#cret\" # said aloud\n[mysql]\ndatabase=no\n\
         [client-mariadb]\nuser=maria\n",
    );
    let c = on(&machine, "mysql://", &[]).unwrap();
    assert_eq!((c.user.as_str(), password(&c)), ("me", Some("s#cret")));
    assert_eq!((c.address, c.port), (socket("/file.sock"), 3310));
    assert_eq!((c.database.as_str(), c.ssl_mode), ("", SslMode::Disable));
    assert_eq!(on(&machine, "mariadb://", &[]).unwrap().user, "maria");
    let c = on(&machine, "mysql://db", &[("MYSQL_PWD", "env")]).unwrap();
    assert_eq!((c.address.clone(), c.port), (tcp("db"), 3310));
    assert_eq!(password(&c), Some("env"));
    assert_eq!(c.ssl_root_cert, Some("/ca.pem".into()));
    let elsewhere = [("HOME", "/nonexistent")];
    assert_eq!(on(&machine, "mysql://", &elsewhere).unwrap().user, "all");
}

#[test]
fn files_include_others_and_end_even_where_they_include_themselves() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let more = path.join("conf.d");
    fs::create_dir(&more).unwrap();
    fs::write(more.join("a.cnf"), "[client]\nuser=a\nhost=first\n").unwrap();
    fs::write(more.join("b.cnf"), "[client]\nhost=second\n").unwrap();
    fs::write(more.join("c.txt"), "[client]\nhost=third\n").unwrap();
    let own = path.join("my.cnf");
    let text = format!(
        "[client]\n!include {}\n!includedir {}/\ndatabase=d\n",
        own.display(),
        more.display()
    );
    let c = on(&with_files(path, &text, ""), "mysql://", &[]).unwrap();
    assert_eq!((c.user.as_str(), c.address), ("a", tcp("second")));
    assert_eq!(c.database, "d");
    // Ten levels of these would be four million files.
    let again = format!("!include {}\n", own.display()).repeat(4);
    let text = format!("[client]\nuser=b\n{again}");
    let c = on(&with_files(path, &text, ""), "mysql://", &[]).unwrap();
    assert_eq!(c.user, "b");
}

#[test]
fn a_file_that_everybody_may_write_is_passed_over_as_the_client_does() {
    let directory = tempfile::tempdir().unwrap();
    let machine = with_files(directory.path(), "[client]\nhost=trap\n", "");
    let file = directory.path().join("my.cnf");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o646)).unwrap();
    let c = on(&machine, "mysql://", &[]).unwrap();
    assert_eq!(c.address, socket("/nonexistent/a.sock"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(on(&machine, "mysql://", &[]).unwrap().address, tcp("trap"));
}

#[test]
fn silence_about_tls_depends_on_where_the_server_is() {
    let mode = |target: &str| plain(target).ssl_mode;
    assert_eq!(mode("mysql://"), SslMode::Disable);
    assert_eq!(mode("mysql://localhost:3306"), SslMode::Prefer);
    assert_eq!(mode("mysql://127.0.0.1"), SslMode::Prefer);
    assert_eq!(mode("mysql://[::1]"), SslMode::Prefer);
    assert_eq!(mode("mysql://127.0.0.1/?ssl-ca=/c"), SslMode::VerifyCa);
    assert_eq!(mode("mysql://10.0.0.1"), SslMode::VerifyFull);
    assert_eq!(mode("mysql://db/?ssl-ca=/c"), SslMode::VerifyFull);
    for (name, explicit) in [
        ("DISABLED", SslMode::Disable),
        ("preferred", SslMode::Prefer),
        ("REQUIRED", SslMode::Require),
        ("VERIFY_CA&ssl-ca=/c", SslMode::VerifyCa),
        ("VERIFY_IDENTITY", SslMode::VerifyFull),
    ] {
        assert_eq!(mode(&format!("mysql://db/?ssl-mode={name}")), explicit);
    }
    let unnamed = with("mysql://db/?ssl-mode=VERIFY_CA", &[]).unwrap_err();
    assert!(unnamed.hint().unwrap().contains("ssl-ca=FILE"), "{unnamed}");
    assert_eq!(mode("mysql:///?ssl-mode=PREFERRED"), SslMode::Disable);
    assert_eq!(mode("mysql:///?ssl_mode=REQUIRED"), SslMode::Require);
    assert!(with("mysql://db/?ssl-mode=require", &[]).is_err());
}

#[test]
fn what_cannot_be_done_is_said_with_the_way_out() {
    let error = |target| with(target, &[]).unwrap_err();
    let unknown = error("mysql://db/d?useSSL=true");
    assert!(unknown.to_string().contains("`useSSL`"), "{unknown}");
    let hint = unknown.hint().unwrap();
    for known in ["socket", "ssl-mode", "ssl-ca", "connect-timeout"] {
        assert!(hint.contains(known), "{hint}");
    }
    assert!(matches!(
        error("mysql://a:1,b:2/d"),
        ConnectionError::SeveralHosts
    ));
    let malformed = error("mysql://db/d?x");
    assert!(malformed.hint().unwrap().contains("mysql://"));
    for broken in [
        "mysql://[::1",
        "mysql://::1/d",
        "mysql://h:0",
        "mysql://h:65536",
    ] {
        assert!(with(broken, &[]).is_err(), "{broken}");
    }
    for target in [
        "mysql://db?connect-timeout=soon",
        "mysql://a%20b",
        "mysql://a%2Fb",
    ] {
        assert!(with(target, &[]).is_err(), "{target}");
    }
}

#[test]
fn no_error_repeats_the_password_of_a_target_that_cannot_be_read() {
    for target in [
        "mysql://u:hunter/two@host/db",
        "mysql://u:hunter@two@host/db",
        "mysql://u:hunter%zz@host/db",
        "mysql://u:1?hunter=b/x@host/db",
        "mysql://u:a?b&hunter=c/d@host",
        "mysql://u:hunter",
        "mysql://u:hunter?hunter=1",
        "mysql://u:hunter@host:port/db",
        "mysql://u:hunter@host/db?sslmod=x",
        "mysql://u:hunter@host/db?socket=/s",
    ] {
        let error = with(target, &[]).unwrap_err();
        let text = format!("{error} {error:?} {:?}", error.hint());
        assert!(!text.contains("hunter"), "{target}: {text}");
    }
}

proptest! {
    #[test]
    fn no_string_makes_it_panic(text in "\\PC*") {
        let _ = with(&format!("mysql://{text}"), &[]);
        let _ = with(&format!("mariadb://h/?{text}"), &[]);
        for variable in ["MYSQL_TCP_PORT", "MYSQL_UNIX_PORT", "MYSQL_HOST"] {
            let _ = with("mysql://", &[(variable, text.as_str())]);
        }
    }

    #[test]
    fn what_looks_like_a_connection_does_not_make_it_panic(
        text in "[a-z:@/?&=%,\\[\\] 0-9]{0,40}(\\?(socket|ssl-mode|ssl_ca)=[a-z/%0-9]{0,9})?"
    ) {
        let _ = with(&format!("mysql://{text}"), &[]);
    }

    #[test]
    fn a_uri_carries_every_value_unchanged(
        user in "[^\0]{1,12}",
        password in "[^\0]{1,12}",
        database in "[^\0]{1,12}",
        host in "[a-z][a-z0-9.-]{0,20}",
        port in 1_u16..,
    ) {
        let encode = |text: &str| {
            text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>()
        };
        let target = format!(
            "mysql://{}:{}@{host}:{port}/{}",
            encode(&user), encode(&password), encode(&database)
        );
        let c = with(&target, &[]).unwrap();
        prop_assert_eq!(&c.user, &user);
        prop_assert_eq!(c.password.as_ref().unwrap().expose(), &password);
        prop_assert_eq!(&c.database, &database);
        prop_assert_eq!(&c.address, &Address::Tcp(host));
        prop_assert_eq!(c.port, port);
    }
}
