//! sysbench's workloads from their load to their removal.

use serde_json::Value;

use super::Bench;

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
    assert!(sbtest(&["clean"], &["--yes"]).contains("are removed"));
    assert!(sbtest(&["clean"], &[]).contains("nothing to remove"));
}
