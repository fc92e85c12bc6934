//! sysbench's tables as a user meets them: ours, and those that sysbench has made.

use dbdyno_testing::sysbench_table;
use serde_json::Value;

use super::Bench;

/// As sysbench does it.
fn prepare(bench: &Bench, tables: u32, rows: u64) {
    let engine = bench.running.connection().engine;
    for table in 1..=tables {
        for sql in sysbench_table(engine, table, rows) {
            bench.running.client().batch_execute(&sql).unwrap();
        }
    }
}

#[test]
fn what_sysbench_made_is_neither_replaced_nor_removed() {
    let bench = Bench::start();
    prepare(&bench, 5, 100);
    let objects = bench.objects();
    let cleaned = bench.does(&["clean", "oltp-read-write", "{}", "--tables", "5"]);
    for told in [
        "there was nothing to remove",
        "sbtest1, sbtest2, sbtest3 and 2 more: left",
        "sysbench's cleanup",
    ] {
        assert!(cleaned.contains(told), "{told}: {cleaned}");
    }
    let load = ["load", "oltp-read-write", "{}", "--table-size", "100"];
    bench.refuses(&load, "sbtest1: it is there already");
    let replace = [&load[..], &["--replace"]].concat();
    bench.refuses(&replace, "cannot replace sbtest1: no load of dbdyno");
    assert_eq!(bench.objects(), objects);
}

#[test]
fn all_that_a_load_made_is_replaced_and_removed_without_being_told_how_much() {
    let bench = Bench::start();
    let load = ["load", "oltp-insert", "{}", "--table-size", "100"];
    bench.does(&[&load[..], &["--tables", "3"]].concat());
    let three = bench.objects();
    bench.does(&[&load[..], &["--replace", "--yes"]].concat());
    // A table with its sequence and its two indexes each.
    assert_eq!(bench.objects() * 3, three);
    bench.does(&[&load[..], &["--tables", "3", "--replace", "--yes"]].concat());
    let cleaned = bench.does(&["clean", "oltp-read-only", "{}", "--yes"]);
    assert!(cleaned.contains("are removed"), "{cleaned}");
    assert_eq!(bench.objects(), 0);
}

#[test]
fn a_run_takes_from_the_tables_how_many_they_are_and_how_large() {
    let bench = Bench::start();
    let run = ["run", "oltp-read-only", "{}", "--duration", "1s", "--json"];
    bench.refuses(&run, "holds no tables of sysbench's");
    bench.refuses(&["verify", "oltp-insert", "{}"], "holds no tables");
    bench.does(&["load", "oltp-insert", "{}", "--table-size", "700"]);
    let description = |text: String| -> String {
        let run: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(run["errors"], serde_json::json!({}));
        run["description"].as_str().unwrap().to_owned()
    };
    let ours = description(bench.does(&run));
    assert!(ours.contains("1 table of 700 rows"), "{ours}");
    let larger = [&run[..], &["--table-size", "10000"]].concat();
    bench.refuses(&larger, "--table-size says 10000, and sbtest1 has 700 rows");
    bench.refuses(
        &[&run[..], &["--tables", "2"]].concat(),
        "sbtest2 is missing",
    );
    let verified = bench.does(&["verify", "oltp-insert", "{}"]);
    assert!(!verified.contains("FAILS"), "{verified}");
    bench.does(&["clean", "oltp-insert", "{}", "--yes"]);

    prepare(&bench, 3, 400);
    let theirs = description(bench.does(&run));
    assert!(theirs.contains("3 tables of 400 rows"), "{theirs}");
    let cut = "DELETE FROM sbtest2 WHERE id > 150";
    bench.running.client().batch_execute(cut).unwrap();
    bench.refuses(&run, "--table-size 150");
    let all_have = description(bench.does(&[&run[..], &["--table-size", "150"]].concat()));
    assert!(all_have.contains("3 tables of 150 rows"), "{all_have}");

    // As if a load were under way.
    let units = "CREATE TABLE dbdyno_sbtest_units (entry varchar(200) NOT NULL PRIMARY KEY)";
    bench.running.client().batch_execute(units).unwrap();
    bench.refuses(&run, "--resume");
}

#[test]
fn statements_of_a_transaction_are_as_many_as_they_are_asked_to_be() {
    let bench = Bench::start();
    bench.does(&["load", "oltp-read-write", "{}", "--table-size", "500"]);
    let sent = |workload: &str, counts: &[&str]| -> f64 {
        let run = ["run", workload, "{}", "--connections", "1", "--duration"];
        let text = bench.does(&[&run[..], &["1s", "--json"], counts].concat());
        let run: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(run["errors"], serde_json::json!({}));
        run["statements_per_transaction"].as_f64().unwrap()
    };
    let reads = ["--range-selects", "off", "--point-selects", "3"];
    let writes = ["--index-updates", "2", "--non-index-updates", "0"];
    for (workload, counts, expected) in [
        // BEGIN and COMMIT, what is read, what is updated, and DELETE and INSERT.
        ("oltp-read-write", [&reads[..], &writes].concat(), 9.0),
        (
            "oltp-read-only",
            vec!["--skip-trx", "--sum-ranges", "4", "--order-ranges", "0"],
            16.0,
        ),
        ("oltp-write-only", vec!["--delete-inserts", "3"], 10.0),
        ("oltp-update-index", vec!["--index-updates", "5"], 5.0),
    ] {
        let sent = sent(workload, &counts);
        assert!((sent - expected).abs() < 0.01, "{workload}: {sent}");
    }
    let run = ["run", "oltp-read-write", "{}", "--mode", "pipelined"];
    let short = ["--connections", "1", "--duration", "1s", "--json"];
    let run: Value = serde_json::from_str(&bench.does(&[&run[..], &short].concat())).unwrap();
    let trips = run["round_trips_per_transaction"].as_f64().unwrap();
    assert!((trips - 1.0).abs() < 0.01, "{trips}");
    for (workload, option, value) in [
        ("oltp-insert", "--point-selects", "3"),
        ("oltp-point-select", "--point-selects", "3"),
        ("oltp-write-only", "--range-size", "10"),
        ("oltp-read-only", "--delta", "10"),
    ] {
        let named = format!("{option} is not for {workload}");
        bench.refuses(&["run", workload, "{}", option, value], &named);
    }
    let none = ["--range-selects", "off", "--point-selects", "0"];
    let nothing = [&["run", "oltp-read-only", "{}"][..], &none].concat();
    bench.refuses(&nothing, "no statements left");
}
