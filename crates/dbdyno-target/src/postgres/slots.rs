//! Replication slots and the WAL that each one keeps from being removed.

use ::postgres::{Client, Error};
use dbdyno_model::postgres::ReplicationSlot;

use super::reader::{Subject, count_or_none};

pub(super) const SUBJECT: Subject = Subject::new("postgres.slots", "pg_replication_slots");

pub(super) fn read(client: &mut Client, _version: u32) -> Result<Vec<ReplicationSlot>, Error> {
    // A standby has no insert position, and replays what it has received.
    const SQL: &str = "SELECT slot_name::text, active, pg_wal_lsn_diff( \
             CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() \
             ELSE pg_current_wal_lsn() END, restart_lsn)::int8, wal_status \
         FROM pg_replication_slots ORDER BY slot_name";
    client
        .query(SQL, &[])?
        .iter()
        .map(|row| {
            Ok(ReplicationSlot {
                name: row.try_get(0)?,
                active: row.try_get(1)?,
                retained_bytes: count_or_none(row.try_get(2)?),
                wal_status: row.try_get(3)?,
            })
        })
        .collect()
}
