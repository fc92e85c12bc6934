//! The command line of `bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use dbdyno_bench::driver::ArrivalProcess;
use dbdyno_bench::tpcc::{Layout, MAX_SETS, Mode, Think};
use dbdyno_bench::wire::Isolation;

use super::password::PasswordFrom;
use super::sbtest::Sbtest;
use crate::exit;

#[derive(Debug, Args)]
#[command(after_help = exit::TABLE)]
pub(crate) struct Bench {
    #[command(subcommand)]
    pub(crate) action: BenchAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchAction {
    /// The workloads there are
    List,
    /// Create and fill a workload's tables
    Load(BenchLoad),
    /// Drive the load and measure it
    Run(Box<BenchRun>),
    /// Check the data by the workload's own conditions
    Verify(BenchStored),
    /// Remove a workload's tables
    Clean(BenchClean),
}

impl BenchAction {
    /// Whether nothing is to be told but the result.
    pub(crate) fn is_quiet(&self) -> bool {
        match self {
            Self::List => false,
            Self::Load(load) => load.quiet,
            Self::Run(run) => run.quiet,
            Self::Verify(stored) => stored.quiet,
            Self::Clean(clean) => clean.stored.quiet,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct BenchData {
    /// One that `dbdyno bench list` names, or a file of your own statements
    #[arg(value_name = "WORKLOAD|FILE")]
    pub(crate) workload: String,

    /// postgres://user@host:port/database, mysql://user@host:port/database, or key=value as psql
    /// takes them; without one, what psql would connect to
    pub(crate) target: Option<String>,

    #[command(flatten)]
    pub(crate) password: PasswordFrom,

    #[command(flatten)]
    pub(crate) sbtest: Sbtest,

    #[command(flatten)]
    pub(crate) keyed: Keyed,
}

/// What inserts, selects and friends are made of. A run takes from the database what is not given.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of inserts, selects and friends")]
pub(crate) struct Keyed {
    /// Primary key: auto_increment (if not given), random64, uuid_v4 or uuid_v7; of friends,
    /// surrogate (if not given) or clustered
    #[arg(long, value_name = "KIND")]
    pub(crate) key: Option<String>,

    /// Rows that the load writes; a million if not given
    #[arg(long, value_name = "N")]
    pub(crate) rows: Option<u64>,

    /// Letters of each row beside its key; 100 if not given
    #[arg(long, value_name = "N")]
    pub(crate) filler: Option<u32>,

    /// Friends of each user; 25 if not given
    #[arg(long, value_name = "N")]
    pub(crate) friends: Option<u32>,

    /// sequential or random: how keys are inserted, if not given as keys of their kind come; how
    /// rows are selected, if not given at random
    #[arg(long, value_name = "ORDER")]
    pub(crate) key_order: Option<String>,

    /// Rows of each statement; 1 if not given
    #[arg(long, value_name = "N")]
    pub(crate) batch: Option<u32>,

    /// Statements of each transaction; if not given, each commits by itself
    #[arg(long, value_name = "N")]
    pub(crate) statements: Option<u32>,
}

/// A workload whose data are there.
#[derive(Debug, Args)]
pub(crate) struct BenchStored {
    /// Print the result and errors alone
    #[arg(long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) data: BenchData,

    #[command(flatten)]
    pub(crate) tpcc: TpccData,
}

#[derive(Debug, Args)]
pub(crate) struct BenchClean {
    /// Do not ask before tables are removed
    #[arg(long)]
    pub(crate) yes: bool,

    // Behind the other, which would come under its headings.
    #[command(flatten)]
    pub(crate) stored: BenchStored,
}

/// What a load of TPC-C makes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of tpcc")]
pub(crate) struct TpccLoad {
    /// Scale of each set of tables, 10 if not given; about 0.1 GB each
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) warehouses: Option<u32>,

    /// Sets of all nine tables, 1 if not given, with their number behind each name; a transaction
    /// works within one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SETS)))]
    pub(crate) sets: Option<u32>,

    /// What the tables look like, own if not given; sysbench's are such as sysbench-tpcc makes,
    /// drives and checks
    #[arg(long, value_name = "own|sysbench", value_parser = layout)]
    pub(crate) layout: Option<Layout>,

    /// Tables without foreign keys
    #[arg(long)]
    pub(crate) no_foreign_keys: bool,
}

/// What is expected of TPC-C's tables that are there: a load of dbdyno has written it down, and for
/// data of sysbench-tpcc the catalogue is asked.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of tpcc")]
pub(crate) struct TpccData {
    /// What the tables look like; with sysbench, tables that sysbench-tpcc has made will do
    #[arg(long, value_name = "own|sysbench", value_parser = layout)]
    pub(crate) layout: Option<Layout>,

    /// Sets of tables that have to be there; counted if not given
    #[arg(long, value_name = "N")]
    pub(crate) sets: Option<u32>,

    /// Warehouses of each set that have to be there; counted if not given
    #[arg(long, value_name = "N")]
    pub(crate) warehouses: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct BenchLoad {
    /// Every row follows from it; 1 if not given
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Connections that load; one for each processor if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) threads: Option<u32>,

    /// First remove what an earlier load of dbdyno left there
    #[arg(long)]
    pub(crate) replace: bool,

    /// Do not ask before tables are removed
    #[arg(long, requires = "replace")]
    pub(crate) yes: bool,

    /// Go on with a load that was stopped or killed; takes the options that it was begun with
    #[arg(long, conflicts_with = "replace")]
    pub(crate) resume: bool,

    /// Make all rows and encode them as TARGET's kind of server takes them, send them nowhere, and
    /// tell rows and bytes a second and the memory that took; needs no server
    #[arg(long, conflicts_with_all = ["replace", "resume"])]
    pub(crate) generate_only: bool,

    /// Print the result and errors alone
    #[arg(long)]
    pub(crate) quiet: bool,

    // Behind the others, which would come under their headings.
    #[command(flatten)]
    pub(crate) data: BenchData,

    #[command(flatten)]
    pub(crate) tpcc: TpccLoad,
}

#[derive(Debug, Args)]
pub(crate) struct BenchRun {
    /// Connections that drive the load, 8 if not given; several numbers are run one after the other
    #[arg(long, value_name = "N[,N…]", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) connections: Vec<u32>,

    /// How long each run is measured, such as 90s or 5min
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) duration: Duration,

    /// Load before that which is not measured; if not given, the measurement finds its end by itself
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) warm_up: Option<Duration>,

    /// Transactions a second that arrive whatever the server does, timed from when they were due;
    /// if not given, each connection starts the next one as soon as the last has ended
    #[arg(long, value_name = "TPS")]
    pub(crate) rate: Option<f64>,

    /// How they follow each other: uniform (if not given), evenly, so that what waits is waiting for
    /// the server alone; or poisson, each by chance, as sysbench and pgbench let them arrive
    #[arg(long, value_name = "uniform|poisson", requires = "rate", value_parser = arrivals)]
    pub(crate) arrivals: Option<ArrivalProcess>,

    /// For tpcc: users who key in and think as long as the specification asks, at ten terminals for
    /// each warehouse, which are the connections; a FACTOR other than 1 multiplies these times
    #[arg(long, value_name = "FACTOR", num_args = 0..=1, require_equals = true, default_missing_value = "1", conflicts_with = "rate", value_parser = think)]
    pub(crate) think: Option<Think>,

    /// How transactions are sent: a round trip a statement, with lists of rows (tpcc), in as few
    /// round trips as there can be, or as calls of routines on the server (tpcc), which the run makes;
    /// tpcc is pipelined and oltp-* is unbatched if not given
    #[arg(long, value_name = "unbatched|batched|pipelined|procedures", value_parser = mode)]
    pub(crate) mode: Option<Mode>,

    /// How transactions are kept apart: read-uncommitted, read-committed, repeatable-read or
    /// serializable; as the server does it if not given
    #[arg(long, value_name = "LEVEL", value_parser = isolation)]
    pub(crate) isolation: Option<Isolation>,

    /// Every random choice of the run follows from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Driver threads; one for each four processors if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    pub(crate) threads: Option<u16>,

    /// Check the data by the workload's own conditions after each run
    #[arg(long)]
    pub(crate) verify: bool,

    /// Print a document for each run instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// Also write every second as comma-separated values
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Also write an HdrHistogram log; with several numbers of connections, one for each
    #[arg(long, value_name = "FILE")]
    pub(crate) hdr: Option<PathBuf>,

    /// Print the result and errors alone, and no line a second
    #[arg(long)]
    pub(crate) quiet: bool,

    // Behind the others, which would come under their headings.
    #[command(flatten)]
    pub(crate) data: BenchData,

    #[command(flatten)]
    pub(crate) tpcc: TpccData,
}

/// Reads `60`, `60s`, `5min`, `1h`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds = match unit.trim() {
        "" | "s" | "sec" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err("write it as 90s, 5min or 1h".to_owned()),
    };
    let number: f64 = number
        .parse()
        .map_err(|_| "write it as 90s, 5min or 1h".to_owned())?;
    let time = Duration::try_from_secs_f64(number * seconds).unwrap_or_default();
    if time < Duration::from_secs(1) || time > Duration::from_secs(30 * 86_400) {
        return Err("between a second and 30 days are possible".to_owned());
    }
    Ok(time)
}

fn arrivals(text: &str) -> Result<ArrivalProcess, String> {
    let all = ArrivalProcess::ALL;
    ArrivalProcess::named(text).ok_or_else(|| all.map(ArrivalProcess::name).join(" or "))
}

fn think(text: &str) -> Result<Think, String> {
    let factor = text.parse::<f64>().ok();
    factor.and_then(Think::scaled).ok_or_else(|| {
        let [least, greatest] = Think::FACTORS;
        format!("a factor from {least} to {greatest}")
    })
}

fn mode(text: &str) -> Result<Mode, String> {
    Mode::ALL
        .into_iter()
        .find(|mode| mode.name() == text)
        .ok_or_else(|| "unbatched, batched, pipelined or procedures".to_owned())
}

fn layout(text: &str) -> Result<Layout, String> {
    Layout::named(text).ok_or_else(|| "own or sysbench".to_owned())
}

fn isolation(text: &str) -> Result<Isolation, String> {
    let names = Isolation::ALL.map(Isolation::name).join(", ");
    Isolation::named(text).ok_or_else(|| format!("one of {names}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_of_think_times_are_read_or_refused() {
        assert_eq!(think("1"), Ok(Think::SPECIFIED));
        assert_eq!(think("0.01").unwrap().factor(), 0.01);
        for text in ["", "fast", "0", "-1", "NaN", "inf", "101"] {
            let error = think(text).unwrap_err();
            assert_eq!(error, "a factor from 0.001 to 100", "{text}");
        }
    }

    #[test]
    fn arrivals_are_read_or_refused() {
        assert_eq!(arrivals("poisson"), Ok(ArrivalProcess::Poisson));
        assert_eq!(arrivals("even").unwrap_err(), "uniform or poisson");
    }

    #[test]
    fn every_mode_is_read_and_an_error_names_them_all() {
        let refused = mode("stored").unwrap_err();
        for known in Mode::ALL {
            assert_eq!(mode(known.name()), Ok(known));
            assert!(refused.contains(known.name()), "{refused}");
        }
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, seconds) in [
            ("60", 60.0),
            ("1.5s", 1.5),
            ("5min", 300.0),
            ("2 m", 120.0),
            ("1h", 3600.0),
        ] {
            assert_eq!(duration(text).unwrap().as_secs_f64(), seconds, "{text}");
        }
        for text in ["", "s", "0s", "-5s", "5 days", "1e9", "99999999h", "0.2s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
