//! What a captured tree holds beside files: reads that failed, and the numbers of system calls.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::host::root::ReadError;

/// Its place in a captured tree.
pub(super) const FILE: &str = "captured.json";

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::host) struct Answers {
    /// By path; what is missing is just not there.
    pub(in crate::host) failed: BTreeMap<String, Failed>,
    /// By call and path: `statvfs /data`.
    pub(in crate::host) calls: BTreeMap<String, Call>,
}

impl Answers {
    /// Those of a captured tree; one that was written by hand has none.
    pub(in crate::host) fn of(directory: &Path) -> Result<Self, String> {
        match fs::read_to_string(directory.join(FILE)) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| format!("{FILE}: {error}")),
            Err(error) => match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(Self::default()),
                _ => Err(format!("{FILE}: {error}")),
            },
        }
    }
}

/// How a read failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::host) enum Failed {
    Missing,
    Denied,
    TooLarge,
    NotAFile,
    Escapes,
    Unsupported,
    /// The number of the system's error.
    Io(i32),
}

impl Failed {
    /// `None` for what is wrong with the content and not with the read.
    pub(in crate::host) fn of(error: &ReadError) -> Option<Self> {
        match error {
            ReadError::Missing => Some(Self::Missing),
            ReadError::Denied => Some(Self::Denied),
            ReadError::TooLarge => Some(Self::TooLarge),
            ReadError::NotAFile => Some(Self::NotAFile),
            ReadError::Escapes => Some(Self::Escapes),
            ReadError::Unsupported => Some(Self::Unsupported),
            ReadError::Io(error) => error.raw_os_error().map(Self::Io),
            ReadError::Empty | ReadError::NotText => None,
        }
    }
}

impl From<Failed> for ReadError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Missing => Self::Missing,
            Failed::Denied => Self::Denied,
            Failed::TooLarge => Self::TooLarge,
            Failed::NotAFile => Self::NotAFile,
            Failed::Escapes => Self::Escapes,
            Failed::Unsupported => Self::Unsupported,
            Failed::Io(number) => Self::Io(io::Error::from_raw_os_error(number)),
        }
    }
}

/// What a system call answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::host) enum Call {
    Numbers(Vec<u64>),
    Failed(String),
}

impl Call {
    pub(in crate::host) fn result(&self) -> Result<Vec<u64>, String> {
        match self {
            Self::Numbers(numbers) => Ok(numbers.clone()),
            Self::Failed(why) => Err(why.clone()),
        }
    }
}

impl From<Result<Vec<u64>, String>> for Call {
    fn from(answer: Result<Vec<u64>, String>) -> Self {
        match answer {
            Ok(numbers) => Self::Numbers(numbers),
            Err(why) => Self::Failed(why),
        }
    }
}
