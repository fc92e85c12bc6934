//! Inserts, selects and friends as a user meets them.

use serde_json::Value;

use super::Bench;

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

const SHORT: [&str; 7] = [
    "--connections",
    "2",
    "--warm-up",
    "1s",
    "--duration",
    "2s",
    "--json",
];

#[test]
fn inserts_and_selects_take_from_the_data_what_they_are_not_told() {
    let bench = Bench::start();
    bench.refuses(&["run", "inserts", "{}"], "holds no load of inserts");
    bench.refuses(
        &["load", "inserts", "{}", "--key", "serial"],
        "serial is not known",
    );
    let load = [
        "load", "inserts", "{}", "--rows", "3000", "--key", "uuid-v4", "--filler", "40",
    ];
    let loaded = bench.does(&load);
    assert!(loaded.contains("3,000 rows in "), "{loaded}");
    bench.refuses(&load, "--replace");
    bench.refuses(
        &["run", "inserts", "{}", "--rows", "4000"],
        "--rows says 4000",
    );
    bench.refuses(
        &["run", "inserts", "{}", "--key", "uuid_v7"],
        "loaded with uuid_v4",
    );
    bench.refuses(
        &["run", "inserts", "{}", "--mode", "pipelined"],
        "--mode is not for inserts",
    );
    bench.refuses(
        &["run", "inserts", "{}", "--friends", "3"],
        "--friends is not for inserts",
    );

    let inserts = ["run", "inserts", "{}", "--batch", "5", "--statements", "2"];
    let run = document(&bench.does(&[&inserts[..], &SHORT].concat()));
    let description = run["description"].as_str().unwrap();
    assert!(
        description.contains("uuid_v4 keys in random order, 5 rows"),
        "{description}"
    );
    let (tps, rows) = (
        run["tps"].as_f64().unwrap(),
        run["rows_per_s"].as_f64().unwrap(),
    );
    assert!(
        tps > 0.0 && (rows / tps - 10.0).abs() < 1e-6,
        "{tps} {rows}"
    );
    let footprint = &run["footprint"];
    let inserted = footprint["rows"].as_u64().unwrap() - 3000;
    // Those of the warm-up and of the last second too.
    assert!(
        inserted >= 10 * run["transactions"].as_u64().unwrap(),
        "{run}"
    );
    assert!(
        footprint["index_bytes"]["value"].as_u64().unwrap() > 8192,
        "{footprint}"
    );

    let warnings = run["warnings"].to_string();
    for told in [
        "fit into the server's cache of",
        "CREATE EXTENSION pgstattuple",
    ] {
        assert!(warnings.contains(told), "{told}: {warnings}");
    }

    let selects = document(&bench.does(&[&["run", "selects", "{}"][..], &SHORT].concat()));
    assert_eq!(selects["errors"].as_object().unwrap().len(), 0, "{selects}");
    assert_eq!(selects["rows_per_s"], selects["tps"]);
    let verified = bench.does(&["verify", "inserts", "{}"]);
    assert!(!verified.contains("FAILS"), "{verified}");
    let cleaned = bench.does(&["clean", "inserts", "{}", "--yes"]);
    assert!(cleaned.contains("are removed"), "{cleaned}");
}

#[test]
fn friends_are_run_by_the_key_that_they_were_loaded_with() {
    let bench = Bench::start();
    let load = ["load", "friends", "{}", "--rows", "4000", "--friends", "20"];
    bench.refuses(
        &[&load[..], &["--batch", "5"]].concat(),
        "--batch is not for friends",
    );
    bench.refuses(
        &[&load[..], &["--batch", "1"]].concat(),
        "it is for inserts and selects",
    );
    bench.does(&[&load[..], &["--key", "clustered"]].concat());
    bench.refuses(
        &["run", "friends", "{}", "--key", "surrogate"],
        "loaded with clustered",
    );
    bench.refuses(
        &["run", "friends", "{}", "--key", "uuid_v4"],
        "surrogate, clustered",
    );
    let text = bench.does(&[
        "run",
        "friends",
        "{}",
        "--connections",
        "2",
        "--warm-up",
        "1s",
        "--duration",
        "2s",
        "--verify",
    ]);
    for told in [
        "clustered key, 200 users",
        " B a row",
        "size  ",
        "5 of 5 checks hold",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
}
