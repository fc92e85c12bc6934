//! Whether complete segments of the log reach their archive.

use ::postgres::{Client, Error};
use dbdyno_model::Fact;
use dbdyno_model::postgres::Archiver;

use super::error::CollectError;
use super::reader::{Reader, Subject, count};

const SUBJECT: Subject = Subject::new("postgres.archiver", "pg_stat_archiver");
const WAITING: Subject = Subject::new("postgres.archive_status", "pg_ls_archive_statusdir()");

/// Each part fails alone: who may not list the directory still reads the counters.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Fact<Archiver>, CollectError> {
    let archiver = reader.read(&SUBJECT, read_archiver)?;
    let waiting = reader.read(&WAITING, read_waiting)?.get();
    Ok(archiver.map(|archiver| Archiver {
        waiting,
        ..archiver
    }))
}

fn read_archiver(client: &mut Client, _version: u32) -> Result<Archiver, Error> {
    const SQL: &str = "SELECT archived_count, failed_count, \
         extract(epoch FROM clock_timestamp() - last_archived_time)::float8, \
         extract(epoch FROM clock_timestamp() - last_failed_time)::float8, last_failed_wal \
         FROM pg_stat_archiver";
    let row = client.query_one(SQL, &[])?;
    Ok(Archiver {
        archived: count(row.try_get(0)?),
        failed: count(row.try_get(1)?),
        last_archived_s: row.try_get(2)?,
        last_failed_s: row.try_get(3)?,
        last_failed_wal: row.try_get(4)?,
        waiting: None,
    })
}

fn read_waiting(client: &mut Client, _version: u32) -> Result<u64, Error> {
    const SQL: &str = "SELECT count(*) FROM pg_ls_archive_statusdir() WHERE name LIKE '%.ready'";
    Ok(count(client.query_one(SQL, &[])?.try_get(0)?))
}
