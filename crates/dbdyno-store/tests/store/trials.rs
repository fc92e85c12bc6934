//! Trials as they are measured.

use std::collections::BTreeMap;
use std::path::Path;

use dbdyno_model::run::{
    Check, Conditions, DriverUse, Latency, OpenLoop, Phase, Recovery, Second, Segment, ServerUse,
    TransactionStats,
};
use dbdyno_model::tune::{Arm, Load, Machine, Server, Workload};
use dbdyno_model::verdict::Word;
use dbdyno_model::{Class, Facts, Plan, Run, Tune, Verdict};

pub(crate) const NAME: &str = "tune-20261121T214640Z-k3f9";

/// Two pairs, one of them discarded, a recovery of each arm, and a verdict.
pub(crate) fn tune() -> Tune {
    let mut tune = begun();
    for (number, arm, pair) in [
        (1, "shipped", 1),
        (2, "recommended", 1),
        (3, "recommended", 1),
        (4, "shipped", 1),
        (5, "recommended", 2),
        (6, "shipped", 2),
    ] {
        tune.runs.push(run(number, arm, pair));
    }
    for run in &mut tune.runs[..2] {
        run.discarded = Some("the hypervisor took 4.5 % of the CPU time of a run".into());
    }
    for (number, arm) in [(7, "shipped"), (8, "recommended")] {
        tune.runs.push(Run {
            pair: None,
            recovery: Some(Recovery {
                seconds: 4.1,
                written_bytes: Some(483 << 20),
                load_s: 26.0,
            }),
            ..run(number, arm, 0)
        });
    }
    tune.complete = true;
    tune.finished_at = Some("2026-11-21T21:58:10Z".into());
    tune.verdict = Some(Verdict {
        word: Word::Improved,
        base: "shipped".into(),
        arm: "recommended".into(),
        metric: "tps_with_checkpoint".into(),
        ratio: Some(1.312),
        interval: Some([1.252, 1.375]),
        level: 0.95,
        pairs: 2,
        discarded_pairs: 1,
        noise_floor: Some(0.02),
        s_d: Some(0.013),
        delta: 0.05,
        ratio_without_checkpoint: Some(1.298),
        interval_without_checkpoint: Some([1.24, 1.36]),
        p99_ratio: None,
        p99_interval: None,
        workload: "TPC-C".into(),
        machine: tune.machine.summary.clone(),
        caveats: vec!["2 CPUs are shared with the driver".into()],
    });
    tune
}

/// As it is when its first run is about to start.
pub(crate) fn begun() -> Tune {
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/facts/vm-2cpu-postgres15.json");
    let facts: Facts = serde_json::from_slice(&std::fs::read(fixture).unwrap()).unwrap();
    Tune {
        schema: Tune::SCHEMA.into(),
        name: NAME.into(),
        dbdyno_version: "0.1.0".into(),
        command: ["dbdyno", "tune", "--workload", "ordérs \"x\".sql"]
            .map(str::to_owned)
            .into(),
        started_at: "2026-11-21T21:46:40Z".into(),
        finished_at: None,
        complete: false,
        machine: Machine {
            summary: "2 × Intel(R) Xeon(R) Processor, 23.5 GiB, ext4 on vda".into(),
            cpus: Some(2),
            ..Machine::default()
        },
        server: Server {
            engine: "PostgreSQL".into(),
            version: "15.18".into(),
            binaries: None,
            transport: "unix socket".into(),
        },
        target: None,
        workload: Some(Workload {
            name: "TPC-C".into(),
            description: "10 warehouses, 8 connections, no think time".into(),
            seed: u64::MAX,
            ..Workload::default()
        }),
        budget: Some("quick".into()),
        findings: Vec::new(),
        plan: Plan::default(),
        arms: vec![arm("shipped"), arm("recommended")],
        verdict: None,
        prices: Vec::new(),
        consistency: vec![Check {
            name: "3.3.2.1".into(),
            description: "W_YTD = sum(D_YTD)".into(),
            passed: true,
            detail: None,
        }],
        load: Some(Load {
            seconds: 14.2,
            rows: 5_092_432,
            ..Load::default()
        }),
        runs: Vec::new(),
        notes: vec!["no open-loop step in this budget".into()],
        facts,
    }
}

fn arm(name: &str) -> Arm {
    Arm {
        name: name.into(),
        class: Class::Safe,
        settings: BTreeMap::from([("shared_buffers".into(), "5888MB".into())]),
        tps_mean: Some(1_000.0 / 3.0),
        notpm_mean: None,
        runs: 2,
        wal_bytes_per_transaction: Some(20_070.4),
        server_cpu_us_per_transaction: None,
        driver_cpu_us_per_transaction: None,
        checkpoints_requested: Some(3),
        recovery_s: Some(4.1),
        latency_ms: None,
        latency_origin: Some("actual start (closed loop)".into()),
    }
}

/// A minute under load.
pub(crate) fn run(number: u32, arm: &str, pair: u32) -> Run {
    let wave = |second: u32| 1_000.0 + f64::from(second * number % 17) / 3.0;
    let latency = Latency {
        count: 61_234,
        mean: 7.9,
        p50: 7.1,
        p90: Some(12.6),
        p95: 15.3,
        p99: 22.468,
        p999: 61.0,
        max: 245.2,
    };
    Run {
        number,
        arm: arm.into(),
        pair: Some(pair),
        started_at: format!("2026-11-21T21:{:02}:00Z", 46 + number % 13),
        connections: 8,
        seed: u64::from(number) << 40,
        window: Segment {
            seconds: 60.016,
            transactions: 61_234,
        },
        checkpoint: Segment {
            seconds: 1.9,
            transactions: 1_033,
        },
        tps: wave(1),
        tps_with_checkpoint: wave(2),
        notpm: Some(27_000.1),
        warm_up_s: 11.0,
        steady: true,
        slope: Some(-0.003),
        latency_ms: Some(latency),
        per_transaction: vec![TransactionStats {
            name: "new order".into(),
            count: 27_555,
            retries: 2,
            latency_ms: Some(latency),
            histogram: Some("HISTFAAABEN4nJNpmSzMwMDAyQABzFCaEUoz2X+AMgA=".repeat(40)),
        }],
        errors: BTreeMap::from([("40001 could not serialize access".into(), 2)]),
        retries: 2,
        intended_rollbacks: 271,
        server: ServerUse {
            wal_bytes_per_transaction: Some(20_070.4 / 3.0),
            blocks_read: Some(0),
            ..ServerUse::default()
        },
        driver: DriverUse::default(),
        conditions: Conditions {
            steal: Some(0.0071),
            ..Conditions::default()
        },
        series: (1..=60)
            .map(|second| Second {
                at_s: f64::from(second),
                phase: Phase::Closed,
                transactions: u64::from(second) + 1_000,
                p99_ms: Some(wave(second) / 50.0),
                wal_bytes: None,
                ..Second::default()
            })
            .collect(),
        open_loop: Some(OpenLoop {
            rate_tps: 700.0,
            latency_ms: Some(latency),
            ..OpenLoop::default()
        }),
        recovery: None,
        consistency: Vec::new(),
        discarded: None,
    }
}
