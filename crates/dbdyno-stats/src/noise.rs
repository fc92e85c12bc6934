//! When a pair is dropped because the machine was not ours alone.

use serde::{Deserialize, Serialize};

/// A run with more CPU time stolen by the hypervisor than this fraction is disturbed.
pub const MAX_STEAL_FRACTION: f64 = 0.01;

/// A run beside which other processes took more than this fraction of the CPU is disturbed.
pub const MAX_STRANGERS_CPU_FRACTION: f64 = 0.05;

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

/// Why a pair is dropped, with the fraction seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum Disturbance {
    /// The hypervisor gave the CPU to somebody else.
    Steal {
        /// Fraction of CPU time, over [`MAX_STEAL_FRACTION`].
        fraction: f64,
    },
    /// Other processes on the machine were busy.
    Strangers {
        /// Fraction of CPU time, over [`MAX_STRANGERS_CPU_FRACTION`].
        fraction: f64,
    },
}

/// Whether a run was disturbed; if either run of a pair is, the whole pair is dropped.
///
/// It sees no result, and must not: a rule that knows who is winning is not a fair one. Steal is
/// named first when both apply, since the user cannot stop it by closing a program.
#[must_use]
pub fn disturbance(run: &RunConditions) -> Option<Disturbance> {
    if run.steal_fraction > MAX_STEAL_FRACTION {
        Some(Disturbance::Steal {
            fraction: run.steal_fraction,
        })
    } else if run.strangers_cpu_fraction > MAX_STRANGERS_CPU_FRACTION {
        Some(Disturbance::Strangers {
            fraction: run.strangers_cpu_fraction,
        })
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(steal_fraction: f64, strangers_cpu_fraction: f64) -> Option<Disturbance> {
        disturbance(&RunConditions {
            steal_fraction,
            strangers_cpu_fraction,
        })
    }

    #[test]
    fn limits_are_inclusive() {
        assert_eq!(seen(0.0, 0.0), None);
        assert_eq!(seen(0.01, 0.05), None);
        assert_eq!(
            seen(0.011, 0.0),
            Some(Disturbance::Steal { fraction: 0.011 })
        );
        assert_eq!(
            seen(0.0, 0.051),
            Some(Disturbance::Strangers { fraction: 0.051 })
        );
        assert_eq!(seen(0.02, 0.2), Some(Disturbance::Steal { fraction: 0.02 }));
    }

    #[test]
    fn unread_is_not_disturbed() {
        assert_eq!(seen(f64::NAN, f64::NAN), None);
        assert_eq!(
            seen(f64::NAN, 0.06),
            Some(Disturbance::Strangers { fraction: 0.06 })
        );
    }

    #[test]
    fn the_cause_is_named_in_json() {
        let text = serde_json::to_string(&seen(0.02, 0.0)).unwrap();
        assert_eq!(text, r#"{"cause":"steal","fraction":0.02}"#);
    }
}
