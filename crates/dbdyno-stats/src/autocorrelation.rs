//! How much a series that remembers its past is worth, and what follows for windows and intervals.

use crate::paired::mean;

/// Shortest measuring window that is ever advised, seconds.
pub const MIN_WINDOW_S: f64 = 20.0;

/// Longest measuring window that is ever advised, seconds.
pub const MAX_WINDOW_S: f64 = 120.0;

/// The autocorrelation time τ = 1 + 2Σρ_k of an evenly spaced series, in samples.
///
/// The sum stops before the first k with ρ_k + ρ_{k+1} < 0, where what remains is noise. Never
/// below 1: an alternating series would deserve it, but an interval must not shrink on the
/// strength of an estimate. 1 also for a series without variance or shorter than three. Source:
/// Geyer, Statistical Science 1992, initial positive sequence; ρ_k with the divisor n.
#[must_use]
pub fn tau(x: &[f64]) -> f64 {
    let n = x.len();
    let centre = mean(x);
    let off: Vec<f64> = x.iter().map(|v| v - centre).collect();
    let variance: f64 = off.iter().map(|v| v * v).sum();
    if n < 3 || !variance.is_finite() || variance <= 0.0 {
        return 1.0;
    }
    let rho = |k: usize| off.iter().zip(&off[k..]).map(|(a, b)| a * b).sum::<f64>() / variance;

    let mut sum = 0.0;
    let mut current = rho(1);
    for k in 1..n - 1 {
        let next = rho(k + 1);
        if current + next < 0.0 {
            break;
        }
        sum += current;
        current = next;
    }
    (1.0 + 2.0 * sum).max(1.0)
}

/// How many independent samples the series is worth: n/τ, between 0 (empty) and n.
#[must_use]
pub fn effective_sample_size(x: &[f64]) -> f64 {
    x.len() as f64 / tau(x)
}

/// The measuring window in seconds that gives the least variance for a given total time:
/// m* = √((restart + warm-up)·τ·σ_w²/σ_b²), clamped to 20–120 s.
///
/// `restart_and_warmup_s` in seconds; `tau` and `sigma_w2` are those of one-second samples within
/// a run, `sigma_b2` is the variance between runs in the same unit as `sigma_w2`. Without variance
/// between runs the longest, without any variance the shortest. Source: the minimum of
/// (overhead + m)·(σ_b² + σ_w²·τ/m); Kalibera & Jones, ISMM 2013.
#[must_use]
pub fn best_window_s(restart_and_warmup_s: f64, tau: f64, sigma_w2: f64, sigma_b2: f64) -> f64 {
    let best = (restart_and_warmup_s * tau * sigma_w2 / sigma_b2).sqrt();
    if best.is_nan() {
        MIN_WINDOW_S
    } else {
        best.clamp(MIN_WINDOW_S, MAX_WINDOW_S)
    }
}

/// The percentile interval of the mean of one run from a circular block bootstrap, in the unit of
/// `x`. It describes that run only: it knows nothing of the spread between runs.
///
/// `x` is evenly spaced, `block` in samples (trials use max(10 s, 2τ, checkpoint period/3)), `reps`
/// resamples, the same `seed` gives the same interval, `level` 0.95 for 95 %. `None` when fewer
/// than two blocks fit (every resample would be the run itself), for no block, under 20 resamples,
/// a level outside 0..1 or values that are not finite. Source: Politis & Romano 1992.
#[must_use]
pub fn block_bootstrap_interval(
    x: &[f64],
    block: usize,
    reps: usize,
    seed: u64,
    level: f64,
) -> Option<(f64, f64)> {
    let n = x.len();
    let usable = block > 0 && n / 2 >= block && reps >= 20 && level > 0.0 && level < 1.0;
    if !usable || x.iter().any(|v| !v.is_finite()) {
        return None;
    }
    // Running sums about the mean, twice around the circle: a block costs one subtraction.
    let centre = mean(x);
    let mut running = Vec::with_capacity(2 * n + 1);
    let mut total = 0.0;
    running.push(total);
    for v in x.iter().chain(x) {
        total += v - centre;
        running.push(total);
    }

    let mut rng = SplitMix64::new(seed);
    let mut means: Vec<f64> = (0..reps)
        .map(|_| {
            let (mut sum, mut taken) = (0.0, 0);
            while taken < n {
                let length = block.min(n - taken);
                let start = rng.below(n);
                sum += running[start + length] - running[start];
                taken += length;
            }
            centre + sum / n as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let outside = (1.0 - level) / 2.0;
    Some((
        interpolated(&means, outside),
        interpolated(&means, 1.0 - outside),
    ))
}

/// The `p` quantile of a sorted, non-empty slice, linear between order statistics.
fn interpolated(sorted: &[f64], p: f64) -> f64 {
    let position = p * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
}

/// Steele, Lea & Flood's SplitMix64: small, and the same on every machine.
#[derive(Debug)]
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in 0..1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in 0..n; the bias of the product is under n/2⁵³.
    fn below(&mut self, n: usize) -> usize {
        ((self.unit() * n as f64) as usize).min(n - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sum of twelve uniforms: near enough to normal for these tests.
    fn gauss(rng: &mut SplitMix64) -> f64 {
        (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
    }

    fn ar1(phi: f64, n: usize, seed: u64) -> Vec<f64> {
        let mut rng = SplitMix64::new(seed);
        let mut state = gauss(&mut rng) / (1.0 - phi * phi).sqrt();
        (0..n)
            .map(|_| {
                state = phi * state + gauss(&mut rng);
                state
            })
            .collect()
    }

    #[test]
    fn splitmix_matches_the_reference() {
        let mut rng = SplitMix64::new(1_234_567);
        assert_eq!(rng.next(), 6_457_827_717_110_365_317);
        assert_eq!(rng.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn tau_of_short_or_constant_series_is_one() {
        for x in [
            vec![],
            vec![1.0],
            vec![1.0, 2.0],
            vec![3.0; 50],
            vec![f64::NAN; 5],
        ] {
            assert_eq!(tau(&x), 1.0);
        }
        let alternating: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        assert_eq!(tau(&alternating), 1.0);
        assert_eq!(effective_sample_size(&alternating), 100.0);
    }

    #[test]
    fn best_window_by_hand_and_at_its_limits() {
        // √(30·4·0.01/0.0004) = √3000.
        assert!((best_window_s(30.0, 4.0, 0.01, 0.0004) - 3000.0_f64.sqrt()).abs() < 1e-9);
        assert_eq!(best_window_s(30.0, 1.0, 1e-6, 1.0), 20.0);
        assert_eq!(best_window_s(30.0, 1.0, 1.0, 0.0), 120.0);
        assert_eq!(best_window_s(30.0, 1.0, 0.0, 0.0), 20.0);
    }

    #[test]
    fn bootstrap_covers_the_mean_of_independent_samples() {
        let trials = 300;
        let covered = (0..trials)
            .filter(|&seed| {
                let x = ar1(0.0, 120, seed);
                let (low, high) = block_bootstrap_interval(&x, 5, 400, seed, 0.95).unwrap();
                low <= 0.0 && 0.0 <= high
            })
            .count();
        assert!((264..=296).contains(&covered), "{covered} of {trials}");
    }

    #[test]
    fn bootstrap_refuses_what_it_cannot_do() {
        let x = [1.0, 2.0, 3.0, 4.0];
        assert!(block_bootstrap_interval(&x, 2, 100, 1, 0.95).is_some());
        assert_eq!(block_bootstrap_interval(&x, 3, 100, 1, 0.95), None);
        assert_eq!(block_bootstrap_interval(&x, 0, 100, 1, 0.95), None);
        assert_eq!(block_bootstrap_interval(&x, 1, 10, 1, 0.95), None);
        assert_eq!(block_bootstrap_interval(&x, 1, 100, 1, 1.0), None);
        assert_eq!(
            block_bootstrap_interval(&[1.0, f64::NAN], 1, 100, 1, 0.9),
            None
        );
        assert_eq!(block_bootstrap_interval(&[], 1, 100, 1, 0.9), None);
    }

    /// Mean of tau over fixed seeds: a single estimate has tails that no bound survives.
    fn mean_tau(phi: f64, n: usize) -> f64 {
        mean(
            &(0..40)
                .map(|seed| tau(&ar1(phi, n, seed)))
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn tau_of_independent_samples_is_about_one() {
        let t = mean_tau(0.0, 5000);
        assert!((1.0..1.08).contains(&t), "{t}");
    }

    #[test]
    fn tau_of_ar1_is_its_closed_form() {
        for phi in [0.2, 0.5, 0.6, 0.8, 0.9] {
            let expected = (1.0 + phi) / (1.0 - phi);
            let t = mean_tau(phi, 10_000);
            assert!((t / expected - 1.0).abs() < 0.06, "{t} for {expected}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn tau_ignores_shift_and_scale(seed in any::<u64>(), shift in -9.0_f64..9.0, k in 0.1_f64..9.0) {
            let x = ar1(0.5, 300, seed);
            let y: Vec<f64> = x.iter().map(|v| k * v + shift).collect();
            prop_assert!((tau(&x) - tau(&y)).abs() < 1e-6);
        }

        #[test]
        fn best_window_is_the_cheapest(
            overhead in 1.0_f64..100.0, tau in 1.0_f64..10.0, w in 1e-5_f64..1e-1, b in 1e-5_f64..1e-2
        ) {
            let cost = |m: f64| (overhead + m) * (b + w * tau / m);
            let best = best_window_s(overhead, tau, w, b);
            prop_assert!((MIN_WINDOW_S..=MAX_WINDOW_S).contains(&best));
            for m in 20..=120 {
                prop_assert!(cost(best) <= cost(f64::from(m)) * (1.0 + 1e-12));
            }
        }

        #[test]
        fn bootstrap_is_repeatable_and_moves_with_the_data(seed in any::<u64>(), shift in -50.0_f64..50.0) {
            let x = ar1(0.5, 60, seed);
            let (low, high) = block_bootstrap_interval(&x, 10, 200, seed, 0.95).unwrap();
            prop_assert!(low <= high);
            prop_assert_eq!(block_bootstrap_interval(&x, 10, 200, seed, 0.95), Some((low, high)));
            let y: Vec<f64> = x.iter().map(|v| v + shift).collect();
            let moved = block_bootstrap_interval(&y, 10, 200, seed, 0.95).unwrap();
            prop_assert!((moved.0 - shift - low).abs() < 1e-9 && (moved.1 - shift - high).abs() < 1e-9);
        }
    }
}
