//! Why runs cannot be compared.

use crate::text::{list, plural};

/// Names the selection that is in the way, as it was typed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    #[error("cannot compare {}: it takes two groups of runs", plural(*groups as u64, "group"))]
    TooFew { groups: usize },
    #[error("cannot compare {name}: its trial has no arm {arm:?}")]
    NoSuchArm {
        name: String,
        arm: String,
        /// Arms that the trial has.
        there: Vec<String>,
    },
    #[error("cannot compare {name}: its trial has no run {number}")]
    NoSuchRun {
        name: String,
        number: u32,
        /// Numbers of the runs that have a throughput.
        there: Vec<u32>,
    },
    #[error(
        "cannot compare {name}: run {number} was killed to time the recovery of {arm}, and has no throughput"
    )]
    KilledRun {
        name: String,
        number: u32,
        arm: String,
    },
    #[error("cannot compare {name}: no finished run of {arm} counts ({} discarded)", discarded.len())]
    NoFinishedRun {
        name: String,
        arm: String,
        /// Numbers of its runs that do not count.
        discarded: Vec<u32>,
    },
    #[error("cannot compare {name}: the same runs are already there")]
    SameRuns { name: String },
}

impl CompareError {
    /// What the user can do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let numbers =
            |numbers: &[u32]| list(&numbers.iter().map(u32::to_string).collect::<Vec<_>>());
        Some(match self {
            Self::TooFew { .. } => {
                "name a base and at least one other, such as TRIAL:shipped TRIAL:recommended"
                    .to_owned()
            }
            Self::NoSuchArm { there, .. } if there.is_empty() => {
                "it has none: the document holds a plan, and no trial was run".to_owned()
            }
            Self::NoSuchArm { there, .. } => format!("it has {}", list(there)),
            Self::NoSuchRun { there, .. } if there.is_empty() => {
                "it has none: the document holds a plan, and no trial was run".to_owned()
            }
            Self::NoSuchRun { there, .. } => format!("it has {}", numbers(there)),
            Self::KilledRun { arm, .. } => {
                format!("name the arm: TRIAL:{arm} shows the recovery beside the throughput")
            }
            Self::NoFinishedRun { discarded, .. } if discarded.is_empty() => {
                "the trial ended before that arm had run: run it again".to_owned()
            }
            Self::NoFinishedRun { discarded, .. } => format!(
                "discarded runs can be looked at one by one, as TRIAL/NUMBER: {}",
                numbers(discarded)
            ),
            Self::SameRuns { .. } => {
                "runs differ from themselves by nothing: name other runs, or leave it out"
                    .to_owned()
            }
        })
    }
}
