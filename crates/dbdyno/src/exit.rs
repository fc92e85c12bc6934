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
  1    --fail-on was given, and a finding is as grave or graver
  2    usage, configuration or connection
  3    a defect of dbdyno
  4    the surroundings failed: disk full, server died, data inconsistent
  130  interrupted";

impl Exit {
    /// The code itself, for what ends the process on its own.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Crossed => 1,
            Self::Usage => 2,
            Self::Defect => 3,
            Self::Surroundings => 4,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser;

    #[test]
    fn the_table_has_every_code_once() {
        let all = [
            Exit::Done,
            Exit::Crossed,
            Exit::Usage,
            Exit::Defect,
            Exit::Surroundings,
            Exit::Interrupted,
        ];
        let codes: Vec<String> = TABLE
            .lines()
            .skip(1)
            .filter_map(|line| line.split_whitespace().next())
            .map(str::to_owned)
            .collect();
        assert_eq!(codes, all.map(|exit| exit.code().to_string()));
    }

    #[test]
    fn the_command_line_ends_with_the_same_codes() {
        let ended = |arguments: &[&str]| {
            let arguments = std::iter::once("dbdyno").chain(arguments.iter().copied());
            Cli::try_parse_from(arguments).unwrap_err().exit_code()
        };
        assert_eq!(ended(&["check", "--nosuch"]), i32::from(Exit::Usage.code()));
        assert_eq!(ended(&[]), i32::from(Exit::Usage.code()));
        assert_eq!(ended(&["--help"]), i32::from(Exit::Done.code()));
    }
}
