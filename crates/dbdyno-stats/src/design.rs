//! What a trial fixes before it starts: the looks, their level, what matters, the order of the arms.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::noise::Tolerance;

/// Two-sided nominal p of a single look.
const ONE_LOOK_P: f64 = 0.05;

/// Pocock's constant for looks at 4, 6, 8 and 10 pairs with t intervals: 5.1 % false calls in
/// 2,000,000 simulated null trials of normal noise that never stop for futility.
const NORMAL_P: f64 = 0.0182;

/// The same for looks at 8, 12, 16 and 20 pairs: 4.95 % false calls in as many trials. The normal
/// design's 0.0182 would give 4.75 % here and waste power; 0.0200 would give 5.2 %.
const PROOF_P: f64 = 0.0190;

/// Which arm of a pair runs first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// A, then B.
    Ab,
    /// B, then A.
    Ba,
}

/// The order of the next pair when `kept` pairs are kept so far: AB, BA, AB, BA …
///
/// Counted in kept pairs, so that a dropped pair is repeated in its own order. Were it counted in
/// attempts, drops could leave more AB than BA at a look, and the drift of the machine would be
/// taken for the difference of the arms.
#[must_use]
pub fn order_of_pair(kept: usize) -> Order {
    if kept.is_multiple_of(2) {
        Order::Ab
    } else {
        Order::Ba
    }
}

/// What is fixed before a trial starts: when to look, how strictly, and what matters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// Numbers of kept pairs at which the trial may stop: even, rising; the last is the budget.
    pub looks: Vec<usize>,
    /// Two-sided p below which one look calls a difference, 0..1.
    pub nominal_p: f64,
    /// The smallest relative difference that matters (0.05 is 5 %).
    pub delta: f64,
    /// Drops after which the machine is [too noisy](crate::too_noisy).
    pub max_drops: usize,
    /// What the runs of a pair may lose to others on the machine.
    pub tolerance: Tolerance,
}

/// Why a design cannot be judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DesignError {
    /// No look, an odd number, or numbers that do not rise.
    Looks,
    /// The nominal p is not between 0 and 1.
    NominalP,
    /// The smallest difference that matters is not a positive number.
    Delta,
}

impl fmt::Display for DesignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Looks => "looks must be even, rising numbers of pairs; give at least one",
            Self::NominalP => "the nominal p must lie between 0 and 1",
            Self::Delta => "the smallest difference that matters must be a positive fraction",
        })
    }
}

impl std::error::Error for DesignError {}

impl Design {
    /// Four pairs, one look at 95 %, δ = 5 %.
    #[must_use]
    pub fn quick() -> Self {
        Self::planned(&[4], ONE_LOOK_P, 0.05)
    }

    /// Four to ten pairs, looks at 4, 6, 8 and 10 at 98.18 %, δ = 5 %.
    #[must_use]
    pub fn normal() -> Self {
        Self::planned(&[4, 6, 8, 10], NORMAL_P, 0.05)
    }

    /// Up to twenty pairs, looks at 8, 12, 16 and 20, δ = 3 %.
    #[must_use]
    pub fn proof() -> Self {
        Self::planned(&[8, 12, 16, 20], PROOF_P, 0.03)
    }

    fn planned(looks: &[usize], nominal_p: f64, delta: f64) -> Self {
        Self {
            looks: looks.to_vec(),
            nominal_p,
            delta,
            max_drops: looks.iter().copied().max().unwrap_or(0),
            tolerance: Tolerance::for_difference(delta),
        }
    }

    /// The same looks with another smallest difference that matters (0.05 is 5 %). It moves the
    /// stop for futility only, which never calls a difference, so the error rate holds.
    #[must_use]
    pub fn with_delta(self, delta: f64) -> Self {
        Self {
            delta,
            tolerance: Tolerance::for_difference(delta),
            ..self
        }
    }

    /// Whether the design can be judged by; to be asked of every design that was not built here.
    ///
    /// Odd looks are refused since AB and BA would not balance. That the nominal p fits the looks
    /// is not checked: only a simulation can tell.
    ///
    /// # Errors
    /// The first field found wrong.
    pub fn validate(&self) -> Result<(), DesignError> {
        let even = self.looks.iter().all(|n| *n > 0 && n.is_multiple_of(2));
        let rising = self.looks.windows(2).all(|pair| pair[0] < pair[1]);
        if self.looks.is_empty() || !even || !rising {
            return Err(DesignError::Looks);
        }
        if !(self.nominal_p > 0.0 && self.nominal_p < 1.0) {
            return Err(DesignError::NominalP);
        }
        if !(self.delta > 0.0 && self.delta.is_finite()) {
            return Err(DesignError::Delta);
        }
        Ok(())
    }

    /// The budget in kept pairs: the last look.
    #[must_use]
    pub fn max_pairs(&self) -> usize {
        self.looks.last().copied().unwrap_or(0)
    }

    /// The confidence level of every interval that is printed, 0..1.
    #[must_use]
    pub fn level(&self) -> f64 {
        1.0 - self.nominal_p
    }

    /// Whether the trial may stop at `n` kept pairs.
    #[must_use]
    pub fn is_look(&self, n: usize) -> bool {
        self.looks.contains(&n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_designs_are_what_the_specification_says() {
        let [quick, normal, proof] = [Design::quick(), Design::normal(), Design::proof()];
        for design in [&quick, &normal, &proof] {
            assert_eq!(design.validate(), Ok(()));
            assert_eq!(design.max_drops, design.max_pairs());
        }
        assert_eq!(
            (quick.max_pairs(), quick.level(), quick.delta),
            (4, 0.95, 0.05)
        );
        assert_eq!(normal.looks, [4, 6, 8, 10]);
        assert!((normal.level() - 0.9818).abs() < 1e-12);
        assert_eq!((proof.max_pairs(), proof.delta), (20, 0.03));
        assert!(normal.is_look(6) && !normal.is_look(5) && !normal.is_look(12));
    }

    #[test]
    fn a_design_that_cannot_balance_is_refused() {
        let wrong = |looks: &[usize]| {
            Design {
                looks: looks.to_vec(),
                ..Design::quick()
            }
            .validate()
        };
        for looks in [&[][..], &[3], &[0], &[4, 4], &[6, 4], &[4, 7]] {
            assert_eq!(wrong(looks), Err(DesignError::Looks), "{looks:?}");
        }
        assert_eq!(
            Design::quick().with_delta(0.0).validate(),
            Err(DesignError::Delta)
        );
        let certain = Design {
            nominal_p: 0.0,
            ..Design::quick()
        };
        assert_eq!(certain.validate(), Err(DesignError::NominalP));
    }

    #[test]
    fn pairs_alternate() {
        let orders: Vec<Order> = (0..4).map(order_of_pair).collect();
        assert_eq!(orders, [Order::Ab, Order::Ba, Order::Ab, Order::Ba]);
    }

    #[test]
    fn a_design_survives_json() {
        let text = serde_json::to_string(&Design::proof()).unwrap();
        assert_eq!(
            serde_json::from_str::<Design>(&text).unwrap(),
            Design::proof()
        );
    }
}
