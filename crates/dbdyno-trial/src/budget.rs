//! How much time a trial may take, and what that buys.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use dbdyno_stats::Design;

/// A trial's size: fixed before it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    pub name: &'static str,
    pub design: Design,
    /// Closed-loop load of one run, warm-up included.
    pub load: Duration,
    /// The step at one fixed rate that compares latency; quick has no time for it.
    pub open_loop: Option<Duration>,
}

/// Clone, start, connect, check and stop around the load of one run, at 10 warehouses.
const OVERHEAD_S: f64 = 8.0;
/// Below this MSER-5 has too few batches to find the end of a warm-up.
pub const LEAST_LOAD_S: u64 = 11;
/// Loading and checking the template.
const LOAD_S: f64 = 45.0;

impl Budget {
    pub fn quick() -> Self {
        Self::new("quick", Design::quick(), 26, None)
    }

    pub fn normal() -> Self {
        Self::new("normal", Design::normal(), 36, Some(14))
    }

    pub fn proof() -> Self {
        Self::new("proof", Design::proof(), 55, Some(18))
    }

    fn new(name: &'static str, design: Design, load_s: u64, open_loop_s: Option<u64>) -> Self {
        let (load, open_loop) = (
            Duration::from_secs(load_s),
            open_loop_s.map(Duration::from_secs),
        );
        Self {
            name,
            design,
            load,
            open_loop,
        }
    }

    /// The budget that goes further, where there is one.
    pub fn next(&self) -> Option<Self> {
        match self.name {
            "quick" => Some(Self::normal()),
            "normal" => Some(Self::proof()),
            _ => None,
        }
    }

    /// The same pairs with so many seconds of closed-loop load in each run.
    #[must_use]
    pub fn with_load(self, load: Duration) -> Self {
        Self { load, ..self }
    }

    /// About how long a trial with so many arms takes if it needs every pair.
    pub fn seconds(&self, arms: usize) -> f64 {
        let runs = (self.design.max_pairs() * arms) as f64;
        let open_loop = self.open_loop.unwrap_or_default().as_secs_f64();
        let run = self.load.as_secs_f64() + open_loop + OVERHEAD_S;
        let recovery = arms as f64 * (self.load.as_secs_f64() + OVERHEAD_S);
        LOAD_S + runs * run + recovery
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::quick(), Self::normal(), Self::proof()]
            .into_iter()
            .find(|budget| budget.name == text)
            .ok_or_else(|| format!("{text:?} is none of quick, normal, proof"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimates_are_near_what_was_promised() {
        let promised = [
            (Budget::quick(), 6.0),
            (Budget::normal(), 25.0),
            (Budget::proof(), 60.0),
        ];
        for (budget, minutes) in promised {
            let estimate = budget.seconds(2) / 60.0;
            assert!(
                (estimate / minutes - 1.0).abs() < 0.15,
                "{budget}: {estimate:.1} min"
            );
            assert!(budget.seconds(4) > 1.8 * budget.seconds(2));
            assert_eq!(budget.name.parse(), Ok(budget));
        }
        assert!("fast".parse::<Budget>().is_err());
    }
}
