//! What runs measured beside their throughput, and trials that did not go smoothly.

use dbdyno_model::Tune;
use dbdyno_model::run::{DriverUse, Latency, OpenLoop, Recovery, Run, ServerUse, TransactionStats};
use dbdyno_model::verdict::Word;
use dbdyno_stats::{encode_histogram, new_histogram};

/// Name, share of all transactions in percent, and median milliseconds of each type.
const TYPES: [(&str, u64, f64); 5] = [
    ("new_order", 45, 3.4),
    ("payment", 43, 2.2),
    ("order_status", 4, 0.62),
    ("delivery", 4, 4.1),
    ("stock_level", 4, 2.5),
];

/// Arrivals of the open loop, the same for all arms.
const RATE_TPS: f64 = 1_690.0;
const OPEN_LOOP_S: u64 = 15;

/// What is characteristic of an arm.
struct Character {
    wal: f64,
    cpu_us: f64,
    hit: f64,
    /// How far slow transactions are from the median.
    tail: f64,
    speed: f64,
}

fn character(arm: &str) -> Character {
    let (wal, cpu_us, hit, tail, speed) = match arm {
        "shipped" => (9_120.0, 412.0, 0.962, 0.42, 1.0),
        "recommended" => (5_370.0, 412.0, 0.997, 0.33, 0.86),
        "async-commit" => (9_080.0, 412.0, 0.963, 0.41, 0.7),
        _ => (9_080.0, 412.0, 0.963, 0.36, 0.52),
    };
    Character {
        wal,
        cpu_us,
        hit,
        tail,
        speed,
    }
}

/// Latencies, counters and the open-loop step of a run: its rate is known after the first pair.
pub(super) fn figures(number: u32, pair: u32, arm: &str) -> Run {
    let character = character(arm);
    let jitter = 1.0 + 0.02 * (f64::from(number * 7 % 5) - 2.0);
    let blocks = 7_400_000.0 * jitter;
    Run {
        per_transaction: latencies(&character, 9_000, jitter),
        server: ServerUse {
            cpu_us_per_transaction: Some(character.cpu_us * jitter),
            wal_bytes_per_transaction: Some(character.wal * jitter),
            blocks_hit: Some((blocks * (1.0 - (1.0 - character.hit) * jitter)) as u64),
            blocks_read: Some((blocks * (1.0 - character.hit) * jitter) as u64),
            ..ServerUse::default()
        },
        driver: DriverUse {
            cpu_us_per_transaction: Some(31.0 * jitter),
            threads: 1,
            ..DriverUse::default()
        },
        open_loop: (pair > 1).then(|| OpenLoop {
            rate_tps: RATE_TPS,
            seconds: OPEN_LOOP_S as f64,
            transactions: RATE_TPS as u64 * OPEN_LOOP_S,
            per_transaction: latencies(&character, RATE_TPS as u64 * OPEN_LOOP_S, jitter),
            ..OpenLoop::default()
        }),
        ..Run::default()
    }
}

fn latencies(character: &Character, transactions: u64, jitter: f64) -> Vec<TransactionStats> {
    let of = |(name, percent, median): (&str, u64, f64)| {
        let count = transactions * percent / 100;
        let mut histogram = new_histogram::<u64>();
        let ms_at = |share: f64| {
            median * character.speed * jitter * (share / (1.0 - share)).powf(character.tail)
        };
        // Recording each would take the tests minutes: groups that get smaller towards the tail.
        let mut recorded = 0;
        while recorded < count {
            let group = (count - recorded).div_ceil(20);
            let ms = ms_at((recorded as f64 + 0.5 * group as f64) / count as f64);
            histogram.record_n((ms * 1e6) as u64, group).unwrap();
            recorded += group;
        }
        TransactionStats {
            name: name.to_owned(),
            count,
            retries: 0,
            latency_ms: Some(Latency {
                count,
                mean: histogram.mean() / 1e6,
                p50: ms_at(0.5),
                p90: Some(ms_at(0.9)),
                p95: ms_at(0.95),
                p99: ms_at(0.99),
                p999: ms_at(0.999),
                max: histogram.max() as f64 / 1e6,
            }),
            histogram: Some(encode_histogram(&histogram)),
        }
    };
    TYPES.map(of).to_vec()
}

/// The same trial with runs of its unsafe arms, and a kill of every arm.
pub(crate) fn with_unsafe_runs(tune: Tune) -> Tune {
    let mut tune = super::with_unsafe_arms(tune);
    let pairs = tune.verdict.as_ref().map_or(0, |verdict| verdict.pairs);
    for pair in 1..=pairs {
        for (arm, tps) in [("async-commit", 2_920.0), ("no-fsync", 3_890.0)] {
            let number = tune.runs.len() as u32 + 1;
            tune.runs.push(super::run(number, pair, arm, tps));
        }
    }
    for (arm, seconds) in tune.arms.iter().map(|arm| (&arm.name, arm.recovery_s)) {
        tune.runs.push(Run {
            number: tune.runs.len() as u32 + 1,
            arm: arm.clone(),
            recovery: seconds.map(|seconds| Recovery {
                seconds,
                written_bytes: Some(787_201_712),
                load_s: 26.0,
            }),
            ..Run::default()
        });
    }
    tune
}

/// The same trial with a pair that steal spoilt, and one that a dead server cut short.
pub(crate) fn with_dropped_pairs(mut tune: Tune) -> Tune {
    let dropped = |number, pair, arm, tps, why: &str| Run {
        discarded: Some(why.to_owned()),
        ..super::run(number, pair, arm, tps)
    };
    let stolen = "the hypervisor took 0.4 % of the CPU time of one run and 3.1 % of another";
    let died = "the server went away during run 52 (recommended): it was killed";
    tune.runs.splice(
        2..2,
        [
            dropped(50, 2, "recommended", 2_604.0, stolen),
            dropped(51, 2, "shipped", 2_377.0, stolen),
            dropped(53, 2, "shipped", 2_391.0, died),
        ],
    );
    if let Some(verdict) = &mut tune.verdict {
        verdict.discarded_pairs = 2;
    }
    tune
}

/// A trial that was interrupted after its first pair, before seconds were kept.
pub(crate) fn interrupted() -> Tune {
    let mut tune = super::tune_with(Word::Undecided);
    tune.complete = false;
    tune.finished_at = None;
    tune.runs.truncate(2);
    for run in &mut tune.runs {
        run.series.clear();
    }
    for arm in &mut tune.arms {
        arm.runs = 1;
        let run = tune.runs.iter().find(|run| run.arm == arm.name);
        arm.tps_mean = run.map(|run| run.tps_with_checkpoint);
        arm.latency_origin = Some("actual start (closed loop)".to_owned());
        arm.recovery_s = None;
    }
    if let Some(verdict) = &mut tune.verdict {
        verdict.pairs = 1;
        verdict.interval = None;
        verdict.noise_floor = None;
        verdict.s_d = None;
        verdict.ratio_without_checkpoint = None;
        verdict.interval_without_checkpoint = None;
        verdict.p99_ratio = None;
        verdict.p99_interval = None;
    }
    tune
}
