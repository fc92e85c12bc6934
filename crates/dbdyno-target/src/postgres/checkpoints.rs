//! Checkpoints and the background writer, from where each version keeps them.

use ::postgres::{Client, Error};
use dbdyno_model::postgres::Checkpoints;

use super::reader::{Subject, count, count_or_none};

pub(super) const SUBJECT: Subject = Subject::new(
    "postgres.checkpoints",
    "pg_stat_bgwriter, pg_stat_checkpointer",
);

const UNTIL_16: &str = "SELECT checkpoints_timed, checkpoints_req, checkpoint_write_time, \
     checkpoint_sync_time, buffers_checkpoint, buffers_clean, maxwritten_clean, \
     buffers_backend, buffers_alloc, r.age, r.age, r.age, NULL::int8 FROM pg_stat_bgwriter b, \
     LATERAL (SELECT extract(epoch FROM clock_timestamp() - b.stats_reset)::float8 AS age) r";

/// What `buffers_backend` counted: relation blocks written by neither checkpointer nor bgwriter.
const SINCE_17: &str = "SELECT c.num_timed, c.num_requested, c.write_time, c.sync_time, \
     c.buffers_written, b.buffers_clean, b.maxwritten_clean, io.written, b.buffers_alloc, \
     extract(epoch FROM clock_timestamp() - c.stats_reset)::float8, \
     extract(epoch FROM clock_timestamp() - b.stats_reset)::float8, \
     extract(epoch FROM clock_timestamp() - io.stats_reset)::float8, {done} \
     FROM pg_stat_checkpointer c, pg_stat_bgwriter b, \
     (SELECT ({writes})::int8 AS written, max(stats_reset) AS stats_reset \
      FROM pg_stat_io WHERE object = 'relation' \
      AND backend_type NOT IN ('checkpointer', 'background writer')) io";

pub(super) fn read(client: &mut Client, version: u32) -> Result<Checkpoints, Error> {
    let sql = if version < 170_000 {
        UNTIL_16.to_owned()
    } else {
        let done = if version < 180_000 {
            "NULL::int8"
        } else {
            "c.num_done"
        };
        SINCE_17
            .replace("{writes}", super::io::blocks_written(version))
            .replace("{done}", done)
    };
    let row = client.query_one(&sql, &[])?;
    Ok(Checkpoints {
        timed: count(row.try_get(0)?),
        requested: count(row.try_get(1)?),
        write_time_ms: row.try_get(2)?,
        sync_time_ms: row.try_get(3)?,
        buffers_written: count(row.try_get(4)?),
        buffers_clean: count(row.try_get(5)?),
        maxwritten_clean: count(row.try_get(6)?),
        buffers_backend: count_or_none(row.try_get(7)?),
        buffers_alloc: count(row.try_get(8)?),
        stats_age_s: row.try_get(9)?,
        cleaning_age_s: row.try_get(10)?,
        backend_age_s: row.try_get(11)?,
        done: count_or_none(row.try_get(12)?),
    })
}
