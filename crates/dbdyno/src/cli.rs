//! The command line.

mod bench;
mod check;
mod password;
mod sbtest;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use dbdyno_trial::{Budget, LEAST_LOAD_S};

use crate::exit;

pub(crate) use bench::{
    Bench, BenchAction, BenchClean, BenchData, BenchLoad, BenchRun, BenchStored, Keyed, TpccData,
    TpccLoad,
};
pub(crate) use check::{Check, Collect, Diff, Grants, Level, Reading, Rule, RuleAction};
pub(crate) use password::PasswordFrom;
pub(crate) use sbtest::Sbtest;

#[derive(Debug, Parser)]
#[command(name = "dbdyno", version, about, max_term_width = 100, after_help = exit::TABLE)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Load a server and measure what it does with it
    Bench(Box<Bench>),
    /// Say what is wrong with this host and its servers, or with one server, and what to do about it
    Check(Box<Check>),
    /// Read the facts alone, to carry them elsewhere
    Collect(Collect),
    /// Say what differs between two hosts or two days
    Diff(Diff),
    /// Print the least privileges that a role needs, as SQL
    Grants(Grants),
    /// Show the rules that `check` goes by
    Rule(Rule),
    /// Plan a tuning and prove by measurement what it is worth
    Tune(Box<Tune>),
    /// Show a stored trial again, in any form
    Report(Report),
    /// Put two or more stored runs or files side by side
    Compare(Compare),
    /// List, show, remove, export and import stored trials
    Runs(RunsCommand),
}

/// Where runs are kept.
#[derive(Debug, Args)]
pub(crate) struct StoreAt {
    /// Where runs are kept: a PostgreSQL address for a team, or a file; your own store if not given
    #[arg(
        long,
        value_name = "ADDRESS|FILE",
        env = "DBDYNO_STORE",
        hide_env_values = true,
        global = true
    )]
    pub(crate) store: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Html,
    Markdown,
    Json,
    /// The picture of the pairs alone
    Svg,
}

/// Show a stored trial again, in any form.
#[derive(Debug, Args)]
#[command(after_help = exit::TABLE)]
pub(crate) struct Report {
    /// A trial that `dbdyno runs list` shows (its name, a unique beginning or its last part, or latest), or a JSON file
    #[arg(value_name = "TRIAL|FILE", default_value = "latest")]
    pub(crate) trial: String,

    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text, conflicts_with_all = ["output", "open"])]
    pub(crate) format: Format,

    /// Write report.html, report.md and report.json into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// Open the page in the browser
    #[arg(long)]
    pub(crate) open: bool,

    #[command(flatten)]
    pub(crate) store: StoreAt,
}

/// Put two or more stored runs or files side by side.
///
/// Each is TRIAL (the arm that it judged), TRIAL:ARM, or TRIAL/NUMBER for a single run; TRIAL is a
/// name that `dbdyno runs list` shows, a unique beginning or its last part, latest, or a JSON file.
#[derive(Debug, Args)]
#[command(after_help = exit::TABLE)]
pub(crate) struct Compare {
    /// What the others are compared with
    pub(crate) base: String,

    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<String>,

    /// Print the comparison's document instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,

    #[command(flatten)]
    pub(crate) store: StoreAt,
}

/// List, show, remove, export and import stored trials.
#[derive(Debug, Args)]
#[command(after_help = exit::TABLE)]
pub(crate) struct RunsCommand {
    #[command(subcommand)]
    pub(crate) action: Runs,

    #[command(flatten)]
    pub(crate) store: StoreAt,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Runs {
    /// All trials, newest first
    List {
        /// Print JSON instead of text
        #[arg(long)]
        json: bool,
    },
    /// One trial, as `dbdyno tune` printed it
    Show {
        #[arg(default_value = "latest")]
        trial: String,
    },
    /// Remove trials with all their runs
    Remove {
        #[arg(required = true, value_name = "TRIAL")]
        trials: Vec<String>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Write a trial's document, to carry it elsewhere
    Export {
        trial: String,
        /// Into this file instead of standard output
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Take in documents that were exported or written elsewhere
    Import {
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

/// Plan a tuning and prove by measurement what it is worth.
///
/// Without a TARGET, on a private PostgreSQL that is removed at the end: TPC-C, as shipped against
/// recommended. With a TARGET, prints the plan for that server and writes nothing to it; with
/// --twin-here it also runs the trial, on a private twin on this machine.
#[derive(Debug, Args)]
#[command(after_help = exit::TABLE)]
pub(crate) struct Tune {
    /// The server to plan for: postgres://user@host:port/database, or key=value as psql takes them
    pub(crate) target: Option<String>,

    #[command(flatten)]
    pub(crate) password: PasswordFrom,

    /// Run the trial on a private twin of TARGET on this machine
    #[arg(long, requires = "target")]
    pub(crate) twin_here: bool,

    /// tpcc, or a file of your own weighted statements
    #[arg(long, value_name = "tpcc|FILE", default_value = "tpcc")]
    pub(crate) workload: String,

    /// quick: 4 pairs, about 6 min on 2 cores; normal: 4 to 10 pairs, 25 min; proof: 8 to 20, 60 min
    #[arg(long, value_name = "quick|normal|proof", default_value = "quick")]
    pub(crate) budget: Budget,

    /// Seconds of load in each run, warm-up included, instead of the budget's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(LEAST_LOAD_S..=3_600))]
    pub(crate) run_seconds: Option<u64>,

    /// TPC-C's scale; about 0.25 GB of disk each: the data and a clone of it
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) warehouses: u32,

    /// Connections that drive the load
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) connections: u32,

    /// Every random choice follows from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Arms to compare, base first: shipped (or current), recommended, may-lose-last-commits,
    /// may-corrupt; the same one twice is an A/A trial
    #[arg(long, value_name = "BASE,ARM[,…]", value_delimiter = ',')]
    pub(crate) arms: Vec<String>,

    /// Also measure what giving up safety would buy; never recommended
    #[arg(long)]
    pub(crate) show_unsafe: bool,

    /// Memory that the server may have, such as 4GB: caps a lab server, sizes the plan for TARGET
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,

    /// Also write report.html, report.md and report.json into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) store: StoreAt,

    /// Leave the lab server's directory in place
    #[arg(long)]
    pub(crate) keep: bool,

    /// Do not ask before loading a machine on which TARGET runs
    #[arg(long)]
    pub(crate) yes: bool,

    /// Print the trial's document instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// Directory of the PostgreSQL server programs for the lab
    #[arg(long, value_name = "DIR")]
    pub(crate) server_bin: Option<PathBuf>,

    /// Version of the lab server: 13 to 18, or an exact one such as 18.6
    #[arg(long, value_name = "VERSION")]
    pub(crate) pg_version: Option<String>,
}
