//! Since when databases count that nobody ever reset.

use std::collections::BTreeMap;

use ::postgres::{Client, Error};

use super::error::CollectError;
use super::reader::{Reader, Subject};
use super::text::text_or_none;

pub(super) const SUBJECT: Subject = Subject::new("postgres.statistics_age", "pg_stat_file()")
    .granted_by("GRANT EXECUTE ON FUNCTION pg_stat_file(text, boolean) TO {role}");
const SHARED: Subject = Subject::new(
    "postgres.discarded_statistics",
    "pg_stat_get_archiver(), pg_stat_bgwriter, pg_stat_wal, pg_stat_slru",
);

/// Seconds by the database's name; none stands for what all databases share.
pub(super) type Ages = BTreeMap<Option<String>, f64>;

/// Until 14 a database's counters are reset when they begin; later there is no reset until somebody
/// asks for one.
pub(super) const SINCE: u32 = 150_000;

/// Such a database counts since it was made, or since a crash discarded all statistics at once. Then
/// all shared views have one and the same time of their reset, while somebody who resets them gives
/// each its own, though that of neighbours may fall into one microsecond: the earliest counts where
/// one of the first two and one of the last two have it, and else nobody knows.
///
/// Source: `pgstat_reset_after_failure()` and `pg_stat_reset_shared()` of PostgreSQL 15 to 18.
const DISCARDED: &str = "WITH resets (side, reset_at) AS ( \
         SELECT 1, stats_reset FROM pg_stat_get_archiver() \
         UNION ALL SELECT 1, stats_reset FROM pg_stat_bgwriter \
         UNION ALL SELECT 2, stats_reset FROM pg_stat_wal \
         UNION ALL SELECT 2, min(stats_reset) FROM pg_stat_slru \
     ), discarded AS ( \
         SELECT min(reset_at) AS since FROM resets \
         WHERE reset_at = (SELECT min(reset_at) FROM resets) HAVING count(DISTINCT side) = 2 \
     ) ";

const SHARED_SQL: &str =
    "SELECT extract(epoch FROM clock_timestamp() - since)::float8 FROM discarded";

/// Other tablespaces have paths that no view tells.
const DATABASES_SQL: &str = "SELECT d.datname::text, \
         extract(epoch FROM clock_timestamp() - greatest(f.modification, since))::float8 \
     FROM discarded, (SELECT oid, datname FROM pg_database WHERE dattablespace = 1663 OFFSET 0) d, \
     LATERAL pg_stat_file('base/' || d.oid || '/PG_VERSION', true) f \
     WHERE f.modification IS NOT NULL";

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Ages, CollectError> {
    let mut ages = Ages::new();
    let shared = reader.read(&SHARED, read_shared)?;
    let Some(age_s) = shared.get().flatten() else {
        return Ok(ages);
    };
    ages.insert(None, age_s);
    let databases = reader.read(&SUBJECT, read_databases)?;
    ages.extend(databases.value().cloned().unwrap_or_default());
    Ok(ages)
}

fn read_shared(client: &mut Client, _version: u32) -> Result<Option<f64>, Error> {
    let row = client.query_opt(&format!("{DISCARDED}{SHARED_SQL}"), &[])?;
    row.map(|row| row.try_get(0)).transpose()
}

fn read_databases(client: &mut Client, _version: u32) -> Result<Ages, Error> {
    client
        .query(&format!("{DISCARDED}{DATABASES_SQL}"), &[])?
        .iter()
        .map(|row| Ok((text_or_none(row, 0)?, row.try_get(1)?)))
        .collect()
}
