//! Whether the server was a standby before, and since when it is none.

use ::postgres::{Client, Error};
use dbdyno_model::Fact;
use dbdyno_model::postgres::Promotion;

use super::error::CollectError;
use super::reader::{Reader, Subject};

const SUBJECT: Subject = Subject::new("postgres.promotion", "pg_ls_waldir()");

/// The one that initdb begins, which has no history.
const FIRST_TIMELINE: &str = "00000001";

/// Each promotion begins a timeline, and writes its history to a file that stays: segments are
/// removed, it is not. A restore to a point in time does the same.
///
/// Source: `CleanupAfterArchiveRecovery()` and `writeTimeLineHistory()` of PostgreSQL 13 to 18
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Fact<Promotion>, CollectError> {
    let found = reader.read(&SUBJECT, read_promotion)?;
    Ok(match found.value() {
        Some(None) => Fact::unknown("the timeline's history file is gone", SUBJECT.origin),
        _ => found.map(Option::unwrap_or_default),
    })
}

/// None where nothing tells.
fn read_promotion(client: &mut Client, _version: u32) -> Result<Option<Promotion>, Error> {
    const TIMELINE: &str = "SELECT CASE WHEN pg_is_in_recovery() THEN NULL \
         ELSE left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END";
    const AGE: &str = "SELECT extract(epoch FROM clock_timestamp() - modification)::float8 \
         FROM pg_ls_waldir() WHERE name = $1";
    let timeline: Option<String> = client.query_one(TIMELINE, &[])?.try_get(0)?;
    let Some(timeline) = timeline.filter(|timeline| timeline != FIRST_TIMELINE) else {
        return Ok(Some(Promotion::default()));
    };
    let row = client.query_opt(AGE, &[&format!("{timeline}.history")])?;
    row.map(|row| -> Result<Promotion, Error> {
        Ok(Promotion {
            age_s: row.try_get(0)?,
        })
    })
    .transpose()
}
