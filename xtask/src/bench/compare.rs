//! Seconds of `dbdyno compare` and `dbdyno runs list` over a thousand stored runs.

use std::time::Instant;

use dbdyno_model::run::{Second, TransactionStats};
use dbdyno_model::tune::Arm;
use dbdyno_model::{Run, Tune};
use dbdyno_stats::{encode_histogram, new_histogram};
use dbdyno_store::Store;

use super::{dbdyno, median};
use crate::command;

const TRIALS: u32 = 50;
const RUNS: u32 = 20;
const SECONDS: u32 = 45;
const REPEATS: usize = 5;

pub(super) fn run() -> Result<(), String> {
    let directory = super::data_directory().join("compare");
    // Of an earlier run; each begins with a fresh store.
    let _ = std::fs::remove_dir_all(&directory);
    let file = directory.join("store.sqlite");
    let names = fill(&file)?;
    let bytes = std::fs::metadata(&file)
        .map_err(|error| error.to_string())?
        .len();
    let store = file.display().to_string();
    let seconds = |arguments: &[&str]| -> Result<f64, String> {
        let figures: Vec<f64> = (0..REPEATS)
            .map(|_| {
                let begun = Instant::now();
                let mut command = dbdyno(arguments);
                command.args(["--store", &store]);
                command::read(&mut command)?;
                Ok(begun.elapsed().as_secs_f64())
            })
            .collect::<Result<_, String>>()?;
        Ok(median(figures))
    };
    let mut all = vec!["compare"];
    let arms: Vec<String> = names
        .iter()
        .map(|name| format!("{name}:recommended"))
        .collect();
    all.extend(arms.iter().map(String::as_str));
    let compare = seconds(&all)?;
    let list = seconds(&["runs", "list"])?;
    println!(
        "compare: all {TRIALS} trials of {RUNS} runs in {compare:.2} s, runs list {list:.2} s \
         (store of {} MB, median of {REPEATS})",
        bytes / 1_000_000
    );
    std::fs::remove_dir_all(&directory).map_err(|error| error.to_string())
}

/// Trials as large as those of a `normal` budget, from a document that the tests read too.
fn fill(file: &std::path::Path) -> Result<Vec<String>, String> {
    let (mut store, _) = Store::sqlite(file).map_err(|error| error.to_string())?;
    let seed = command::root().join("fuzz/corpus/document/seed-trial.json");
    let bytes = std::fs::read(&seed).map_err(|error| format!("{}: {error}", seed.display()))?;
    let trial = dbdyno_store::read_document(&bytes).map_err(|error| error.to_string())?;
    let shipped = trial.arms.first().ok_or("the document has no arm")?.clone();
    let recommended = Arm {
        name: "recommended".to_owned(),
        ..shipped.clone()
    };
    let mut names = Vec::new();
    for number in 0..TRIALS {
        let tune = Tune {
            name: format!("tune-20260101T{number:06}Z-bnch"),
            runs: (1..=RUNS)
                .map(|run| {
                    let arm = if run % 2 == 0 { &recommended } else { &shipped };
                    synthetic(run, number, &arm.name)
                })
                .collect(),
            arms: vec![shipped.clone(), recommended.clone()],
            ..trial.clone()
        };
        store.save(&tune).map_err(|error| error.to_string())?;
        names.push(tune.name);
    }
    Ok(names)
}

fn synthetic(number: u32, trial: u32, arm: &str) -> Run {
    let tps = 2_000.0 + f64::from((number * 7_919 + trial * 104_729) % 101);
    Run {
        number,
        arm: arm.to_owned(),
        pair: Some(number.div_ceil(2)),
        tps,
        tps_with_checkpoint: tps * 0.98,
        steady: true,
        per_transaction: [
            "new_order",
            "payment",
            "order_status",
            "delivery",
            "stock_level",
        ]
        .map(|name| transactions(name, number))
        .into(),
        series: (1..=SECONDS).map(|at| second(at, tps)).collect(),
        ..Run::default()
    }
}

fn transactions(name: &str, number: u32) -> TransactionStats {
    let mut histogram = new_histogram::<u64>();
    for sample in 0..20_000_u64 {
        let spread = (sample * 2_654_435_761 + u64::from(number)) % 9_000_000;
        // Any latency fits: the histogram grows.
        let _ = histogram.record(1_000_000 + spread);
    }
    TransactionStats {
        name: name.to_owned(),
        count: histogram.len(),
        histogram: Some(encode_histogram(&histogram)),
        ..TransactionStats::default()
    }
}

fn second(at: u32, tps: f64) -> Second {
    Second {
        at_s: at.into(),
        transactions: tps as u64 + u64::from(at * 7_919 % 97),
        p50_ms: Some(2.5),
        p95_ms: Some(6.5),
        p99_ms: Some(11.5),
        wal_bytes: Some(9_000_000 + u64::from(at) * 1_001),
        blocks_hit: Some(300_000 + u64::from(at) * 13),
        blocks_read: Some(u64::from(at) * 3),
        ..Second::default()
    }
}
