//! A user's own statements at a rate.

use serde_json::Value;

use super::{Bench, SCRIPT};

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
