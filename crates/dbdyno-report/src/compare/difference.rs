//! One group against the base: which interval the runs allow, at which level.

use dbdyno_model::comparison::{Difference, Method};
use dbdyno_model::{Class, Run};
use dbdyno_stats::{Interval, interval_of_log_ratios, unpaired_interval_of_log_ratio};

use super::group::Picked;
use super::view;
use crate::quote::shell_word;

pub(super) const METRIC: &str = "tps_with_checkpoint";

/// At which all intervals of a comparison hold together.
pub(super) const JOINT_LEVEL: f64 = 0.95;

/// The group against the base, one of so many; what confounds it is for the caller to say.
pub(super) fn of(base: &Picked<'_>, other: &Picked<'_>, differences: usize) -> Difference {
    let logs = log_ratios(base, other);
    let unpaired = level(JOINT_LEVEL, differences);
    let (method, interval) = if logs.len() >= 2 {
        let level = level(level_of_trial(base), differences);
        (Method::Paired, interval_of_log_ratios(&logs, level))
    } else {
        let interval = unpaired_interval_of_log_ratio(&figures(base), &figures(other), unpaired);
        (Method::Unpaired, interval)
    };
    let mut difference = Difference {
        group: other.name.to_owned(),
        ratio: None,
        interval: None,
        level: unpaired,
        method: Method::None,
        pairs: None,
        base_runs: base.runs.len() as u32,
        runs: other.runs.len() as u32,
        why_no_interval: None,
        next: None,
        confounded_by: Vec::new(),
    };
    if let Some(Interval {
        ratio,
        low,
        high,
        level,
        ..
    }) = interval
    {
        difference.ratio = Some(ratio);
        difference.interval = Some([low, high]);
        difference.level = level;
        difference.method = method;
        difference.pairs = (method == Method::Paired).then_some(logs.len() as u32);
    } else {
        difference.why_no_interval = Some(why_not(base, other));
        difference.next = Some(next(base, other));
    }
    difference
}

/// ln(other / base) of the metric, for each pair of one trial that has both.
fn log_ratios(base: &Picked<'_>, other: &Picked<'_>) -> Vec<f64> {
    if !base.shares_trial(other) {
        return Vec::new();
    }
    let ratio = |run: &&Run| {
        let partner = other.runs.iter().find(|partner| partner.pair == run.pair)?;
        let (base, other) = (run.tps_with_checkpoint, partner.tps_with_checkpoint);
        (run.pair.is_some() && base > 0.0 && other > 0.0).then(|| (other / base).ln())
    };
    base.runs.iter().filter_map(ratio).collect()
}

fn figures(picked: &Picked<'_>) -> Vec<f64> {
    picked
        .runs
        .iter()
        .map(|run| run.tps_with_checkpoint)
        .collect()
}

/// A trial with several looks may have stopped where chance favoured it: only the level that it
/// was planned with holds for its pairs, and 95 % would cover about 92 %.
fn level_of_trial(picked: &Picked<'_>) -> f64 {
    let planned = picked.tune.verdict.as_ref().map(|verdict| verdict.level);
    planned
        .filter(|level| *level < 1.0)
        .map_or(JOINT_LEVEL, |level| level.max(JOINT_LEVEL))
}

/// Bonferroni's share of what may be missed.
pub(super) fn level(alone: f64, differences: usize) -> f64 {
    // Not computed where there is one: 1 − (1 − x) is not x.
    if differences == 1 {
        alone
    } else {
        1.0 - (1.0 - alone) / differences as f64
    }
}

fn why_not(base: &Picked<'_>, other: &Picked<'_>) -> String {
    let idle = |picked: &Picked<'_>| figures(picked).iter().any(|tps| *tps <= 0.0);
    match (base.runs.len(), other.runs.len()) {
        _ if idle(base) || idle(other) => "a run that ended no transaction has no ratio",
        (1, 1) => {
            "one run each proves nothing: how far such runs lie apart by chance was not measured"
        }
        (1, _) | (_, 1) => {
            "a single run on one side proves nothing: how far such runs lie apart by chance was not measured there"
        }
        _ => "the runs of a group do not vary at all, which no measurement does",
    }
    .to_owned()
}

/// All kept runs of both arms where the trials have them, else a trial.
fn next(base: &Picked<'_>, other: &Picked<'_>) -> String {
    let same = base.shares_trial(other) && base.arm == other.arm;
    let single = base.number.is_some() || other.number.is_some();
    if single && !same && base.kept_of_arm() >= 2 && other.kept_of_arm() >= 2 {
        let name =
            |picked: &Picked<'_>| shell_word(&format!("{}:{}", picked.typed_trial(), picked.arm));
        return format!("dbdyno compare {} {}", name(base), name(other));
    }
    let safe = |picked: &Picked<'_>| {
        let arm = picked.tune.arms.iter().find(|arm| arm.name == picked.arm);
        arm.is_none_or(|arm| arm.class == Class::Safe)
    };
    view::trial_command(&[base.arm, other.arm], safe(base) && safe(other))
}
