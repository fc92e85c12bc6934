//! Realistic documents for the tests of this crate.

use std::collections::BTreeMap;

use dbdyno_model::run::{Check, Latency, Phase, Second, Segment};
use dbdyno_model::tune::{Arm, Machine, Price, Server, Workload};
use dbdyno_model::verdict::Word;
use dbdyno_model::{Class, Facts, Run, Tune, Verdict};
use dbdyno_stats::{interval_of_log_ratios, s_d, smallest_detectable_effect};

mod advice;
mod measured;

pub(crate) use advice::{findings, plan};
pub(crate) use measured::{interrupted, with_dropped_pairs, with_unsafe_runs};

const LEVEL: f64 = 0.9818;

/// Two arms, four pairs in ABBA order, and a plan that helped.
pub(crate) fn tune() -> Tune {
    tune_with(Word::Improved)
}

/// The same with pairs that end in the given word.
pub(crate) fn tune_with(word: Word) -> Tune {
    let ratios: &[f64] = match word {
        Word::Improved => &[1.338, 1.287, 1.325, 1.296],
        Word::Worse => &[0.861, 0.884, 0.852, 0.879],
        Word::NoDifference => &[1.012, 1.004, 1.021, 1.009],
        Word::Undecided => &[1.082, 0.961, 1.104, 1.011],
        Word::TooNoisy => &[1.21, 0.93],
    };
    let runs = runs(ratios);
    let mean = |arm: &str| {
        let tps: Vec<f64> = runs
            .iter()
            .filter(|run| run.arm == arm)
            .map(|run| run.tps_with_checkpoint)
            .collect();
        tps.iter().sum::<f64>() / tps.len() as f64
    };
    let arms = vec![
        arm("shipped", mean("shipped"), 9_120.0, 18.44, 1.83),
        arm("recommended", mean("recommended"), 5_370.0, 12.61, 6.21),
    ];
    Tune {
        schema: Tune::SCHEMA.to_owned(),
        name: "tune-20260314T092653Z-k3f9".to_owned(),
        dbdyno_version: "0.1.0".to_owned(),
        command: vec!["dbdyno".to_owned(), "tune".to_owned()],
        started_at: "2026-03-14T09:26:53Z".to_owned(),
        finished_at: Some("2026-03-14T09:58:10Z".to_owned()),
        complete: true,
        machine: Machine {
            summary: "2 × Intel(R) Xeon(R) Processor, 23.5 GiB, ext4 on vda, Linux 6.18 (kvm)"
                .to_owned(),
            ..Machine::default()
        },
        server: Server {
            engine: "PostgreSQL".to_owned(),
            version: "17.5".to_owned(),
            binaries: None,
            transport: "unix socket".to_owned(),
        },
        target: None,
        workload: Some(Workload {
            name: "TPC-C".to_owned(),
            description: "10 warehouses, 8 connections, no think time".to_owned(),
            connections: 8,
            warehouses: Some(10),
            disclaimer: Some("derived from TPC-C, not comparable with audited results".to_owned()),
            ..Workload::default()
        }),
        budget: Some("normal".to_owned()),
        findings: findings(),
        plan: plan(),
        arms,
        verdict: Some(verdict(word, ratios)),
        prices: Vec::new(),
        consistency: vec![Check {
            name: "3.3.2.1".to_owned(),
            description: "W_YTD = sum(D_YTD)".to_owned(),
            passed: true,
            detail: None,
        }],
        load: None,
        runs,
        notes: Vec::new(),
        facts: Facts::default(),
    }
}

/// Adds an arm that may lose commits and one that may corrupt, with their prices.
pub(crate) fn with_unsafe_arms(mut tune: Tune) -> Tune {
    for (name, class, tps, ratio, interval) in [
        (
            "async-commit",
            Class::MayLoseLastCommits,
            2_920.0,
            1.214,
            [1.152, 1.279],
        ),
        (
            "no-fsync",
            Class::MayCorrupt,
            3_890.0,
            1.617,
            [1.481, 1.766],
        ),
    ] {
        tune.arms.push(Arm {
            class,
            ..arm(name, tps, 9_080.0, 9.7, 2.4)
        });
        tune.prices.push(Price {
            arm: name.to_owned(),
            class,
            base: "shipped".to_owned(),
            ratio: Some(ratio),
            interval: Some(interval),
            level: 0.95,
            pairs: 4,
        });
    }
    tune
}

/// Twenty pairs, and names longer than anybody should give.
pub(crate) fn crowded() -> Tune {
    let ratios: Vec<f64> = (0..20).map(|i| 1.03 + 0.004 * f64::from(i % 7)).collect();
    let mut tune = tune();
    tune.runs = runs(&ratios);
    let mut verdict = verdict(Word::Improved, &ratios);
    for (short, long) in [
        ("shipped", "the configuration that the package ships with"),
        (
            "recommended",
            "what the rules recommend for a machine like this",
        ),
    ] {
        for run in tune.runs.iter_mut().filter(|run| run.arm == short) {
            run.arm = long.to_owned();
        }
        for arm in tune.arms.iter_mut().filter(|arm| arm.name == short) {
            arm.name = long.to_owned();
        }
        for name in [&mut verdict.base, &mut verdict.arm] {
            if *name == short {
                *name = long.to_owned();
            }
        }
    }
    tune.verdict = Some(verdict);
    tune
}

fn arm(name: &str, tps: f64, wal: f64, p99_ms: f64, recovery_s: f64) -> Arm {
    Arm {
        name: name.to_owned(),
        class: Class::Safe,
        settings: BTreeMap::new(),
        tps_mean: Some(tps),
        notpm_mean: None,
        runs: 4,
        wal_bytes_per_transaction: Some(wal),
        server_cpu_us_per_transaction: Some(412.0),
        driver_cpu_us_per_transaction: Some(31.0),
        checkpoints_requested: Some(3),
        recovery_s: Some(recovery_s),
        latency_ms: Some(Latency {
            count: 60_000,
            mean: 3.1,
            p50: 2.6,
            p90: Some(p99_ms * 0.5),
            p95: p99_ms * 0.6,
            p99: p99_ms,
            p999: p99_ms * 2.0,
            max: p99_ms * 4.0,
        }),
        latency_origin: Some("intended start (open loop at 1,690 TPS)".to_owned()),
    }
}

fn verdict(word: Word, ratios: &[f64]) -> Verdict {
    let d: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let interval = interval_of_log_ratios(&d, LEVEL).unwrap();
    let spread = s_d(&d).unwrap();
    let told = word != Word::TooNoisy;
    Verdict {
        word,
        base: "shipped".to_owned(),
        arm: "recommended".to_owned(),
        metric: "tps_with_checkpoint".to_owned(),
        ratio: Some(interval.ratio),
        interval: told.then_some([interval.low, interval.high]),
        level: LEVEL,
        pairs: d.len() as u32,
        discarded_pairs: if told { 0 } else { 2 },
        noise_floor: smallest_detectable_effect(spread, d.len()),
        s_d: Some(spread),
        delta: 0.05,
        ratio_without_checkpoint: Some(interval.ratio * 1.02),
        interval_without_checkpoint: Some([interval.low * 1.02, interval.high * 1.02]),
        p99_ratio: Some(0.684),
        p99_interval: Some([0.62, 0.755]),
        workload: "TPC-C".to_owned(),
        machine: "2 × Intel(R) Xeon(R) Processor".to_owned(),
        caveats: Vec::new(),
    }
}

fn runs(ratios: &[f64]) -> Vec<Run> {
    let mut runs = Vec::new();
    for (index, ratio) in ratios.iter().enumerate() {
        let base = 2_410.0 + 37.0 * (index as f64 - 1.5);
        let mut pair = [("shipped", base), ("recommended", base * ratio)];
        if index % 2 == 1 {
            pair.reverse();
        }
        for (arm, tps) in pair {
            runs.push(run(runs.len() as u32 + 1, index as u32 + 1, arm, tps));
        }
    }
    runs
}

fn run(number: u32, pair: u32, arm: &str, tps: f64) -> Run {
    // The shipped configuration runs into a checkpoint every twenty seconds.
    let checkpoints: &[u32] = if arm == "shipped" {
        &[14, 34, 54]
    } else {
        &[41]
    };
    Run {
        number,
        arm: arm.to_owned(),
        pair: Some(pair),
        started_at: "2026-03-14T09:30:00Z".to_owned(),
        connections: 8,
        window: Segment {
            seconds: 60.0,
            transactions: (tps * 60.0) as u64,
        },
        checkpoint: Segment {
            seconds: 4.0,
            transactions: (tps * 3.0) as u64,
        },
        tps_with_checkpoint: tps,
        tps: tps * 1.02,
        steady: true,
        series: (1..=64)
            .map(|at| second(at, tps, number, checkpoints))
            .collect(),
        warm_up_s: f64::from(if arm == "shipped" { 2 } else { 4 + number % 3 }),
        ..measured::figures(number, pair, arm)
    }
}

/// A second that dips for a while after each checkpoint, with noise that is the same every time.
fn second(at: u32, tps: f64, seed: u32, checkpoints: &[u32]) -> Second {
    let hash = (at * 7_919 + seed * 104_729).wrapping_mul(2_654_435_761) >> 16;
    let noise = f64::from(hash % 1_000) / 1_000.0 - 0.5;
    let since = checkpoints
        .iter()
        .filter(|c| **c <= at)
        .map(|c| at - c)
        .min();
    let dip = since.map_or(0.0, |since| 0.35 * (-f64::from(since) / 4.0).exp());
    let closing = at > 60;
    Second {
        at_s: f64::from(at),
        phase: if closing {
            Phase::Checkpoint
        } else {
            Phase::Closed
        },
        transactions: (tps * (1.06 + 0.1 * noise - dip) * if closing { 0.75 } else { 1.0 }) as u64,
        checkpoints_requested: Some(u64::from(checkpoints.contains(&at))),
        checkpoints_timed: Some(0),
        ..Second::default()
    }
}

/// Escape codes written so that a snapshot shows them.
pub(crate) fn visible_escapes(text: &str) -> String {
    text.replace('\u{1b}', "␛")
}

/// The text without its escape codes.
pub(crate) fn without_colour(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    plain + rest
}
