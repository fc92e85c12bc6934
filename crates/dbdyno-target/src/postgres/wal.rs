//! How much WAL is written: its position, pg_stat_wal and the size of its directory.

use ::postgres::{Client, Error};
use dbdyno_model::postgres::Wal;

use super::reader::{Subject, count, count_or_none};

pub(super) const SUBJECT: Subject = Subject::new("postgres.wal", "pg_stat_wal");
pub(super) const DIRECTORY: Subject = Subject::new("postgres.wal_directory", "pg_ls_waldir()");

/// A standby inserts nothing.
pub(super) const POSITION: &str = "CASE WHEN pg_is_in_recovery() THEN NULL \
     ELSE pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::int8 END";

pub(super) fn read(client: &mut Client, version: u32) -> Result<Wal, Error> {
    // The view came with 14; 18 moved its write and sync columns to pg_stat_io.
    if version < 140_000 {
        let row = client.query_one(&format!("SELECT {POSITION}"), &[])?;
        return Ok(Wal {
            position_bytes: count_or_none(row.try_get(0)?),
            ..Wal::default()
        });
    }
    let sql = format!(
        "SELECT {POSITION}, wal_records, wal_fpi, wal_bytes::int8, wal_buffers_full, \
         extract(epoch FROM clock_timestamp() - stats_reset)::float8 FROM pg_stat_wal"
    );
    let row = client.query_one(&sql, &[])?;
    Ok(Wal {
        position_bytes: count_or_none(row.try_get(0)?),
        records: count_or_none(row.try_get(1)?),
        full_page_images: count_or_none(row.try_get(2)?),
        bytes: count_or_none(row.try_get(3)?),
        buffers_full: count_or_none(row.try_get(4)?),
        directory_bytes: None,
        stats_age_s: row.try_get(5)?,
    })
}

pub(super) fn read_directory(client: &mut Client, _version: u32) -> Result<u64, Error> {
    const SQL: &str = "SELECT coalesce(sum(size), 0)::int8 FROM pg_ls_waldir()";
    Ok(count(client.query_one(SQL, &[])?.try_get(0)?))
}
