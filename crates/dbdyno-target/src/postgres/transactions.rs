//! Transactions that are open, and whatever else keeps vacuum from removing what died since.

use ::postgres::{Client, Error, Row};
use dbdyno_model::Fact;
use dbdyno_model::postgres::{HolderKind, OpenTransaction, TransactionIds, XminHolder};

use super::error::CollectError;
use super::reader::{Reader, Subject, count, count_or_none};
use super::slots;
use super::text::{text, text_or_none};

const OPEN: Subject = Subject::new("postgres.open_transactions", "pg_stat_activity");
const HOLDERS: Subject = Subject::new(
    "postgres.xmin_holders",
    "pg_stat_activity, pg_prepared_xacts, pg_replication_slots, pg_stat_replication",
);
pub(super) const IDS: Subject = Subject::new("postgres.transaction_ids", "pg_current_snapshot()");

/// A session in a transaction that wrote has an id of its own even while it has no snapshot. One that
/// runs VACUUM keeps no rows and hardly a lock.
const OPEN_SQL: &str = "SELECT pid, coalesce(datname::text, '') AS database,
    coalesce(usename::text, '') AS role_name, coalesce(application_name, '') AS application,
    coalesce(state, '') AS state,
    extract(epoch FROM clock_timestamp() - xact_start)::float8 AS open_s,
    extract(epoch FROM clock_timestamp() - state_change)::float8 AS state_s,
    greatest(age(backend_xid), age(backend_xmin))::int8 AS xid_age,
    wait_event_type || ': ' || wait_event AS waits_for, {query_id} AS query_id
FROM pg_stat_activity
WHERE xact_start IS NOT NULL AND backend_type = 'client backend' AND pid <> pg_backend_pid()
    AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)
ORDER BY xact_start LIMIT 20";

/// A vacuum, whoever runs it, and a slot that is lost hold nothing back, a parallel worker what its leader
/// does, and a walsender is told as its standby or slot.
///
/// Source: `PROC_IN_VACUUM` in `ComputeXidHorizons()` of PostgreSQL
const HOLDERS_SQL: &str = "SELECT kind, name, who, xid_age, held_s, database, catalogs_only
FROM (
    SELECT 'session' AS kind, pid::text AS name,
        concat_ws(' ', usename::text, nullif(application_name, '')) AS who,
        greatest(age(backend_xid), age(backend_xmin))::int8 AS xid_age,
        extract(epoch FROM clock_timestamp() - xact_start)::float8 AS held_s,
        datname::text AS database, false AS catalogs_only
    FROM pg_stat_activity WHERE pid <> pg_backend_pid()
        AND backend_type NOT IN ('autovacuum worker', 'parallel worker', 'walsender')
        AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)
    UNION ALL SELECT 'prepared', gid, coalesce(owner::text, ''), age(transaction)::int8,
        extract(epoch FROM clock_timestamp() - prepared)::float8, database::text, false
    FROM pg_prepared_xacts
    UNION ALL SELECT 'slot', slot_name::text, CASE WHEN active THEN 'active' ELSE 'inactive' END,
        age(xmin)::int8, NULL, NULL, false
    FROM pg_replication_slots WHERE {keeping_rows}
    UNION ALL SELECT 'slot', slot_name::text, CASE WHEN active THEN 'active' ELSE 'inactive' END,
        age(catalog_xmin)::int8, NULL, NULL, true
    FROM pg_replication_slots WHERE {keeping_rows}
    UNION ALL SELECT 'standby', coalesce(nullif(application_name, ''), pid::text), state,
        age(backend_xmin)::int8, NULL, NULL, false
    FROM pg_stat_replication
) holders
WHERE xid_age IS NOT NULL ORDER BY xid_age DESC, name LIMIT 20";

pub(super) fn read_open(
    reader: &mut Reader<'_>,
) -> Result<Fact<Vec<OpenTransaction>>, CollectError> {
    if !reader.sees_all_sessions {
        return Ok(reader.unseen(&OPEN));
    }
    reader.read(&OPEN, |client, version| {
        let query_id = if version < 140_000 {
            "NULL::text"
        } else {
            "query_id::text"
        };
        client
            .query(&OPEN_SQL.replace("{query_id}", query_id), &[])?
            .iter()
            .map(decode_open)
            .collect()
    })
}

pub(super) fn read_holders(reader: &mut Reader<'_>) -> Result<Fact<Vec<XminHolder>>, CollectError> {
    if !reader.sees_all_sessions {
        return Ok(reader.unseen(&HOLDERS));
    }
    reader.read(&HOLDERS, |client, version| {
        let sql = HOLDERS_SQL.replace("{keeping_rows}", slots::keeping_rows(version));
        client.query(&sql, &[])?.iter().map(decode_holder).collect()
    })
}

/// Does not use an id up.
pub(super) fn read_ids(client: &mut Client, _version: u32) -> Result<TransactionIds, Error> {
    const SQL: &str = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::int8";
    Ok(TransactionIds {
        next: count(client.query_one(SQL, &[])?.try_get(0)?),
    })
}

fn decode_open(row: &Row) -> Result<OpenTransaction, Error> {
    Ok(OpenTransaction {
        pid: process(row.try_get("pid")?),
        database: text(row, "database")?,
        role: text(row, "role_name")?,
        application: row.try_get("application")?,
        state: row.try_get("state")?,
        open_s: row.try_get("open_s")?,
        state_s: row.try_get("state_s")?,
        xid_age: count_or_none(row.try_get("xid_age")?),
        waits_for: row.try_get("waits_for")?,
        query_id: row.try_get("query_id")?,
    })
}

fn decode_holder(row: &Row) -> Result<XminHolder, Error> {
    let kind: &str = row.try_get("kind")?;
    Ok(XminHolder {
        kind: match kind {
            "prepared" => HolderKind::PreparedTransaction,
            "slot" => HolderKind::ReplicationSlot,
            "standby" => HolderKind::Standby,
            _ => HolderKind::Session,
        },
        name: text(row, "name")?,
        who: text(row, "who")?,
        xid_age: count(row.try_get("xid_age")?),
        held_s: row.try_get("held_s")?,
        database: text_or_none(row, "database")?,
        catalogs_only: row.try_get("catalogs_only")?,
    })
}

/// A process id, which the server keeps as a signed number.
pub(super) fn process(pid: i32) -> u32 {
    u32::try_from(pid).unwrap_or(0)
}
