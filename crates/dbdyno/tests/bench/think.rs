//! `bench run tpcc --think`: ten users for each warehouse, and what TPC-C says of what they got.

use serde_json::Value;

use super::Bench;

#[test]
fn users_are_ten_for_each_warehouse_and_their_limits_are_told() {
    let bench = Bench::start();
    bench.refuses(
        &["run", "oltp-insert", "{}", "--think"],
        "--think is not for oltp-insert",
    );
    bench.refuses(&["run", "tpcc", "{}", "--think", "--rate", "5"], "--rate");
    bench.refuses(&["run", "tpcc", "{}", "--think=0"], "0.001 to 100");
    bench.does(&["load", "tpcc", "{}", "--warehouses", "1"]);
    bench.refuses(
        &["run", "tpcc", "{}", "--think", "--connections", "8"],
        "10 terminals",
    );

    let run = ["run", "tpcc", "{}", "--think=0.01", "--duration"];
    let text = bench.does(&[&run[..], &["10s", "--json", "--verify"]].concat());
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&document["connections"], &document["think"]),
        (&10.into(), &0.01.into())
    );
    let description = document["description"].as_str().unwrap();
    assert!(
        description.ends_with("0.01 × keying and think times"),
        "{description}"
    );
    let limits = document["limits"].as_array().unwrap();
    let names = limits.iter().map(|limit| &limit["transaction"]);
    let transactions = document["per_transaction"].as_array().unwrap();
    assert!(
        names.eq(transactions.iter().map(|one| &one["name"])),
        "{text}"
    );
    for (limit, one) in limits.iter().zip(transactions) {
        assert_eq!(limit["p90_ms"], one["latency_ms"]["p90"]);
        assert_eq!(limit["passed"], true, "{limit}");
    }
    assert_eq!(limits[4]["limit_s"], 20.0);
    // A hundredth of the times, a hundred times the rate, as far as the server comes.
    let number = |name: &str| document[name].as_f64().unwrap();
    assert!((number("notpm_most") - 12.86).abs() < 1e-9);
    let share = number("notpm") / number("notpm_most");
    assert!((30.0..115.0).contains(&share), "{share}");
    let said = document["warnings"].to_string();
    assert!(said.contains("0.01 × the specification's"), "{said}");

    let page = bench.does(&[&run[..], &["2s", "--connections", "10"]].concat());
    for line in ["NOTPM ", "stock_level ", "pass"] {
        assert!(page.contains(line), "{page}");
    }
}
