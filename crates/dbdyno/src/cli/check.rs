//! The command line of `check`, `collect`, `diff`, `grants` and `rule`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use dbdyno_model::Severity;

use super::bench::duration;
use super::password::PasswordFrom;
use crate::exit;

/// A longer sample is no sample any more.
const LONGEST_SAMPLE: Duration = Duration::from_secs(3600);

/// How facts are read.
#[derive(Debug, Clone, Args)]
pub(crate) struct Reading {
    /// Time between the two readings of each counter: 10s, 1min
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = sample)]
    pub(crate) sample: Duration,

    /// Of each server that is found here read this database, not the one that does most of the work
    #[arg(long, value_name = "NAME", conflicts_with = "target")]
    pub(crate) database: Option<String>,

    /// Leave the names of hosts and users and their addresses in
    #[arg(long)]
    pub(crate) with_names: bool,
}

/// A severity from which on `check` fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    Info,
    Warn,
    Critical,
}

impl Level {
    pub(crate) fn severity(self) -> Severity {
        match self {
            Self::Info => Severity::Info,
            Self::Warn => Severity::Warn,
            Self::Critical => Severity::Critical,
        }
    }
}

/// Say what is wrong with this host and its servers, or with one server, and what to do about it.
///
/// Without a TARGET, this host and every PostgreSQL that is found running on it. Such a server is
/// asked without a password. A server of another engine is named, and not read. Nothing is written
/// to any server.
#[derive(Debug, Args)]
#[command(after_help = exit::TABLE)]
pub(crate) struct Check {
    /// The server to check: postgres://user@host:port/database, or key=value as psql takes them
    pub(crate) target: Option<String>,

    #[command(flatten)]
    pub(crate) password: PasswordFrom,

    /// Check the facts in this file instead: `collect`, `check --json` or `tune --json` wrote it
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "target", "sample", "database", "with_names", "password_file", "password_command"
        ]
    )]
    pub(crate) facts: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Memory that the server (TARGET, or the one in FILE) may have, such as 64GB: dbdyno cannot read it
    /// from another machine
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,

    /// Exit with code 1 where a finding is as grave or graver
    #[arg(long, value_name = "info|warn|critical")]
    pub(crate) fail_on: Option<Level>,

    /// Tell only of these rules or families
    #[arg(long, value_name = "ID|FAMILY[,…]", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Tell of all but these rules or families
    #[arg(long, value_name = "ID|FAMILY[,…]", value_delimiter = ',')]
    pub(crate) skip: Vec<String>,

    /// Print the document instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// Print SARIF 2.1.0, as code scanners read it
    #[arg(long, conflicts_with = "json")]
    pub(crate) sarif: bool,

    /// Print Markdown
    #[arg(long, conflicts_with_all = ["json", "sarif"])]
    pub(crate) markdown: bool,
}

/// Read the facts alone, to carry them elsewhere: `check --facts` gives the same answers there.
///
/// Without a TARGET, of this host and of every PostgreSQL that is found running on it.
#[derive(Debug, Args)]
#[command(after_help = exit::TABLE)]
pub(crate) struct Collect {
    /// The server to read: postgres://user@host:port/database, or key=value as psql takes them
    pub(crate) target: Option<String>,

    #[command(flatten)]
    pub(crate) password: PasswordFrom,

    /// Into this file, in the place of older facts; - or nothing is standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Say what differs between two hosts or two days: facts, settings and findings.
#[derive(Debug, Args)]
#[command(after_help = exit::TABLE)]
pub(crate) struct Diff {
    /// A file that `collect`, `check --json` or `tune --json` wrote
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,

    /// Another one
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,

    /// Print the document instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print the least privileges that a role needs for everything to be read, as SQL.
#[derive(Debug, Args)]
#[command(after_help = exit::TABLE)]
pub(crate) struct Grants {
    /// Also say what the role of this connection lacks: postgres://user@host:port/database, or
    /// key=value as psql takes them
    pub(crate) target: Option<String>,

    #[command(flatten)]
    pub(crate) password: PasswordFrom,

    /// The role to be made
    #[arg(long, value_name = "NAME", default_value = dbdyno_target::postgres::PROPOSED_ROLE)]
    pub(crate) role: String,
}

/// Show the rules that `check` goes by.
#[derive(Debug, Args)]
#[command(after_help = exit::TABLE)]
pub(crate) struct Rule {
    #[command(subcommand)]
    pub(crate) action: RuleAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RuleAction {
    /// All rules, or those of a family
    List {
        family: Option<String>,
        /// Print the catalogue with all documentation as JSON
        #[arg(long)]
        json: bool,
    },
    /// All that is to be known of one rule
    Show {
        #[arg(value_name = "ID")]
        id: String,
    },
}

fn sample(text: &str) -> Result<Duration, String> {
    duration(text)
        .ok()
        .filter(|time| *time <= LONGEST_SAMPLE)
        .ok_or_else(|| "write it as 10s or 5min, from a second to an hour".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_between_a_second_and_an_hour() {
        assert_eq!(sample("1s").unwrap(), Duration::from_secs(1));
        assert_eq!(sample("1h").unwrap(), LONGEST_SAMPLE);
        for text in ["0", "0.5s", "2h", "soon", ""] {
            assert!(sample(text).is_err(), "{text}");
        }
    }
}
