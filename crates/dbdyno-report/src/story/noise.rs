//! How noisy a trial was, and what else happened on the machine while it ran.

use dbdyno_model::run::Conditions;
use dbdyno_model::{Run, Tune};

use super::is_kept;
use crate::number;

type Figure = fn(&Conditions) -> Option<f64>;

/// One condition over the runs: lowest to highest, in kept and in dropped ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) name: &'static str,
    pub(crate) kept: String,
    pub(crate) dropped: String,
}

/// Spread between pairs, noise floor and what was to be seen: names and values.
pub(crate) fn spread(tune: &Tune) -> Vec<(&'static str, String)> {
    let Some(verdict) = &tune.verdict else {
        return Vec::new();
    };
    vec![
        (
            "s_d of ln(arm / base)",
            number::or_missing(verdict.s_d, number::measured),
        ),
        (
            "noise floor, at 80 % power",
            number::or_missing(verdict.noise_floor, number::percent),
        ),
        ("δ, declared to matter", number::percent(verdict.delta)),
        ("level of the interval", number::level(verdict.level)),
        ("pairs kept", number::count(verdict.pairs.into())),
        (
            "pairs dropped and repeated",
            number::count(verdict.discarded_pairs.into()),
        ),
    ]
}

/// What others took of the machine; empty where no run belongs to a pair.
pub(crate) fn conditions(tune: &Tune) -> Vec<Condition> {
    let all: [(&'static str, Figure); 5] = [
        ("CPU time given to others by the hypervisor (steal)", |c| {
            c.steal
        }),
        (
            "CPU time of processes that were neither server nor driver",
            |c| c.strangers_cpu,
        ),
        ("time in which some task waited for a CPU", |c| {
            c.psi_cpu_some
        }),
        ("time in which some task waited for I/O", |c| c.psi_io_some),
        ("time in which some task waited for memory", |c| {
            c.psi_memory_some
        }),
    ];
    if !tune.runs.iter().any(|run| run.pair.is_some()) {
        return Vec::new();
    }
    let (kept, dropped): (Vec<&Run>, Vec<&Run>) = tune
        .runs
        .iter()
        .filter(|run| run.pair.is_some())
        .partition(|run| is_kept(run));
    all.into_iter()
        .map(|(name, figure)| Condition {
            name,
            kept: range(&kept, figure),
            dropped: range(&dropped, figure),
        })
        .collect()
}

fn range(runs: &[&Run], figure: Figure) -> String {
    let values: Vec<f64> = runs
        .iter()
        .filter_map(|run| figure(&run.conditions))
        .collect();
    if values.is_empty() {
        return number::MISSING.to_owned();
    }
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = (number::percent(low), number::percent(high));
    if low == high {
        low
    } else {
        format!("{low} to {high}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn ranges_are_of_known_values() {
        let mut tune = testing::tune();
        assert!(
            conditions(&tune)
                .iter()
                .all(|c| c.kept == "–" && c.dropped == "–")
        );
        for (index, run) in tune.runs.iter_mut().enumerate() {
            run.conditions.steal = Some(0.001 * index as f64);
        }
        tune.runs[0].conditions.steal = None;
        tune.runs[7].discarded = Some("steal".to_owned());
        let steal = &conditions(&tune)[0];
        assert_eq!(steal.kept, "0.1 % to 0.6 %");
        assert_eq!(steal.dropped, "0.7 %");
        tune.runs.clear();
        assert!(conditions(&tune).is_empty());
    }
}
