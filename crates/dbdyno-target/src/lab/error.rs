//! What can go wrong with a lab server, and what to do about it.

use std::io;
use std::path::PathBuf;

use super::disk::no_space;

/// What to do about a full disk whatever is being loaded.
const ELSEWHERE: &str = "free some space, or set DBDYNO_DATA_DIR to a directory on another disk";

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("cannot {operation} {}", path.display())]
    Io {
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{} holds no PostgreSQL server: {missing} is missing", directory.display())]
    NoServer {
        directory: PathBuf,
        missing: &'static str,
    },
    #[error("{program} does not run: {message}")]
    DoesNotRun { program: String, message: String },
    #[error("PostgreSQL {wanted} is not known: lab servers are PostgreSQL 13 to 18")]
    UnknownVersion { wanted: String },
    #[error("{} is PostgreSQL {found}, not {wanted}", directory.display())]
    WrongVersion {
        directory: PathBuf,
        found: String,
        wanted: String,
    },
    #[error("cannot download PostgreSQL {version}: {message}")]
    Download { version: String, message: String },
    #[error("no build of PostgreSQL {version} is published for {architecture}")]
    NoBuild {
        version: String,
        architecture: &'static str,
    },
    #[error("the download of PostgreSQL {version} has SHA-256 {found}, expected {expected}")]
    Checksum {
        version: String,
        found: String,
        expected: String,
    },
    #[error("{program} failed: {message}")]
    Failed {
        program: &'static str,
        message: String,
    },
    #[error("the lab server did not start: {reason}\n{log}")]
    Start { reason: String, log: String },
    #[error("{} has {available} free, and this needs about {needed}", path.display())]
    Disk {
        path: PathBuf,
        available: String,
        needed: String,
    },
    #[error("the disk of {} is full: {reason}", directory.display())]
    Full { directory: PathBuf, reason: String },
    #[error("{} is closed to {account}, the account that the server runs as", directory.display())]
    Passage { directory: PathBuf, account: String },
    #[error("neither XDG_DATA_HOME nor HOME is set, so there is no place for lab servers")]
    NoHome,
    #[error("root has no unprivileged account to run the server as")]
    NoAccount,
}

impl LabError {
    pub(crate) fn io(
        operation: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            operation,
            path,
            source,
        }
    }

    /// What the user can do next.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                ELSEWHERE.into()
            }
            Self::Io { source, path, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                format!(
                    "make {} writable for you, or set DBDYNO_DATA_DIR to a directory that is",
                    path.display()
                )
            }
            Self::Io { .. } => return None,
            Self::NoServer { .. } => {
                "--server-bin takes the directory that holds `postgres` and `initdb`, such as /usr/lib/postgresql/15/bin".into()
            }
            Self::DoesNotRun { message, .. } => match missing_library(message) {
                Some(library) => format!(
                    "install the package that holds {library}, or add its directory to LD_LIBRARY_PATH"
                ),
                None => "run it by hand to see why, or leave --server-bin out to use a downloaded server".into(),
            },
            Self::UnknownVersion { .. } => "pass --pg-version 18, or a full version such as 18.6".into(),
            Self::WrongVersion { .. } => "leave --pg-version out, or point --server-bin elsewhere".into(),
            Self::Download { .. } => {
                "check the network, or install a PostgreSQL server package and pass --server-bin DIR".into()
            }
            Self::NoBuild { .. } => {
                "install a PostgreSQL server package for this machine and pass --server-bin DIR".into()
            }
            Self::Checksum { .. } => {
                "the bytes are not those that were tested: try again, and report it if it stays so".into()
            }
            Self::Failed { message, .. } => match missing_library(message) {
                Some(library) => format!("install the package that holds {library}"),
                None if no_space(message).is_some() => ELSEWHERE.into(),
                None => return None,
            },
            Self::Start { log, .. } if log.contains("Cannot allocate memory") || log.contains("could not map anonymous shared memory") => {
                "give the lab server less memory: --memory 2GB".into()
            }
            Self::Start { log, .. } if no_space(log).is_some() => ELSEWHERE.into(),
            Self::Start { .. } => "the lines above are the server's own log".into(),
            Self::Disk { .. } | Self::Full { .. } => {
                "free some space, use fewer --warehouses, or set DBDYNO_DATA_DIR to a directory on another disk".into()
            }
            Self::Passage { directory, .. } => format!(
                "chmod o+x {}, or set DBDYNO_DATA_DIR to a directory that it can reach",
                directory.display()
            ),
            Self::NoHome => "set DBDYNO_DATA_DIR to a directory of yours".into(),
            Self::NoAccount => "create one: useradd --system --no-create-home dbdyno".into(),
        })
    }
}

/// The library that the dynamic linker misses, from its message.
fn missing_library(message: &str) -> Option<&str> {
    let rest = message
        .split("error while loading shared libraries: ")
        .nth(1)?;
    rest.split(':').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_named_in_the_hint() {
        let error = LabError::DoesNotRun {
            program: "/opt/pg/bin/postgres".into(),
            message: "postgres: error while loading shared libraries: libicuuc.so.72: cannot open shared object file".into(),
        };
        assert!(error.hint().unwrap().contains("libicuuc.so.72"));
    }
}
