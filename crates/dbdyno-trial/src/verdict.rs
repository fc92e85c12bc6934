//! From the kept pairs to the verdict, the prices and the figures of each arm.

use dbdyno_bench::driver::summarise;
use dbdyno_model::run::{Latency, Run, TransactionStats};
use dbdyno_model::tune::{Arm, Price};
use dbdyno_model::verdict::{Verdict, Word};
use dbdyno_model::words::{plural, verb};
use dbdyno_stats::{Design, Interval, interval_of_log_ratios, judge, merge_histograms};

use crate::arm::ArmSpec;
use crate::trial::Spec;

pub(crate) const METRIC: &str = "tps_with_checkpoint";
/// Secondary intervals are printed at the usual level; nothing is decided by them.
const SECONDARY_LEVEL: f64 = 0.95;
/// Mean fraction of CPU time stolen from which the verdict says so.
const WORTH_SAYING_STEAL: f64 = 0.01;

/// ln(arm / base) of one figure, for each kept pair that has it on both sides.
pub(crate) fn log_ratios(
    runs: &[Run],
    base: &str,
    arm: &str,
    figure: impl Fn(&Run) -> Option<f64>,
) -> Vec<f64> {
    let kept = |name: &str, pair: u32| {
        runs.iter()
            .find(|run| run.arm == name && run.pair == Some(pair) && run.discarded.is_none())
    };
    let pairs = runs.iter().filter_map(|run| run.pair).max().unwrap_or(0);
    (1..=pairs)
        .filter_map(|pair| {
            let base = figure(kept(base, pair)?).filter(|figure| *figure > 0.0)?;
            let arm = figure(kept(arm, pair)?).filter(|figure| *figure > 0.0)?;
            Some((arm / base).ln())
        })
        .collect()
}

fn bounds(interval: Option<Interval>) -> Option<[f64; 2]> {
    interval.map(|interval| [interval.low, interval.high])
}

/// What the pairs so far say of the second arm against the first.
pub(crate) fn verdict(spec: &Spec, runs: &[Run], discarded: u32, too_noisy: bool) -> Verdict {
    let (base, arm) = (&spec.arms[0].name, &spec.arms[1].name);
    let design: &Design = &spec.budget.design;
    let logs = log_ratios(runs, base, arm, |run| Some(run.tps_with_checkpoint));
    let judgement = judge(design, &logs);
    let word = if too_noisy {
        Word::TooNoisy
    } else {
        word(judgement.word)
    };
    // Between looks nothing is decided, but the reader may see where it is going.
    let shown = judgement
        .interval
        .or_else(|| interval_of_log_ratios(&logs, design.level()));
    let secondary = |figure: fn(&Run) -> Option<f64>| {
        interval_of_log_ratios(&log_ratios(runs, base, arm, figure), SECONDARY_LEVEL)
    };
    let without = secondary(|run| Some(run.tps));
    let p99 = secondary(|run| Some(run.open_loop.as_ref()?.latency_ms?.p99));
    Verdict {
        word,
        base: base.clone(),
        arm: arm.clone(),
        metric: METRIC.to_owned(),
        ratio: shown
            .map(|interval| interval.ratio)
            .or_else(|| logs.first().map(|log| log.exp())),
        interval: bounds(shown),
        level: design.level(),
        pairs: logs.len() as u32,
        discarded_pairs: discarded,
        noise_floor: judgement.noise_floor,
        s_d: judgement.s_d,
        delta: design.delta,
        ratio_without_checkpoint: without.map(|interval| interval.ratio),
        interval_without_checkpoint: bounds(without),
        p99_ratio: p99.map(|interval| interval.ratio),
        p99_interval: bounds(p99),
        workload: spec.workload_text.clone(),
        machine: spec.machine.clone(),
        caveats: caveats(spec, runs),
    }
}

fn word(word: dbdyno_stats::Word) -> Word {
    match word {
        dbdyno_stats::Word::Improved => Word::Improved,
        dbdyno_stats::Word::Worse => Word::Worse,
        dbdyno_stats::Word::NoDifference => Word::NoDifference,
        dbdyno_stats::Word::Undecided => Word::Undecided,
        dbdyno_stats::Word::TooNoisy => Word::TooNoisy,
    }
}

fn caveats(spec: &Spec, runs: &[Run]) -> Vec<String> {
    let mut caveats = spec.caveats.clone();
    let judged: Vec<&Run> = runs
        .iter()
        .filter(|run| run.pair.is_some() && run.discarded.is_none())
        .collect();
    let unsteady = judged.iter().filter(|run| !run.steady).count();
    if unsteady > 0 {
        caveats.push(format!(
            "{unsteady} of {} {} not steady: the throughput still drifted",
            plural(judged.len() as u64, "run"),
            verb(unsteady as u64, "was", "were")
        ));
    }
    let stolen: Vec<f64> = judged
        .iter()
        .filter_map(|run| run.conditions.steal)
        .collect();
    let mean = stolen.iter().sum::<f64>() / stolen.len() as f64;
    if mean > WORTH_SAYING_STEAL {
        caveats.push(format!(
            "the hypervisor took {:.0} % of the CPU time on average: the rates are those of a shared machine",
            100.0 * mean
        ));
    }
    caveats
}

/// What giving up safety bought in this trial, per unsafe arm.
pub(crate) fn prices(spec: &Spec, runs: &[Run]) -> Vec<Price> {
    let base = &spec.arms[0].name;
    spec.arms
        .iter()
        .skip(2)
        .map(|arm| {
            let logs = log_ratios(runs, base, &arm.name, |run| Some(run.tps_with_checkpoint));
            let interval = interval_of_log_ratios(&logs, SECONDARY_LEVEL);
            Price {
                arm: arm.name.clone(),
                class: arm.class,
                base: base.clone(),
                ratio: interval.map(|interval| interval.ratio),
                interval: bounds(interval),
                level: SECONDARY_LEVEL,
                pairs: logs.len() as u32,
            }
        })
        .collect()
}

/// What the kept runs of an arm came to.
pub(crate) fn arm(spec: &ArmSpec, runs: &[Run]) -> Arm {
    let kept: Vec<&Run> = runs
        .iter()
        .filter(|run| run.arm == spec.name && run.pair.is_some() && run.discarded.is_none())
        .collect();
    let mean = |figure: &dyn Fn(&Run) -> Option<f64>| {
        let figures: Vec<f64> = kept.iter().filter_map(|run| figure(run)).collect();
        (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
    };
    let recovery = runs
        .iter()
        .filter(|run| run.arm == spec.name)
        .find_map(|run| run.recovery.map(|recovery| recovery.seconds));
    let open_loop_rate = kept
        .iter()
        .find_map(|run| run.open_loop.as_ref().map(|step| step.rate_tps));
    let (latency_ms, origin) = match open_loop_rate {
        Some(rate) => (
            merged_latency(
                kept.iter()
                    .filter_map(|run| run.open_loop.as_ref())
                    .flat_map(|step| &step.per_transaction),
            ),
            format!("intended start (open loop at {rate:.0} TPS)"),
        ),
        None => (
            merged_latency(kept.iter().flat_map(|run| &run.per_transaction)),
            "actual start (closed loop)".to_owned(),
        ),
    };
    Arm {
        name: spec.name.clone(),
        class: spec.class,
        settings: spec.settings.clone(),
        tps_mean: mean(&|run| Some(run.tps_with_checkpoint)),
        notpm_mean: mean(&|run| run.notpm),
        runs: kept.len() as u32,
        wal_bytes_per_transaction: mean(&|run| run.server.wal_bytes_per_transaction),
        server_cpu_us_per_transaction: mean(&|run| run.server.cpu_us_per_transaction),
        driver_cpu_us_per_transaction: mean(&|run| run.driver.cpu_us_per_transaction),
        checkpoints_requested: kept
            .iter()
            .map(|run| run.server.checkpoints_requested)
            .sum::<Option<u64>>()
            .filter(|_| !kept.is_empty()),
        recovery_s: recovery,
        latency_origin: latency_ms.map(|_| origin),
        latency_ms,
    }
}

/// Percentiles of all the runs' latencies together, which are not the mean of their percentiles.
fn merged_latency<'a>(stats: impl Iterator<Item = &'a TransactionStats>) -> Option<Latency> {
    let merged = merge_histograms(stats.filter_map(|stats| stats.histogram.as_deref()))?;
    summarise(&merged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_stats::{encode_histogram, new_histogram};

    fn run(arm: &str, pair: u32, tps: f64, discarded: bool) -> Run {
        Run {
            arm: arm.into(),
            pair: Some(pair),
            tps_with_checkpoint: tps,
            discarded: discarded.then(|| "steal".to_owned()),
            ..Run::default()
        }
    }

    #[test]
    fn latencies_are_merged_not_averaged() {
        let of = |values: &[u64]| TransactionStats {
            histogram: Some(encode_histogram(&values.iter().fold(
                new_histogram::<u64>(),
                |mut histogram, value| {
                    histogram.record(*value).unwrap();
                    histogram
                },
            ))),
            ..TransactionStats::default()
        };
        let fast = of(&[1_000_000; 99]);
        let slow = of(&[100_000_000]);
        let merged = merged_latency([&fast, &slow].into_iter()).unwrap();
        assert_eq!(merged.count, 100);
        // The mean of the two p50 would be 50 ms.
        assert!((merged.p50 - 1.0).abs() < 0.01 && (merged.p99 - 1.0).abs() < 0.01);
        assert!((merged.max - 100.0).abs() < 0.2);
        assert!(merged_latency(std::iter::empty()).is_none());
    }

    #[test]
    fn only_whole_kept_pairs_count() {
        let runs = [
            run("a", 1, 100.0, false),
            run("b", 1, 120.0, false),
            run("a", 2, 100.0, true),
            run("b", 2, 500.0, true),
            // Repeated under the same number.
            run("b", 2, 110.0, false),
            run("a", 2, 100.0, false),
            run("a", 3, 100.0, false),
        ];
        let logs = log_ratios(&runs, "a", "b", |run| Some(run.tps_with_checkpoint));
        assert_eq!(logs.len(), 2);
        assert!((logs[0].exp() - 1.2).abs() < 1e-12 && (logs[1].exp() - 1.1).abs() < 1e-12);
    }
}
