//! `dbdyno bench` as a user meets it, on a real PostgreSQL.

// What a test cannot set up fails it.
#![allow(clippy::unwrap_used)]

mod cycle;
mod keyed;
mod layouts;
mod list;
mod loads;
mod mysql;
mod open_files;
mod options;
mod read_only;
mod think;
mod versions;

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use dbdyno_stats::decode_histogram;
use dbdyno_target::process::{self, Signal};
use dbdyno_testing::{Place, Running, binaries};
use serde_json::Value;

/// A running server, a place for files, and the command line.
struct Bench {
    running: Running,
    place: Place,
}

impl Bench {
    fn start() -> Self {
        Self {
            running: Running::start(binaries(), &[("fsync", "off")]),
            place: Place::new("bench"),
        }
    }

    fn target(&self) -> String {
        self.running.connection().display()
    }

    /// Tables, indexes and routines that are there.
    fn objects(&self) -> i64 {
        let counted = self.running.client().query_one(
            "SELECT (SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace)
                + (SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace)",
            &[],
        );
        counted.unwrap().get(0)
    }

    fn file(&self, name: &str) -> String {
        self.place.root.join(name).display().to_string()
    }

    /// `dbdyno bench` with `{}` standing for the server.
    fn run(&self, arguments: &[&str]) -> Output {
        let target = self.target();
        let words = arguments.iter().map(|word| match *word {
            "{}" => target.as_str(),
            word => word,
        });
        dbdyno().args(words).output().unwrap()
    }

    fn does(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn refuses(&self, arguments: &[&str], named: &str) {
        let output = self.run(arguments);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(named), "{arguments:?}: {errors}");
        assert!(
            errors.contains("hint:") || errors.contains("For more information"),
            "{errors}"
        );
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

fn dbdyno() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dbdyno"));
    command.arg("bench").env("NO_COLOR", "1");
    command.env_remove("PGPASSWORD").stdin(Stdio::null());
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const SCRIPT: &str = "-- dbdyno: setup
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account SELECT i, 100 FROM generate_series(1, 1000) i;
-- dbdyno: transaction move
\\set from random(1, 500)
\\set to random(501, 1000)
UPDATE account SET balance = balance - 1 WHERE id = :from;
UPDATE account SET balance = balance + 1 WHERE id = :to;
-- dbdyno: check nothing-is-lost
SELECT 1 FROM account HAVING sum(balance) <> 100000;
";

#[test]
fn tpcc_is_loaded_run_verified_and_cleaned() {
    let bench = Bench::start();
    bench.refuses(&["run", "tpcc", "{}"], "holds no TPC-C load");
    bench.refuses(&["verify", "tpcc", "{}"], "holds no TPC-C load");
    let load = ["load", "tpcc", "{}", "--warehouses", "1", "--seed", "5"];
    let loaded = bench.does(&load);
    assert!(loaded.contains(" rows in "), "{loaded}");
    bench.refuses(&load, "--replace");
    bench.does(&[&load[..], &["--replace"]].concat());
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

    let cleaned = bench.does(&["clean", "tpcc", "{}"]);
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
    bench.does(&["clean", "tpcc", "{}"]);
    assert_eq!(bench.objects(), 1);
}

#[test]
fn a_workload_of_sysbench_is_loaded_run_verified_and_cleaned() {
    let bench = Bench::start();
    let sbtest = |action: &[&str], more: &[&str]| {
        let tables = ["--tables", "2", "--table-size", "500"];
        bench.does(&[action, &["oltp-read-write", "{}"], &tables, more].concat())
    };
    let loaded = sbtest(&["load"], &[]);
    assert!(loaded.contains("1,000 rows"), "{loaded}");
    for (mode, trips) in [("unbatched", 20.0), ("pipelined", 1.0)] {
        let more = [
            "--mode",
            mode,
            "--duration",
            "2s",
            "--rand-type",
            "uniform",
            "--json",
            "--verify",
        ];
        let run: Value = serde_json::from_str(&sbtest(&["run"], &more)).unwrap();
        let number = |name: &str| run[name].as_f64().unwrap();
        // Attempts that were tried again sent theirs too.
        assert!(
            (20.0..22.0).contains(&number("statements_per_transaction")),
            "{run}"
        );
        let sent = number("round_trips_per_transaction");
        assert!((trips..trips * 1.2).contains(&sent), "{sent}");
        assert_eq!(
            (&run["mode"], &run["errors"]),
            (&mode.into(), &serde_json::json!({}))
        );
    }
    assert!(sbtest(&["verify"], &[]).contains("hold"));
    assert!(sbtest(&["clean"], &[]).contains("are removed"));
    assert!(sbtest(&["clean"], &[]).contains("nothing to remove"));
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
    let (tps, seconds) = (number("/tps"), number("/seconds"));
    assert!(
        (number("/transactions") / seconds - tps).abs() < 1e-6 * tps,
        "{run}"
    );
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

#[test]
fn wrong_input_is_refused_by_name_with_the_next_step() {
    let bench = Bench::start();
    let script = bench.file("move.sql");
    std::fs::write(&script, SCRIPT).unwrap();
    let below_a_file = format!("{script}/run.csv");
    for (arguments, named) in [
        (&["run", "tpcx", "{}"][..], "there is no workload tpcx"),
        (&["run", "nowhere.sql", "{}"], "nowhere.sql"),
        (&["run", "tpcc", "{}", "--duration", "soon"], "90s"),
        (
            &["run", "tpcc", "{}", "--connections", "0"],
            "--connections",
        ),
        (&["run", "tpcc", "{}", "--mode", "fast"], "pipelined"),
        (&["run", "tpcc", "{}", "--rate", "0"], "--rate 0"),
        (
            &["run", &script, "{}", "--csv", &below_a_file],
            &below_a_file,
        ),
        (&["run", &script, "{}"], "load"),
        (&["run", "tpcc", "postgres:///db?host=/nowhere"], "/nowhere"),
        (
            &["load", "tpcc", "postgres://localhost:1/db?sslmode=disable"],
            "localhost",
        ),
        (&["load", "tpcc", "{}", "--warehouses", "0"], "--warehouses"),
        (&["load", &script, "{}", "--resume"], "move.sql"),
        (&["load", &script, "{}", "--generate-only"], "move.sql"),
        (&["load", "oltp-insert", "{}", "--tables", "0"], "0 tables"),
        (&["run", "oltp-insert", "{}", "--rand-type", "dice"], "dice"),
        (
            &["run", "oltp-insert", "{}", "--mode", "batched"],
            "batched is for tpcc",
        ),
        (
            &["run", "oltp-insert", "{}", "--mode", "procedures"],
            "procedures is for tpcc",
        ),
        (&["run", "oltp-insert", "{}"], "load"),
    ] {
        bench.refuses(arguments, named);
    }
    bench.does(&["load", &script, "{}"]);
    bench.refuses(
        &["run", &script, "{}", "--connections", "99999"],
        "99999 connections need",
    );
    let list = bench.does(&["list"]);
    assert!(list.contains("tpcc") && list.contains("FILE"), "{list}");
}
