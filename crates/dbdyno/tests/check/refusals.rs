//! Servers that turn us away or say nothing, wrong arguments, and an interrupt.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use dbdyno_target::process::{Signal, signal};

use crate::{Setup, dbdyno, refuses, stderr};

#[test]
fn a_server_that_says_nothing_does_not_hold_us() {
    // It accepts, by its backlog, and says nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let target = format!("postgres://u@127.0.0.1:{port}/d?connect_timeout=1");
    let begun = Instant::now();
    for command in ["check", "collect", "grants"] {
        refuses(&[command, &target], "did not answer within 1 s");
    }
    assert!(begun.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_wrong_password_is_told_without_it() {
    let setup = Setup::start(&[("password_encryption", "scram-sha-256")]);
    let mut client = setup.running.client();
    client
        .batch_execute("CREATE ROLE app LOGIN PASSWORD 'right'")
        .unwrap();
    let hba = setup.running.server.data().join("pg_hba.conf");
    std::fs::write(&hba, "local all app scram-sha-256\nlocal all all trust\n").unwrap();
    client.batch_execute("SELECT pg_reload_conf()").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let target = format!("{}&password=canary-8842", setup.target_as("app"));
    let told = refuses(&["check", &target], "wrong password for user app");
    assert!(!told.contains("canary-8842"), "{told}");
}

#[test]
fn wrong_arguments_are_refused_by_name_with_the_next_step() {
    let cases: &[(&[&str], &str)] = &[
        (
            &["check", "--only", "postgres.fsnc"],
            "did you mean postgres.fsync?",
        ),
        (
            &["check", "--skip", "nosuch.zzz"],
            "neither a rule nor a family",
        ),
        (
            &["check", "--only", ""],
            "--only is given, and names no rule",
        ),
        (
            &["check", "--only", "kernel", "--skip", "kernel"],
            "leave no rule",
        ),
        (&["check", "--fail-on", "bad"], "--fail-on"),
        (&["check", "--json", "--sarif"], "--sarif"),
        (&["check", "--sample", "0"], "--sample"),
        (&["check", "--sample", "2h"], "--sample"),
        (&["check", "--memory", "64GB"], "no server is named"),
        (
            &["check", "postgres:///d", "--memory", "lots"],
            "is not a size",
        ),
        (
            &["check", "--facts", "a.json", "--memory", "12MB"],
            "too little",
        ),
        (&["check", "--facts", "/nowhere.json"], "/nowhere.json"),
        (
            &["check", "--facts", "a.json", "--sample", "2s"],
            "--sample",
        ),
        (&["check", "--facts", "a.json", "postgres:///d"], "--facts"),
        (&["check", "postgres:///d?host=/nowhere"], "/nowhere"),
        (&["check", "mysql://root@localhost/d"], "MySQL"),
        (
            &["collect", "-o", "/nowhere/facts.json"],
            "/nowhere/facts.json",
        ),
        (&["collect", "-o", "/dev/null"], "is not a file"),
        (&["diff", "/nowhere.json", "/nowhere.json"], "/nowhere.json"),
        (&["diff", "a.json"], "<B>"),
        (&["rule", "show", "fsync"], "did you mean postgres.fsync?"),
        (&["rule", "show", "zzzzzz"], "rule list"),
        (&["rule", "list", "nosuch"], "the families are"),
    ];
    for (arguments, named) in cases {
        refuses(arguments, named);
    }
}

#[test]
fn only_facts_are_replaced_by_newer_ones() {
    let setup = Setup::start(&[]);
    let target = setup.target();
    let foreign = setup.file("postgresql.conf");
    std::fs::write(&foreign, "fsync = on\n").unwrap();
    let path = foreign.display().to_string();
    refuses(&["collect", &target, "-o", &path], "holds no facts alone");
    assert_eq!(std::fs::read(&foreign).unwrap(), b"fsync = on\n");
    for _ in 0..2 {
        setup.does(&["collect", &target, "-o", "facts.json"]);
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let mut child = dbdyno(&["rule", "list", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
}

#[test]
fn an_interrupt_during_the_sample_leaves_no_half_file() {
    let setup = Setup::start(&[]);
    let target = setup.target();
    let child = setup
        .command(&["collect", &target, "--sample", "10min", "-o", "facts.json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut client = setup.running.client();
    let begun = Instant::now();
    let reading = "SELECT count(*) FROM pg_stat_activity \
         WHERE application_name = 'dbdyno' AND pid <> pg_backend_pid()";
    while client.query_one(reading, &[]).unwrap().get::<_, i64>(0) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody reads");
        std::thread::sleep(Duration::from_millis(20));
    }
    let begun = Instant::now();
    assert!(signal(child.id(), Signal::INT));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert!(output.stdout.is_empty());
    let left: Vec<_> = std::fs::read_dir(&setup.place.root)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .filter(|name| name.to_string_lossy().contains("facts"))
        .collect();
    assert_eq!(left, Vec::<std::ffi::OsString>::new());
}
