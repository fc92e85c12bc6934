//! Services: which file and section say what, and what is stronger or weaker than they are.

use std::fs;
use std::path::Path;

use super::tests::{machine, on};
use super::*;

/// A machine whose user's home and whose system's directory are in `directory`.
fn with_files(directory: &Path, users: Option<&str>, systems: Option<&str>) -> Machine {
    let (home, system) = (directory.join("home"), directory.join("etc"));
    for (place, name, text) in [
        (&home, ".pg_service.conf", users),
        (&system, "pg_service.conf", systems),
    ] {
        fs::create_dir_all(place).unwrap();
        if let Some(text) = text {
            fs::write(place.join(name), text).unwrap();
        }
    }
    Machine {
        home: Some(home),
        service_directories: vec!["/nonexistent".into(), system],
        ..machine()
    }
}

fn resolved(machine: &Machine, target: &str, variables: &[(&str, &str)]) -> Connection {
    on(machine, target, variables).unwrap().first()
}

const PROD: &str = "[prod]\nhost=db.example\nport=6000\nuser=app\npassword=filed\n\
    sslmode=require\noptions=-c jit=off\n";

#[test]
fn what_is_typed_beats_the_service_which_beats_the_environment() {
    let directory = tempfile::tempdir().unwrap();
    let machine = with_files(directory.path(), Some(PROD), None);
    let variables = [
        ("PGHOST", "envhost"),
        ("PGUSER", "envuser"),
        ("PGPASSWORD", "envpw"),
        ("PGDATABASE", "envdb"),
        ("PGSSLMODE", "disable"),
    ];
    for target in [
        "service=prod port=7000",
        "postgres://:7000?service=prod",
        "postgres:///?service=prod&port=7000",
    ] {
        let c = resolved(&machine, target, &variables);
        assert_eq!(c.address, Address::Tcp("db.example".into()), "{target}");
        assert_eq!((c.port, c.user.as_str()), (7000, "app"), "{target}");
        assert_eq!(c.database, "envdb");
        assert_eq!(c.password.unwrap().expose(), "filed");
        assert_eq!(c.ssl_mode, SslMode::Require);
        assert_eq!(c.options.as_deref(), Some("-c jit=off"));
    }
    let named = [("PGSERVICE", "prod"), ("PGHOST", "envhost")];
    let c = resolved(&machine, "dbname=shop", &named);
    assert_eq!(c.address, Address::Tcp("db.example".into()));
    assert_eq!(c.database, "shop");
    let c = resolved(&machine, "host=typed", &named);
    assert_eq!((c.address, c.port), (Address::Tcp("typed".into()), 6000));
}

#[test]
fn the_users_file_comes_before_the_systems_and_a_named_one_before_both() {
    let directory = tempfile::tempdir().unwrap();
    let users = "[a]\nhost=users\n[b]\nhost=users\n";
    let systems = "[a]\nhost=systems\n[c]\nhost=systems\n";
    let machine = with_files(directory.path(), Some(users), Some(systems));
    let host = |service: &str, variables: &[(&str, &str)]| {
        let target = format!("service={service}");
        resolved(&machine, &target, variables).address
    };
    let tcp = |host: &str| Address::Tcp(host.into());
    assert_eq!(host("a", &[]), tcp("users"));
    assert_eq!(host("b", &[]), tcp("users"));
    assert_eq!(host("c", &[]), tcp("systems"));

    let named = directory.path().join("own.conf");
    fs::write(&named, "[a]\nhost=named\n").unwrap();
    let named = named.to_str().unwrap();
    assert_eq!(host("a", &[("PGSERVICEFILE", named)]), tcp("named"));
    assert_eq!(host("c", &[("PGSERVICEFILE", named)]), tcp("systems"));
    let typed = format!("service=a servicefile={named}");
    assert_eq!(resolved(&machine, &typed, &[]).address, tcp("named"));

    let other = directory.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("pg_service.conf"), "[d]\nhost=other\n").unwrap();
    let other = other.to_str().unwrap();
    assert_eq!(host("d", &[("PGSYSCONFDIR", other)]), tcp("other"));
}

#[test]
fn an_error_names_file_line_and_section() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("home/.pg_service.conf");
    let told = |text: &str| {
        let machine = with_files(directory.path(), Some(text), None);
        let error = on(&machine, "service=prod", &[]).unwrap_err();
        let told = format!("{error} {:?}", error.hint());
        assert!(!told.contains("hunter"), "{told}");
        told
    };
    for (line, named) in [
        ("port=many", "`port`"),
        ("sslmode=hunter", "`sslmode`"),
        ("sslmod=require", "did you mean `sslmode`"),
        ("channel_binding=require", "`channel_binding`"),
        ("hostaddr=10.0.0.1", "`hostaddr`"),
        ("service=other", "another service"),
        ("password hunter", "name=value"),
        ("hunter2 = x", "in front of `=`"),
    ] {
        let text = format!("# mine\n[prod]\nhost=db\n{line}\n");
        let place = format!("{}, line 4, service prod: ", file.display());
        let told = told(&text);
        assert!(told.starts_with(&place), "{told}");
        assert!(told.contains(named), "{told}");
    }
    let missing = told("[other]\npassword=hunter2\n");
    assert!(missing.contains("\"prod\"") && missing.contains(&file.display().to_string()));
    assert!(missing.contains("[prod]"), "{missing}");

    let nowhere = [("PGSERVICEFILE", "/nonexistent/services")];
    let error = on(&machine(), "service=prod", &nowhere).unwrap_err();
    assert!(
        error.to_string().contains("/nonexistent/services"),
        "{error}"
    );
    let none = on(&machine(), "service=prod", &[]).unwrap_err().to_string();
    assert!(none.contains("~/.pg_service.conf"), "{none}");
}

#[test]
fn a_file_that_is_no_text_or_too_long_is_no_crash() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("services");
    let path = file.to_str().unwrap().to_owned();
    let variables = [("PGSERVICEFILE", path.as_str())];
    fs::write(&file, b"\xff\xfe[prod\n[prod]\nhost=db\nuser=\xff\n").unwrap();
    let c = resolved(&machine(), "service=prod", &variables);
    assert_eq!(c.address, Address::Tcp("db".into()));
    fs::write(&file, vec![b'\n'; (1 << 20) + 1]).unwrap();
    let error = on(&machine(), "service=prod", &variables).unwrap_err();
    assert!(error.to_string().contains("longer"), "{error}");
    let directory = directory.path().to_str().unwrap();
    let error = on(&machine(), "service=prod", &[("PGSERVICEFILE", directory)]).unwrap_err();
    assert!(
        matches!(error, ConnectionError::ServiceFile { .. }),
        "{error}"
    );
}
