//! Who waits for a lock now, on what, and for whom.

use ::postgres::{Client, Error, Row};
use dbdyno_model::Fact;
use dbdyno_model::postgres::{LockWait, LockWaits};

use super::error::CollectError;
use super::reader::{Reader, Subject, count};
use super::text::{text, text_or_none};
use super::transactions::process;

const SUBJECT: Subject = Subject::new(
    "postgres.lock_waits",
    "pg_stat_activity, pg_locks, pg_blocking_pids()",
);

/// Asking for the blockers stops the lock manager for a moment, so it is done for twenty sessions
/// at most, and only where somebody waits.
const SQL: &str = "WITH w AS MATERIALIZED (
    SELECT a.pid, coalesce(a.datname::text, '') AS database,
        coalesce(a.usename::text, '') AS role_name, a.query_start, count(*) OVER () AS waiting
    FROM pg_stat_activity a WHERE a.wait_event_type = 'Lock' AND a.pid <> pg_backend_pid()
    ORDER BY a.query_start LIMIT 20
), l AS MATERIALIZED (
    SELECT DISTINCT ON (pid) * FROM pg_locks
    WHERE NOT granted AND pid IN (SELECT pid FROM w) ORDER BY pid
)
SELECT w.pid, w.database, w.role_name, w.waiting,
    extract(epoch FROM clock_timestamp() - {since})::float8 AS waiting_s,
    coalesce(l.locktype, '') AS lock_type, coalesce(l.mode, '') AS mode,
    (SELECT n.nspname::text || '.' || c.relname::text
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.oid = l.relation AND l.database
            = (SELECT oid FROM pg_database WHERE datname = current_database())) AS relation,
    pg_blocking_pids(w.pid) AS blockers
FROM w LEFT JOIN l ON l.pid = w.pid
ORDER BY w.query_start, w.pid";

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Fact<LockWaits>, CollectError> {
    if !reader.sees_all_sessions {
        return Ok(reader.unseen(&SUBJECT));
    }
    reader.read(&SUBJECT, read_waits)
}

fn read_waits(client: &mut Client, version: u32) -> Result<LockWaits, Error> {
    // Older servers know when the statement began, which is not when it began to wait.
    let since = if version < 140_000 {
        "NULL::timestamptz"
    } else {
        "l.waitstart"
    };
    let rows = client.query(&SQL.replace("{since}", since), &[])?;
    let Some(first) = rows.first() else {
        return Ok(LockWaits::default());
    };
    Ok(LockWaits {
        waiting: count(first.try_get("waiting")?),
        listed: rows.iter().map(decode).collect::<Result<_, Error>>()?,
    })
}

fn decode(row: &Row) -> Result<LockWait, Error> {
    let blockers: Vec<i32> = row.try_get("blockers")?;
    Ok(LockWait {
        pid: process(row.try_get("pid")?),
        database: text(row, "database")?,
        role: text(row, "role_name")?,
        waiting_s: row.try_get("waiting_s")?,
        lock: row.try_get("lock_type")?,
        mode: row.try_get("mode")?,
        relation: text_or_none(row, "relation")?,
        blocked_by: blockers.into_iter().map(process).collect(),
    })
}
