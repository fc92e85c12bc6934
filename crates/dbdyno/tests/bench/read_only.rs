//! A server that takes no writes: whatever writes is refused with the next step.

use serde_json::Value;

use super::{Bench, SCRIPT, stderr};

const NEXT: &str = "hint: the server is read-only (a standby, or default_transaction_read_only = on): \
    give the primary's address";

#[test]
fn what_a_read_only_server_refuses_is_told_with_the_next_step() {
    let bench = Bench::start();
    let script = bench.file("move.sql");
    std::fs::write(&script, SCRIPT).unwrap();
    bench.does(&["load", &script, "{}"]);
    bench.does(&["load", "tpcc", "{}", "--warehouses", "1"]);
    bench.does(&["load", "inserts", "{}", "--rows", "1000"]);
    bench.does(&["load", "oltp-insert", "{}", "--table-size", "1000"]);
    let objects = bench.objects();
    let database = bench.running.connection().database;
    let set = format!("ALTER DATABASE \"{database}\" SET default_transaction_read_only = on");
    bench.running.client().batch_execute(&set).unwrap();

    for arguments in [
        &["load", "oltp-insert", "{}", "--replace", "--yes"][..],
        &["load", "tpcc", "{}", "--replace", "--yes"],
        &["load", "friends", "{}", "--rows", "2000"],
        &[
            "load",
            "inserts",
            "{}",
            "--rows",
            "1000",
            "--replace",
            "--yes",
        ],
        &["load", &script, "{}"],
        &["run", "tpcc", "{}"],
        &["run", "tpcc", "{}", "--mode", "procedures"],
        &["run", "oltp-read-write", "{}"],
        &["run", "inserts", "{}"],
        &["clean", "tpcc", "{}", "--yes"],
        &["clean", "inserts", "{}", "--yes"],
        &["clean", "oltp-insert", "{}", "--yes"],
    ] {
        let output = bench.run(arguments);
        let errors = stderr(&output);
        assert!(
            matches!(output.status.code(), Some(2 | 4)),
            "{arguments:?}: {errors}"
        );
        assert!(errors.contains(NEXT), "{arguments:?}: {errors}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    assert_eq!(bench.objects(), objects);

    // What reads goes on, and a file may have transactions of either kind.
    let short = ["--duration", "2s", "--connections", "1", "--json"];
    let run = |workload: &str| -> Value {
        let text = bench.does(&[&["run", workload, "{}"][..], &short].concat());
        serde_json::from_str(&text).unwrap()
    };
    let selects = run("selects");
    assert_eq!(selects["errors"], serde_json::json!({}));
    let file = run(&script);
    assert!(file["errors"]["25006"].as_u64().unwrap() > 0, "{file}");
    let warnings = file["warnings"].to_string();
    assert!(warnings.contains("primary's address"), "{warnings}");
}
