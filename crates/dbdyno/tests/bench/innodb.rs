//! What MySQL and MariaDB tell of InnoDB while they are measured.

use dbdyno_bench::wire::Link;
use serde_json::Value;

use super::cycle::Server;

const SCRIPT: &str = "-- dbdyno: setup
CREATE TABLE written (id int PRIMARY KEY, n int NOT NULL);
INSERT INTO written VALUES (1, 100), (2, 100), (3, 100), (4, 100);
-- dbdyno: transaction write
\\set to random(1, 4)
UPDATE written SET n = n + 1 WHERE id = :to;
";

/// What is set for that stays set.
pub(super) fn what_it_writes_back_is_read(server: &Server, root: &mut Link) {
    for sql in [
        // Pages are written back as soon as they are dirty.
        "SET GLOBAL innodb_max_dirty_pages_pct = 0",
        "SET GLOBAL innodb_flush_log_at_trx_commit = 1",
    ] {
        root.run(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let file = server.file("write.sql");
    std::fs::write(&file, SCRIPT).unwrap();
    server.does(&["load", &file, "{}"]);
    let short = ["--connections", "2", "--duration", "4s", "--json"];
    let run = server.document(&[&["run", &file, "{}"][..], &short].concat());
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
