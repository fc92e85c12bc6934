//! Counters of every database, where `database` reads those of the connected one.

use ::postgres::{Client, Error, Row};
use dbdyno_model::postgres::DatabaseCounters;

use super::reader::{Subject, count, count_or_none};
use super::text::text_or_none;

pub(super) const SUBJECT: Subject = Subject::new(
    "postgres.all_databases",
    "pg_stat_database, pg_stat_database_conflicts",
);

const SESSIONS_SINCE_14: &str =
    "d.sessions, d.sessions_abandoned, d.sessions_fatal, d.sessions_killed";
const NO_SESSIONS: &str = "NULL::int8, NULL::int8, NULL::int8, NULL::int8";

/// Conflicts over logical slots are counted from 16 on.
pub(super) fn read(client: &mut Client, version: u32) -> Result<Vec<DatabaseCounters>, Error> {
    let sessions = if version < 140_000 {
        NO_SESSIONS
    } else {
        SESSIONS_SINCE_14
    };
    let slots = if version < 160_000 {
        "0"
    } else {
        "coalesce(c.confl_active_logicalslot, 0)"
    };
    let sql = format!(
        "SELECT d.datname::text, {sessions}, d.checksum_failures, \
         to_char(d.checksum_last_failure AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), \
         coalesce(c.confl_snapshot, 0), coalesce(c.confl_lock, 0), \
         (coalesce(c.confl_tablespace, 0) + coalesce(c.confl_bufferpin, 0) \
          + coalesce(c.confl_deadlock, 0) + {slots})::int8, \
         extract(epoch FROM clock_timestamp() - d.stats_reset)::float8 \
         FROM pg_stat_database d LEFT JOIN pg_stat_database_conflicts c USING (datid) \
         ORDER BY d.datname NULLS FIRST"
    );
    client.query(&sql, &[])?.iter().map(decode).collect()
}

fn decode(row: &Row) -> Result<DatabaseCounters, Error> {
    Ok(DatabaseCounters {
        name: text_or_none(row, 0)?,
        sessions: count_or_none(row.try_get(1)?),
        sessions_abandoned: count_or_none(row.try_get(2)?),
        sessions_fatal: count_or_none(row.try_get(3)?),
        sessions_killed: count_or_none(row.try_get(4)?),
        checksum_failures: count_or_none(row.try_get(5)?),
        checksum_last_failure: row.try_get(6)?,
        conflicts_snapshot: count(row.try_get(7)?),
        conflicts_lock: count(row.try_get(8)?),
        conflicts_other: count(row.try_get(9)?),
        stats_age_s: row.try_get(10)?,
    })
}
