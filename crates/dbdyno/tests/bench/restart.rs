//! A server that is killed and started again while it is measured.

use serde_json::Value;

use super::beside::Beside;
use super::{Bench, SCRIPT};

#[test]
fn what_a_server_used_over_a_restart_is_added_up_and_the_restart_told() {
    let bench = Bench::start();
    let file = bench.file("move.sql");
    std::fs::write(&file, SCRIPT).unwrap();
    bench.does(&["load", &file, "{}"]);
    let target = bench.target();
    let mut beside = Beside::start(&["run", &file, &target, "--duration", "20s", "--json"]);
    // Far enough from either end that neither life alone comes near to the sum.
    beside.wait_for_second(6);
    let Bench { running, place } = bench;
    let running = running.crash(&[("fsync", "off")]);
    let (status, run, errors) = beside.end_of_run();
    drop((running, place));
    assert_eq!(status.code(), Some(0), "{errors}");
    let server = &run["server"];
    assert_eq!(server["restarts"], 1, "{server}");
    // Of two lives, of which one alone would be less than nothing against the other.
    let cpu_us = server["cpu_us_per_transaction"].as_f64().unwrap();
    assert!(cpu_us > 0.0, "{server}");
    let warm_up = run["warm_up_s"].as_f64().unwrap() as usize;
    let seconds = |second: &Value| second["server_cpu_s"].as_f64().unwrap_or(0.0);
    let series = run["series"].as_array().unwrap();
    let told: f64 = series.iter().skip(warm_up).map(seconds).sum();
    let whole = cpu_us / 1e6 * run["transactions"].as_f64().unwrap();
    // The seconds in which it was down or came back tell nothing by themselves, and a machine that is
    // stopped between two looks charges what it likes to either.
    assert!(told > 0.0 && whole >= told * 0.9, "{whole} {told}");
    assert!(run["conditions"]["strangers_cpu"].is_null(), "{run}");
    let warnings = run["warnings"].as_array().unwrap();
    let is_told = |warning: &Value| warning["what"].as_str().unwrap().contains("restarted once");
    assert!(warnings.iter().any(is_told), "{warnings:?}");
}
