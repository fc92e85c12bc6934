//! What PostgreSQL's errors mean for the user.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use ::postgres::Error;
use ::postgres::error::SqlState;

use crate::engine::Failure;
use crate::error::{Location, StoreError};

impl From<Error> for Failure<Error> {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

/// The user's terms for a failed operation in the database.
pub(super) fn explain(
    operation: &'static str,
    location: &Location,
    patience: Duration,
    error: &Error,
) -> StoreError {
    let location = location.clone();
    let message = describe(error);
    let Some(code) = error.code() else {
        return undecoded(operation, location, error);
    };
    match code {
        &SqlState::LOCK_NOT_AVAILABLE => StoreError::Locked {
            operation,
            location,
            seconds: patience.as_secs(),
        },
        &SqlState::DISK_FULL => StoreError::Full {
            operation,
            location,
        },
        &SqlState::READ_ONLY_SQL_TRANSACTION => StoreError::ReadOnly {
            operation,
            location,
        },
        &SqlState::INSUFFICIENT_PRIVILEGE => StoreError::Denied {
            operation,
            location,
            message,
        },
        &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED => StoreError::Damaged {
            operation,
            location,
            message,
        },
        &SqlState::ADMIN_SHUTDOWN | &SqlState::CRASH_SHUTDOWN | &SqlState::CANNOT_CONNECT_NOW => {
            StoreError::Lost {
                operation,
                location,
                message,
            }
        }
        _ => StoreError::Failed {
            operation,
            location,
            message,
        },
    }
}

/// The server is gone, or sent what the schema cannot hold.
fn undecoded(operation: &'static str, location: Location, error: &Error) -> StoreError {
    let message = describe(error);
    let is_io = error.source().is_some_and(|cause| cause.is::<io::Error>());
    if error.is_closed() || is_io {
        return StoreError::Lost {
            operation,
            location,
            message,
        };
    }
    StoreError::Damaged {
        operation,
        location,
        message,
    }
}

/// The server's own words, or the driver's with their cause.
fn describe(error: &Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(answer), _) => answer.message().to_owned(),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}
