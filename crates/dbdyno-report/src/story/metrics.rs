//! What each arm came to: one row a metric, one column an arm, with the interval of its ratio.

use dbdyno_model::run::Latency;
use dbdyno_model::tune::Arm;
use dbdyno_model::verdict::Word;
use dbdyno_model::{Class, Run, Tune, Verdict};
use dbdyno_stats::interval_of_log_ratios;

use super::is_kept;
use super::rounds::log_ratios;
use crate::number;

/// Secondary intervals have the usual level; nothing is decided by them.
const LEVEL: f64 = 0.95;

/// Arms beside each other. Without pairs `ratio` is empty in every row, and so is its heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Metrics {
    pub(crate) arms: Vec<String>,
    pub(crate) ratio: Option<String>,
    pub(crate) rows: Vec<Row>,
    /// How the numbers are to be read.
    pub(crate) notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) values: Vec<String>,
    pub(crate) ratio: String,
}

type Figure = fn(&Run) -> Option<f64>;
type Percentile = fn(&Latency) -> f64;

/// The table of the safe arms; what the unsafe ones measured stands with their price.
pub(crate) fn metrics(tune: &Tune) -> Option<Metrics> {
    let arms = shown_arms(tune);
    if arms.is_empty() {
        return None;
    }
    let judged = tune
        .verdict
        .as_ref()
        .filter(|verdict| verdict.word != Word::TooNoisy && verdict.interval.is_some());
    let mut rows = throughput(tune, &arms, judged);
    rows.extend(latencies(&arms, judged));
    rows.extend(costs(tune, &arms, judged));
    rows.retain(|row| row.values.iter().any(|value| value != number::MISSING));
    Some(Metrics {
        arms: arms.iter().map(|arm| arm.name.clone()).collect(),
        ratio: judged.map(|verdict| format!("{} / {}", verdict.arm, verdict.base)),
        rows,
        notes: notes(&arms, judged),
    })
}

/// Base first, the judged arm next, then other safe ones; in an unjudged trial as they come.
pub(crate) fn shown_arms(tune: &Tune) -> Vec<&Arm> {
    let rank = |arm: &Arm| match &tune.verdict {
        Some(verdict) if arm.name == verdict.base => 0,
        Some(verdict) if arm.name == verdict.arm => 1,
        _ => 2,
    };
    let mut arms: Vec<&Arm> = tune
        .arms
        .iter()
        .filter(|arm| rank(arm) < 2 || arm.class == Class::Safe)
        .collect();
    arms.sort_by_key(|arm| rank(arm));
    arms
}

fn throughput(tune: &Tune, arms: &[&Arm], judged: Option<&Verdict>) -> Vec<Row> {
    let charged = judged.and_then(|verdict| verdict.ratio.zip(verdict.interval));
    let without = judged.and_then(|verdict| {
        verdict
            .ratio_without_checkpoint
            .zip(verdict.interval_without_checkpoint)
    });
    vec![
        row(
            "TPS, checkpoint charged",
            arms,
            |arm| arm.tps_mean.map(number::measured),
            told(charged),
        ),
        row(
            "TPS, checkpoint not charged",
            arms,
            |arm| mean(tune, arm, |run| Some(run.tps)).map(number::measured),
            told(without),
        ),
        row(
            "new orders a minute",
            arms,
            |arm| arm.notpm_mean.map(number::measured),
            secondary(tune, judged, |run| run.notpm),
        ),
    ]
}

fn latencies(arms: &[&Arm], judged: Option<&Verdict>) -> Vec<Row> {
    let percentiles: [(&str, Percentile); 5] = [
        ("latency p50", |latency| latency.p50),
        ("latency p95", |latency| latency.p95),
        ("latency p99", |latency| latency.p99),
        ("latency p99.9", |latency| latency.p999),
        ("latency, longest", |latency| latency.max),
    ];
    let p99 = judged.and_then(|verdict| verdict.p99_ratio.zip(verdict.p99_interval));
    percentiles
        .into_iter()
        .map(|(name, figure)| {
            row(
                name,
                arms,
                |arm| Some(number::duration_ms(figure(arm.latency_ms.as_ref()?))),
                told(p99.filter(|_| name == "latency p99")),
            )
        })
        .collect()
}

fn costs(tune: &Tune, arms: &[&Arm], judged: Option<&Verdict>) -> Vec<Row> {
    let wal: Figure = |run| run.server.wal_bytes_per_transaction;
    let server_cpu: Figure = |run| run.server.cpu_us_per_transaction;
    let driver_cpu: Figure = |run| run.driver.cpu_us_per_transaction;
    let micros = |us: f64| number::duration(us / 1e6);
    vec![
        row(
            "WAL per transaction",
            arms,
            |arm| {
                let bytes = arm.wal_bytes_per_transaction?;
                Some(number::bytes(bytes.round() as u64))
            },
            secondary(tune, judged, wal),
        ),
        row(
            "server CPU per transaction",
            arms,
            |arm| arm.server_cpu_us_per_transaction.map(micros),
            secondary(tune, judged, server_cpu),
        ),
        row(
            "driver CPU per transaction",
            arms,
            |arm| arm.driver_cpu_us_per_transaction.map(micros),
            secondary(tune, judged, driver_cpu),
        ),
        row(
            "buffer hits",
            arms,
            |arm| mean(tune, arm, buffer_hits).map(number::share),
            String::new(),
        ),
        row(
            "checkpoints requested",
            arms,
            |arm| arm.checkpoints_requested.map(number::count),
            String::new(),
        ),
        row(
            "recovery after a kill",
            arms,
            |arm| arm.recovery_s.map(number::duration),
            String::new(),
        ),
        row(
            "kept runs",
            arms,
            |arm| Some(number::count(arm.runs.into())),
            String::new(),
        ),
    ]
}

/// Share of block reads that found their page in shared buffers.
fn buffer_hits(run: &Run) -> Option<f64> {
    let (hit, read) = (
        run.server.blocks_hit? as f64,
        run.server.blocks_read? as f64,
    );
    (hit + read > 0.0).then(|| hit / (hit + read))
}

fn row(name: &str, arms: &[&Arm], value: impl Fn(&Arm) -> Option<String>, ratio: String) -> Row {
    Row {
        name: name.to_owned(),
        values: arms
            .iter()
            .map(|arm| number::or_missing(value(arm), |text| text))
            .collect(),
        ratio,
    }
}

/// A ratio with its interval; never without.
fn told(ratio: Option<(f64, [f64; 2])>) -> String {
    ratio.map_or_else(String::new, |(ratio, interval)| {
        number::ratio(ratio, interval)
    })
}

fn secondary(tune: &Tune, judged: Option<&Verdict>, figure: Figure) -> String {
    let interval = judged
        .and_then(|verdict| interval_of_log_ratios(&log_ratios(tune, verdict, figure), LEVEL));
    told(interval.map(|interval| (interval.ratio, [interval.low, interval.high])))
}

/// Mean of a figure over the arm's kept runs; unknown where one of them lacks it.
fn mean(tune: &Tune, arm: &Arm, figure: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
    let kept = tune
        .runs
        .iter()
        .filter(|run| is_kept(run) && run.arm == arm.name);
    let values: Vec<f64> = kept.map(figure).collect::<Option<_>>()?;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn notes(arms: &[&Arm], judged: Option<&Verdict>) -> Vec<String> {
    let mut notes = Vec::new();
    let mut origins: Vec<&str> = arms
        .iter()
        .filter(|arm| arm.latency_ms.is_some())
        .filter_map(|arm| arm.latency_origin.as_deref())
        .collect();
    origins.dedup();
    match origins.as_slice() {
        [] => {}
        [origin] => notes.push(format!("Latency counts from the {origin}.")),
        _ => notes.push(format!(
            "Latency does not compare: it counts from the {}.",
            origins.join(", then the ")
        )),
    }
    if let Some(verdict) = judged {
        notes.push(format!(
            "Only the first ratio is judged, by its {} interval; the others are secondary, at 95 %, and decide nothing.",
            number::level(verdict.level)
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn every_arm_has_a_value_in_every_row() {
        let mut tune = testing::with_unsafe_arms(testing::tune());
        tune.runs[0].server.blocks_hit = None;
        let metrics = metrics(&tune).unwrap();
        assert_eq!(metrics.arms, ["shipped", "recommended"]);
        assert!(metrics.rows.iter().all(|row| row.values.len() == 2));
        assert_eq!(metrics.rows[0].ratio, "1.31 (1.26 to 1.37)");
        let p99 = metrics.rows.iter().find(|row| row.name == "latency p99");
        assert_eq!(p99.unwrap().ratio, "0.68 (0.62 to 0.76)");
        let hits = metrics.rows.iter().find(|row| row.name == "buffer hits");
        assert_eq!(
            hits.unwrap().values,
            ["–", "99.7 %"],
            "of one run nobody knows it"
        );
    }

    #[test]
    fn a_secondary_ratio_has_the_interval_of_its_pairs() {
        let mut tune = testing::tune();
        for run in &mut tune.runs {
            let cost = if run.arm == "shipped" { 400.0 } else { 300.0 };
            run.server.cpu_us_per_transaction = Some(cost + f64::from(run.number));
        }
        let ratio = |tune: &Tune| {
            let rows = metrics(tune).unwrap().rows;
            rows.into_iter()
                .find(|row| row.name.starts_with("server CPU"))
                .unwrap()
                .ratio
        };
        assert!(ratio(&tune).starts_with("0.75"), "{}", ratio(&tune));
        tune.runs[0].discarded = Some("steal".to_owned());
        tune.runs[2].discarded = Some("steal".to_owned());
        tune.runs[4].discarded = Some("steal".to_owned());
        assert_eq!(ratio(&tune), "", "one pair has no interval");
    }

    #[test]
    fn noise_leaves_values_and_takes_ratios() {
        let metrics = metrics(&testing::tune_with(Word::TooNoisy)).unwrap();
        assert_eq!(metrics.ratio, None);
        assert!(metrics.rows.iter().all(|row| row.ratio.is_empty()));
    }

    #[test]
    fn no_arms_no_table() {
        let mut tune = testing::tune();
        tune.arms.clear();
        assert_eq!(metrics(&tune), None);
    }
}
