//! A transaction that takes another isolation than its run's is named in the document.

use dbdyno_bench::driver::target;
use dbdyno_bench::wire::Link;
use dbdyno_model::Connection;
use dbdyno_testing::{MySql, MySqlBinaries};
use serde_json::{Value, json};

use super::{dbdyno, stderr};

fn does(arguments: &[&str], server: &str, more: &[&str]) -> String {
    let mut command = dbdyno();
    let output = command.args(arguments).arg(server).args(more).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn needs_mysql_deliveries_at_read_committed_are_told() {
    for binaries in MySqlBinaries::all() {
        let server = MySql::start(&binaries, &[("innodb-flush-log-at-trx-commit", "0")]);
        let mut link = Link::open(&target(&server.connection()).unwrap()).unwrap();
        link.run("CREATE DATABASE own_level").unwrap();
        let connection = Connection {
            database: "own_level".into(),
            ..server.connection()
        };
        let address = connection.display();
        does(&["load", "tpcc"], &address, &["--warehouses", "1"]);
        let own = |more: &[&str]| {
            let short = ["--duration", "1s", "--connections", "1", "--json"];
            let text = does(&["run", "tpcc"], &address, &[&short[..], more].concat());
            let run: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(run["isolation"], "repeatable-read");
            run["own_isolation"].clone()
        };
        let delivery = json!({ "delivery": "read-committed" });
        assert_eq!(own(&[]), delivery);
        assert_eq!(own(&["--mode", "procedures"]), delivery);
        assert_eq!(own(&["--mode", "batched"]), json!({}));
        assert_eq!(own(&["--isolation", "repeatable-read"]), json!({}));
    }
}
