//! When a pair is dropped because the machine was not ours alone.

use serde::{Deserialize, Serialize};

/// A run that lost more CPU time to the hypervisor than this fraction ran on another machine.
const MAX_STEAL_FRACTION: f64 = 0.25;

/// A run beside which other processes took more than this fraction of the CPU is disturbed.
const MAX_STRANGERS_CPU_FRACTION: f64 = 0.05;

/// What the machine did besides the trial during one run, both as fractions of all CPU time.
///
/// Not a number means that it could not be read; a run is not dropped for what nobody saw.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RunConditions {
    /// CPU time taken by the hypervisor, 0..1.
    pub steal_fraction: f64,
    /// CPU time of processes that are neither the server nor the load, 0..1.
    pub strangers_cpu_fraction: f64,
}

/// What the runs of a pair may lose to others before the pair is dropped, as fractions of CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// Of one run, to the hypervisor.
    pub steal: f64,
    /// Between two runs of the pair, to the hypervisor.
    pub uneven_steal: f64,
    /// Of one run, to other processes.
    pub strangers_cpu: f64,
}

impl Tolerance {
    /// Steal that takes the same from both runs slows both and leaves their ratio alone; what moves
    /// ln(B / A) of a load bound by the CPU is its difference, by about that much. It may therefore
    /// be up to half of `delta`, the smallest difference that matters.
    #[must_use]
    pub fn for_difference(delta: f64) -> Self {
        Self {
            steal: MAX_STEAL_FRACTION,
            uneven_steal: delta / 2.0,
            strangers_cpu: MAX_STRANGERS_CPU_FRACTION,
        }
    }
}

/// Why a pair is dropped, with the fraction seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum Disturbance {
    /// The hypervisor gave so much of the CPU to somebody else that little was left to measure.
    Steal {
        /// Fraction of CPU time, over [`Tolerance::steal`].
        fraction: f64,
    },
    /// The hypervisor took more from one run than from another.
    UnevenSteal {
        /// Fraction of CPU time taken from the run that lost least.
        least: f64,
        /// Fraction of CPU time taken from the run that lost most.
        most: f64,
    },
    /// Other processes on the machine were busy.
    Strangers {
        /// Fraction of CPU time, over [`Tolerance::strangers_cpu`].
        fraction: f64,
    },
}

/// Whether the runs of a pair were disturbed, so that the whole pair is dropped.
///
/// It sees no result, and must not: a rule that knows who is winning is not a fair one. Steal is
/// named before strangers, since the user cannot stop it by closing a program.
#[must_use]
pub fn disturbance(runs: &[RunConditions], tolerance: &Tolerance) -> Option<Disturbance> {
    let most = |of: fn(&RunConditions) -> f64| runs.iter().map(of).fold(f64::NAN, f64::max);
    let most_steal = most(|run| run.steal_fraction);
    let least_steal = runs
        .iter()
        .map(|run| run.steal_fraction)
        .fold(f64::NAN, f64::min);
    let strangers = most(|run| run.strangers_cpu_fraction);
    if most_steal > tolerance.steal {
        Some(Disturbance::Steal {
            fraction: most_steal,
        })
    } else if most_steal - least_steal > tolerance.uneven_steal {
        Some(Disturbance::UnevenSteal {
            least: least_steal,
            most: most_steal,
        })
    } else if strangers > tolerance.strangers_cpu {
        Some(Disturbance::Strangers {
            fraction: strangers,
        })
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(runs: &[(f64, f64)]) -> Option<Disturbance> {
        let runs: Vec<RunConditions> = runs
            .iter()
            .map(|(steal_fraction, strangers_cpu_fraction)| RunConditions {
                steal_fraction: *steal_fraction,
                strangers_cpu_fraction: *strangers_cpu_fraction,
            })
            .collect();
        disturbance(&runs, &Tolerance::for_difference(0.05))
    }

    #[test]
    fn limits_are_inclusive() {
        assert_eq!(seen(&[(0.0, 0.0), (0.0, 0.05)]), None);
        assert_eq!(
            seen(&[(0.0, 0.0), (0.0, 0.051)]),
            Some(Disturbance::Strangers { fraction: 0.051 })
        );
        assert_eq!(seen(&[(0.25, 0.0), (0.25, 0.0)]), None);
        assert_eq!(
            seen(&[(0.25, 0.2), (0.26, 0.2)]),
            Some(Disturbance::Steal { fraction: 0.26 })
        );
    }

    #[test]
    fn even_steal_leaves_the_ratio_alone_and_uneven_does_not() {
        assert_eq!(seen(&[(0.08, 0.0), (0.1, 0.0)]), None);
        assert_eq!(
            seen(&[(0.04, 0.0), (0.01, 0.2), (0.02, 0.0)]),
            Some(Disturbance::UnevenSteal {
                least: 0.01,
                most: 0.04
            })
        );
    }

    #[test]
    fn a_smaller_difference_that_matters_asks_for_evener_steal() {
        let runs = [0.01, 0.03].map(|steal_fraction| RunConditions {
            steal_fraction,
            strangers_cpu_fraction: 0.0,
        });
        assert_eq!(disturbance(&runs, &Tolerance::for_difference(0.05)), None);
        assert!(disturbance(&runs, &Tolerance::for_difference(0.03)).is_some());
    }

    #[test]
    fn unread_is_not_disturbed() {
        assert_eq!(seen(&[]), None);
        assert_eq!(seen(&[(f64::NAN, f64::NAN), (f64::NAN, f64::NAN)]), None);
        assert_eq!(
            seen(&[(f64::NAN, 0.06), (0.0, 0.0)]),
            Some(Disturbance::Strangers { fraction: 0.06 })
        );
    }

    #[test]
    fn the_cause_is_named_in_json() {
        let text = serde_json::to_string(&seen(&[(0.0, 0.06)])).unwrap();
        assert_eq!(text, r#"{"cause":"strangers","fraction":0.06}"#);
    }
}
