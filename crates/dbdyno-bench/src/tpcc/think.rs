//! Keying and think times of the users at the terminals, and the response times they may expect
//! (clause 5.2.5).

use std::time::Duration;

use super::random::Random;
use super::{DISTRICTS, TRANSACTIONS};

/// Terminals of a warehouse: one for each of its districts, as clause 2.8.1.1 keeps them apart.
pub const TERMINALS: u32 = DISTRICTS;

/// Clause 5.2.5.7's row of one transaction, in seconds.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// Constant (clause 5.2.5.2).
    keying: f64,
    /// Mean of the distribution (clause 5.2.5.4).
    thinking: f64,
    /// What nine of ten transactions have to stay below (clause 5.2.5.3).
    limit: f64,
}

impl Times {
    const fn new(keying: f64, thinking: f64, limit: f64) -> Self {
        Self {
            keying,
            thinking,
            limit,
        }
    }
}

/// In the order of [`TRANSACTIONS`].
const TIMES: [Times; TRANSACTIONS.len()] = [
    Times::new(18.0, 12.0, 5.0),
    Times::new(3.0, 12.0, 5.0),
    Times::new(2.0, 10.0, 5.0),
    Times::new(2.0, 5.0, 5.0),
    Times::new(2.0, 5.0, 20.0),
];

/// Think times are cut off at so many times their mean (clause 5.2.5.4).
const LONGEST: f64 = 10.0;

/// Each transaction, and the seconds that nine of ten of them have to stay below.
#[must_use]
pub fn response_limits_s() -> [(&'static str, f64); TRANSACTIONS.len()] {
    std::array::from_fn(|index| (TRANSACTIONS[index], TIMES[index].limit))
}

/// Users that key in and think as long as the specification asks, or by a factor of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Think {
    factor: f64,
}

impl Think {
    /// The times of the specification itself.
    pub const SPECIFIED: Self = Self { factor: 1.0 };

    /// The least and the greatest factor: less is no pause, and more is no load.
    pub const FACTORS: [f64; 2] = [0.001, 100.0];

    /// All times multiplied by the factor, where it is one of [`Self::FACTORS`] or between them.
    #[must_use]
    pub fn scaled(factor: f64) -> Option<Self> {
        let [least, greatest] = Self::FACTORS;
        (least..=greatest)
            .contains(&factor)
            .then_some(Self { factor })
    }

    #[must_use]
    pub fn factor(self) -> f64 {
        self.factor
    }

    /// `keying and think times`, with the factor where there is one.
    #[must_use]
    pub fn description(self) -> String {
        match self == Self::SPECIFIED {
            true => "keying and think times".to_owned(),
            false => format!("{} × keying and think times", self.factor),
        }
    }

    pub(super) fn keying(self, transaction: usize) -> Duration {
        Duration::from_secs_f64(TIMES[transaction].keying * self.factor)
    }

    /// Negative exponential, drawn anew for each transaction.
    pub(super) fn thinking(self, transaction: usize, random: &mut Random) -> Duration {
        let means = (-unit(random).ln()).min(LONGEST);
        Duration::from_secs_f64(TIMES[transaction].thinking * means * self.factor)
    }

    /// No user waits longer from the end of one transaction to the start of the next.
    pub(super) fn longest(self) -> Duration {
        let most = |of: fn(&Times) -> f64| TIMES.iter().map(of).fold(0.0, f64::max);
        let seconds = most(|times| times.thinking) * LONGEST + most(|times| times.keying);
        Duration::from_secs_f64(seconds * self.factor)
    }
}

/// Between 0 and 1 and neither of them, of 52 bits.
pub(super) fn unit(random: &mut Random) -> f64 {
    const ONE: f64 = (1_u64 << 52) as f64;
    ((random.next_u64() >> 12) as f64 + 0.5) / ONE
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DRAWS: u32 = 400_000;

    #[test]
    fn think_times_are_exponential_and_cut_off() {
        let mut random = Random::stream(3, &[]);
        for (transaction, times) in TIMES.iter().enumerate() {
            let (mut sum, mut below_mean, mut longest) = (0.0, 0, 0.0_f64);
            for _ in 0..DRAWS {
                let drawn = Think::SPECIFIED.thinking(transaction, &mut random);
                let drawn = drawn.as_secs_f64() / times.thinking;
                sum += drawn;
                below_mean += u32::from(drawn < 1.0);
                longest = longest.max(drawn);
            }
            let mean = sum / f64::from(DRAWS);
            assert!((mean - 1.0).abs() < 0.01, "{transaction}: {mean}");
            // 1 - 1/e, which no other distribution of that mean is likely to have.
            let share = f64::from(below_mean) / f64::from(DRAWS);
            assert!((share - 0.632).abs() < 0.005, "{transaction}: {share}");
            assert!((longest - LONGEST).abs() < 1e-6, "{transaction}: {longest}");
        }
    }

    #[test]
    fn the_times_are_those_of_the_table() {
        let keying: [u64; 5] =
            std::array::from_fn(|index| Think::SPECIFIED.keying(index).as_secs());
        assert_eq!(keying, [18, 3, 2, 2, 2]);
        let limits = response_limits_s();
        assert_eq!(limits[0], ("new_order", 5.0));
        assert_eq!(limits[4], ("stock_level", 20.0));
        // Without any response time the specification's mix comes to 12.86 new orders a minute and
        // warehouse.
        let mix = [0.45, 0.43, 0.04, 0.04, 0.04];
        let shares = TIMES.iter().zip(mix);
        let cycle: f64 = shares
            .map(|(times, share)| (times.keying + times.thinking) * share)
            .sum();
        let notpm = f64::from(TERMINALS) * 60.0 * mix[0] / cycle;
        assert_eq!(format!("{notpm:.2}"), "12.86");
    }

    #[test]
    fn a_factor_is_told_and_a_senseless_one_refused() {
        assert_eq!(Think::scaled(1.0), Some(Think::SPECIFIED));
        assert_eq!(Think::SPECIFIED.description(), "keying and think times");
        let hurried = Think::scaled(0.01).unwrap();
        assert_eq!(hurried.description(), "0.01 × keying and think times");
        assert_eq!(hurried.keying(0), Duration::from_millis(180));
        for factor in [0.0, -1.0, 0.0009, 100.1, f64::NAN, f64::INFINITY] {
            assert_eq!(Think::scaled(factor), None, "{factor}");
        }
    }

    proptest! {
        #[test]
        fn no_wait_is_longer_than_the_longest(
            seed: u64, factor in 0.001..100.0_f64, last in 0..5_usize, next in 0..5_usize
        ) {
            let think = Think::scaled(factor).unwrap();
            let mut random = Random::stream(seed, &[]);
            let nanosecond = Duration::from_nanos(1);
            for _ in 0..100 {
                let wait = think.thinking(last, &mut random) + think.keying(next);
                prop_assert!(wait <= think.longest() + nanosecond, "{:?}", wait);
            }
        }

        #[test]
        fn a_unit_is_never_an_end_of_its_range(seed: u64) {
            let drawn = unit(&mut Random::stream(seed, &[]));
            prop_assert!(drawn > 0.0 && drawn < 1.0);
        }
    }
}
