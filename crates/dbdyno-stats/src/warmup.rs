//! Where a run stops warming up and starts to count.

use serde::{Deserialize, Serialize};

use crate::paired::mean;

/// Counts of 200 ms in one batch, so that a batch is one second.
pub const BATCH: usize = 5;

/// Fewer batches than this cannot tell a warm-up from a fluctuation.
pub const MIN_BATCHES: usize = 10;

/// Batches at the end that are never the whole remainder: the criterion of two or three
/// batches that happen to agree is close to zero and would win over any honest truncation.
pub const TAIL_BATCHES: usize = 5;

/// Transactions that a batch of [`mser5_joined`] holds on average, at least: below that, batches that
/// agree by chance are common, and two of nothing agree exactly.
pub const LEAST_IN_BATCH: u64 = 20;

/// How much of the beginning of a run to leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warmup {
    /// Counts of 200 ms to leave out, a multiple of [`BATCH`].
    pub truncate: usize,
    /// Whether the truncation lies in the first half; if not, extend the run and look again.
    pub steady: bool,
}

/// MSER-5: the truncation that minimises the squared standard error of what remains.
///
/// `counts_200ms` holds the transactions finished in each 200 ms from the start of the load; a
/// last incomplete batch is ignored. With Z the n batch means of five counts, d is the argmin of
/// Σ_{i>d}(Z_i − mean_d)²/(n−d)², searched for d ≤ n − 5 and the smallest among equals; steady
/// means d ≤ n/2. `None` for fewer than ten batches (10 s). Source: White, Simulation 1997;
/// Hoad, Robinson & Davies, JORS 2010.
#[must_use]
pub fn mser5(counts_200ms: &[u64]) -> Option<Warmup> {
    let z: Vec<f64> = counts_200ms
        .chunks_exact(BATCH)
        .map(|batch| batch.iter().map(|&count| count as f64).sum::<f64>() / BATCH as f64)
        .collect();
    let n = z.len();
    if n < MIN_BATCHES {
        return None;
    }

    // From the end towards the start, Welford's update gives every tail's sum of squares in one pass.
    let (mut tail_mean, mut squares) = (0.0_f64, 0.0_f64);
    let (mut best, mut best_d) = (f64::INFINITY, 0);
    for d in (0..n).rev() {
        let size = (n - d) as f64;
        let off = z[d] - tail_mean;
        tail_mean += off / size;
        squares += off * (z[d] - tail_mean);
        let criterion = squares / (size * size);
        if d <= n - TAIL_BATCHES && criterion <= best {
            (best, best_d) = (criterion, d);
        }
    }
    Some(Warmup {
        truncate: best_d * BATCH,
        steady: 2 * best_d <= n,
    })
}

/// [`mser5`] for loads of few transactions a second too: as many seconds are joined to a batch as it
/// takes for [`LEAST_IN_BATCH`] transactions on average. `None` where that leaves fewer than ten
/// batches, so for fewer than about 200 transactions.
#[must_use]
pub fn mser5_joined(counts_200ms: &[u64]) -> Option<Warmup> {
    let seconds = (counts_200ms.len() / BATCH) as u64;
    let all: u64 = counts_200ms.iter().sum();
    let joined = (seconds * LEAST_IN_BATCH).div_ceil(all.max(1)).max(1);
    let joined = usize::try_from(joined).unwrap_or(usize::MAX);
    let slots: Vec<u64> = counts_200ms
        .chunks_exact(joined)
        .map(|some| some.iter().sum())
        .collect();
    mser5(&slots).map(|found| Warmup {
        truncate: found.truncate * joined,
        ..found
    })
}

/// The least-squares trend over a whole window, relative to its mean: 0.02 reads "the rate rose
/// by 2 % from the first to the last moment".
///
/// `counts_per_s` holds one count a second. `None` for fewer than three seconds, a mean that is
/// not positive, or a value that is not finite. Source: ordinary least squares; slope·n/mean.
#[must_use]
pub fn slope_per_window(counts_per_s: &[f64]) -> Option<f64> {
    trend(counts_per_s).map(|(slope, _)| slope)
}

/// Whether the trend is over `limit`, in either direction, by more than chance makes of the
/// scatter: its distance from the limit exceeds two standard errors of the slope.
#[must_use]
pub fn drifts(counts_per_s: &[f64], limit: f64) -> bool {
    trend(counts_per_s).is_some_and(|(slope, error)| slope.abs() - 2.0 * error > limit)
}

/// Slope over the window and its standard error, both relative to the mean.
fn trend(counts_per_s: &[f64]) -> Option<(f64, f64)> {
    let n = counts_per_s.len();
    let centre = mean(counts_per_s);
    if n < 3 || !centre.is_finite() || centre <= 0.0 {
        return None;
    }
    let middle = (n - 1) as f64 / 2.0;
    let (mut covariance, mut variance) = (0.0, 0.0);
    for (second, count) in counts_per_s.iter().enumerate() {
        let offset = second as f64 - middle;
        covariance += offset * (count - centre);
        variance += offset * offset;
    }
    let slope = covariance / variance;
    let residual = |(second, count): (usize, &f64)| {
        (count - centre - slope * (second as f64 - middle)).powi(2)
    };
    let squares: f64 = counts_per_s.iter().enumerate().map(residual).sum();
    let error = (squares / (n - 2) as f64 / variance).sqrt();
    let scale = n as f64 / centre;
    Some((slope * scale, error * scale))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::autocorrelation::SplitMix64;
    use proptest::prelude::*;

    fn noisy(level: f64, spread: f64, rng: &mut SplitMix64) -> u64 {
        (level * (1.0 + spread * (2.0 * rng.unit() - 1.0))).round() as u64
    }

    #[test]
    fn a_drift_is_told_from_scatter() {
        let mut rng = SplitMix64::new(11);
        let flat: Vec<f64> = (0..25)
            .map(|_| noisy(1000.0, 0.1, &mut rng) as f64)
            .collect();
        assert!(!drifts(&flat, 0.02));
        let rising: Vec<f64> = flat
            .iter()
            .enumerate()
            .map(|(i, x)| x * (1.0 + i as f64 / 50.0))
            .collect();
        assert!(drifts(&rising, 0.02));
        assert!(!drifts(&[1.0, 2.0], 0.02));
    }

    /// The definition, written out: the one-pass search must find the same.
    fn by_definition(counts: &[u64]) -> usize {
        let z: Vec<f64> = counts
            .chunks_exact(5)
            .map(|b| b.iter().sum::<u64>() as f64 / 5.0)
            .collect();
        let criterion = |d: usize| {
            let tail = &z[d..];
            let m = mean(tail);
            tail.iter().map(|x| (x - m).powi(2)).sum::<f64>() / (tail.len() as f64).powi(2)
        };
        (0..=z.len() - TAIL_BATCHES)
            .min_by(|&a, &b| criterion(a).total_cmp(&criterion(b)))
            .unwrap()
            * 5
    }

    #[test]
    fn too_short_is_none() {
        assert_eq!(mser5(&[7; 49]), None);
        assert_eq!(
            mser5(&[7; 54]),
            Some(Warmup {
                truncate: 0,
                steady: true
            })
        );
    }

    #[test]
    fn an_endless_ramp_is_not_steady() {
        let doubling: Vec<u64> = (0..30).flat_map(|s| [1_u64 << s; 5]).collect();
        let found = mser5(&doubling).unwrap();
        assert!(found.truncate <= doubling.len() - TAIL_BATCHES * BATCH);
        // A step late in the run: what remains after it is less than half.
        let late: Vec<u64> = (0..200).map(|i| if i < 150 { 100 } else { 1000 }).collect();
        assert_eq!(
            mser5(&late),
            Some(Warmup {
                truncate: 150,
                steady: false
            })
        );
    }

    /// Half a transaction a second for 30 minutes, and a tenth for the first `slow` 200 ms.
    fn few(seed: u64, slow: usize) -> Vec<u64> {
        let mut rng = SplitMix64::new(seed);
        let mut one = |chance: f64| u64::from(rng.unit() < chance);
        (0..9_000)
            .map(|i| one(if i < slow { 0.02 } else { 0.1 }))
            .collect()
    }

    #[test]
    fn a_warm_up_of_few_transactions_is_found_in_longer_batches() {
        let steady = Warmup {
            truncate: 0,
            steady: true,
        };
        assert_eq!(mser5_joined(&few(0, 0)), Some(steady));
        let found = mser5_joined(&few(0, 1_500)).unwrap();
        assert!(
            found.steady && (1_500..2_000).contains(&found.truncate),
            "{found:?}"
        );
        // What single seconds hold says nothing.
        assert_eq!(mser5(&few(0, 1_500)), Some(steady));
        assert_eq!(mser5_joined(&few(0, 0)[..1_500]), None);
        assert_eq!(mser5_joined(&[0; 9_000]), None);
        assert_eq!(mser5_joined(&[]), None);
    }

    #[test]
    fn slope_by_hand() {
        assert_eq!(slope_per_window(&[5.0; 60]), Some(0.0));
        let ramp: Vec<f64> = (0..60).map(|s| 100.0 + f64::from(s)).collect();
        assert!((slope_per_window(&ramp).unwrap() - 60.0 / 129.5).abs() < 1e-12);
        assert_eq!(slope_per_window(&[1.0, 2.0]), None);
        assert_eq!(slope_per_window(&[0.0; 10]), None);
        assert_eq!(slope_per_window(&[1.0, f64::NAN, 1.0]), None);
    }

    proptest! {
        #[test]
        fn finds_a_step(
            step in 1_usize..30, before in 0.1_f64..0.7, seed in any::<u64>(), level in 200.0_f64..1e5
        ) {
            let mut rng = SplitMix64::new(seed);
            let counts: Vec<u64> = (0..300)
                .map(|i| noisy(if i < step * 5 { before * level } else { level }, 0.05, &mut rng))
                .collect();
            let found = mser5(&counts).unwrap();
            prop_assert!(found.truncate >= step * 5, "{:?}", found);
            prop_assert_eq!(found.truncate % BATCH, 0);
        }

        #[test]
        fn agrees_with_the_definition(
            counts in prop::collection::vec(0_u64..10_000, 50..200), scale in 1_u64..50
        ) {
            let found = mser5(&counts).unwrap();
            prop_assert_eq!(found.truncate, by_definition(&counts));
            prop_assert_eq!(found.steady, 2 * found.truncate <= counts.len() / BATCH * BATCH);
            let scaled: Vec<u64> = counts.iter().map(|c| c * scale).collect();
            prop_assert_eq!(mser5(&scaled).unwrap(), found);
        }

        #[test]
        fn nothing_is_joined_where_seconds_hold_enough(
            counts in prop::collection::vec(4_u64..10_000, 0..200)
        ) {
            prop_assert_eq!(mser5_joined(&counts), mser5(&counts));
        }

        #[test]
        fn whole_seconds_are_left_out(counts in prop::collection::vec(0_u64..6, 0..600)) {
            if let Some(found) = mser5_joined(&counts) {
                prop_assert_eq!(found.truncate % BATCH, 0);
                prop_assert!(found.truncate < counts.len());
            }
        }

        #[test]
        fn slope_ignores_the_unit(x in prop::collection::vec(1.0_f64..100.0, 3..100), k in 0.1_f64..50.0) {
            let scaled: Vec<f64> = x.iter().map(|v| v * k).collect();
            let (a, b) = (slope_per_window(&x).unwrap(), slope_per_window(&scaled).unwrap());
            prop_assert!((a - b).abs() < 1e-9);
            let backwards: Vec<f64> = x.iter().rev().copied().collect();
            prop_assert!((slope_per_window(&backwards).unwrap() + a).abs() < 1e-9);
        }
    }
}
