//! Tests of the unpaired interval: closed forms, symmetries, and its coverage by simulation.

use std::f64::consts::PI;

use proptest::prelude::*;

use super::*;

const COMPARISONS: u32 = 20_000;

/// Nominally 5 %, and room for the error of 20,000 comparisons (one standard error is 0.15 %).
const MAX_MISSES: f64 = 0.055;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

/// Figures with these logarithms.
fn exp(logs: &[f64]) -> Vec<f64> {
    logs.iter().map(|x| x.exp()).collect()
}

/// SplitMix64 and Box-Muller: the same numbers in every run of the test.
struct Rng(u64);

impl Rng {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        ((z >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (2.0 * PI * self.unit()).cos()
    }

    /// Throughputs of so many runs whose logarithms spread by `spread`.
    fn runs(&mut self, n: usize, spread: f64) -> Vec<f64> {
        (0..n)
            .map(|_| 2_400.0 * (spread * self.normal()).exp())
            .collect()
    }
}

/// Share of comparisons without a difference whose 95 % interval excludes 1, where the runs of the
/// first group spread `ratio` times as far as those of the second.
fn misses(runs: (usize, usize), ratio: f64) -> f64 {
    let mut rng = Rng(7);
    let mut missed = 0;
    for _ in 0..COMPARISONS {
        let (base, other) = (rng.runs(runs.0, 0.02 * ratio), rng.runs(runs.1, 0.02));
        let interval = unpaired_interval_of_log_ratio(&base, &other, 0.95).unwrap();
        missed += u32::from(interval.excludes_one());
    }
    f64::from(missed) / f64::from(COMPARISONS)
}

#[test]
fn a_95_percent_interval_misses_in_5_percent() {
    for runs in [
        (2, 2),
        (2, 4),
        (2, 10),
        (3, 4),
        (4, 4),
        (4, 6),
        (4, 20),
        (10, 10),
    ] {
        for ratio in [0.67, 1.0, 1.5] {
            let missed = misses(runs, ratio);
            println!("{runs:?} runs, spread × {ratio}: {:.2} %", 100.0 * missed);
            assert!(missed <= MAX_MISSES, "{runs:?} × {ratio}: {missed}");
        }
    }
    // Not by never excluding anything: with enough runs it is what it says.
    assert!(misses((10, 10), 1.0) > 0.045);
}

/// The known limit: a handful of runs that spread far wider than the other group's. Measured here,
/// so that nobody claims more than is held.
#[test]
fn a_few_wild_runs_are_the_known_limit() {
    for (runs, ratio) in [((2, 3), 5.0), ((2, 4), 3.0), ((3, 10), 3.0), ((4, 10), 3.0)] {
        let missed = misses(runs, ratio);
        println!("{runs:?} runs, spread × {ratio}: {:.2} %", 100.0 * missed);
        assert!(missed < 0.09, "{runs:?} × {ratio}: {missed}");
    }
}

#[test]
fn welch_by_hand() {
    // Variances 0.002 / 3 and 0.0005 / 3: shares of 0.8 and 0.2, 3 / (0.64 + 0.04) degrees.
    let base = exp(&[0.00, 0.02, 0.04, 0.06]);
    let other = exp(&[0.10, 0.11, 0.12, 0.13]);
    let half = t_quantile(0.975, 3.0 / 0.68) * (0.0025_f64 / 12.0).sqrt();
    let got = unpaired_interval_of_log_ratio(&base, &other, 0.95).unwrap();
    assert!(close(got.ratio, 0.085_f64.exp()));
    assert!(close(got.low, (0.085 - half).exp()) && close(got.high, (0.085 + half).exp()));
    assert_eq!((got.level, got.pairs), (0.95, 0));
}

#[test]
fn the_smaller_group_counts_as_no_less_spread() {
    // Variances 0.0002 of two and 0.002 / 3 of four. The degrees take 0.002 / 3 for both: shares
    // of 2/3 and 1/3. The width takes what was measured.
    let base = exp(&[0.00, 0.02]);
    let other = exp(&[0.10, 0.12, 0.14, 0.16]);
    let df = 1.0 / (4.0 / 9.0 + 1.0 / 27.0);
    let half = t_quantile(0.975, df) * (0.0001_f64 + 0.0005 / 3.0).sqrt();
    let got = unpaired_interval_of_log_ratio(&base, &other, 0.95).unwrap();
    assert!(close(got.low, (0.12 - half).exp()) && close(got.high, (0.12 + half).exp()));
}

#[test]
fn what_cannot_be_known_is_none() {
    let known = [2_410.0, 2_380.0];
    let none = |base: &[f64], other: &[f64], level| {
        assert_eq!(unpaired_interval_of_log_ratio(base, other, level), None);
        assert_eq!(unpaired_interval_of_log_ratio(other, base, level), None);
    };
    assert!(unpaired_interval_of_log_ratio(&known, &known, 0.95).is_some());
    none(&known, &[], 0.95);
    none(&known, &[2_400.0], 0.95);
    none(&known, &[2_400.0, 0.0], 0.95);
    none(&known, &[2_400.0, -1.0], 0.95);
    none(&known, &[2_400.0, f64::NAN], 0.95);
    none(&known, &[2_400.0, f64::INFINITY], 0.95);
    none(&known, &known, 1.0);
    none(&known, &known, 0.0);
    // Three equal numbers whose mean is off by a last bit do not vary.
    none(&known, &[0.1_f64.exp(); 3], 0.95);
    none(&[2_400.0; 4], &[2_400.0; 4], 0.95);
}

fn group() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-0.3_f64..0.3, 2..12)
}

proptest! {
    #[test]
    fn equal_size_and_variance_is_the_pooled_t(logs in group(), shift in -1.0_f64..1.0) {
        let other: Vec<f64> = logs.iter().map(|x| x + shift).collect();
        let n = logs.len() as f64;
        let s = s_d(&logs).unwrap();
        let half = t_quantile(0.975, 2.0 * n - 2.0) * s * (2.0 / n).sqrt();
        let got = unpaired_interval_of_log_ratio(&exp(&logs), &exp(&other), 0.95).unwrap();
        prop_assert!(close(got.ratio, shift.exp()));
        prop_assert!(close(got.low, (shift - half).exp()));
        prop_assert!(close(got.high, (shift + half).exp()));
    }

    #[test]
    fn swapping_the_groups_inverts_the_interval(a in group(), b in group()) {
        let there = unpaired_interval_of_log_ratio(&exp(&a), &exp(&b), 0.95).unwrap();
        let back = unpaired_interval_of_log_ratio(&exp(&b), &exp(&a), 0.95).unwrap();
        prop_assert!(close(back.ratio, 1.0 / there.ratio));
        prop_assert!(close(back.low.ln(), -there.high.ln()));
        prop_assert!(close(back.high.ln(), -there.low.ln()));
        prop_assert_eq!(there.excludes_one(), back.excludes_one());
    }

    #[test]
    fn units_do_not_matter(a in group(), b in group(), unit in 0.001_f64..1000.0) {
        let scale = |logs: &[f64]| exp(logs).iter().map(|x| unit * x).collect::<Vec<_>>();
        let one = unpaired_interval_of_log_ratio(&exp(&a), &exp(&b), 0.95).unwrap();
        let two = unpaired_interval_of_log_ratio(&scale(&a), &scale(&b), 0.95).unwrap();
        prop_assert!(close(one.low, two.low) && close(one.high, two.high));
    }

    #[test]
    fn a_faster_group_scales_the_interval(a in group(), b in group(), k in 0.1_f64..10.0) {
        let faster: Vec<f64> = exp(&b).iter().map(|x| k * x).collect();
        let one = unpaired_interval_of_log_ratio(&exp(&a), &exp(&b), 0.95).unwrap();
        let two = unpaired_interval_of_log_ratio(&exp(&a), &faster, 0.95).unwrap();
        prop_assert!(close(two.low / k, one.low) && close(two.high / k, one.high));
    }

    #[test]
    fn a_higher_level_is_wider_around_the_same_ratio(
        a in group(), b in group(), level in 0.5_f64..0.99
    ) {
        let narrow = unpaired_interval_of_log_ratio(&exp(&a), &exp(&b), level).unwrap();
        let wide = unpaired_interval_of_log_ratio(&exp(&a), &exp(&b), level + 0.005).unwrap();
        prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
        prop_assert!(narrow.low <= narrow.ratio && narrow.ratio <= narrow.high);
        prop_assert_eq!(wide.ratio.to_bits(), narrow.ratio.to_bits());
    }

    #[test]
    fn degrees_of_freedom_stay_within_those_of_the_groups(a in group(), b in group()) {
        let (a, b) = (Group::of(&exp(&a)).unwrap(), Group::of(&exp(&b)).unwrap());
        let df = degrees_of_freedom(&a, &b);
        let least = a.n.min(b.n) - 1.0;
        prop_assert!(df >= least * (1.0 - 1e-9) && df <= (a.n + b.n - 2.0) * (1.0 + 1e-9));
    }
}
