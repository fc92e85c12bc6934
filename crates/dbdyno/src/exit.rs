//! Exit codes, which are an interface, and the failures that lead to them.

use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    /// A threshold that the user gave is crossed.
    Crossed,
    /// Usage, configuration or connection.
    Usage,
    /// A defect of ours.
    Defect,
    /// The surroundings failed: disk full, server died, harness broken.
    Surroundings,
    Interrupted,
}

/// The table that `--help` shows.
pub(crate) const TABLE: &str = "Exit codes:
  0    done, whatever was found or measured
  1    --fail-on was given, and a finding is as grave
  2    usage, configuration or connection
  3    a defect of dbdyno
  4    the surroundings failed: disk full, server died, data inconsistent
  130  interrupted";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Crossed => 1,
            Exit::Usage => 2,
            Exit::Defect => 3,
            Exit::Surroundings => 4,
            Exit::Interrupted => 130,
        })
    }
}

/// Why a command ended, in the words of the user.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            message: message.into(),
            hint: Some(hint.into()),
        }
    }

    pub(crate) fn new(exit: Exit, message: impl Into<String>, hint: Option<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            hint,
        }
    }

    pub(crate) fn interrupted() -> Self {
        Self::new(
            Exit::Interrupted,
            "interrupted: nothing is left running",
            None,
        )
    }
}
