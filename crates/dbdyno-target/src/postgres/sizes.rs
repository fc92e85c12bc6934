//! True sizes of relations, in statements of their own since each relation is opened for it.

use ::postgres::error::SqlState;
use ::postgres::{Client, Error};

use super::reader::count_or_none;

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub(super) enum Of {
    /// A table with its indexes and its TOAST table, each of which is opened.
    All,
    /// What pg_class counts the pages of.
    TableAlone,
}

/// A table that somebody rewrites would make us wait for its lock; one that is gone by now has no size.
const SQL: &str = "WITH locked AS MATERIALIZED (
    SELECT relation FROM pg_locks
    WHERE locktype = 'relation' AND mode = 'AccessExclusiveLock'
)
SELECT CASE WHEN t.oid IN (SELECT relation FROM locked) THEN NULL
    ELSE coalesce({size}(t.oid), 0) END
FROM unnest($1::oid[]) WITH ORDINALITY AS t (oid, place) ORDER BY t.place";

/// Tables whose sizes one statement reads.
const AT_ONCE: usize = 100;

/// In the order of the tables; none where only the pages tell.
pub(super) fn read(client: &mut Client, of: Of, oids: &[u32]) -> Result<Vec<Option<u64>>, Error> {
    let sql = sql(of);
    let mut sizes = Vec::with_capacity(oids.len());
    for part in oids.chunks(AT_ONCE) {
        match client.query(&sql, &[&part]) {
            Ok(rows) => {
                for row in &rows {
                    sizes.push(count_or_none(row.try_get(0)?));
                }
            }
            // The lock was taken after we looked: nobody waits for a second one.
            Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => break,
            Err(error) => return Err(error),
        }
    }
    sizes.resize(oids.len(), None);
    Ok(sizes)
}

fn sql(of: Of) -> String {
    let function = match of {
        Of::All => "pg_total_relation_size",
        Of::TableAlone => "pg_relation_size",
    };
    SQL.replace("{size}", function)
}
