//! From a selection to its runs, and from those to the figures of a group.

use std::collections::BTreeMap;

use dbdyno_model::Tune;
use dbdyno_model::comparison::{Group, Spread};
use dbdyno_model::run::{Latency, Run, TransactionStats};
use dbdyno_model::tune::{Arm, Workload};
use dbdyno_stats::{merge_histograms, s_d};

use super::{Chosen, CompareError, Selection};

/// A selection with the runs that it names.
#[derive(Debug, Clone)]
pub(super) struct Picked<'a> {
    pub(super) name: &'a str,
    pub(super) tune: &'a Tune,
    pub(super) arm: &'a str,
    /// Of a run that was chosen alone.
    pub(super) number: Option<u32>,
    /// At least one.
    pub(super) runs: Vec<&'a Run>,
}

impl<'a> Picked<'a> {
    pub(super) fn new(selection: &'a Selection<'a>) -> Result<Self, CompareError> {
        match &selection.runs {
            Chosen::Arm(arm) => Self::arm(selection, arm),
            Chosen::Run(number) => Self::run(selection, *number),
        }
    }

    fn arm(selection: &'a Selection<'a>, arm: &'a str) -> Result<Self, CompareError> {
        let Selection { name, tune, .. } = selection;
        let there = arms(tune);
        if !there.iter().any(|there| there == arm) {
            return Err(CompareError::NoSuchArm {
                name: name.clone(),
                arm: arm.to_owned(),
                there,
            });
        }
        let runs = kept(tune, arm);
        if runs.is_empty() {
            let discarded = |run: &&Run| run.arm == arm && run.discarded.is_some();
            return Err(CompareError::NoFinishedRun {
                name: name.clone(),
                arm: arm.to_owned(),
                discarded: tune
                    .runs
                    .iter()
                    .filter(discarded)
                    .map(|run| run.number)
                    .collect(),
            });
        }
        Ok(Self {
            name,
            tune,
            arm,
            number: None,
            runs,
        })
    }

    fn run(selection: &'a Selection<'a>, number: u32) -> Result<Self, CompareError> {
        let Selection { name, tune, .. } = selection;
        let Some(run) = tune.runs.iter().find(|run| run.number == number) else {
            let measured = tune.runs.iter().filter(|run| run.recovery.is_none());
            return Err(CompareError::NoSuchRun {
                name: name.clone(),
                number,
                there: measured.map(|run| run.number).collect(),
            });
        };
        if run.recovery.is_some() {
            return Err(CompareError::KilledRun {
                name: name.clone(),
                number,
                arm: run.arm.clone(),
            });
        }
        Ok(Self {
            name,
            tune,
            arm: &run.arm,
            number: Some(number),
            runs: vec![run],
        })
    }

    /// Whether both are of one trial, be it the same document or two copies of it.
    pub(super) fn shares_trial(&self, other: &Self) -> bool {
        let (a, b) = (self.tune, other.tune);
        std::ptr::eq(a, b)
            || (a.started_at == b.started_at
                && if a.name.is_empty() {
                    a.runs == b.runs
                } else {
                    a.name == b.name
                })
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.shares_trial(other) && self.arm == other.arm && self.number == other.number
    }

    /// Kept runs of the whole arm, also where only one of them was chosen.
    pub(super) fn kept_of_arm(&self) -> usize {
        kept(self.tune, self.arm).len()
    }

    /// The trial as the user typed it.
    pub(super) fn typed_trial(&self) -> &str {
        let typed = match self.number {
            Some(number) => self.name.strip_suffix(&format!("/{number}")),
            None => self.name.strip_suffix(&format!(":{}", self.arm)),
        };
        typed.unwrap_or(&self.tune.name)
    }
}

/// Arms that were described or at least run; a trial that was killed has not described them.
fn arms(tune: &Tune) -> Vec<String> {
    let mut names: Vec<String> = tune.arms.iter().map(|arm| arm.name.clone()).collect();
    for run in &tune.runs {
        if !names.contains(&run.arm) {
            names.push(run.arm.clone());
        }
    }
    names
}

/// The runs of an arm that count.
fn kept<'a>(tune: &'a Tune, arm: &str) -> Vec<&'a Run> {
    let counts = |run: &&Run| run.arm == arm && run.pair.is_some() && run.discarded.is_none();
    tune.runs.iter().filter(counts).collect()
}

/// What the runs of the group measured, and on what.
pub(super) fn describe(picked: &Picked<'_>) -> Group {
    let Picked { tune, runs, .. } = picked;
    let arm = tune.arms.iter().find(|arm| arm.name == picked.arm);
    let (latency_ms, latency_origin) = latency(picked, arm);
    let workload = workload(tune);
    let first = runs.first();
    Group {
        name: picked.name.to_owned(),
        trial: tune.name.clone(),
        arm: picked.arm.to_owned(),
        run: picked.number,
        class: arm.map(|arm| arm.class),
        dbdyno_version: tune.dbdyno_version.clone(),
        budget: tune.budget.clone(),
        machine: tune.machine.clone(),
        server: tune.server.clone(),
        memory_bytes: tune.facts.intent.memory_bytes,
        connections: first
            .map(|run| run.connections)
            .filter(|connections| *connections > 0)
            .or_else(|| workload.as_ref().map(|workload| workload.connections)),
        workload,
        started_at: first
            .map(|run| &run.started_at)
            .filter(|at| !at.is_empty())
            .unwrap_or(&tune.started_at)
            .clone(),
        runs: runs.len() as u32,
        tps_with_checkpoint: spread(runs, |run| run.tps_with_checkpoint),
        tps: spread(runs, |run| run.tps),
        latency_ms,
        latency_origin,
        wal_bytes_per_transaction: mean(runs, |run| run.server.wal_bytes_per_transaction),
        server_cpu_us_per_transaction: mean(runs, |run| run.server.cpu_us_per_transaction),
        driver_cpu_us_per_transaction: mean(runs, |run| run.driver.cpu_us_per_transaction),
        recovery_s: arm
            .and_then(|arm| arm.recovery_s)
            .filter(|_| picked.number.is_none()),
        settings: arm.map(|arm| arm.settings.clone()),
        left_alone: arm.map(|arm| left_alone(tune, arm)).unwrap_or_default(),
    }
}

/// With what must stand beside any number of it.
fn workload(tune: &Tune) -> Option<Workload> {
    let mut workload = tune.workload.clone()?;
    if let Some(verdict) = &tune.verdict {
        workload.disclaimer = crate::verdict::disclaimer(tune, verdict);
    }
    Some(workload)
}

/// The plan tells what a setting stood at before it; an arm that does not set it left it there.
fn left_alone(tune: &Tune, arm: &Arm) -> BTreeMap<String, String> {
    tune.plan
        .changes
        .iter()
        .filter(|change| !arm.settings.contains_key(&change.setting))
        .map(|change| (change.setting.clone(), change.from.clone()))
        .collect()
}

fn spread(runs: &[&Run], figure: impl Fn(&Run) -> f64) -> Spread {
    let figures: Vec<f64> = runs.iter().map(|run| figure(run)).collect();
    let mean = figures.iter().sum::<f64>() / figures.len() as f64;
    Spread {
        mean,
        relative_sd: s_d(&figures)
            .map(|sd| sd / mean)
            .filter(|relative| relative.is_finite()),
    }
}

/// Mean over the runs that know the figure.
fn mean(runs: &[&Run], figure: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
    let figures: Vec<f64> = runs.iter().filter_map(|run| figure(run)).collect();
    (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
}

/// Latency over all runs and from when it counts: open loop where there is any.
fn latency(picked: &Picked<'_>, arm: Option<&Arm>) -> (Option<Latency>, Option<String>) {
    let runs = &picked.runs;
    let steps: Vec<_> = runs
        .iter()
        .filter_map(|run| run.open_loop.as_ref())
        .collect();
    let (of_runs, single, origin) = match steps.first() {
        Some(step) => (
            merged(steps.iter().flat_map(|step| &step.per_transaction)),
            step.latency_ms,
            format!("intended start (open loop at {:.0} TPS)", step.rate_tps),
        ),
        None => (
            merged(runs.iter().flat_map(|run| &run.per_transaction)),
            runs.first().and_then(|run| run.latency_ms),
            "actual start (closed loop)".to_owned(),
        ),
    };
    if let Some(latency) = of_runs.or(single.filter(|_| runs.len() == 1)) {
        return (Some(latency), Some(origin));
    }
    // Runs without histograms: percentiles cannot be merged from percentiles, but the trial did.
    let of_arm = arm.filter(|_| picked.number.is_none());
    let latency = of_arm.and_then(|arm| arm.latency_ms);
    let origin = of_arm.and_then(|arm| arm.latency_origin.clone());
    (latency, origin.filter(|_| latency.is_some()))
}

/// Percentiles of all latencies together; none where a part of them is not there.
fn merged<'a>(stats: impl Iterator<Item = &'a TransactionStats>) -> Option<Latency> {
    let measured: Vec<_> = stats.filter(|stats| stats.count > 0).collect();
    let histograms = measured
        .iter()
        .map(|stats| stats.histogram.as_deref())
        .collect::<Option<Vec<_>>>()?;
    let merged = merge_histograms(histograms)?;
    let at = |quantile| merged.value_at_quantile(quantile) as f64 / 1e6;
    Some(Latency::of(merged.len(), merged.mean() / 1e6, at))
}
