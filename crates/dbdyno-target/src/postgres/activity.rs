//! Who is connected, and what holds vacuum back.

use ::postgres::{Client, Error};
use dbdyno_model::Fact;
use dbdyno_model::postgres::Activity;

use super::error::CollectError;
use super::reader::{Reader, Subject, count, count_or_none};
use super::slots;

const SUBJECT: Subject = Subject::new("postgres.activity", "pg_stat_activity");

/// Our own session is left out, and so are vacuum itself and slots that are lost, which hold nothing
/// back.
const SQL: &str = "WITH a AS (
    SELECT *, backend_type = 'client backend' AS is_client FROM pg_stat_activity
    WHERE pid <> pg_backend_pid()
), idle AS (
    SELECT * FROM a WHERE is_client AND state LIKE 'idle in transaction%'
), holders AS (
    SELECT age(backend_xmin) AS age FROM a WHERE backend_type <> 'autovacuum worker'
    UNION ALL SELECT age(transaction) FROM pg_prepared_xacts
    UNION ALL SELECT age(xmin) FROM pg_replication_slots WHERE {keeping_rows}
    UNION ALL SELECT age(catalog_xmin) FROM pg_replication_slots WHERE {keeping_rows}
)
SELECT (SELECT count(*) FROM a WHERE is_client),
    (SELECT count(*) FROM a WHERE is_client AND state = 'active'),
    (SELECT count(*) FROM idle),
    (SELECT max(extract(epoch FROM clock_timestamp() - xact_start))::float8
     FROM a WHERE is_client),
    (SELECT max(extract(epoch FROM clock_timestamp() - state_change))::float8 FROM idle),
    (SELECT max(age)::int8 FROM holders),
    (SELECT count(*) FROM pg_prepared_xacts),
    (SELECT max(extract(epoch FROM clock_timestamp() - prepared))::float8
     FROM pg_prepared_xacts),
    (SELECT count(*) FROM pg_stat_replication WHERE state <> 'backup'),
    (SELECT count(*) FROM a WHERE backend_type = 'autovacuum worker')";

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Fact<Activity>, CollectError> {
    // Without the privilege the rows are there but empty, and would count as idle.
    if !reader.sees_all_sessions {
        return Ok(reader.unseen(&SUBJECT));
    }
    reader.read(&SUBJECT, read_activity)
}

fn read_activity(client: &mut Client, version: u32) -> Result<Activity, Error> {
    let sql = SQL.replace("{keeping_rows}", slots::keeping_rows(version));
    let row = client.query_one(&sql, &[])?;
    Ok(Activity {
        connections: count(row.try_get(0)?),
        active: count(row.try_get(1)?),
        idle_in_transaction: count(row.try_get(2)?),
        oldest_transaction_s: row.try_get(3)?,
        oldest_idle_in_transaction_s: row.try_get(4)?,
        oldest_xmin_age: count_or_none(row.try_get(5)?),
        prepared_transactions: count(row.try_get(6)?),
        oldest_prepared_s: row.try_get(7)?,
        standbys: count(row.try_get(8)?),
        autovacuum_workers: count(row.try_get(9)?),
    })
}
