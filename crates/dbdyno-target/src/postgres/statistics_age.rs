//! Since when databases count that nobody ever reset.

use std::collections::BTreeMap;

use ::postgres::{Client, Error};

use super::error::CollectError;
use super::reader::{Reader, Subject};
use super::text::text_or_none;

pub(super) const SUBJECT: Subject = Subject::new("postgres.statistics_age", "pg_stat_file()")
    .granted_by("GRANT EXECUTE ON FUNCTION pg_stat_file(text, boolean) TO {role}");

/// Seconds by the database's name; none stands for what all databases share.
pub(super) type Ages = BTreeMap<Option<String>, f64>;

/// Until 14 a database's counters are reset when they begin; later there is no reset until somebody
/// asks for one.
pub(super) const SINCE: u32 = 150_000;

/// Such a database counts since it was made, or since a crash discarded all statistics at once: the
/// earliest reset of the shared views. Other tablespaces have paths that no view tells.
const SQL: &str = "WITH discarded AS ( \
         SELECT least(b.stats_reset, w.stats_reset, \
             (SELECT min(stats_reset) FROM pg_stat_slru)) AS since \
         FROM pg_stat_bgwriter b, pg_stat_wal w \
     ) \
     SELECT NULL::text, extract(epoch FROM clock_timestamp() - since)::float8 \
     FROM discarded WHERE since IS NOT NULL \
     UNION ALL \
     SELECT d.datname::text, \
         extract(epoch FROM clock_timestamp() - greatest(f.modification, since))::float8 \
     FROM discarded, (SELECT oid, datname FROM pg_database WHERE dattablespace = 1663 OFFSET 0) d, \
     LATERAL pg_stat_file('base/' || d.oid || '/PG_VERSION', true) f \
     WHERE f.modification IS NOT NULL AND since IS NOT NULL";

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Ages, CollectError> {
    let ages = reader.read(&SUBJECT, read_ages)?;
    Ok(ages.value().cloned().unwrap_or_default())
}

fn read_ages(client: &mut Client, _version: u32) -> Result<Ages, Error> {
    client
        .query(SQL, &[])?
        .iter()
        .map(|row| Ok((text_or_none(row, 0)?, row.try_get(1)?)))
        .collect()
}
