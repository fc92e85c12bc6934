//! Counters, size and sums over the tables of the connected database.

use std::time::Instant;

use ::postgres::{Client, Error};
use dbdyno_model::Fact;
use dbdyno_model::postgres::Database;

use super::error::CollectError;
use super::reader::{Reader, Subject, count, count_or_none};
use super::text::text;

const SUBJECT: Subject = Subject::new("postgres.database", "pg_stat_database");
const SIZE: Subject = Subject::new("postgres.database_size", "pg_database_size()");
const TUPLES: Subject = Subject::new("postgres.database_tuples", "pg_stat_user_tables");

const SQL: &str = "SELECT d.datname::text, d.xact_commit, d.xact_rollback, d.blks_read, \
     d.blks_hit, d.temp_bytes, d.temp_files, d.deadlocks, d.checksum_failures, \
     to_char(d.stats_reset AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), \
     extract(epoch FROM clock_timestamp() - d.stats_reset)::float8 \
     FROM pg_stat_database d WHERE d.datname = current_database()";

/// What pg_stat_user_tables shows, without its joins: catalogs have the oids below 16384.
pub(super) const USER_TABLES: &str = "pg_class WHERE relkind IN ('r', 'm') AND oid >= 16384";

/// Each part fails alone: a size that takes too long costs no counter.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<(Fact<Database>, Instant), CollectError> {
    let (counters, at) = reader.read_at(&SUBJECT, read_counters)?;
    let size = reader.read(&SIZE, read_size)?;
    let tuples = reader.read(&TUPLES, read_tuples)?;
    let sum = |index: usize| tuples.value().map(|sums| sums[index]);
    let database = counters.map(|counters| Database {
        size_bytes: size.get(),
        dead_tuples: sum(0),
        hot_updates: sum(1),
        updates: sum(2),
        ..counters
    });
    Ok((database, at))
}

fn read_counters(client: &mut Client, _version: u32) -> Result<Database, Error> {
    let row = client.query_one(SQL, &[])?;
    Ok(Database {
        name: text(&row, 0)?,
        commits: count(row.try_get(1)?),
        rollbacks: count(row.try_get(2)?),
        blocks_read: count(row.try_get(3)?),
        blocks_hit: count(row.try_get(4)?),
        temp_bytes: count(row.try_get(5)?),
        temp_files: count(row.try_get(6)?),
        deadlocks: count(row.try_get(7)?),
        checksum_failures: count_or_none(row.try_get(8)?),
        stats_reset: row.try_get(9)?,
        stats_age_s: row.try_get(10)?,
        ..Database::default()
    })
}

fn read_size(client: &mut Client, _version: u32) -> Result<u64, Error> {
    const SQL: &str = "SELECT pg_database_size(current_database())";
    Ok(count(client.query_one(SQL, &[])?.try_get(0)?))
}

/// Dead tuples, HOT updates and updates.
fn read_tuples(client: &mut Client, _version: u32) -> Result<[u64; 3], Error> {
    let sql = format!(
        "SELECT coalesce(sum(pg_stat_get_dead_tuples(oid)), 0)::int8, \
         coalesce(sum(pg_stat_get_tuples_hot_updated(oid)), 0)::int8, \
         coalesce(sum(pg_stat_get_tuples_updated(oid)), 0)::int8 FROM {USER_TABLES}"
    );
    let row = client.query_one(&sql, &[])?;
    Ok([
        count(row.try_get(0)?),
        count(row.try_get(1)?),
        count(row.try_get(2)?),
    ])
}
