//! Why a store does not do what it was asked to, and what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Where a store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    File(PathBuf),
    /// The schema `dbdyno` in this PostgreSQL database.
    Database(String),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Database(name) => write!(f, "schema dbdyno of database {name}"),
        }
    }
}

/// `operation` reads before the location, as in `save a trial to`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    #[error("there is no trial `{name}` in {location}")]
    NotFound {
        name: String,
        location: Location,
        /// Whether there is no trial at all.
        is_empty: bool,
    },
    #[error("`{text}` may be any of {}", some(.candidates))]
    Ambiguous {
        text: String,
        candidates: Vec<String>,
    },
    #[error("{location} holds another trial named {name}")]
    NameTaken { name: String, location: Location },
    #[error("{location} holds another run {number} of {trial}")]
    RunTaken {
        trial: String,
        number: u32,
        location: Location,
    },
    #[error("{location} has version {found}, and this dbdyno knows versions up to {known}")]
    Newer {
        location: Location,
        found: u32,
        known: u32,
        /// The dbdyno that wrote to it last, where that can be read.
        written_by: Option<String>,
    },
    #[error("{location} is not a store of dbdyno: {why}")]
    Foreign { location: Location, why: String },
    #[error("{location} has the encoding {found}, which does not hold every text")]
    Encoding { location: Location, found: String },
    /// Of one trial or run, whether it comes from a store or a file.
    #[error("{what}: {why}")]
    Document {
        what: String,
        why: String,
        hint: Option<String>,
    },
    #[error("cannot {operation} {location}: it is damaged: {message}")]
    Damaged {
        operation: &'static str,
        location: Location,
        message: String,
    },
    #[error("cannot {operation} {location}: another program has kept it locked for {seconds} s")]
    Locked {
        operation: &'static str,
        location: Location,
        seconds: u64,
    },
    #[error("cannot {operation} {location}: the disk is full")]
    Full {
        operation: &'static str,
        location: Location,
    },
    #[error("cannot {operation} {location}: the server only reads")]
    ReadOnly {
        operation: &'static str,
        location: Location,
    },
    #[error("cannot {operation} {location}: {message}")]
    Denied {
        operation: &'static str,
        location: Location,
        message: String,
    },
    #[error("cannot {operation} {location}: the connection is lost: {message}")]
    Lost {
        operation: &'static str,
        location: Location,
        message: String,
    },
    #[error("cannot {operation} {location}: {message}")]
    Failed {
        operation: &'static str,
        location: Location,
        message: String,
    },
    #[error("{} is {what}, not a file", path.display())]
    NotAFile { path: PathBuf, what: &'static str },
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl StoreError {
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
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { is_empty: true, .. } => {
                "it holds no trial yet: `dbdyno tune` makes one".into()
            }
            Self::NotFound { .. } => "`dbdyno runs list` shows what is there".into(),
            Self::Ambiguous { .. } => "write more of the name".into(),
            Self::NameTaken { name, .. } => {
                format!("`dbdyno runs remove {name}` makes room; `dbdyno runs export` keeps a copy")
            }
            Self::RunTaken { .. } => "do two programs measure under the same name?".into(),
            Self::Newer { written_by, .. } => match written_by {
                Some(version) => format!("dbdyno {version} wrote to it: use that or a newer one"),
                None => "a newer dbdyno wrote to it: use that one".into(),
            },
            Self::Foreign { location, .. } => match location {
                Location::File(_) => "name another file with --store; nothing was changed".into(),
                Location::Database(_) => {
                    "name another database with --store; nothing was changed".into()
                }
            },
            Self::Encoding { .. } => {
                "make one for it: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0".into()
            }
            Self::Document { hint, .. } => return hint.clone(),
            Self::Damaged { location, .. } => damaged(location),
            Self::Locked { location, .. } => match location {
                Location::File(path) => {
                    format!(
                        "`fuser {}` names the program that has it open",
                        path.display()
                    )
                }
                Location::Database(_) => {
                    "pg_stat_activity and pg_locks show the session that holds the lock".into()
                }
            },
            Self::Full { location, .. } => match location {
                Location::File(_) => ELSEWHERE.into(),
                Location::Database(_) => "free some space on the server".into(),
            },
            Self::ReadOnly { .. } => "connect to the primary: a standby takes nothing in".into(),
            Self::Denied { .. } => DENIED.into(),
            Self::Lost { .. } => "the server's log says whether it went down".into(),
            Self::NotAFile { .. } => "name a file with --store".into(),
            Self::Io { source, path, .. } => return io_hint(source, path),
            Self::Failed { .. } => return None,
        })
    }
}

const ELSEWHERE: &str = "free some space, or name a file on another disk with --store";

const DENIED: &str = "once, somebody who may create a schema has to open the store; then \
    GRANT USAGE ON SCHEMA dbdyno and \
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA dbdyno TO the role";

fn damaged(location: &Location) -> String {
    match location {
        Location::File(path) => format!(
            "copy {path} with its -wal and -shm first; `dbdyno runs export TRIAL` saves what can \
             still be read",
            path = path.display()
        ),
        Location::Database(_) => "the server's log says more; `dbdyno runs export TRIAL` saves \
                                  what can still be read"
            .into(),
    }
}

fn io_hint(source: &io::Error, path: &std::path::Path) -> Option<String> {
    use io::ErrorKind::{
        AlreadyExists, NotADirectory, PermissionDenied, ReadOnlyFilesystem, StorageFull,
    };
    match source.kind() {
        StorageFull => Some(ELSEWHERE.into()),
        PermissionDenied => Some(format!(
            "make {} writable for you, or name a file elsewhere with --store",
            path.display()
        )),
        // A file stands where a directory should.
        ReadOnlyFilesystem | NotADirectory | AlreadyExists => {
            Some("name a file in a directory that can be written with --store".into())
        }
        _ => None,
    }
}

/// The first few, and how many more there are.
fn some(candidates: &[String]) -> String {
    const MOST: usize = 6;
    let shown = candidates[..candidates.len().min(MOST)].join(", ");
    match candidates.len().saturating_sub(MOST) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_candidates_are_counted_and_not_all_listed() {
        let names: Vec<String> = (0..9).map(|i| format!("t-{i}")).collect();
        assert_eq!(some(&names[..2]), "t-0, t-1");
        assert_eq!(some(&names), "t-0, t-1, t-2, t-3, t-4, t-5 and 3 more");
    }

    #[test]
    fn an_older_dbdyno_is_told_which_one_wrote() {
        let newer = |written_by: Option<&str>| StoreError::Newer {
            location: Location::File("/s.sqlite".into()),
            found: 3,
            known: 1,
            written_by: written_by.map(str::to_owned),
        };
        assert_eq!(
            newer(None).to_string(),
            "/s.sqlite has version 3, and this dbdyno knows versions up to 1"
        );
        assert!(
            newer(Some("0.4.0"))
                .hint()
                .unwrap()
                .contains("dbdyno 0.4.0")
        );
        assert!(newer(None).hint().unwrap().contains("a newer dbdyno"));
    }
}
