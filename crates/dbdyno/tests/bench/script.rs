//! A user's own statements: at a rate, and interrupted.

use std::process::Stdio;
use std::time::Duration;

use dbdyno_target::process::{self, Signal};
use serde_json::Value;

use super::{Bench, SCRIPT, dbdyno, stderr};

#[test]
fn a_rate_is_kept_and_one_too_high_is_named() {
    let bench = Bench::start();
    let file = bench.file("move.sql");
    std::fs::write(&file, SCRIPT).unwrap();
    bench.does(&["load", &file, "{}"]);
    let run = |rate: &str| -> Value {
        let text = bench.does(&[
            "run",
            &file,
            "{}",
            "--connections",
            "2",
            "--duration",
            "4s",
            "--rate",
            rate,
            "--json",
            "--verify",
        ]);
        serde_json::from_str(&text).unwrap()
    };
    let kept = run("50");
    assert_eq!(kept["latency_from"], "intended start");
    let ended = kept["transactions"].as_u64().unwrap();
    // A machine that stands still for a moment is not what is tested.
    assert!((150..=250).contains(&ended), "{ended}");
    let too_high = run("1000000");
    let said = too_high["warnings"].to_string();
    assert!(said.contains("does not keep up"), "{said}");
    // Whoever waited a second in the queue waited a second.
    assert!(too_high["latency_ms"]["max"].as_f64().unwrap() > 1_000.0);
    bench.refuses(
        &["run", &file, "{}", "--mode", "batched"],
        "--mode is not for",
    );
    bench.refuses(&["clean", &file, "{}"], "cannot know");
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let bench = Bench::start();
    let file = bench.file("move.sql");
    std::fs::write(&file, SCRIPT).unwrap();
    bench.does(&["load", &file, "{}"]);
    let csv = bench.file("cut.csv");
    let child = dbdyno()
        .args([
            "run",
            &file,
            &bench.target(),
            "--duration",
            "300s",
            "--json",
            "--csv",
            &csv,
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(3));
    process::signal(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("is above"), "{}", stderr(&output));
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(run["complete"], false);
    assert!(run["transactions"].as_u64().unwrap() > 0, "{run}");
    assert!(std::fs::read_to_string(csv).unwrap().lines().count() > 2);
    const ACTIVE: &str = "SELECT count(*) FROM pg_stat_activity \
        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    std::thread::sleep(Duration::from_millis(500));
    let left: i64 = bench
        .running
        .client()
        .query_one(ACTIVE, &[])
        .unwrap()
        .get(0);
    assert_eq!(left, 0);
}
