//! A server that is killed and started again while it is measured.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use super::{Bench, SCRIPT, dbdyno, stderr};

#[test]
fn what_a_server_used_over_a_restart_is_added_up_and_the_restart_told() {
    let bench = Bench::start();
    let file = bench.file("move.sql");
    std::fs::write(&file, SCRIPT).unwrap();
    bench.does(&["load", &file, "{}"]);
    let child = dbdyno()
        .args(["run", &file, &bench.target(), "--duration", "8s", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(4));
    let Bench { running, place } = bench;
    let running = running.crash(&[("fsync", "off")]);
    let output = child.wait_with_output().unwrap();
    drop((running, place));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    let server = &run["server"];
    assert_eq!(server["restarts"], 1, "{server}");
    // Of two lives, of which one alone would be less than nothing against the other.
    let cpu_us = server["cpu_us_per_transaction"].as_f64().unwrap();
    assert!(cpu_us > 0.0, "{server}");
    let seconds = |second: &Value| second["server_cpu_s"].as_f64().unwrap_or(0.0);
    let told: f64 = run["series"].as_array().unwrap().iter().map(seconds).sum();
    let whole = cpu_us / 1e6 * run["transactions"].as_f64().unwrap();
    // The seconds in which it was down or came back tell nothing by themselves.
    let skipped = run["warm_up_s"].as_f64().unwrap() > 0.0;
    assert!(skipped || whole >= told * 0.99, "{whole} {told}");
    assert!(run["conditions"]["strangers_cpu"].is_null(), "{run}");
    let warnings = run["warnings"].as_array().unwrap();
    let is_told = |warning: &Value| warning["what"].as_str().unwrap().contains("restarted once");
    assert!(warnings.iter().any(is_told), "{warnings:?}");
}
