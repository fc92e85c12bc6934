//! TPC-C from its load to its removal, and what a run of it tells.

use dbdyno_stats::decode_histogram;
use serde_json::Value;

use super::Bench;

#[test]
fn tpcc_is_loaded_run_verified_and_cleaned() {
    let bench = Bench::start();
    bench.refuses(&["run", "tpcc", "{}"], "holds no TPC-C load");
    bench.refuses(&["verify", "tpcc", "{}"], "holds no TPC-C load");
    let load = ["load", "tpcc", "{}", "--warehouses", "1", "--seed", "5"];
    let loaded = bench.does(&load);
    assert!(loaded.contains(" rows in "), "{loaded}");
    bench.refuses(&load, "--replace");
    bench.does(&[&load[..], &["--replace", "--yes"]].concat());
    let verified = bench.does(&["verify", "tpcc", "{}"]);
    assert!(verified.contains("12 of 12 hold"), "{verified}");

    let (csv, hdr) = (bench.file("run.csv"), bench.file("run.hdr"));
    let text = bench.does(&[
        "run",
        "tpcc",
        "{}",
        "--connections",
        "1,3",
        "--duration",
        "3s",
        "--mode",
        "batched",
        "--json",
        "--csv",
        &csv,
        "--hdr",
        &hdr,
        "--verify",
        "--warm-up",
        "1s",
    ]);
    let runs: Vec<Value> = serde_json::Deserializer::from_str(&text)
        .into_iter()
        .collect::<Result<_, _>>()
        .unwrap();
    let connections: Vec<&Value> = runs.iter().map(|run| &run["connections"]).collect();
    assert_eq!(connections, [1, 3]);
    for run in &runs {
        is_whole(run);
        assert_eq!(run["mode"], "batched");
        let log = bench.file(&format!("run-{}.hdr", run["connections"]));
        let counted = counted(&std::fs::read_to_string(log).unwrap());
        let ended = run["transactions"].as_u64().unwrap();
        assert_eq!(counted, ended + run["intended_rollbacks"].as_u64().unwrap());
    }
    let csv = std::fs::read_to_string(csv).unwrap();
    assert_eq!(csv.lines().count(), 1 + 2 * 3, "{csv}");

    let cleaned = bench.does(&["clean", "tpcc", "{}", "--yes"]);
    assert!(cleaned.contains("removed"), "{cleaned}");
    let again = bench.does(&["clean", "tpcc", "{}"]);
    assert!(again.contains("nothing to remove"), "{again}");
    assert_eq!(bench.objects(), 0);
}

#[test]
fn routines_are_made_by_the_run_that_calls_them() {
    let bench = Bench::start();
    bench.does(&["load", "tpcc", "{}", "--warehouses", "1"]);
    let run = ["run", "tpcc", "{}", "--mode", "procedures", "--duration"];
    let measured = ["3s", "--connections", "2", "--json", "--verify"];
    let text = bench.does(&[&run[..], &measured].concat());
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["mode"], "procedures");
    assert_eq!(document["errors"], serde_json::json!({}));
    let checks = document["consistency"].as_array().unwrap();
    assert!(checks.len() == 12 && checks.iter().all(|check| check["passed"] == true));
    for sent in ["statements_per_transaction", "round_trips_per_transaction"] {
        // A retry is sent once more.
        let sent = document[sent].as_f64().unwrap();
        assert!((1.0..1.1).contains(&sent), "{sent}");
    }

    // Somebody else's is neither replaced nor removed, and says so.
    let mut client = bench.running.client();
    client
        .batch_execute("COMMENT ON FUNCTION dbdyno_payment IS 'ours'")
        .unwrap();
    bench.refuses(&[&run[..], &["1s"]].concat(), "dbdyno_payment");
    bench.does(&["clean", "tpcc", "{}", "--yes"]);
    assert_eq!(bench.objects(), 1);
}

/// Everything that scripts may rely on is there and fits together.
fn is_whole(run: &Value) {
    assert_eq!(run["schema"], "dbdyno.bench/1");
    assert_eq!(
        (&run["workload"], &run["transport"]),
        (&"tpcc".into(), &"unix socket".into())
    );
    assert_eq!(
        (&run["target"]["engine"], &run["complete"]),
        (&"PostgreSQL".into(), &true.into())
    );
    let number = |path: &str| run.pointer(path).and_then(Value::as_f64).unwrap();
    // What was counted by transaction and by second is what the rate of three seconds says.
    let sum = |of: &str, field: &str| -> u64 {
        let all = run[of].as_array().unwrap().iter();
        all.map(|one| one[field].as_u64().unwrap()).sum()
    };
    let ended = sum("per_transaction", "count");
    assert_eq!(sum("series", "transactions"), ended);
    let rolled_back = number("/intended_rollbacks");
    assert_eq!(number("/transactions") + rolled_back, ended as f64);
    let by_rate = number("/tps") * 3.0 + rolled_back;
    assert!((by_rate / ended as f64 - 1.0).abs() < 0.04, "{run}");
    let seconds = number("/seconds");
    assert!((seconds - 3.0).abs() < 0.1, "{seconds}");
    let percentiles = ["p50", "p95", "p99", "p999", "max"];
    let latencies = percentiles.map(|name| number(&format!("/latency_ms/{name}")));
    assert!(latencies.is_sorted() && latencies[0] > 0.0, "{latencies:?}");
    // BEGIN, COMMIT and two or more others, each waited for.
    let statements = number("/statements_per_transaction");
    let trips = number("/round_trips_per_transaction");
    assert!(
        statements > 4.0 && (statements - trips).abs() < 1e-9,
        "{statements} {trips}"
    );
    assert!(number("/driver/cpu_us_per_transaction") > 0.0);
    assert!(number("/driver/peak_rss_bytes") > 1e6);
    assert!(number("/server/cpu_us_per_transaction") > 0.0);
    assert!(number("/server/wal_bytes_per_transaction") > 0.0);
    assert_eq!(
        (&run["errors"], run["seed"].as_u64()),
        (&serde_json::json!({}), Some(1))
    );
    assert_eq!(run["per_transaction"].as_array().unwrap().len(), 5);
    assert_eq!(run["series"].as_array().unwrap().len(), 3);
    let checks = run["consistency"].as_array().unwrap();
    assert!(checks.len() == 12 && checks.iter().all(|check| check["passed"] == true));
}

/// Latencies in an HdrHistogram log.
fn counted(log: &str) -> u64 {
    let lines = log.lines().filter(|line| line.starts_with("Tag="));
    let counts = lines.map(|line| {
        let histogram = line.rsplit(',').next().unwrap();
        decode_histogram(histogram).unwrap().len()
    });
    counts.sum()
}
