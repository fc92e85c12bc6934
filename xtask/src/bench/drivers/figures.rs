//! Figures of runs: their medians, ratios, and what is wanted of them.

use std::collections::BTreeMap;
use std::fmt;

use crate::bench::measure::Failure;
use crate::bench::series::Series;

/// What is measured of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Figure {
    Tps,
    P99,
    NewOrderP99,
    P999,
    Max,
    /// User and system time of the process a transaction, in µs.
    Cpu,
    CpuPerStatement,
    /// The same as dbdyno itself tells it: of its measured window alone.
    OwnCpu,
    PeakMemory,
    Seconds,
    /// Transactions that were due and not done, in percent.
    Lost,
}

impl Figure {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tps => "TPS",
            Self::P99 => "p99, ms",
            Self::NewOrderP99 => "p99 of new orders, ms",
            Self::P999 => "p99.9, ms",
            Self::Max => "longest, ms",
            Self::Cpu => "driver CPU a transaction, µs",
            Self::CpuPerStatement => "driver CPU a statement, µs",
            Self::OwnCpu => "driver CPU a transaction as dbdyno tells it, µs",
            Self::PeakMemory => "peak memory, MB",
            Self::Seconds => "seconds",
            Self::Lost => "lost of what was due, %",
        }
    }
}

/// One run of one driver.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Run {
    pub(super) figures: BTreeMap<Figure, f64>,
    /// Share of the machine's CPU time that the hypervisor gave to others meanwhile.
    pub(super) steal: f64,
}

/// Why a figure is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Absent {
    /// It could not be: what it needs is not here.
    NotMeasured(String),
    /// It should have been.
    Failed(String),
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMeasured(why) => write!(f, "not measured: {why}"),
            Self::Failed(why) => write!(f, "failed: {why}"),
        }
    }
}

impl From<Failure> for Absent {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure.message)
    }
}

impl From<String> for Absent {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl Series {
    /// None where a run does not tell the figure.
    pub(super) fn of(runs: &[Run], figure: Figure) -> Option<Self> {
        let values: Option<Vec<f64>> = runs
            .iter()
            .map(|run| run.figures.get(&figure).copied())
            .collect();
        values
            .filter(|values| !values.is_empty())
            .map(|values| Self { values })
    }
}

/// Ours against theirs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ratio {
    /// Of the medians.
    pub(super) value: f64,
    /// Of the runs that followed each other.
    pub(super) of_pairs: Series,
}

impl Ratio {
    pub(super) fn of(ours: &Series, theirs: &Series) -> Self {
        let pairs = ours.values.iter().zip(&theirs.values);
        Self {
            value: ours.median() / theirs.median(),
            of_pairs: Series {
                values: pairs.map(|(ours, theirs)| ours / theirs).collect(),
            },
        }
    }
}

/// What is wanted of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reach {
    /// It is only shown.
    Nothing,
    RatioAtMost(f64),
    RatioAtLeast(f64),
    /// Of our own median, whatever others do.
    OursAtMost(f64),
    OursWithin(f64, f64),
}

impl Reach {
    /// None where nothing is wanted, or what it is compared with is not there.
    pub(super) fn is_met(self, ours: &Series, ratio: Option<&Ratio>) -> Option<bool> {
        let ratio = ratio.map(|ratio| ratio.value);
        match self {
            Self::Nothing => None,
            Self::RatioAtMost(most) => Some(ratio? <= most),
            Self::RatioAtLeast(least) => Some(ratio? >= least),
            Self::OursAtMost(most) => Some(ours.median() <= most),
            Self::OursWithin(least, most) => Some((least..=most).contains(&ours.median())),
        }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("–"),
            Self::RatioAtMost(most) => write!(f, "≤ {most} ×"),
            Self::RatioAtLeast(least) => write!(f, "≥ {least} ×"),
            Self::OursAtMost(most) => write!(f, "≤ {most}"),
            Self::OursWithin(least, most) => write!(f, "{least} to {most}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> Series {
        Series {
            values: values.to_vec(),
        }
    }

    #[test]
    fn a_ratio_is_that_of_the_medians_and_its_spread_that_of_the_pairs() {
        let ratio = Ratio::of(&series(&[1.0, 4.0, 3.0]), &series(&[2.0, 4.0, 12.0]));
        assert_eq!(ratio.value, 0.75);
        assert_eq!(ratio.of_pairs.values, [0.5, 1.0, 0.25]);
        let shorter = Ratio::of(&series(&[1.0, 2.0]), &series(&[2.0]));
        assert_eq!(shorter.of_pairs.values, [0.5]);
    }

    #[test]
    fn a_figure_that_a_run_lacks_is_no_series() {
        let run = |tps| Run {
            figures: [(Figure::Tps, tps)].into(),
            steal: 0.0,
        };
        let runs = [run(1.0), run(2.0)];
        assert_eq!(Series::of(&runs, Figure::Tps), Some(series(&[1.0, 2.0])));
        assert_eq!(Series::of(&[run(1.0), Run::default()], Figure::Tps), None);
        assert_eq!(Series::of(&[], Figure::Tps), None);
    }

    #[test]
    fn reaches_include_their_bounds_and_judge_the_medians() {
        let ours = series(&[1.0, 2.0, 60.0]);
        let ratio = Ratio::of(&ours, &series(&[4.0]));
        let met = |reach: Reach| reach.is_met(&ours, Some(&ratio));
        assert_eq!(met(Reach::RatioAtMost(0.5)), Some(true));
        assert_eq!(met(Reach::RatioAtMost(0.49)), Some(false));
        assert_eq!(met(Reach::RatioAtLeast(0.5)), Some(true));
        assert_eq!(met(Reach::RatioAtLeast(0.51)), Some(false));
        assert_eq!(met(Reach::OursAtMost(2.0)), Some(true));
        assert_eq!(met(Reach::OursWithin(2.1, 3.0)), Some(false));
        assert_eq!(met(Reach::Nothing), None);
        assert_eq!(Reach::RatioAtMost(1.0).is_met(&ours, None), None);
        assert_eq!(Reach::OursAtMost(1.0).is_met(&ours, None), Some(false));
        assert_eq!(Reach::RatioAtMost(0.35).to_string(), "≤ 0.35 ×");
        assert_eq!(
            Reach::OursWithin(1_900.0, 2_500.0).to_string(),
            "1900 to 2500"
        );
    }
}
