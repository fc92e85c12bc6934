//! TPC-C's sets, layouts and isolation on the command line.

use serde_json::Value;

use super::Bench;

#[test]
fn sets_and_layouts_are_told_and_contradictions_refused() {
    let bench = Bench::start();
    let loaded = bench.does(&[
        "load",
        "tpcc",
        "{}",
        "--warehouses",
        "1",
        "--sets",
        "2",
        "--layout",
        "sysbench",
        "--no-foreign-keys",
    ]);
    let what = "2 sets of 1 warehouse, sysbench's layout, no foreign keys";
    assert!(loaded.contains(what), "{loaded}");

    let run = [
        "run",
        "tpcc",
        "{}",
        "--duration",
        "2s",
        "--connections",
        "2",
        "--verify",
        "--json",
    ];
    let document = |more: &[&str]| -> Value {
        let text = bench.does(&[&run[..], more].concat());
        serde_json::from_str(&text).unwrap()
    };
    let own = document(&[]);
    assert_eq!(own["isolation"], "read-committed");
    assert_eq!(own["description"], format!("TPC-C, {what}, no think time"));
    let asked = document(&["--isolation", "repeatable-read", "--sets", "2"]);
    assert_eq!(asked["isolation"], "repeatable-read");
    let checks = asked["consistency"].as_array().unwrap();
    assert!(checks.len() == 12 && checks.iter().all(|check| check["passed"] == true));

    bench.refuses(&["verify", "tpcc", "{}", "--sets", "3"], "--sets 2");
    bench.refuses(
        &["clean", "tpcc", "{}", "--layout", "own"],
        "--layout sysbench",
    );
    bench.refuses(
        &["run", "tpcc", "{}", "--isolation", "none"],
        "serializable",
    );
    for action in ["run", "verify", "clean"] {
        let sets = [action, "oltp-insert", "{}", "--sets", "2"];
        bench.refuses(&sets, "--sets is not for oltp-insert");
        bench.refuses(&sets, "it is for tpcc");
    }

    // Nobody vouches for them any more, and nobody removes them.
    let mut client = bench.running.client();
    client.batch_execute("DROP TABLE dbdyno_tpcc").unwrap();
    bench.refuses(&["verify", "tpcc", "{}"], "--layout sysbench");
    let verified = bench.does(&["verify", "tpcc", "{}", "--layout", "sysbench"]);
    assert!(verified.contains("12 of 12 hold"), "{verified}");
    let cleaned = bench.does(&["clean", "tpcc", "{}", "--layout", "sysbench"]);
    assert!(cleaned.contains("nothing to remove"), "{cleaned}");
}

#[test]
fn a_load_is_replaced_whatever_its_layout() {
    let bench = Bench::start();
    let load = ["load", "tpcc", "{}", "--warehouses", "1"];
    bench.does(&[&load[..], &["--sets", "2", "--no-foreign-keys"]].concat());
    bench.does(&[&load[..], &["--layout", "sysbench", "--replace", "--yes"]].concat());
    bench.does(&["clean", "tpcc", "{}", "--yes"]);
    let left = bench.running.client().query_one(
        "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace",
        &[],
    );
    assert_eq!(left.unwrap().get::<_, i64>(0), 0);
}
