//! What was measured is kept: whatever comes while a run is measured, or after it.

use std::fs;
use std::time::{Duration, Instant};

use dbdyno_target::lab::Stop;
use dbdyno_target::process::{self, Signal};
use serde_json::Value;

use super::Bench;
use super::beside::{Beside, LONGEST, wait_until};

const SELECT: &str = "-- dbdyno: transaction one\nSELECT 1;\n";

/// Of two connections each soon comes to the one that does not end.
const ENDLESS: &str = "-- dbdyno: transaction quick weight=200
SELECT 1;
-- dbdyno: transaction endless
SELECT pg_sleep(600);
";

/// A run of a file.
fn start(bench: &Bench, text: &str, more: &[&str]) -> Beside {
    let file = bench.file("load.sql");
    fs::write(&file, text).unwrap();
    let target = bench.target();
    Beside::start(&[&["run", &file, &target, "--json"][..], more].concat())
}

/// Waits until so many statements like this are under way.
fn wait_for(bench: &Bench, like: &str, wanted: i64) {
    let counted = format!(
        "SELECT count(*) FROM pg_stat_activity
         WHERE state = 'active' AND query LIKE '%{like}%' AND pid <> pg_backend_pid()"
    );
    let mut client = bench.running.client();
    let mut found = || -> i64 { client.query_one(&counted, &[]).unwrap().get(0) };
    wait_until(&format!("{wanted} of {like}"), || found() == wanted);
}

fn measured(run: &Value) -> u64 {
    run["transactions"].as_u64().unwrap()
}

#[test]
fn an_interrupt_of_the_check_keeps_the_run() {
    let bench = Bench::start();
    let (csv, hdr) = (bench.file("run.csv"), bench.file("run.hdr"));
    let text = format!("{SELECT}-- dbdyno: check slow\nSELECT pg_sleep(600);\n");
    let more = ["--duration", "2s", "--verify", "--csv", &csv, "--hdr", &hdr];
    let beside = start(&bench, &text, &more);
    wait_for(&bench, "pg_sleep(600)", 1);
    beside.interrupt();
    let (status, run, errors) = beside.end_of_run();
    assert_eq!(status.code(), Some(130), "{errors}");
    assert!(errors.contains("is above"), "{errors}");
    assert_eq!(run["complete"], true);
    assert!(measured(&run) > 0, "{run}");
    let said = run["warnings"].to_string();
    assert!(said.contains("were not checked"), "{said}");
    assert_eq!(fs::read_to_string(csv).unwrap().lines().count(), 3);
    assert!(fs::read_to_string(hdr).unwrap().contains("Tag=one,"));
}

#[test]
fn what_is_under_way_at_the_end_is_waited_for_only_so_long() {
    let bench = Bench::start();
    let more = ["--connections", "2", "--duration", "2s"];
    let (status, run, errors) = start(&bench, ENDLESS, &more).end_of_run();
    assert_eq!(status.code(), Some(0), "{errors}");
    assert_eq!(run["complete"], true);
    assert!(measured(&run) > 0, "{run}");
    let said = run["warnings"].to_string();
    assert!(said.contains("still under way"), "{said}");
    wait_for(&bench, "pg_sleep(600)", 0);
}

#[test]
fn an_interrupt_of_that_wait_keeps_the_run() {
    let bench = Bench::start();
    let more = ["--connections", "2", "--duration", "2s"];
    let mut beside = start(&bench, ENDLESS, &more);
    beside.wait_for_second(2);
    std::thread::sleep(Duration::from_secs(1));
    beside.interrupt();
    let begun = Instant::now();
    let (status, run, errors) = beside.end_of_run();
    assert!(begun.elapsed() < Duration::from_secs(8), "{errors}");
    assert_eq!(status.code(), Some(130), "{errors}");
    assert_eq!(run["complete"], true);
    assert!(measured(&run) > 0, "{run}");
}

#[test]
fn a_server_that_is_gone_before_the_check_takes_no_run_with_it() {
    let bench = Bench::start();
    let text = format!("{SELECT}-- dbdyno: check holds\nSELECT 1 WHERE false;\n");
    let mut beside = start(&bench, &text, &["--duration", "4s", "--verify"]);
    beside.wait_for_second(2);
    bench.running.server.stop(Stop::Kill);
    let (status, run, errors) = beside.end_of_run();
    assert_eq!(status.code(), Some(4), "{errors}");
    assert_eq!(run["complete"], true);
    assert_eq!(run["consistency"], serde_json::json!([]));
    assert!(measured(&run) > 0, "{run}");
    assert!(run["errors"]["08006"].as_u64().unwrap() > 0, "{run}");
    let said = run["warnings"].to_string();
    assert!(said.contains("could not be checked"), "{said}");
}

#[test]
fn an_error_of_the_file_ends_the_run_and_keeps_it() {
    let bench = Bench::start();
    let csv = bench.file("run.csv");
    // One in 140 is beyond a smallint.
    let text = "\\set x random(0, 33000)\nSELECT :x::smallint, pg_sleep(0.01);\n";
    let more = ["--connections", "1", "--csv", &csv];
    let (status, run, errors) = start(&bench, text, &more).end_of_run();
    assert_eq!(status.code(), Some(2), "{errors}");
    assert!(errors.contains("load.sql:2:1: "), "{errors}");
    assert_eq!(run["complete"], false);
    assert!(measured(&run) > 0, "{run}");
    let said = run["warnings"].to_string();
    assert!(
        said.contains("cut short") && said.contains("smallint"),
        "{said}"
    );
    assert!(fs::read_to_string(csv).unwrap().lines().count() > 1);
}

#[test]
fn each_run_of_several_is_written_when_it_ends() {
    let bench = Bench::start();
    let file = bench.file("load.sql");
    fs::write(&file, SELECT).unwrap();
    let (csv, hdr) = (bench.file("run.csv"), bench.file("run.hdr"));
    let target = bench.target();
    let run = ["run", &file, &target, "--duration", "3s"];
    let more = ["--connections", "1,1", "--csv", &csv, "--hdr", &hdr];
    let mut beside = Beside::start(&[&run[..], &more].concat());
    let (first, second) = (bench.file("run-1.hdr"), bench.file("run-1-2.hdr"));
    wait_until("the log of the first run", || {
        assert!(beside.is_running(), "it ended without a log");
        fs::metadata(&first).is_ok()
    });
    assert_eq!(fs::read_to_string(&csv).unwrap().lines().count(), 1 + 3);
    assert!(fs::metadata(&second).is_err());
    let (status, _, errors) = beside.end();
    assert_eq!(status.code(), Some(0), "{errors}");
    assert_eq!(fs::read_to_string(&csv).unwrap().lines().count(), 1 + 6);
    let [first, second] = [first, second].map(|path| fs::read_to_string(path).unwrap());
    assert!(second.contains("Tag=one,") && first != second);
}

#[test]
fn a_server_that_hangs_stops_neither_the_clock_nor_an_interrupt() {
    for interrupted in [false, true] {
        let bench = Bench::start();
        let duration = if interrupted { "300s" } else { "25s" };
        let mut beside = start(&bench, SELECT, &["--duration", duration]);
        beside.wait_for_second(2);
        let mut client = bench.running.client();
        let others = "SELECT pid FROM pg_stat_activity
            WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
        let pids: Vec<u32> = client
            .query(others, &[])
            .unwrap()
            .iter()
            .map(|row| u32::try_from(row.get::<_, i32>(0)).unwrap())
            .collect();
        for pid in &pids {
            assert!(process::signal(*pid, Signal::STOP));
        }
        if interrupted {
            beside.wait_for_second(5);
            beside.interrupt();
        }
        let begun = Instant::now();
        while beside.is_running() && begun.elapsed() < LONGEST {
            std::thread::sleep(Duration::from_millis(20));
        }
        let took = begun.elapsed();
        // Or nobody could stop the server.
        for pid in &pids {
            process::signal(*pid, Signal::CONT);
        }
        let (status, run, errors) = beside.end_of_run();
        let code = if interrupted { 130 } else { 0 };
        assert_eq!(status.code(), Some(code), "{errors}");
        // The rest of the run, ten seconds for what was under way, and a slow machine.
        assert!(took < Duration::from_secs(60), "{took:?}");
        let series = run["series"].as_array().unwrap();
        assert!(series.len() >= 5, "{run}");
        let hangs = |second: &Value| second["transactions"] == 0 && second["wal_bytes"].is_null();
        assert!(series[3..].iter().any(hangs), "{run}");
        // A beginning that was faster than what came behind it is no warm-up.
        assert!(measured(&run) > 0, "{run}");
    }
}

#[test]
fn memory_is_that_of_each_run() {
    let bench = Bench::start();
    let file = bench.file("load.sql");
    // A buffer for the answer of each connection.
    fs::write(&file, "SELECT repeat('x', 8000000);\n").unwrap();
    let run = ["run", &file, "{}", "--duration", "2s", "--json"];
    let text = bench.does(&[&run[..], &["--connections", "16,1"]].concat());
    let peaks: Vec<u64> = serde_json::Deserializer::from_str(&text)
        .into_iter::<Value>()
        .map(|run| run.unwrap()["driver"]["peak_rss_bytes"].as_u64().unwrap())
        .collect();
    // Sixteen buffers of eight megabytes against one.
    assert!(peaks[1] + (40 << 20) < peaks[0], "{peaks:?}");
}
