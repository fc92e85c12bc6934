//! Brings an SQLite file to the version that this dbdyno knows, a step at a time.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::statements::{WHO_WROTE, WRITTEN_BY};
use crate::error::{Location, StoreError};
use crate::{DBDYNO_VERSION, KNOWN};

/// Each makes the version that is its position, from 1.
const STEPS: [&str; KNOWN as usize] = [include_str!("001_trials.sql")];

/// `dyno`, in the header of the file; file(1) shows it.
const APPLICATION_ID: i32 = 0x6479_6e6f;

/// What a file holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    Store(u32),
    /// What it is instead.
    SomethingElse(String),
}

/// Looks without changing anything. The schema is not asked where the header says enough: that of a
/// newer store may be in words that this SQLite does not know.
pub(super) fn look(connection: &mut Connection) -> rusqlite::Result<Found> {
    // One snapshot: another dbdyno may be making the tables at this moment.
    let snapshot = connection.transaction()?;
    let id: i32 = snapshot.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version = version(&snapshot)?;
    if id == APPLICATION_ID {
        return Ok(Found::Store(version));
    }
    let objects: i64 =
        snapshot.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if id == 0 && version == 0 && objects == 0 {
        return Ok(Found::Nothing);
    }
    Ok(Found::SomethingElse(format!(
        "it is an SQLite database of another program, with {objects} tables and indexes"
    )))
}

fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Takes every step that is missing. Whoever else is at it has done it, or waits.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<u32> {
    loop {
        let found = version(connection)?;
        if found >= KNOWN {
            return Ok(found);
        }
        let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // It may have been taken while we waited for the lock.
        if version(&step)? == found {
            take(&step, found)?;
            step.commit()?;
        }
    }
}

fn take(step: &Transaction<'_>, from: u32) -> rusqlite::Result<()> {
    step.execute_batch(STEPS[from as usize])?;
    step.execute(WRITTEN_BY, [DBDYNO_VERSION])?;
    step.pragma_update(None, "application_id", APPLICATION_ID)?;
    step.pragma_update(None, "user_version", from + 1)
}

/// Says which dbdyno a newer store needs.
pub(super) fn newer(connection: &Connection, location: Location, found: u32) -> StoreError {
    StoreError::Newer {
        location,
        found,
        known: KNOWN,
        written_by: connection.query_row(WHO_WROTE, [], |row| row.get(0)).ok(),
    }
}
