//! sysbench's distributions of ids, each by sysbench's own formula and with its default parameters.
//!
//! `special` is what 1.0.20 draws from by default, `zipfian` came after it.

use std::str::FromStr;

use crate::tpcc::random::Random;

/// How ids are spread over the rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Distribution {
    Uniform,
    /// A bell around the middle.
    Gaussian,
    /// Three quarters of the draws fall on a hundredth of the rows, the others into a bell.
    #[default]
    Special,
    /// A fifth of the rows has four fifths of the draws, and so on within that fifth.
    Pareto,
    /// Row n has a weight of n^-0.8.
    Zipfian,
}

/// A name that none of them has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no distribution {0}")]
pub struct UnknownDistribution(pub String);

impl Distribution {
    pub const ALL: [Self; 5] = [
        Self::Uniform,
        Self::Gaussian,
        Self::Special,
        Self::Pareto,
        Self::Zipfian,
    ];

    /// sysbench's, of `--rand-type`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Gaussian => "gaussian",
            Self::Special => "special",
            Self::Pareto => "pareto",
            Self::Zipfian => "zipfian",
        }
    }
}

impl FromStr for Distribution {
    type Err = UnknownDistribution;

    fn from_str(text: &str) -> Result<Self, UnknownDistribution> {
        let found = Self::ALL.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| UnknownDistribution(text.to_owned()))
    }
}

/// Numbers whose mean is drawn for a bell (`rand-spec-iter`).
const BELL_DRAWS: u32 = 12;
/// Share of the rows that are hot, and of the draws that fall on them (`rand-spec-pct`, `-res`).
const HOT_ROWS: f64 = 0.01;
const HOT_DRAWS: f64 = 0.75;
/// `rand-pareto-h`.
const PARETO_H: f64 = 0.2;
/// `rand-zipfian-exp`.
const ZIPF_EXPONENT: f64 = 0.8;

/// Draws from one distribution over one range of numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sampler {
    low: u32,
    high: u32,
    shape: Shape,
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    Uniform,
    Gaussian,
    Special,
    Pareto { power: f64 },
    Zipfian(Zipf),
}

impl Sampler {
    /// Over `low..=high`.
    pub(crate) fn new(distribution: Distribution, low: u32, high: u32) -> Self {
        let count = f64::from(high - low) + 1.0;
        let shape = match distribution {
            Distribution::Uniform => Shape::Uniform,
            Distribution::Gaussian => Shape::Gaussian,
            Distribution::Special => Shape::Special,
            Distribution::Pareto => Shape::Pareto {
                power: PARETO_H.ln() / (1.0 - PARETO_H).ln(),
            },
            Distribution::Zipfian => Shape::Zipfian(Zipf::new(count)),
        };
        Self { low, high, shape }
    }

    pub(crate) fn draw(&self, random: &mut Random) -> u32 {
        let width = f64::from(self.high - self.low);
        let offset = match &self.shape {
            Shape::Uniform => unit(random) * (width + 1.0),
            Shape::Gaussian => bell(random) * (width + 1.0),
            Shape::Special => special(random, width),
            Shape::Pareto { power } => unit(random).powf(*power) * (width + 1.0),
            Shape::Zipfian(zipf) => zipf.draw(random) - 1.0,
        };
        // Rounding may reach one past the end.
        self.low + (offset as u32).min(self.high - self.low)
    }
}

/// In [0, 1), of 52 bits.
fn unit(random: &mut Random) -> f64 {
    const ONE: f64 = (1_u64 << 52) as f64;
    (random.next_u64() >> 12) as f64 / ONE
}

/// Mean of several draws.
fn bell(random: &mut Random) -> f64 {
    let sum: f64 = (0..BELL_DRAWS).map(|_| unit(random)).sum();
    sum / f64::from(BELL_DRAWS)
}

/// One number decides whether the draw is hot and, if so, where it falls: the hot rows begin a
/// quarter of their number above `lowest`.
fn special(random: &mut Random, width: f64) -> f64 {
    let drawn = unit(random);
    if drawn < 1.0 - HOT_DRAWS {
        return bell(random) * width;
    }
    let hot = width * HOT_ROWS;
    let lowest = (width - hot) / 2.0;
    lowest + drawn * (hot + 1.0)
}

/// Rejection-inversion over 1 to n (W. Hörmann and G. Derflinger, ACM TOMACS 6.3, 1996).
#[derive(Debug, Clone, Copy)]
struct Zipf {
    count: f64,
    /// Integrals of the weights up to the last number's end and to where the first begins.
    end: f64,
    begin: f64,
    /// So near above its real number is an integer taken without a look at its weight.
    near: f64,
}

impl Zipf {
    fn new(count: f64) -> Self {
        Self {
            count,
            end: integral(count + 0.5),
            begin: integral(1.5) - 1.0,
            near: 2.0 - inverse(integral(2.5) - weight(2.0)),
        }
    }

    fn draw(&self, random: &mut Random) -> f64 {
        loop {
            let area = self.end + unit(random) * (self.begin - self.end);
            let real = inverse(area);
            let whole = (real + 0.5).floor().clamp(1.0, self.count);
            let taken = whole - real <= self.near || area >= integral(whole + 0.5) - weight(whole);
            if taken {
                return whole;
            }
        }
    }
}

fn weight(x: f64) -> f64 {
    x.powf(-ZIPF_EXPONENT)
}

/// Of the weights, from 1 to x.
fn integral(x: f64) -> f64 {
    (x.powf(1.0 - ZIPF_EXPONENT) - 1.0) / (1.0 - ZIPF_EXPONENT)
}

fn inverse(area: f64) -> f64 {
    (1.0 + area * (1.0 - ZIPF_EXPONENT)).powf(1.0 / (1.0 - ZIPF_EXPONENT))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DRAWS: u32 = 200_000;

    /// How often each number from 1 to `high` is drawn.
    fn counts(distribution: Distribution, high: u32) -> Vec<u32> {
        let sampler = Sampler::new(distribution, 1, high);
        let mut random = Random::stream(7, &[1]);
        let mut counts = vec![0; high as usize + 1];
        for _ in 0..DRAWS {
            counts[sampler.draw(&mut random) as usize] += 1;
        }
        counts
    }

    fn share(counts: &[u32]) -> f64 {
        f64::from(counts.iter().sum::<u32>()) / f64::from(DRAWS)
    }

    #[test]
    fn three_quarters_of_special_draws_are_hot() {
        let counts = counts(Distribution::Special, 10_000);
        // 101 numbers of which the first quarter gets none, in the middle, and the bell's own share.
        let hot = share(&counts[4_950..=5_052]);
        assert!((0.75..0.79).contains(&hot), "{hot}");
        assert!((share(&counts[4_976..=5_052]) - hot).abs() < 0.01);
        // The bell: a standard deviation of 0.083 of the width.
        let bell = share(&counts[3_330..=6_670]);
        assert!((0.985..0.996).contains(&bell), "{bell}");
    }

    #[test]
    fn the_bell_has_the_deviation_of_twelve_draws() {
        let counts = counts(Distribution::Gaussian, 12_000);
        let within = share(&counts[5_000..=7_000]);
        assert!((0.67..0.70).contains(&within), "{within}");
    }

    #[test]
    fn a_fifth_has_four_fifths_of_pareto() {
        let counts = counts(Distribution::Pareto, 10_000);
        assert!((share(&counts[..=2_000]) - 0.8).abs() < 0.01);
        assert!((share(&counts[..=400]) - 0.64).abs() < 0.01);
    }

    #[test]
    fn zipfian_weights_fall() {
        let counts = counts(Distribution::Zipfian, 1_000);
        let total: f64 = (1..=1_000).map(|n| f64::from(n).powf(-0.8)).sum();
        for n in [1_u32, 2, 3, 10] {
            let expected = f64::from(n).powf(-0.8) / total;
            let found = share(&counts[n as usize..=n as usize]);
            assert!((found - expected).abs() < 0.004, "{n}: {found} {expected}");
        }
        let octaves = [1, 2, 4, 8, 16, 32, 64, 128, 256];
        let means = octaves.map(|n| share(&counts[n..2 * n]) / n as f64);
        assert!(means.is_sorted_by(|more, less| more > less), "{means:?}");
    }

    #[test]
    fn uniform_draws_are_even() {
        let counts = counts(Distribution::Uniform, 10);
        assert_eq!(counts[0], 0);
        for count in &counts[1..] {
            assert!((19_000..21_000).contains(count), "{counts:?}");
        }
    }

    #[test]
    fn names_are_read_back() {
        for distribution in Distribution::ALL {
            assert_eq!(
                distribution.name().parse::<Distribution>(),
                Ok(distribution)
            );
        }
        assert!("normal".parse::<Distribution>().is_err());
    }

    proptest! {
        #[test]
        fn all_stay_within_their_range(
            seed: u64,
            low in 0..1_000_u32,
            more in prop_oneof![0..5_u32, 0..2_000_000_000_u32],
        ) {
            let mut random = Random::stream(seed, &[]);
            for distribution in Distribution::ALL {
                let sampler = Sampler::new(distribution, low, low + more);
                for _ in 0..50 {
                    prop_assert!((low..=low + more).contains(&sampler.draw(&mut random)));
                }
            }
        }
    }
}
