//! Trials to compare, and ways to choose from them.

use dbdyno_model::tune::Machine;
use dbdyno_model::verdict::Word;
use dbdyno_model::{Class, Comparison, Tune};

use super::{Chosen, CompareError, Selection, compare};
use crate::testing;

/// Four pairs of 14 March; the recommended arm sets what the plan says.
pub(super) fn march() -> Tune {
    described(testing::tune())
}

/// The same without histograms, which cost a comparison more than all else.
pub(super) fn bare(mut tune: Tune) -> Tune {
    for run in &mut tune.runs {
        run.per_transaction.clear();
        run.series.clear();
        run.open_loop = None;
    }
    tune
}

/// The same command six days later, with another plan and on an upgraded server.
pub(super) fn later() -> Tune {
    let mut tune = described(testing::tune_with(Word::NoDifference));
    tune.name = "tune-20260320T101500Z-p7qd".to_owned();
    tune.started_at = "2026-03-20T10:15:00Z".to_owned();
    for run in &mut tune.runs {
        run.started_at = "2026-03-20T10:20:00Z".to_owned();
    }
    tune.server.version = "17.6".to_owned();
    let settings = &mut tune.arms[1].settings;
    settings.insert("max_wal_size".to_owned(), "16GB".to_owned());
    settings.insert("wal_compression".to_owned(), "lz4".to_owned());
    tune
}

/// The later trial on a larger machine and a larger scale.
pub(super) fn elsewhere() -> Tune {
    let mut tune = later();
    tune.machine = Machine {
        summary: "8 × AMD EPYC 9R14, 61.8 GiB, xfs on nvme1n1, Linux 6.12 (kvm)".to_owned(),
        cpus: Some(8),
        cpu_model: Some("AMD EPYC 9R14".to_owned()),
        memory_bytes: Some(66_357_000_000),
        kernel: Some("6.12".to_owned()),
        storage: Some("xfs on nvme1n1".to_owned()),
        virtualisation: Some("kvm".to_owned()),
    };
    let workload = tune.workload.as_mut().unwrap();
    workload.warehouses = Some(100);
    workload.description = "100 warehouses, 8 connections, no think time".to_owned();
    tune
}

fn described(mut tune: Tune) -> Tune {
    tune.machine.cpus = Some(2);
    tune.machine.cpu_model = Some("Intel(R) Xeon(R) Processor".to_owned());
    tune.machine.memory_bytes = Some(25_276_502_016);
    tune.machine.storage = Some("ext4 on vda".to_owned());
    tune.machine.kernel = Some("6.18".to_owned());
    tune.machine.virtualisation = Some("kvm".to_owned());
    let changes = tune.plan.changes.iter();
    let safe = changes.filter(|change| change.class == Class::Safe);
    tune.arms[1].settings = safe
        .map(|change| (change.setting.clone(), change.to.clone()))
        .collect();
    for arm in &mut tune.arms {
        arm.settings.insert("jit".to_owned(), "off".to_owned());
    }
    tune
}

pub(super) fn arm<'a>(tune: &'a Tune, arm: &str) -> Selection<'a> {
    Selection {
        name: format!("{}:{arm}", tune.name),
        tune,
        runs: Chosen::Arm(arm.to_owned()),
    }
}

pub(super) fn run(tune: &Tune, number: u32) -> Selection<'_> {
    Selection {
        name: format!("{}/{number}", tune.name),
        tune,
        runs: Chosen::Run(number),
    }
}

pub(super) fn compared(selections: &[Selection<'_>]) -> Result<Comparison, CompareError> {
    compare(selections, "2026-03-21T08:00:00Z", "0.1.0")
}

/// Each kept run of the arm at these throughputs, in the order of the pairs.
pub(super) fn at(tune: &mut Tune, arm: &str, tps: &[f64]) {
    let runs = tune
        .runs
        .iter_mut()
        .filter(|run| run.arm == arm && run.pair.is_some());
    for (run, tps) in runs.zip(tps) {
        run.tps_with_checkpoint = *tps;
        run.tps = tps * 1.02;
    }
}
