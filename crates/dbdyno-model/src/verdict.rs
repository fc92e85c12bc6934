//! What a trial proved.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Word {
    Improved,
    Worse,
    NoDifference,
    Undecided,
    TooNoisy,
}

impl Word {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Improved => "improved",
            Self::Worse => "worse",
            Self::NoDifference => "no_difference",
            Self::Undecided => "undecided",
            Self::TooNoisy => "too_noisy",
        }
    }
}

/// The judgement of one arm against the base arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    pub word: Word,
    pub base: String,
    pub arm: String,
    /// What was compared: `tps_with_checkpoint`.
    pub metric: String,
    /// arm / base; none before the second pair.
    pub ratio: Option<f64>,
    pub interval: Option<[f64; 2]>,
    /// Coverage of the interval: 0.9818 at planned looks, 0.95 where there is one look.
    pub level: f64,
    pub pairs: u32,
    pub discarded_pairs: u32,
    /// Smallest relative difference that this many pairs would have shown with 80 % power.
    pub noise_floor: Option<f64>,
    /// Standard deviation of ln(arm / base) between pairs.
    pub s_d: Option<f64>,
    /// Smallest difference that was declared to matter.
    pub delta: f64,
    /// The same without charging the closing checkpoint; secondary, not judged.
    pub ratio_without_checkpoint: Option<f64>,
    pub interval_without_checkpoint: Option<[f64; 2]>,
    /// p99 latency at one fixed rate, arm / base, where an open-loop step was run.
    pub p99_ratio: Option<f64>,
    pub p99_interval: Option<[f64; 2]>,
    pub workload: String,
    pub machine: String,
    /// What a reader must know before quoting the ratio.
    pub caveats: Vec<String>,
}
