//! The options of sysbench's workloads, under sysbench's names.

use clap::Args;
use clap::builder::BoolishValueParser;
use dbdyno_bench::oltp::Distribution;

/// More statements of a kind are no transaction of anybody's.
const MOST: i64 = 10_000;

/// What sysbench's workloads are made of. What is not given is as sysbench has it, or as the tables
/// say.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of oltp-* and select-random-*")]
pub(crate) struct Sbtest {
    /// Tables sbtest1, sbtest2 and so on; of a load 1, else all that are there if not given
    #[arg(long, value_name = "N")]
    pub(crate) tables: Option<u32>,

    /// Rows of each table; of a load 10000, else as many as there are if not given
    #[arg(long, value_name = "N")]
    pub(crate) table_size: Option<u64>,

    /// How a run draws ids, and a load the values of k: special (if not given), uniform, gaussian,
    /// pareto or zipfian
    #[arg(long, value_name = "NAME")]
    pub(crate) rand_type: Option<Distribution>,

    /// No BEGIN and COMMIT around the statements
    #[arg(long)]
    pub(crate) skip_trx: bool,

    /// Rows of a range; 100 if not given
    #[arg(long, value_name = "N")]
    pub(crate) range_size: Option<u64>,

    /// Off: none of the four kinds of ranges
    #[arg(long, value_name = "on|off", value_parser = BoolishValueParser::new(), conflicts_with_all = ["simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges"])]
    pub(crate) range_selects: Option<bool>,

    /// Single rows that a transaction reads; 10 if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MOST))]
    pub(crate) point_selects: Option<u32>,

    /// Ranges that a transaction reads; 1 if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MOST))]
    pub(crate) simple_ranges: Option<u32>,

    /// Ranges that it adds up; 1 if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MOST))]
    pub(crate) sum_ranges: Option<u32>,

    /// Ranges that it reads in order; 1 if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MOST))]
    pub(crate) order_ranges: Option<u32>,

    /// Ranges of which it reads each text once; 1 if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MOST))]
    pub(crate) distinct_ranges: Option<u32>,

    /// Updates of the indexed column; 1 if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MOST))]
    pub(crate) index_updates: Option<u32>,

    /// Updates of a column without an index; 1 if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MOST))]
    pub(crate) non_index_updates: Option<u32>,

    /// Rows that a transaction deletes and inserts again; 1 if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MOST))]
    pub(crate) delete_inserts: Option<u32>,

    /// Values in the list of select-random-points; 10 if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MOST))]
    pub(crate) random_points: Option<u32>,

    /// Ranges of select-random-ranges; 10 if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MOST))]
    pub(crate) number_of_ranges: Option<u32>,

    /// How far each of these ranges reaches; 5 if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MOST))]
    pub(crate) delta: Option<u32>,
}
