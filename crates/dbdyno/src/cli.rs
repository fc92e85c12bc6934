//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use dbdyno_trial::Budget;

use crate::exit;

#[derive(Debug, Parser)]
#[command(name = "dbdyno", version, about, max_term_width = 100, after_help = exit::TABLE)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Plan a tuning and prove by measurement what it is worth
    Tune(Tune),
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

    /// Run the trial on a private twin of TARGET on this machine
    #[arg(long, requires = "target")]
    pub(crate) twin_here: bool,

    /// tpcc, or a file of your own weighted statements
    #[arg(long, value_name = "tpcc|FILE", default_value = "tpcc")]
    pub(crate) workload: String,

    /// quick: 4 pairs, about 6 min on 2 cores; normal: 4 to 10 pairs, 25 min; proof: 8 to 20, 60 min
    #[arg(long, value_name = "quick|normal|proof", default_value = "quick")]
    pub(crate) budget: Budget,

    /// TPC-C's scale; about 0.1 GB each, twice
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

    /// Directory for the run's document
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// Leave the lab server's directory in place
    #[arg(long)]
    pub(crate) keep: bool,

    /// Do not ask before loading a machine on which TARGET runs
    #[arg(long)]
    pub(crate) yes: bool,

    /// Print the run's document instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// Directory of the PostgreSQL server programs for the lab
    #[arg(long, value_name = "DIR")]
    pub(crate) server_bin: Option<PathBuf>,

    /// Version of the lab server: 13 to 18, or an exact one such as 18.6
    #[arg(long, value_name = "VERSION")]
    pub(crate) pg_version: Option<String>,
}
