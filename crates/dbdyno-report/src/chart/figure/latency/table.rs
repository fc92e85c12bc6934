//! The percentiles of each type and arm as text.

use dbdyno_model::run::Latency;

use super::source::Sample;
use super::{MARKED, Type, supported};
use crate::chart::figure::{FigureTable, extent, median, with_spread};
use crate::number;

pub(super) fn table(types: &[Type<'_>]) -> FigureTable {
    let head = [
        "transaction",
        "arm",
        "p50, ms",
        "p95, ms",
        "p99, ms",
        "p99.9, ms",
        "max, ms",
        "count",
    ];
    let rows = types.iter().flat_map(|kind| {
        kind.samples.iter().map(|(arm, sample)| {
            let mut row = vec![kind.name.clone(), arm.name.to_owned()];
            row.extend(MARKED.map(|quantile| percentile(sample, quantile)));
            row.push(most(sample));
            row.push(number::count(sample.count()));
            row
        })
    });
    let single = types
        .iter()
        .flat_map(|kind| &kind.samples)
        .any(|(_, sample)| matches!(sample, Sample::Runs(_)));
    let of_runs = if single {
        "; of several runs, the median (min to max)"
    } else {
        ""
    };
    FigureTable {
        caption: format!(
            "Latency by transaction and arm; – where fewer than 10 samples lie above{of_runs}"
        ),
        head: head.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

/// A percentile in milliseconds; of runs that cannot be merged, the median and the spread.
pub(super) fn percentile(sample: &Sample, quantile: f64) -> String {
    match sample {
        Sample::Merged(_) => number::or_missing(sample.ms_at(quantile), number::measured),
        Sample::Runs(runs) => of_runs(runs, |run| {
            let value = match quantile {
                q if q < 0.9 => run.p50,
                q if q < 0.97 => run.p95,
                q if q < 0.995 => run.p99,
                _ => run.p999,
            };
            supported(quantile, run.count).then_some(value)
        }),
    }
}

fn most(sample: &Sample) -> String {
    match sample {
        Sample::Merged(merged) => number::measured(merged.max_ms),
        Sample::Runs(runs) => of_runs(runs, |run| Some(run.max)),
    }
}

fn of_runs(runs: &[Latency], value: impl Fn(&Latency) -> Option<f64>) -> String {
    let values: Vec<f64> = runs.iter().filter_map(value).collect();
    number::or_missing(median(&values), |median| {
        let spread = extent(values.iter().copied());
        with_spread(median, spread, values.len(), number::measured)
    })
}
