//! What SQLite's errors mean for the user.

use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Error, ErrorCode};
use rustix::fs::{Access, AtFlags, CWD, accessat, statvfs};

use crate::engine::Failure;
use crate::error::{Location, StoreError};

/// With less than this SQLite cannot even make its shared-memory file.
const LEAST_SPACE: u64 = 64 << 10;

impl From<Error> for Failure<Error> {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

pub(super) fn is_busy(error: &Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::FileLockingProtocolFailed)
    )
}

/// The user's terms for a failed operation on the file.
pub(super) fn explain(
    operation: &'static str,
    path: &Path,
    patience: Duration,
    error: &Error,
) -> StoreError {
    let location = Location::File(path.to_path_buf());
    let message = error.to_string();
    if is_busy(error) {
        return StoreError::Locked {
            operation,
            location,
            seconds: patience.as_secs(),
        };
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => StoreError::Damaged {
            operation,
            location,
            message,
        },
        Some(ErrorCode::DiskFull) => StoreError::Full {
            operation,
            location,
        },
        // SQLite keeps the system's reason to itself, so that it is looked for again.
        Some(
            ErrorCode::CannotOpen
            | ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::SystemIoFailure,
        ) => not_writable(operation, path)
            .or_else(|| no_space(operation, path))
            .unwrap_or(StoreError::Failed {
                operation,
                location,
                message,
            }),
        Some(_) => StoreError::Failed {
            operation,
            location,
            message,
        },
        None => undecoded(operation, location, error),
    }
}

/// What dbdyno wrote it can also decode; anything else is not from it.
fn undecoded(operation: &'static str, location: Location, error: &Error) -> StoreError {
    let message = error.to_string();
    match error {
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..) => StoreError::Damaged {
            operation,
            location,
            message,
        },
        _ => StoreError::Failed {
            operation,
            location,
            message,
        },
    }
}

/// The file, or else its directory, which has to take the -wal and -shm beside it.
pub(super) fn not_writable(operation: &'static str, path: &Path) -> Option<StoreError> {
    let wanted = [
        (path, Access::READ_OK | Access::WRITE_OK),
        (path.parent()?, Access::WRITE_OK | Access::EXEC_OK),
    ];
    wanted.into_iter().find_map(|(path, access)| {
        let error = accessat(CWD, path, access, AtFlags::EACCESS).err()?;
        Some(StoreError::io(operation, path)(io::Error::from(error)))
    })
}

fn no_space(operation: &'static str, path: &Path) -> Option<StoreError> {
    let space = statvfs(path).ok()?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    (free < LEAST_SPACE || (space.f_files > 0 && space.f_favail == 0)).then(|| StoreError::Full {
        operation,
        location: Location::File(path.to_path_buf()),
    })
}
