//! Stored runs side by side: what they measured, how they differ, and no verdict.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Class;
use crate::run::Latency;
use crate::tune::{Machine, Server, Workload};

/// The document that one `compare` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// `dbdyno.comparison/1`: fields may be added, meanings never change.
    pub schema: String,
    pub dbdyno_version: String,
    pub made_at: String,
    /// What the ratios are of: `tps_with_checkpoint`.
    pub metric: String,
    /// Confidence at which all intervals together hold.
    pub joint_level: f64,
    /// The first is the base.
    pub groups: Vec<Group>,
    /// Each group but the base against the base, in the order of the groups.
    pub differences: Vec<Difference>,
    /// What beside the settings is not the same in all groups.
    pub unlike: Vec<Unlike>,
    /// What a reader must know before quoting a number.
    pub caveats: Vec<Caveat>,
}

impl Comparison {
    pub const SCHEMA: &str = "dbdyno.comparison/1";
}

/// All kept runs of one arm of a trial, or one single run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    /// As one would type it: `TRIAL:ARM`, or `TRIAL/NUMBER` for a single run.
    pub name: String,
    pub trial: String,
    pub arm: String,
    /// Its number in the trial, where the group is a single run that was chosen as such.
    pub run: Option<u32>,
    /// None where the trial did not get as far as describing its arms; so with the settings.
    pub class: Option<Class>,
    /// Of the version that measured.
    pub dbdyno_version: String,
    pub budget: Option<String>,
    pub workload: Option<Workload>,
    pub machine: Machine,
    /// The transport stands here.
    pub server: Server,
    /// Memory that the server was sized for.
    pub memory_bytes: Option<u64>,
    pub connections: Option<u32>,
    /// Of the first run.
    pub started_at: String,
    pub runs: u32,
    /// With the closing checkpoint charged to the run: the primary metric.
    pub tps_with_checkpoint: Spread,
    /// The same without the closing checkpoint.
    pub tps: Spread,
    /// Over all runs, from their merged histograms.
    pub latency_ms: Option<Latency>,
    /// `actual start (closed loop)` or `intended start (open loop at … TPS)`.
    pub latency_origin: Option<String>,
    pub wal_bytes_per_transaction: Option<f64>,
    pub server_cpu_us_per_transaction: Option<f64>,
    pub driver_cpu_us_per_transaction: Option<f64>,
    /// Of the arm, killed under load; none for a single run.
    pub recovery_s: Option<f64>,
    /// What the arm sets beside what initdb wrote, as in postgresql.conf.
    pub settings: Option<BTreeMap<String, String>>,
    /// Settings that the arm left as they were, where the trial's plan says what they stood at.
    pub left_alone: BTreeMap<String, String>,
}

/// A figure over the runs of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    pub mean: f64,
    /// Standard deviation between the runs (n − 1 in the divisor) over the mean; none for one run.
    pub relative_sd: Option<f64>,
}

/// How an interval was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// From ln(group / base) within the pairs of one trial: the drift of the machine cancels.
    Paired,
    /// From the spread between the runs of each group: drift between the groups does not cancel.
    Unpaired,
    /// There is no interval.
    None,
}

/// One group against the base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    pub group: String,
    /// group / base; none where there is no interval, since a ratio is not told without one.
    pub ratio: Option<f64>,
    pub interval: Option<[f64; 2]>,
    /// Coverage of the interval. More than `joint_level` where several groups share it, or where
    /// the trial behind the pairs took planned looks, any of which could have ended it.
    pub level: f64,
    pub method: Method,
    /// Pairs behind a paired interval.
    pub pairs: Option<u32>,
    pub base_runs: u32,
    pub runs: u32,
    /// Why there is no interval, where there is none.
    pub why_no_interval: Option<String>,
    /// The command that would tell more, where there is no interval.
    pub next: Option<String>,
    /// Subjects unlike the base's, each of which alone keeps the ratio from being an effect of
    /// settings.
    pub confounded_by: Vec<String>,
}

/// Something beside the settings that is not the same in all groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unlike {
    /// `machine`, `workload`, `server version` …
    pub subject: String,
    /// One for each group, in their order; none where it is not known.
    pub values: Vec<Option<String>>,
    /// Whether it alone makes a ratio meaningless as an effect of settings.
    pub confounds: bool,
}

/// What a reader must know before quoting a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Caveat {
    /// Names of the groups it is about; all of them where there is none.
    pub groups: Vec<String>,
    pub text: String,
    /// Whether it makes the numbers worthless or unfit to be quoted.
    pub severe: bool,
}
