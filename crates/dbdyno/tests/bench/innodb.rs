//! What MySQL and MariaDB tell of InnoDB while they are measured.

use dbdyno_bench::driver::target;
use dbdyno_bench::wire::Link;
use dbdyno_model::Connection;
use dbdyno_testing::{MySql, MySqlBinaries, Place};
use serde_json::Value;

use super::{dbdyno, stderr};

const SCRIPT: &str = "-- dbdyno: setup
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100), (2, 100), (3, 100), (4, 100);
-- dbdyno: transaction move
\\set to random(1, 4)
UPDATE account SET balance = balance + 1 WHERE id = :to;
";

#[test]
fn needs_mysql_what_innodb_writes_back_is_read_on_each_server() {
    let place = Place::new("innodb");
    let file = place.root.join("move.sql").display().to_string();
    std::fs::write(&file, SCRIPT).unwrap();
    for binaries in &MySqlBinaries::all() {
        // Pages are written back as soon as they are dirty.
        let server = MySql::start(binaries, &[("innodb-max-dirty-pages-pct", "0")]);
        let root = server.connection();
        let mut link = Link::open(&target(&root).unwrap()).unwrap();
        link.run("CREATE DATABASE bank").unwrap();
        let connection = Connection {
            database: "bank".into(),
            ..root
        };
        let address = connection.display();
        let does = |words: &[&str]| {
            let output = dbdyno().args(words).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            output.stdout
        };
        does(&["load", &file, &address]);
        let told = does(&[
            "run",
            &file,
            &address,
            "--connections",
            "2",
            "--duration",
            "4s",
            "--json",
        ]);
        let run: Value = serde_json::from_slice(&told).unwrap();
        let server = &run["server"];
        for name in [
            "checkpoint_moved_bytes",
            "checkpoint_age_bytes",
            "dirty_pages_before",
            "dirty_pages",
            "pages_flushed",
            "fsyncs",
        ] {
            assert!(server[name].is_u64(), "{name}: {server}");
        }
        assert!(server["fsyncs"].as_u64() > Some(0), "{server}");
        assert!(server["pages_flushed"].as_u64() > Some(0), "{server}");
        assert_eq!(server["restarts"], 0, "{server}");
        let warnings = run["warnings"].as_array().unwrap();
        let is_missed = |warning: &Value| warning["what"].as_str().unwrap().contains("checkpoint");
        let stood_still = server["checkpoint_moved_bytes"] == 0;
        assert_eq!(
            warnings.iter().any(is_missed),
            stood_still,
            "{server} {warnings:?}"
        );
    }
}
