//! How much time a trial may take, and what that buys.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use dbdyno_stats::Design;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    Quick,
    Normal,
    Proof,
}

/// Clone, start, connect, check and stop around the load of one run, at 10 warehouses.
const OVERHEAD_S: f64 = 8.0;
/// Loading and checking the template.
const LOAD_S: f64 = 45.0;

impl Budget {
    pub const ALL: [Self; 3] = [Self::Quick, Self::Normal, Self::Proof];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Normal => "normal",
            Self::Proof => "proof",
        }
    }

    pub fn design(self) -> Design {
        match self {
            Self::Quick => Design::quick(),
            Self::Normal => Design::normal(),
            Self::Proof => Design::proof(),
        }
    }

    /// Closed-loop load of one run, warm-up included.
    pub fn load(self) -> Duration {
        Duration::from_secs(match self {
            Self::Quick => 26,
            Self::Normal => 36,
            Self::Proof => 55,
        })
    }

    /// The step at one fixed rate that compares latency; quick has no time for it.
    pub fn open_loop(self) -> Option<Duration> {
        match self {
            Self::Quick => None,
            Self::Normal => Some(Duration::from_secs(14)),
            Self::Proof => Some(Duration::from_secs(18)),
        }
    }

    /// About how long a trial with so many arms takes if it needs every pair.
    pub fn seconds(self, arms: usize) -> f64 {
        let runs = (self.design().max_pairs() * arms) as f64;
        let open_loop = self.open_loop().unwrap_or_default().as_secs_f64();
        let run = self.load().as_secs_f64() + open_loop + OVERHEAD_S;
        let recovery = arms as f64 * (self.load().as_secs_f64() + OVERHEAD_S);
        LOAD_S + runs * run + recovery
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|budget| budget.as_str() == text)
            .ok_or_else(|| format!("{text:?} is none of quick, normal, proof"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimates_are_near_what_was_promised() {
        for (budget, minutes) in [
            (Budget::Quick, 6.0),
            (Budget::Normal, 25.0),
            (Budget::Proof, 60.0),
        ] {
            let estimate = budget.seconds(2) / 60.0;
            assert!(
                (estimate / minutes - 1.0).abs() < 0.15,
                "{budget}: {estimate:.1} min"
            );
            assert!(budget.seconds(4) > 1.8 * budget.seconds(2));
            assert_eq!(budget.as_str().parse(), Ok(budget));
        }
        assert!("fast".parse::<Budget>().is_err());
    }
}
