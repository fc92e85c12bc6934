//! What was measured is kept: whatever comes while a run is measured, or after it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dbdyno_target::lab::Stop;
use dbdyno_target::process::{self, Signal};
use serde_json::Value;

use super::{Bench, dbdyno, stderr};

/// With all processors busy.
const LONGEST: Duration = Duration::from_secs(120);

const SELECT: &str = "-- dbdyno: transaction one\nSELECT 1;\n";

/// Of two connections each soon comes to the one that does not end.
const ENDLESS: &str = "-- dbdyno: transaction quick weight=200
SELECT 1;
-- dbdyno: transaction endless
SELECT pg_sleep(600);
";

/// A run of a file that goes on beside its test, and is killed with it.
struct Beside {
    child: Child,
    told: BufReader<ChildStderr>,
    /// What it prints, which is more than a pipe may hold.
    printed: Option<JoinHandle<String>>,
}

impl Beside {
    fn start(bench: &Bench, text: &str, more: &[&str]) -> Self {
        let file = bench.file("load.sql");
        fs::write(&file, text).unwrap();
        let mut child = dbdyno()
            .args(["run", &file, &bench.target(), "--json"])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let told = BufReader::new(child.stderr.take().unwrap());
        let mut stdout = child.stdout.take().unwrap();
        let printed = std::thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).unwrap();
            text
        });
        Self {
            child,
            told,
            printed: Some(printed),
        }
    }

    /// Until the line of this second is told.
    fn wait_for_second(&mut self, second: u32) {
        let begin = format!("{second} s ");
        let mut all = String::new();
        loop {
            let before = all.len();
            let read = self.told.read_line(&mut all).unwrap();
            assert!(read > 0, "no second {second}:\n{all}");
            if all[before..].trim_start().starts_with(&begin) {
                return;
            }
        }
    }

    fn interrupt(&self) {
        assert!(process::signal(self.child.id(), Signal::INT));
    }

    /// Its end, its document and what it told since.
    fn end(mut self) -> (ExitStatus, Value, String) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < LONGEST, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        };
        let text = self.printed.take().unwrap().join().unwrap();
        let mut errors = String::new();
        self.told.read_to_string(&mut errors).unwrap();
        let run = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {errors}"));
        (status, run, errors)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // It has ended, if the test went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until so many statements like this are under way.
fn wait_for(bench: &Bench, like: &str, wanted: i64) {
    let counted = format!(
        "SELECT count(*) FROM pg_stat_activity
         WHERE state = 'active' AND query LIKE '%{like}%' AND pid <> pg_backend_pid()"
    );
    let mut client = bench.running.client();
    let begun = Instant::now();
    while client.query_one(&counted, &[]).unwrap().get::<_, i64>(0) != wanted {
        assert!(begun.elapsed() < LONGEST, "never {wanted} of {like}");
        std::thread::sleep(Duration::from_millis(20));
    }
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
    let beside = Beside::start(&bench, &text, &more);
    wait_for(&bench, "pg_sleep(600)", 1);
    beside.interrupt();
    let (status, run, errors) = beside.end();
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
    let (status, run, errors) = Beside::start(&bench, ENDLESS, &more).end();
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
    let mut beside = Beside::start(&bench, ENDLESS, &more);
    beside.wait_for_second(2);
    std::thread::sleep(Duration::from_secs(1));
    beside.interrupt();
    let begun = Instant::now();
    let (status, run, errors) = beside.end();
    assert!(begun.elapsed() < Duration::from_secs(8), "{errors}");
    assert_eq!(status.code(), Some(130), "{errors}");
    assert_eq!(run["complete"], true);
    assert!(measured(&run) > 0, "{run}");
}

#[test]
fn a_server_that_is_gone_before_the_check_takes_no_run_with_it() {
    let bench = Bench::start();
    let text = format!("{SELECT}-- dbdyno: check holds\nSELECT 1 WHERE false;\n");
    let mut beside = Beside::start(&bench, &text, &["--duration", "4s", "--verify"]);
    beside.wait_for_second(2);
    bench.running.server.stop(Stop::Kill);
    let (status, run, errors) = beside.end();
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
    let (status, run, errors) = Beside::start(&bench, text, &more).end();
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
    let mut child = dbdyno()
        .args(["run", &file, &target, "--duration", "3s"])
        .args(["--connections", "1,1", "--csv", &csv, "--hdr", &hdr])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (first, second) = (bench.file("run-1.hdr"), bench.file("run-1-2.hdr"));
    let begun = Instant::now();
    while fs::metadata(&first).is_err() {
        assert!(begun.elapsed() < LONGEST && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(fs::read_to_string(&csv).unwrap().lines().count(), 1 + 3);
    assert!(fs::metadata(&second).is_err());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(&csv).unwrap().lines().count(), 1 + 6);
    let [first, second] = [first, second].map(|path| fs::read_to_string(path).unwrap());
    assert!(second.contains("Tag=one,") && first != second);
}

#[test]
fn a_server_that_hangs_stops_neither_the_clock_nor_an_interrupt() {
    for interrupted in [false, true] {
        let bench = Bench::start();
        let duration = if interrupted { "300s" } else { "6s" };
        let mut beside = Beside::start(&bench, SELECT, &["--duration", duration]);
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
        while beside.child.try_wait().unwrap().is_none() && begun.elapsed() < LONGEST {
            std::thread::sleep(Duration::from_millis(20));
        }
        let took = begun.elapsed();
        // Or nobody could stop the server.
        for pid in &pids {
            process::signal(*pid, Signal::CONT);
        }
        let (status, run, errors) = beside.end();
        let code = if interrupted { 130 } else { 0 };
        assert_eq!(status.code(), Some(code), "{errors}");
        // Four seconds, ten for what was under way, and a slow machine.
        assert!(took < Duration::from_secs(40), "{took:?}");
        let series = run["series"].as_array().unwrap();
        assert!(series.len() >= 5, "{run}");
        assert_eq!(series[4]["transactions"], 0);
        assert_eq!(series[4]["wal_bytes"], Value::Null);
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
