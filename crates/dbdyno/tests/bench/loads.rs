//! Loads that are interrupted and resumed, and loads without a server.

use std::time::Duration;

use super::beside::{Beside, wait_until};
use super::{Bench, dbdyno, stderr};

#[test]
fn a_load_that_was_interrupted_is_resumed() {
    let bench = Bench::start();
    let target = bench.target();
    let load = ["load", "tpcc", "{}", "--warehouses", "4"];
    let words = load.map(|word| match word {
        "{}" => target.as_str(),
        word => word,
    });
    let beside = Beside::start(&words);
    let begun = "SELECT count(*) FROM pg_class WHERE relname = 'dbdyno_tpcc_units'";
    let mut client = bench.running.client();
    let mut tables = || -> i64 { client.query_one(begun, &[]).unwrap().get(0) };
    wait_until("the load has begun", || tables() > 0);
    std::thread::sleep(Duration::from_millis(500));
    beside.interrupt();
    let (status, _, errors) = beside.end();
    assert_eq!(status.code(), Some(130), "{errors}");
    assert!(errors.contains("--resume"), "{errors}");

    bench.refuses(&load, "--resume");
    bench.refuses(&["run", "tpcc", "{}"], "--resume");
    let resume = [&load[..], &["--resume"]].concat();
    for (option, value, told) in [
        ("--seed", "9", "seed=9"),
        ("--sets", "2", "sets=2"),
        ("--layout", "sysbench", "layout=sysbench"),
    ] {
        bench.refuses(&[&resume[..], &[option, value]].concat(), told);
    }
    let bare = [&resume[..], &["--no-foreign-keys"]].concat();
    bench.refuses(&bare, "foreign_keys=false");
    bench.refuses(&[&resume[..], &["--replace"]].concat(), "--replace");
    let loaded = bench.does(&resume);
    assert!(loaded.contains(" rows in "), "{loaded}");
    let nothing = bench.does(&resume);
    assert!(nothing.contains("nothing is left to load"), "{nothing}");
    let verified = bench.does(&["verify", "tpcc", "{}"]);
    assert!(verified.contains("12 of 12 hold"), "{verified}");
}

#[test]
fn loads_by_key_are_resumed_and_generated_too() {
    let bench = Bench::start();
    for workload in ["inserts", "selects", "friends"] {
        let load = ["load", workload, "{}", "--rows", "2000"];
        let generated = bench.does(&[&load[..], &["--generate-only"]].concat());
        assert!(generated.contains("2,000 rows, "), "{generated}");
        let resume = [&load[..], &["--resume"]].concat();
        let loaded = bench.does(&resume);
        assert!(loaded.contains("2,000 rows in "), "{loaded}");
        let nothing = bench.does(&resume);
        assert!(nothing.contains("nothing is left to load"), "{nothing}");
        let other = ["load", workload, "{}", "--rows", "4000", "--resume"];
        bench.refuses(&other, "rows=4000");
        bench.does(&["verify", workload, "{}"]);
        bench.does(&["clean", workload, "{}", "--yes"]);
    }
    assert_eq!(bench.objects(), 0);
    // As if a load were under way.
    let made = "CREATE TABLE dbdyno_keys_load (loaded varchar(200), ready boolean);
        INSERT INTO dbdyno_keys_load VALUES ('key=auto_increment', false)";
    bench.running.client().batch_execute(made).unwrap();
    bench.refuses(&["run", "inserts", "{}"], "--resume");
}

#[test]
fn a_quiet_command_tells_its_result_alone() {
    let bench = Bench::start();
    let run = ["run", "inserts", "{}", "--duration", "2s"];
    for (arguments, told) in [
        (
            &["load", "inserts", "{}", "--rows", "2000"][..],
            "2,000 rows in ",
        ),
        (&run, "latency"),
        (&["verify", "inserts", "{}"], " hold"),
        (&["clean", "inserts", "{}", "--yes"], "are removed"),
    ] {
        let output = bench.run(&[arguments, &["--quiet"]].concat());
        assert_eq!(stderr(&output), "", "{arguments:?}");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains(told), "{arguments:?}: {text}");
    }
    bench.refuses(&["verify", "inserts", "{}", "--quiet"], "holds no load");
    bench.does(&["load", "inserts", "{}", "--rows", "2000"]);
    let loud = bench.run(&["verify", "inserts", "{}"]);
    assert!(stderr(&loud).contains("checking the data"));
}

#[test]
fn rows_are_generated_without_a_server() {
    for (target, form) in [
        ("postgres://nobody@nowhere.invalid/shop", "COPY"),
        ("mysql://nobody@nowhere.invalid/shop", "LOAD DATA"),
    ] {
        let generate = [
            "load",
            "tpcc",
            target,
            "--warehouses",
            "1",
            "--generate-only",
        ];
        let output = dbdyno().args(generate).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        println!("{text}");
        for told in [form, "order_line", " rows/s, ", " of memory at most"] {
            assert!(text.contains(told), "{text}");
        }
        let both = dbdyno().args(generate).arg("--resume").output().unwrap();
        assert_eq!(both.status.code(), Some(2), "{}", stderr(&both));
    }
}
