//! The largest tables and those with the most dead rows, with what vacuum needs to know.

use ::postgres::error::SqlState;
use ::postgres::{Client, Error, Row};
use dbdyno_model::Fact;
use dbdyno_model::postgres::Table;

use super::error::CollectError;
use super::reader::{Reader, Subject, count, count_or_none};

const SUBJECT: Subject = Subject::new("postgres.tables", "pg_class, pg_stat_all_tables");

/// Largest by the planner's pages, since asking for true sizes opens every table; a table that was
/// never vacuumed has no pages there, so rows stand in at 50 a page.
const SQL: &str = "WITH t AS MATERIALIZED (
    SELECT c.oid, c.relnamespace, c.relname, c.relpages, c.reltuples, c.reloptions,
        greatest(age(c.relfrozenxid), age(x.relfrozenxid)) AS xid_age,
        pg_stat_get_live_tuples(c.oid) AS live, pg_stat_get_dead_tuples(c.oid) AS dead,
        greatest(c.relpages + coalesce(x.relpages, 0),
            (pg_stat_get_live_tuples(c.oid) + pg_stat_get_dead_tuples(c.oid)) / 50) AS pages
    FROM pg_class c LEFT JOIN pg_class x ON x.oid = c.reltoastrelid
    WHERE c.relkind IN ('r', 'm') AND c.oid >= 16384 AND c.relpersistence <> 't'
), picked AS (
    (SELECT oid FROM t ORDER BY pages DESC LIMIT 150)
    UNION (SELECT oid FROM t WHERE dead > 0 ORDER BY dead DESC LIMIT 50)
)
SELECT n.nspname::text, t.relname::text, {size} AS size,
    t.reltuples::float8, t.relpages::int8, t.live, t.dead,
    pg_stat_get_mod_since_analyze(t.oid), pg_stat_get_ins_since_vacuum(t.oid),
    coalesce(pg_stat_get_last_vacuum_time(t.oid),
        pg_stat_get_last_autovacuum_time(t.oid)) IS NULL,
    coalesce(pg_stat_get_last_analyze_time(t.oid),
        pg_stat_get_last_autoanalyze_time(t.oid)) IS NULL,
    t.xid_age::int8, t.reloptions
FROM t JOIN picked USING (oid) JOIN pg_namespace n ON n.oid = t.relnamespace
ORDER BY size DESC, 1, 2";

/// A table that somebody rewrites would make us wait for its lock.
const SIZE: &str = "CASE WHEN EXISTS (SELECT FROM pg_locks l WHERE l.relation = t.oid \
         AND l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock') \
     THEN t.relpages * current_setting('block_size')::int8 \
     ELSE coalesce(pg_total_relation_size(t.oid), 0) END";
const SIZE_WITHOUT_LOCK: &str = "t.relpages * current_setting('block_size')::int8";

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Fact<Vec<Table>>, CollectError> {
    reader.read(&SUBJECT, |client, version| {
        match read_with(client, version, SIZE) {
            // The lock was taken after we looked.
            Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                read_with(client, version, SIZE_WITHOUT_LOCK)
            }
            other => other,
        }
    })
}

fn read_with(client: &mut Client, version: u32, size: &str) -> Result<Vec<Table>, Error> {
    client
        .query(&SQL.replace("{size}", size), &[])?
        .iter()
        .map(|row| decode(row, version))
        .collect()
}

fn decode(row: &Row, version: u32) -> Result<Table, Error> {
    let options: Option<Vec<String>> = row.try_get(12)?;
    Ok(Table {
        schema: row.try_get(0)?,
        name: row.try_get(1)?,
        size_bytes: count(row.try_get(2)?),
        rows_estimate: rows_estimate(row.try_get(3)?, row.try_get(4)?, version),
        live_tuples: count(row.try_get(5)?),
        dead_tuples: count(row.try_get(6)?),
        modified_since_analyze: count(row.try_get(7)?),
        inserted_since_vacuum: count_or_none(row.try_get(8)?),
        never_vacuumed: row.try_get(9)?,
        never_analyzed: row.try_get(10)?,
        xid_age: count(row.try_get(11)?),
        options: options.unwrap_or_default(),
    })
}

/// Never analysed is -1 from 14 on; before, it could not be told from a table that was empty.
fn rows_estimate(tuples: f64, pages: i64, version: u32) -> Option<f64> {
    let is_unknown = tuples < 0.0 || (version < 140_000 && tuples == 0.0 && pages == 0);
    (!is_unknown).then_some(tuples)
}

#[cfg(test)]
mod tests {
    use super::rows_estimate;

    #[test]
    fn a_table_that_was_never_analysed_has_no_estimate() {
        assert_eq!(rows_estimate(-1.0, 0, 150_000), None);
        assert_eq!(rows_estimate(0.0, 0, 130_000), None);
        assert_eq!(rows_estimate(0.0, 0, 150_000), Some(0.0));
        assert_eq!(rows_estimate(7.0, 1, 130_000), Some(7.0));
    }
}
