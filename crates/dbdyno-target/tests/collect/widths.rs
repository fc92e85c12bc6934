//! How wide rows are where a column is not stored.

use dbdyno_testing::{Running, every_major};

use crate::facts;

/// ANALYZE keeps nothing of such a column, which was taken for a table that nobody analysed.
#[test]
fn a_column_that_is_computed_when_it_is_read_takes_no_room() {
    let servers = every_major().into_iter();
    for binaries in servers.filter(|binaries| binaries.version.major >= 18) {
        let running = Running::start(binaries, &[("autovacuum", "off")]);
        let mut client = running.client();
        for statement in [
            "CREATE TABLE t (a int, b int, c int GENERATED ALWAYS AS (a + b) VIRTUAL)",
            "INSERT INTO t (a, b) SELECT g, g FROM generate_series(1, 1000) g",
            "ANALYZE t",
        ] {
            client.batch_execute(statement).unwrap();
        }
        let told = facts(&mut client);
        let tables = told.tables.value().unwrap();
        assert_eq!(tables[0].row_bytes, Some(8.0), "{tables:?}");
    }
}
