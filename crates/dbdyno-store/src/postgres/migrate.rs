//! Brings a PostgreSQL schema to the version that this dbdyno knows, a step at a time.

use ::postgres::error::SqlState;
use ::postgres::{Client, Error, GenericClient, IsolationLevel, Transaction};

use super::statements as sql;
use crate::{DBDYNO_VERSION, KNOWN};

/// Each makes the version that is its position, from 1.
const STEPS: [&str; KNOWN as usize] = [include_str!("001_trials.sql")];

/// What the schema `dbdyno` holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    NoSchema,
    /// Somebody made it for us, so that we need not be allowed to.
    EmptySchema,
    Store {
        version: u32,
        written_by: Option<String>,
    },
    /// What it is instead.
    SomethingElse(String),
}

/// Looks without changing anything.
pub(super) fn look(client: &mut impl GenericClient) -> Result<Found, Error> {
    let row = client.query_one(sql::LOOK, &[])?;
    let (has_schema, relations): (bool, i64) = (row.try_get(0)?, row.try_get(1)?);
    if !has_schema {
        return Ok(Found::NoSchema);
    }
    if relations == 0 {
        return Ok(Found::EmptySchema);
    }
    let other = |why: &str| {
        let why = format!("its schema dbdyno has {relations} tables and indexes, and {why}");
        Ok(Found::SomethingElse(why))
    };
    if !row.try_get(2)? {
        return other("no table `meta`");
    }
    let row = match client.query_opt(sql::VERSION, &[]) {
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_COLUMN) => {
            return other("its table `meta` is not dbdyno's");
        }
        result => result?,
    };
    let Some(row) = row else {
        return other("its table `meta` has no row");
    };
    let version: i32 = row.try_get(0)?;
    Ok(Found::Store {
        version: u32::try_from(version).unwrap_or(0),
        written_by: row.try_get(1)?,
    })
}

/// Takes every step that is missing and says what is there in the end. Whoever else is at it has
/// done it, or waits.
pub(super) fn migrate(client: &mut Client) -> Result<Found, Error> {
    loop {
        let found = look(client)?;
        if !is_behind(&found) {
            return Ok(found);
        }
        // Not of a standby, and not of a role that only reads.
        let mut step = client
            .build_transaction()
            .isolation_level(IsolationLevel::ReadCommitted)
            .read_only(false)
            .start()?;
        step.execute(sql::MIGRATION_LOCK, &[])?;
        // It may have been taken while we waited for the lock.
        let found = look(&mut step)?;
        if is_behind(&found) {
            take(&mut step, &found)?;
            step.commit()?;
        }
    }
}

fn is_behind(found: &Found) -> bool {
    match found {
        Found::NoSchema | Found::EmptySchema => true,
        Found::Store { version, .. } => *version < KNOWN,
        Found::SomethingElse(_) => false,
    }
}

fn take(step: &mut Transaction<'_>, found: &Found) -> Result<(), Error> {
    let from = match found {
        Found::Store { version, .. } => *version,
        _ => 0,
    };
    if *found == Found::NoSchema {
        step.batch_execute(sql::CREATE_SCHEMA)?;
    }
    step.batch_execute(STEPS[from as usize])?;
    let version = i32::try_from(from + 1).unwrap_or(i32::MAX);
    step.execute(sql::MIGRATED, &[&version, &DBDYNO_VERSION])?;
    Ok(())
}
