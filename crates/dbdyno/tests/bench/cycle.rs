//! What a user does with any server: every workload is loaded, run, verified and cleaned.

use std::process::Output;
use std::time::{Duration, Instant};

use dbdyno_testing::Place;
use serde_json::{Value, json};

use super::beside::{Beside, wait_until};
use super::{dbdyno, stderr};

/// A server as a user knows it, and a place for files.
pub(super) struct Server {
    /// An empty database of it.
    pub(super) target: String,
    /// As documents call it.
    pub(super) engine: &'static str,
    /// In its own words.
    pub(super) version: String,
    /// How many others are connected to the database.
    pub(super) sessions: Box<dyn Fn() -> i64>,
    pub(super) place: Place,
}

impl Server {
    /// `dbdyno bench` with `{}` standing for the server.
    fn words<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        let words = arguments.iter().map(|word| match *word {
            "{}" => self.target.as_str(),
            word => word,
        });
        words.collect()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        dbdyno().args(self.words(arguments)).output().unwrap()
    }

    pub(super) fn does(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub(super) fn document(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.does(arguments)).unwrap()
    }

    fn refuses(&self, arguments: &[&str], named: &str) {
        let output = self.run(arguments);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(named), "{arguments:?}: {errors}");
        assert!(errors.contains("hint:"), "{arguments:?}: {errors}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }

    pub(super) fn file(&self, name: &str) -> String {
        self.place.root.join(name).display().to_string()
    }
}

/// TPC-C in the two ways that are most unlike each other, the second one interrupted.
pub(super) fn tpcc(server: &Server) {
    server.refuses(&["run", "tpcc", "{}"], "holds no TPC-C load");
    let loaded = server.does(&["load", "tpcc", "{}", "--warehouses", "1", "--seed", "5"]);
    assert!(loaded.contains(" rows in "), "{loaded}");
    let csv = server.file("run.csv");
    let run = server.document(&[
        "run",
        "tpcc",
        "{}",
        "--connections",
        "2",
        "--warm-up",
        "1s",
        "--duration",
        "2s",
        "--json",
        "--csv",
        &csv,
        "--verify",
    ]);
    is_whole(server, &run);
    let csv = std::fs::read_to_string(csv).unwrap();
    assert_eq!(csv.lines().count(), 1 + 2, "{csv}");

    is_interrupted(server);
    let verified = server.does(&["verify", "tpcc", "{}"]);
    assert!(verified.contains("12 of 12 hold"), "{verified}");
    let cleaned = server.does(&["clean", "tpcc", "{}", "--yes"]);
    assert!(cleaned.contains("are removed"), "{cleaned}");
    let again = server.does(&["clean", "tpcc", "{}"]);
    assert!(again.contains("nothing to remove"), "{again}");
}

fn number(run: &Value, path: &str) -> f64 {
    let number = run.pointer(path).and_then(Value::as_f64);
    number.unwrap_or_else(|| panic!("{path}: {run}"))
}

fn sum(of: &Value, field: &str) -> u64 {
    let of = of.as_array().unwrap().iter();
    of.map(|one| one[field].as_u64().unwrap()).sum()
}

/// What was counted by transaction, by second and for the rate is the same, and the server was asked.
fn is_whole(server: &Server, run: &Value) {
    for (field, expected) in [
        ("schema", json!("dbdyno.bench/1")),
        ("workload", json!("tpcc")),
        ("mode", json!("pipelined")),
        ("transport", json!("unix socket")),
        ("complete", json!(true)),
        ("connections", json!(2)),
        ("seed", json!(1)),
        ("errors", json!({})),
    ] {
        assert_eq!(run[field], expected, "{field}: {run}");
    }
    assert!(run["isolation"].is_string(), "{run}");
    assert_eq!(run["target"]["engine"], server.engine);
    let version = run["target"]["version"].as_str().unwrap();
    assert!(!version.is_empty(), "{run}");
    assert!(server.version.starts_with(version), "{version}");

    let (committed, rolled_back) = (number(run, "/transactions"), &run["intended_rollbacks"]);
    let ended = sum(&run["per_transaction"], "count");
    assert_eq!(ended as f64, committed + rolled_back.as_f64().unwrap());
    assert_eq!(sum(&run["series"], "transactions"), ended);
    assert_eq!(run["series"].as_array().unwrap().len(), 2);
    // Two seconds were asked for.
    let rate = number(run, "/tps") * 2.0 / committed;
    assert!((0.95..1.05).contains(&rate), "{rate}");
    let percentiles = ["p50", "p95", "p99", "p999", "max"];
    let latencies = percentiles.map(|name| number(run, &format!("/latency_ms/{name}")));
    assert!(latencies.is_sorted() && latencies[0] > 0.0, "{latencies:?}");
    let statements = number(run, "/statements_per_transaction");
    let trips = number(run, "/round_trips_per_transaction");
    assert!(
        (1.0..statements).contains(&trips),
        "{trips} for {statements}"
    );
    for used in [
        "/driver/cpu_us_per_transaction",
        "/driver/peak_rss_bytes",
        "/server/cpu_us_per_transaction",
        "/server/wal_bytes_per_transaction",
        "/server/blocks_hit",
    ] {
        assert!(number(run, used) > 0.0, "{used}: {run}");
    }
    all_hold(run, 12);
}

fn all_hold(run: &Value, checks: usize) {
    let found = run["consistency"].as_array().unwrap();
    assert_eq!(found.len(), checks, "{run}");
    assert!(found.iter().all(|check| check["passed"] == true), "{run}");
}

/// What was measured until then is told, and nobody stays connected.
fn is_interrupted(server: &Server) {
    let csv = server.file("cut.csv");
    let run = ["run", "tpcc", "{}", "--mode", "procedures"];
    let more = ["--connections", "2", "--duration", "300s", "--json"];
    let words = [&run[..], &more, &["--csv", &csv]].concat();
    let mut beside = Beside::start(&server.words(&words));
    beside.wait_for_second(2);
    beside.interrupt();
    let (status, run, errors) = beside.end_of_run();
    assert_eq!(status.code(), Some(130), "{errors}");
    assert!(errors.contains("is above"), "{errors}");
    assert_eq!(run["complete"], false);
    assert!(number(&run, "/transactions") > 0.0, "{run}");
    // An attempt that is tried again is sent once more.
    let statements = number(&run, "/statements_per_transaction");
    assert!((1.0..1.2).contains(&statements), "{statements}");

    assert!(std::fs::read_to_string(csv).unwrap().lines().count() > 2);
    let ended = Instant::now();
    wait_until("nobody is connected", || (server.sessions)() == 0);
    assert!(ended.elapsed() < Duration::from_secs(10));
}

/// In words that every engine understands.
const SCRIPT: &str = "-- dbdyno: setup
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100), (2, 100), (3, 100), (4, 100);
-- dbdyno: transaction move
\\set from random(1, 2)
\\set to random(3, 4)
UPDATE account SET balance = balance - 1 WHERE id = :from;
UPDATE account SET balance = balance + 1 WHERE id = :to;
-- dbdyno: check nothing-is-lost
SELECT sum(balance) FROM account HAVING sum(balance) <> 400;
";

/// For a second each. A file's tables stay, since only its author knows them.
pub(super) fn others(server: &Server) {
    let load = |workload: &str, options: &[&str]| {
        let loaded = server.does(&[&["load", workload, "{}"][..], options].concat());
        assert!(loaded.contains(" rows in "), "{workload}: {loaded}");
    };
    let run = |workload: &str, options: &[&str]| {
        let short = ["--connections", "2", "--duration", "1s", "--json"];
        let run = server.document(&[&["run", workload, "{}"][..], options, &short].concat());
        assert_eq!(run["errors"], json!({}), "{run}");
        assert!(number(&run, "/transactions") > 0.0, "{run}");
        run
    };
    let clean = |workload: &str, options: &[&str]| {
        let cleaned = server.does(&[&["clean", workload, "{}", "--yes"][..], options].concat());
        assert!(cleaned.contains("are removed"), "{workload}: {cleaned}");
    };

    let sbtest = ["--tables", "2", "--table-size", "500"];
    load("oltp-read-write", &sbtest);
    let verified = [&sbtest[..], &["--rand-type", "uniform", "--verify"]].concat();
    let mixed = run("oltp-read-write", &verified);
    assert!(number(&mixed, "/statements_per_transaction") >= 20.0);
    assert!(!mixed["consistency"].as_array().unwrap().is_empty());
    clean("oltp-read-write", &sbtest[..2]);

    load("inserts", &["--rows", "2000"]);
    let inserted = run("inserts", &["--verify"]);
    all_hold(&inserted, 5);
    assert!(number(&inserted, "/footprint/rows") > 2000.0);
    run("selects", &[]);
    clean("inserts", &[]);

    load("friends", &["--rows", "2000", "--friends", "20"]);
    all_hold(&run("friends", &["--verify"]), 5);
    clean("friends", &[]);

    let file = server.file("move.sql");
    std::fs::write(&file, SCRIPT).unwrap();
    server.does(&["load", &file, "{}"]);
    all_hold(&run(&file, &["--verify"]), 1);
}
