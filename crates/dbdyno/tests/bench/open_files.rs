//! More connections than this process may have open files: refused by name, before the first is made.

use std::process::{Command, Stdio};

use super::{Bench, stderr};

#[test]
fn ten_thousand_connections_under_a_low_limit_are_refused_with_what_they_need() {
    let bench = Bench::start();
    let file = bench.file("one.sql");
    std::fs::write(&file, "SELECT 1").unwrap();
    // The soft and the hard limit, whatever this machine has.
    let limited = "ulimit -n 1000 && exec \"$@\"";
    let output = Command::new("sh")
        .args(["-c", limited, "sh", env!("CARGO_BIN_EXE_dbdyno")])
        .args(["bench", "run", &file, &bench.target()])
        .args(["--connections", "10000", "--duration", "1s"])
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let errors = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    for told in ["10000 connections need", "this process may have 1000\n"] {
        assert!(errors.contains(told), "{errors}");
    }
    assert!(errors.contains("hint: raise the hard limit"), "{errors}");
    assert!(output.stdout.is_empty());
}
