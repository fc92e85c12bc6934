//! Puts a damaged file aside, whole and once.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};

use crate::error::StoreError;
use crate::store::Moved;

/// What SQLite keeps beside a database; the database itself goes last, so that a kill in between
/// leaves what the next command finds damaged again.
const PARTS: [&str; 4] = ["-wal", "-shm", "-journal", ""];

/// Held while a file is moved, so that nobody moves away what another has just begun. It is the
/// directory's: to close a database file would release the locks that SQLite has on it.
#[derive(Debug)]
pub(super) struct Guard {
    _directory: File,
}

impl Guard {
    pub(super) fn wait(path: &Path) -> Result<Self, StoreError> {
        let directory = path.parent().unwrap_or(Path::new("/"));
        let file = File::open(directory).map_err(StoreError::io("open", directory))?;
        flock(&file, FlockOperation::LockExclusive)
            .map_err(|error| StoreError::io("lock", directory)(error.into()))?;
        Ok(Self { _directory: file })
    }
}

/// Renames the database and what belongs to it; nothing is overwritten.
pub(super) fn move_aside(path: &Path, _guard: &Guard) -> Result<Moved, StoreError> {
    let stamp = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let to = (1..)
        .map(|count| match count {
            1 => with_suffix(path, &format!(".damaged-{stamp}")),
            more => with_suffix(path, &format!(".damaged-{stamp}-{more}")),
        })
        .find(|to| PARTS.iter().all(|part| !with_suffix(to, part).exists()))
        .unwrap_or_else(|| with_suffix(path, ".damaged"));
    for part in PARTS {
        let from = with_suffix(path, part);
        match fs::rename(&from, with_suffix(&to, part)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !part.is_empty() => {}
            result => result.map_err(StoreError::io("move aside", &from))?,
        }
    }
    Ok(Moved {
        from: path.to_path_buf(),
        to,
    })
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut whole = path.as_os_str().to_owned();
    whole.push(suffix);
    whole.into()
}
