//! A transaction that takes another isolation than its run's is named in the document.

use serde_json::json;

use super::cycle::Server;

/// In a database without a load of TPC-C.
pub(super) fn of_deliveries_is_told(server: &Server) {
    server.does(&["load", "tpcc", "{}", "--warehouses", "1"]);
    let own = |more: &[&str]| {
        let run = ["run", "tpcc", "{}"];
        let short = ["--duration", "1s", "--connections", "1", "--json"];
        let run = server.document(&[&run[..], &short, more].concat());
        assert_eq!(run["isolation"], "repeatable-read");
        run["own_isolation"].clone()
    };
    let delivery = json!({ "delivery": "read-committed" });
    assert_eq!(own(&[]), delivery);
    assert_eq!(own(&["--mode", "procedures"]), delivery);
    assert_eq!(own(&["--mode", "batched"]), json!({}));
    assert_eq!(own(&["--isolation", "repeatable-read"]), json!({}));
    server.does(&["clean", "tpcc", "{}", "--yes"]);
}
