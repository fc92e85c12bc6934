//! Who the log is sent to, and how far behind each is.

use ::postgres::{Client, Error, Row};
use dbdyno_model::Fact;
use dbdyno_model::postgres::Sender;

use super::error::CollectError;
use super::reader::{Reader, Subject, count_or_none};

const SUBJECT: Subject = Subject::new("postgres.senders", "pg_stat_replication");

/// A standby that sends on what it receives is as far as it has received.
const SQL: &str = "WITH here AS (SELECT CASE WHEN pg_is_in_recovery() \
         THEN coalesce(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) \
         ELSE pg_current_wal_flush_lsn() END AS lsn) \
     SELECT coalesce(r.application_name, ''), coalesce(r.state, ''), \
         coalesce(r.sync_state, ''), s.slot_name::text, \
         coalesce(s.slot_type = 'logical', false), \
         pg_wal_lsn_diff(here.lsn, r.sent_lsn)::int8, \
         pg_wal_lsn_diff(here.lsn, r.flush_lsn)::int8, \
         pg_wal_lsn_diff(here.lsn, r.replay_lsn)::int8, \
         extract(epoch FROM r.replay_lag)::float8, age(r.backend_xmin)::int8 \
     FROM pg_stat_replication r CROSS JOIN here \
     LEFT JOIN pg_replication_slots s ON s.active_pid = r.pid \
     ORDER BY 1, r.pid";

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Fact<Vec<Sender>>, CollectError> {
    // Without the privilege the rows are there but empty.
    if !reader.sees_all_sessions {
        return Ok(reader.unseen(&SUBJECT));
    }
    reader.read(&SUBJECT, read_senders)
}

fn read_senders(client: &mut Client, _version: u32) -> Result<Vec<Sender>, Error> {
    client.query(SQL, &[])?.iter().map(decode).collect()
}

fn decode(row: &Row) -> Result<Sender, Error> {
    Ok(Sender {
        application_name: row.try_get(0)?,
        state: row.try_get(1)?,
        sync_state: row.try_get(2)?,
        slot: row.try_get(3)?,
        logical: row.try_get(4)?,
        unsent_bytes: count_or_none(row.try_get(5)?),
        unflushed_bytes: count_or_none(row.try_get(6)?),
        unreplayed_bytes: count_or_none(row.try_get(7)?),
        replay_lag_s: row.try_get(8)?,
        xmin_age: count_or_none(row.try_get(9)?),
    })
}
