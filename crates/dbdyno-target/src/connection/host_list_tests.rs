//! Several hosts in one target: who is tried, in which order, and with what.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use proptest::prelude::*;

use super::tests::{machine, on};
use super::*;

fn places(target: &str) -> Vec<(Address, u16)> {
    let candidates = on(&machine(), target, &[]).unwrap();
    let places = candidates.all().map(|one| (one.address.clone(), one.port));
    places.collect()
}

fn tcp(host: &str, port: u16) -> (Address, u16) {
    (Address::Tcp(host.into()), port)
}

#[test]
fn ports_go_with_hosts_one_by_one_or_one_for_all() {
    let both = [tcp("a", 1), tcp("b", 2)];
    assert_eq!(places("host=a,b port=1,2"), both);
    assert_eq!(places("postgres://u@a:1,b:2/d"), both);
    assert_eq!(places("postgres:///d?host=a,b&port=1,2"), both);
    let same = [tcp("a", 7), tcp("b", 7)];
    assert_eq!(places("host=a,b port=7"), same);
    let usual = [tcp("a", 5432), tcp("b", 2), tcp("c", 5432)];
    assert_eq!(places("host=a,b,c port=,2,"), usual);
    assert_eq!(places("postgres://a,b:2,c/d"), usual);
    assert_eq!(places("postgres://a,b/d"), [tcp("a", 5432), tcp("b", 5432)]);
    assert_eq!(
        places("postgres://[::1]:1,[2001:db8::1]"),
        [tcp("::1", 1), tcp("2001:db8::1", 5432)]
    );
    let socket = (Address::Socket("/tmp".into()), 5432);
    let named = (Address::Socket("/run/pg".into()), 5432);
    assert_eq!(places("host=,/run/pg"), [socket, named]);
    for wrong in [
        "host=a,b port=1,2,3",
        "host=a port=1,2",
        "host=a,b port=1,x",
    ] {
        assert!(on(&machine(), wrong, &[]).is_err(), "{wrong}");
    }
}

#[test]
fn a_list_of_the_environment_is_a_list() {
    let variables = [
        ("PGHOST", "a,b"),
        ("PGPORT", "1,2"),
        ("PGTARGETSESSIONATTRS", "primary"),
    ];
    let candidates = on(&machine(), "", &variables).unwrap();
    assert_eq!(candidates.all().count(), 2);
    let wrong = on(&machine(), "", &[("PGTARGETSESSIONATTRS", "master")]).unwrap_err();
    let told = wrong.to_string();
    assert!(told.starts_with("PGTARGETSESSIONATTRS: "), "{told}");
    assert!(told.contains("prefer-standby"), "{told}");
}

#[test]
fn each_host_has_its_own_password_and_its_own_silence_about_tls() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pgpass");
    fs::write(&file, "a:*:*:*:first\nlocalhost:*:*:*:second\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let variables = [("PGPASSFILE", file.to_str().unwrap())];
    let candidates = on(&machine(), "host=a,localhost,c", &variables).unwrap();
    let each: Vec<(Option<&str>, SslMode)> = candidates
        .all()
        .map(|one| (one.password.as_ref().map(Secret::expose), one.ssl_mode))
        .collect();
    assert_eq!(
        each,
        [
            (Some("first"), SslMode::VerifyFull),
            (Some("second"), SslMode::Prefer),
            (None, SslMode::VerifyFull),
        ]
    );
}

#[test]
fn a_password_from_elsewhere_beats_every_other() {
    let environment = |name: &str| (name == "PGPASSWORD").then(|| "weaker".to_owned());
    for target in ["postgres://u:weaker@a,b", "mysql://u:weaker@a", "host=a"] {
        let given = Some(Secret::new("stronger"));
        let candidates = resolve_on(&machine(), target, &environment, given).unwrap();
        for one in candidates.all() {
            assert_eq!(one.password.as_ref().unwrap().expose(), "stronger");
        }
    }
}

#[test]
fn options_and_a_client_certificate_are_part_of_the_connection() {
    let c = on(&machine(), "postgres://db/d?options=-c%20jit%3Doff", &[]).unwrap();
    assert_eq!(c.first().options.as_deref(), Some("-c jit=off"));
    let c = on(&machine(), "host=db", &[("PGOPTIONS", "-c jit=on")]).unwrap();
    assert_eq!(c.first().options.as_deref(), Some("-c jit=on"));

    let certificate = |target: &str| {
        on(&machine(), target, &[])
            .unwrap()
            .first()
            .client_certificate
    };
    let named = certificate("host=db sslcert=/me.crt sslkey=/me.key").unwrap();
    assert_eq!(
        (named.chain, named.key),
        ("/me.crt".into(), "/me.key".into())
    );
    let own = certificate("host=db sslcert=/me.crt").unwrap();
    assert_eq!(
        own.key,
        PathBuf::from("/nonexistent/.postgresql/postgresql.key")
    );
    assert_eq!(certificate("host=db"), None);
    assert_eq!(certificate("host=db sslcert=/me.crt sslmode=disable"), None);
    assert_eq!(
        certificate("host=db sslcert=/me.crt sslcertmode=disable"),
        None
    );
    assert_eq!(certificate("host=/run/pg sslcert=/me.crt"), None);
    let required = on(&machine(), "host=db sslcertmode=require", &[]).unwrap_err();
    assert!(required.to_string().contains("sslcertmode"), "{required}");
}

#[test]
fn balancing_keeps_every_host() {
    let list: Vec<String> = (0..40).map(|number| format!("h{number}")).collect();
    let target = format!("host={} load_balance_hosts=random", list.join(","));
    let hosts = || {
        let hosts = places(&target).into_iter();
        hosts.map(|(address, _)| match address {
            Address::Tcp(host) => host,
            Address::Socket(_) => panic!("a socket was not named"),
        })
    };
    let drawn: Vec<String> = hosts().collect();
    let mut sorted = drawn.clone();
    sorted.sort();
    let mut expected = list.clone();
    expected.sort();
    assert_eq!(sorted, expected);
    // Once in 40! times this is chance.
    assert_ne!(drawn, list);
    assert!(on(&machine(), "host=a load_balance_hosts=yes", &[]).is_err());
}

proptest! {
    #[test]
    fn every_form_names_the_same_hosts(
        list in prop::collection::vec(("[a-z][a-z0-9.-]{0,8}", 1_u16..), 1..5),
    ) {
        let expected: Vec<(Address, u16)> = list.iter().map(|(host, port)| tcp(host, *port)).collect();
        let join = |parts: Vec<String>| parts.join(",");
        let hosts = join(list.iter().map(|(host, _)| host.clone()).collect());
        let ports = join(list.iter().map(|(_, port)| port.to_string()).collect());
        let pairs = join(list.iter().map(|(host, port)| format!("{host}:{port}")).collect());
        for target in [
            format!("postgres://u@{pairs}/d"),
            format!("postgres:///d?host={hosts}&port={ports}"),
            format!("host={hosts} port={ports}"),
        ] {
            prop_assert_eq!(&places(&target), &expected);
        }
    }
}
