//! pg_stat_io (16 and later), in blocks of relations, summed over backends.

use ::postgres::{Client, Error};
use dbdyno_model::postgres::Io;

use super::reader::{Subject, count_or_none};

pub(super) const SUBJECT: Subject = Subject::new("postgres.io", "pg_stat_io");

/// From 18 on `writes` counts operations of several blocks each, beside the bytes.
pub(super) fn blocks_written(version: u32) -> &'static str {
    if version < 180_000 {
        "sum(writes)"
    } else {
        "sum(write_bytes) / current_setting('block_size')::int8"
    }
}

fn blocks_read(version: u32) -> &'static str {
    if version < 180_000 {
        "sum(reads)"
    } else {
        "sum(read_bytes) / current_setting('block_size')::int8"
    }
}

pub(super) fn read(client: &mut Client, version: u32) -> Result<Io, Error> {
    if version < 160_000 {
        return Ok(Io::default());
    }
    let writes = blocks_written(version);
    let client_writes = writes.replacen(')', ") FILTER (WHERE backend_type = 'client backend')", 1);
    // 18 adds rows for the WAL, which is not made of blocks of relations.
    let sql = format!(
        "SELECT ({})::int8, ({writes})::int8, ({client_writes})::int8, \
         sum(evictions)::int8, sum(hits)::int8 FROM pg_stat_io WHERE object <> 'wal'",
        blocks_read(version),
    );
    let row = client.query_one(&sql, &[])?;
    Ok(Io {
        reads: count_or_none(row.try_get(0)?),
        writes: count_or_none(row.try_get(1)?),
        client_writes: count_or_none(row.try_get(2)?),
        evictions: count_or_none(row.try_get(3)?),
        hits: count_or_none(row.try_get(4)?),
    })
}
