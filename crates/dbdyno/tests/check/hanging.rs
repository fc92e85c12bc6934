//! A server that stops in the middle of an answer.

use std::process::Stdio;
use std::time::{Duration, Instant};

use dbdyno_target::process::{Signal, signal};

use crate::{Setup, stderr};

/// Takes as long as a server may be silent, which is a minute beside the sample.
#[test]
fn a_server_that_stops_in_the_middle_does_not_hold_us() {
    let setup = Setup::start(&[]);
    let target = setup.target();
    let mut client = setup.running.client();
    let child = setup
        .command(&["collect", &target, "--sample", "3s", "-o", "facts.json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A session that has asked something: before, another limit holds.
    let reading = "SELECT pid FROM pg_stat_activity WHERE application_name = 'dbdyno' \
         AND query <> '' AND pid <> pg_backend_pid()";
    let begun = Instant::now();
    let backend: i32 = loop {
        if let Some(row) = client.query_opt(reading, &[]).unwrap() {
            break row.get(0);
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody reads");
        std::thread::sleep(Duration::from_millis(20));
    };
    let backend = u32::try_from(backend).unwrap();
    assert!(signal(backend, Signal::STOP));
    let begun = Instant::now();
    let output = child.wait_with_output().unwrap();
    // It has to go on before the server can be stopped.
    assert!(signal(backend, Signal::CONT));
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("stopped answering"), "{text}");
    assert!(begun.elapsed() < Duration::from_secs(100));
    assert!(!setup.file("facts.json").exists());
}
