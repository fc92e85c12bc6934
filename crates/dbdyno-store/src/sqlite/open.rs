//! Finds, makes and opens the file.

use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB, OpenFlags};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::Sqlite;
use super::damage::{Guard, move_aside, with_suffix};
use super::failure::{explain, is_busy, not_writable};
use super::migrate::{Found, look, migrate, newer};
use crate::KNOWN;
use crate::error::{Location, StoreError};
use crate::store::Moved;

const OPEN: &str = "open";

impl Sqlite {
    pub(crate) fn open(
        path: &Path,
        patience: Duration,
    ) -> Result<(Self, Option<Moved>), StoreError> {
        // Relative paths may change their meaning, and `file:` would have one of its own.
        let path = std::path::absolute(path).map_err(StoreError::io("resolve", path))?;
        make_directory(&path)?;
        match open_again(&path, patience) {
            Err(StoreError::Damaged { .. }) => {}
            other => return other.map(|sqlite| (sqlite, None)),
        }
        let guard = Guard::wait(&path)?;
        // Another dbdyno may have moved it while this one waited.
        match open_again(&path, patience) {
            Err(StoreError::Damaged { .. }) => {}
            other => return other.map(|sqlite| (sqlite, None)),
        }
        let moved = move_aside(&path, &guard)?;
        Ok((open_again(&path, patience)?, Some(moved)))
    }
}

fn make_directory(path: &Path) -> Result<(), StoreError> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    // An existing one may well be one in which nothing can be made.
    if directory.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(StoreError::io("create", directory))
}

/// Makes the empty file, which is an empty database.
///
/// It is never open but in SQLite: to close it here would release the locks of other threads.
fn make_file(path: &Path) -> Result<(), StoreError> {
    let private = Mode::RUSR | Mode::WUSR;
    match mknodat(CWD, path, FileType::RegularFile, private, 0) {
        Ok(()) => {
            let directory = path.parent().unwrap_or(Path::new("/"));
            File::open(directory)
                .and_then(|directory| directory.sync_all())
                .map_err(StoreError::io("write", directory))
        }
        // Another dbdyno was faster.
        Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => Err(StoreError::io("create", path)(error.into())),
    }
}

fn check_kind(path: &Path) -> Result<(), StoreError> {
    let kind = match fs::metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == ErrorKind::NotFound => return make_file(path),
        Err(error) => return Err(StoreError::io(OPEN, path)(error)),
    };
    let what = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "a directory",
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Err(StoreError::NotAFile {
        path: path.to_path_buf(),
        what,
    })
}

/// Between finding a file and opening it, another dbdyno may have moved it aside.
fn open_again(path: &Path, patience: Duration) -> Result<Sqlite, StoreError> {
    match open(path, patience) {
        Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            open(path, patience)
        }
        result => result,
    }
}

/// Opens a file that is sound, ours and not newer; touches none that is not.
fn open(path: &Path, patience: Duration) -> Result<Sqlite, StoreError> {
    check_kind(path)?;
    let log_bytes = bytes(&with_suffix(path, "-wal"));
    let location = Location::File(path.to_path_buf());
    // The log is written after the first page. In this order of looking, no other dbdyno that is
    // making the file right now can be taken for damage. SQLite takes such a file for an empty
    // database, and would remove the log.
    let file_bytes = bytes(path);
    if file_bytes == 1 || (file_bytes == 0 && log_bytes > 0) {
        return Err(StoreError::Damaged {
            operation: OPEN,
            location,
            message: format!("the file has {file_bytes} bytes, and its -wal {log_bytes}"),
        });
    }
    let explained = |error: rusqlite::Error| explain(OPEN, path, patience, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(explained)?;
    connection.busy_timeout(patience).map_err(explained)?;
    // A log that was left behind is not written into a file that is not known to be ours.
    keep_log(&connection, log_bytes > 0).map_err(explained)?;
    match look(&mut connection).map_err(explained)? {
        Found::SomethingElse(why) => return Err(StoreError::Foreign { location, why }),
        Found::Store(found) if found > KNOWN => return Err(newer(&connection, location, found)),
        Found::Store(_) | Found::Nothing => {}
    }
    // SQLite falls back to reading where it may not write, and would fail at the first run.
    if connection.is_readonly(MAIN_DB).map_err(explained)? {
        return Err(not_writable(OPEN, path).unwrap_or(StoreError::Failed {
            operation: OPEN,
            location,
            message: "it can only be read".into(),
        }));
    }
    prepare(&connection, patience).map_err(explained)?;
    match migrate(&mut connection).map_err(explained)? {
        KNOWN => {}
        found => return Err(newer(&connection, location, found)),
    }
    keep_log(&connection, false).map_err(explained)?;
    Ok(Sqlite {
        connection,
        location,
        path: path.to_path_buf(),
        patience,
    })
}

fn bytes(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Whether the last connection leaves the log where it is.
fn keep_log(connection: &Connection, keep: bool) -> rusqlite::Result<()> {
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep)
        .map(|_| ())
}

/// What a connection needs for a run to be on the disk when it is said to be.
fn prepare(connection: &Connection, patience: Duration) -> rusqlite::Result<()> {
    let begun = Instant::now();
    // For this change alone SQLite does not always wait by itself.
    loop {
        match connection.pragma_update(None, "journal_mode", "wal") {
            Err(error) if is_busy(&error) && begun.elapsed() < patience => {
                std::thread::sleep(Duration::from_millis(10));
            }
            result => break result?,
        }
    }
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)
}

#[cfg(test)]
#[path = "open_tests.rs"]
mod tests;
