//! Replication slots and the WAL that each one keeps from being removed.

use ::postgres::{Client, Error, Row};
use dbdyno_model::postgres::ReplicationSlot;

use super::reader::{Subject, count_or_none};

pub(super) const SUBJECT: Subject = Subject::new("postgres.slots", "pg_replication_slots");

/// A standby has no insert position, and replays what it has received.
const SQL: &str = "SELECT slot_name::text, active, pg_wal_lsn_diff( \
         CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() \
         ELSE pg_current_wal_lsn() END, restart_lsn)::int8, wal_status, \
         slot_type = 'logical', temporary, safe_wal_size, \
         greatest(age(xmin), age(catalog_xmin))::int8, {newer} \
     FROM pg_replication_slots ORDER BY slot_name";

pub(super) fn read(client: &mut Client, version: u32) -> Result<Vec<ReplicationSlot>, Error> {
    let newer = if version < 160_000 {
        "NULL::int8, NULL::text, false"
    } else if version < 170_000 {
        "NULL::int8, CASE WHEN conflicting THEN 'conflict' END, false"
    } else {
        "extract(epoch FROM clock_timestamp() - inactive_since)::int8, invalidation_reason, synced"
    };
    client
        .query(&SQL.replace("{newer}", newer), &[])?
        .iter()
        .map(decode)
        .collect()
}

/// Which slots keep rows that are dead: none that is lost, since the server left those out.
///
/// Source: the release notes of 15.2, 14.7 and 13.10
pub(super) fn keeping_rows(version: u32) -> &'static str {
    let left_out_since = match version / 10_000 {
        13 => 130_010,
        14 => 140_007,
        _ => 150_002,
    };
    if version < left_out_since {
        "true"
    } else {
        "wal_status IS DISTINCT FROM 'lost'"
    }
}

fn decode(row: &Row) -> Result<ReplicationSlot, Error> {
    Ok(ReplicationSlot {
        name: row.try_get(0)?,
        active: row.try_get(1)?,
        retained_bytes: count_or_none(row.try_get(2)?),
        wal_status: row.try_get(3)?,
        logical: row.try_get(4)?,
        temporary: row.try_get(5)?,
        safe_wal_bytes: count_or_none(row.try_get(6)?),
        xmin_age: count_or_none(row.try_get(7)?),
        inactive_s: count_or_none(row.try_get(8)?),
        invalidation_reason: row.try_get(9)?,
        synced: row.try_get(10)?,
    })
}

#[cfg(test)]
mod tests {
    use super::keeping_rows;

    #[test]
    fn a_lost_slot_keeps_rows_only_where_the_server_still_counts_it() {
        for version in [130_009, 140_006, 150_001] {
            assert_eq!(keeping_rows(version), "true", "{version}");
        }
        for version in [130_010, 140_007, 150_002, 160_000, 180_007] {
            assert!(keeping_rows(version).contains("'lost'"), "{version}");
        }
    }
}
