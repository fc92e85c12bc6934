//! Where an arm's latencies come from: merged histograms, or the percentiles of its single runs.

use std::f64::consts::LOG10_2;

use dbdyno_model::run::{Latency, TransactionStats};
use dbdyno_stats::merge_histograms;
use hdrhistogram::Histogram;

use super::{LEAST_ABOVE, MARKED, POINTS, nines, supported};
use crate::chart::figure::arms::ArmView;
use crate::chart::figure::median;
use crate::number;

/// What a run without statistics for each type is drawn as.
const ALL: &str = "all transactions";

/// One step past the last percentile: a maximum has no place on the axis.
const MAX_AT: f64 = 3.8;

/// Where the dots of single runs stand.
pub(super) const DOT_TICKS: [(f64, &str); 5] = [
    (LOG10_2, "50"),
    (1.0 + LOG10_2, "95"),
    (2.0, "99"),
    (3.0, "99.9"),
    (MAX_AT, "max"),
];

const NANOS_PER_MS: f64 = 1e6;

/// The runs of an arm that tell of latency: those of the open loop where there are any.
pub(super) struct Source<'a> {
    arm: &'a ArmView<'a>,
    /// The fixed rate, of an open loop.
    rate_tps: Option<f64>,
    stats: Vec<Entry<'a>>,
}

/// What one run says of one type.
struct Entry<'a> {
    name: &'a str,
    latency_ms: Option<Latency>,
    histogram: Option<&'a str>,
}

/// One type's latencies in one arm.
pub(super) enum Sample {
    /// Of all runs together.
    Merged(Merged),
    /// Percentiles of each run.
    Runs(Vec<Latency>),
}

/// What is shown of a merged histogram.
pub(super) struct Merged {
    count: u64,
    pub(super) max_ms: f64,
    /// Places along the percentiles, and milliseconds.
    curve: Vec<[f64; 2]>,
}

impl<'a> Source<'a> {
    pub(super) fn of(arm: &'a ArmView<'a>) -> Self {
        let steps = || arm.runs.iter().filter_map(|run| run.open_loop.as_ref());
        let rate_tps = steps().map(|step| step.rate_tps).next();
        let stats = if rate_tps.is_some() {
            steps()
                .flat_map(|step| entries(&step.per_transaction, step.latency_ms))
                .collect()
        } else {
            let runs = arm.runs.iter();
            runs.flat_map(|run| entries(&run.per_transaction, run.latency_ms))
                .collect()
        };
        Self {
            arm,
            rate_tps,
            stats,
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.stats.iter().map(|entry| entry.name)
    }

    /// None where the document holds no histograms, or one that cannot be read.
    pub(super) fn merged(&self, name: &str) -> Option<Sample> {
        let texts = self.named(name).filter_map(|entry| entry.histogram);
        merge_histograms(texts).map(|histogram| Sample::Merged(Merged::of(&histogram)))
    }

    pub(super) fn percentiles(&self, name: &str) -> Option<Sample> {
        let runs: Vec<Latency> = self
            .named(name)
            .filter_map(|entry| entry.latency_ms)
            .filter(|latency| latency.count > 0)
            .collect();
        (!runs.is_empty()).then_some(Sample::Runs(runs))
    }

    /// From when latency counts; none where there is none.
    pub(super) fn origin(&self) -> Option<String> {
        if self.stats.is_empty() {
            return None;
        }
        let told = self
            .arm
            .summary
            .and_then(|arm| arm.latency_origin.as_deref());
        Some(match (told, self.rate_tps) {
            (Some(told), _) => told.to_owned(),
            (None, Some(rate)) => format!("intended start (open loop at {})", number::tps(rate)),
            (None, None) => "actual start (closed loop)".to_owned(),
        })
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &Entry<'a>> {
        self.stats.iter().filter(move |entry| entry.name == name)
    }
}

fn entries(stats: &[TransactionStats], overall: Option<Latency>) -> Vec<Entry<'_>> {
    if stats.is_empty() {
        let all = overall.map(|latency| Entry {
            name: ALL,
            latency_ms: Some(latency),
            histogram: None,
        });
        return all.into_iter().collect();
    }
    let each = stats.iter().map(|stats| Entry {
        name: &stats.name,
        latency_ms: stats.latency_ms,
        histogram: stats.histogram.as_deref(),
    });
    each.collect()
}

impl Sample {
    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Merged(merged) => merged.count,
            Self::Runs(runs) => runs.iter().map(|run| run.count).sum(),
        }
    }

    /// The value at one of the marked percentiles of the merged runs; none where too few samples
    /// lie above.
    pub(super) fn ms_at(&self, quantile: f64) -> Option<f64> {
        let Self::Merged(merged) = self else {
            return None;
        };
        let place = nines(quantile);
        let mut curve = merged.curve.iter();
        curve.find(|[x, _]| *x == place).map(|[_, ms]| *ms)
    }

    /// What is drawn: places along the percentiles, and milliseconds.
    pub(super) fn drawn(&self) -> Vec<[f64; 2]> {
        match self {
            Self::Merged(merged) => merged.curve.clone(),
            Self::Runs(runs) => runs.iter().flat_map(run_points).collect(),
        }
    }

    /// Where the arm's name belongs: the curve's end, or the middle of the dots furthest out.
    pub(super) fn end(&self) -> Option<[f64; 2]> {
        match self {
            Self::Merged(merged) => merged.curve.last().copied(),
            Self::Runs(runs) => {
                let most: Vec<f64> = runs.iter().map(|run| run.max).collect();
                Some([MAX_AT, median(&most)?])
            }
        }
    }
}

impl Merged {
    fn of(histogram: &Histogram<u64>) -> Self {
        let places = places(histogram.len());
        // From the first percent on: the least of all is one sample, and would draw a cliff.
        let quantiles = places
            .iter()
            .map(|place| (1.0 - 10_f64.powf(-place)).max(0.01));
        // All in one walk: a histogram is long.
        let values = histogram.value_at_quantiles(quantiles);
        Self {
            count: histogram.len(),
            max_ms: histogram.max() as f64 / NANOS_PER_MS,
            curve: places
                .iter()
                .zip(values)
                .map(|(place, value)| [*place, value.max(1) as f64 / NANOS_PER_MS])
                .collect(),
        }
    }
}

/// Where a curve of so many samples has its points: evenly, at the marks, and at its end.
fn places(count: u64) -> Vec<f64> {
    let end = (count as f64 / LEAST_ABOVE).log10();
    let steps = (end * f64::from(POINTS)).floor().max(0.0) as u32;
    let even = (0..=steps).map(|step| f64::from(step) / f64::from(POINTS));
    let marks = MARKED.into_iter().filter(|mark| supported(*mark, count));
    let mut places: Vec<f64> = even.chain([end]).collect();
    places.retain(|place| (0.0..=end).contains(place));
    places.extend(marks.map(nines));
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

fn run_points(run: &Latency) -> Vec<[f64; 2]> {
    let values = [run.p50, run.p95, run.p99, run.p999];
    let percentiles = MARKED.into_iter().zip(values);
    let mut points: Vec<[f64; 2]> = percentiles
        .filter(|(quantile, _)| supported(*quantile, run.count))
        .map(|(quantile, ms)| [nines(quantile), ms])
        .collect();
    points.push([MAX_AT, run.max]);
    points.retain(|[_, ms]| ms.is_finite() && *ms > 0.0);
    points
}
