//! Intervals, noise and budgets of paired log ratios.

use serde::{Deserialize, Serialize};

use crate::student::t_quantile;

/// A confidence interval of the ratio B / A: what is printed beside every verdict.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Geometric mean of B / A over the pairs; 1.05 reads "B is 5 % higher".
    pub ratio: f64,
    /// Lower end of the interval, as a ratio.
    pub low: f64,
    /// Upper end of the interval, as a ratio.
    pub high: f64,
    /// Confidence level, 0..1.
    pub level: f64,
    /// Number of pairs behind it.
    pub pairs: usize,
}

impl Interval {
    /// Whether the ratio 1, "no difference", lies outside the interval.
    #[must_use]
    pub fn excludes_one(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }

    /// Whether all of the interval lies within `1/(1+delta) ..= 1+delta`; `delta` is a relative
    /// difference (0.05 is 5 %). Symmetric in the log, so that swapping the arms changes nothing.
    #[must_use]
    pub fn lies_within(&self, delta: f64) -> bool {
        let bound = delta.ln_1p();
        self.low.ln() >= -bound && self.high.ln() <= bound
    }
}

/// The interval exp(mean D ± t·s/√n) of the ratio, with t at n − 1 degrees of freedom.
///
/// `d` holds one D = ln B − ln A a pair; `level` is 0.95 for 95 %. `None` for fewer than two
/// pairs, a level outside 0..1, or a D that is not finite (a run of zero transactions has no
/// logarithm). Source: the paired t interval; Kalibera & Jones, ISMM 2013, on ratios in the log.
#[must_use]
pub fn interval_of_log_ratios(d: &[f64], level: f64) -> Option<Interval> {
    if !(level > 0.0 && level < 1.0) {
        return None;
    }
    let s = s_d(d)?;
    let centre = mean(d);
    let n = d.len() as f64;
    let half = t_quantile(f64::midpoint(1.0, level), n - 1.0) * s / n.sqrt();
    Some(Interval {
        ratio: centre.exp(),
        low: (centre - half).exp(),
        high: (centre + half).exp(),
        level,
        pairs: d.len(),
    })
}

/// Sample standard deviation (n − 1 in the divisor) of the log ratios of pairs, in log units:
/// 0.042 reads "pairs spread by 4.2 %". `None` for fewer than two or a value that is not finite.
#[must_use]
pub fn s_d(d: &[f64]) -> Option<f64> {
    if d.len() < 2 || d.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let centre = mean(d);
    let squares: f64 = d.iter().map(|x| (x - centre).powi(2)).sum();
    Some((squares / (d.len() - 1) as f64).sqrt())
}

/// The smallest true difference that `n` pairs of spread `s_d` (log units) show in four of five
/// trials at 95 %: expm1((t.975 + t.80)·s_D/√n), a relative difference (0.05 is 5 %).
///
/// `None` for fewer than two pairs or a spread that is negative or not finite. Source: the power
/// of the paired t-test, with both quantiles at n − 1 degrees of freedom.
#[must_use]
pub fn smallest_detectable_effect(s_d: f64, n: usize) -> Option<f64> {
    if n < 2 || !s_d.is_finite() || s_d < 0.0 {
        return None;
    }
    let df = (n - 1) as f64;
    let quantiles = t_quantile(0.975, df) + t_quantile(0.80, df);
    Some((quantiles * s_d / (n as f64).sqrt()).exp_m1())
}

/// Pairs needed to see a relative difference `delta` at spread `s_d`, both fractions:
/// ⌈((1.96 + 0.84)·s_D/δ)² + 2⌉.
///
/// The + 2 stands for the t quantiles of small n. Not rounded to an even number: the caller does.
/// `usize::MAX` when `delta` is not positive or either is not a number: no budget is enough.
#[must_use]
pub fn pairs_needed(s_d: f64, delta: f64) -> usize {
    let pairs = (2.8 * s_d / delta).powi(2) + 2.0;
    if delta > 0.0 && pairs.is_finite() {
        // The hair keeps an exact integer from being lifted by the last bit of the division.
        (pairs - 1e-9).ceil() as usize
    } else {
        usize::MAX
    }
}

/// Arithmetic mean; not a number for an empty slice.
pub(crate) fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
    }

    #[test]
    fn interval_of_known_data_by_hand() {
        // Mean 0.05; squares 0.0009 + 0.0001 + 0.0001 + 0.0009 = 0.002; s = sqrt(0.002 / 3).
        let d = [0.02, 0.04, 0.06, 0.08];
        let s = (0.002_f64 / 3.0).sqrt();
        let half = 3.182_446_305 * s / 2.0;
        let got = interval_of_log_ratios(&d, 0.95).unwrap();
        assert!(close(s_d(&d).unwrap(), s));
        assert!(close(got.ratio, 0.05_f64.exp()));
        assert!((got.low - (0.05 - half).exp()).abs() < 1e-8);
        assert!((got.high - (0.05 + half).exp()).abs() < 1e-8);
        assert_eq!((got.level, got.pairs), (0.95, 4));
    }

    #[test]
    fn what_cannot_be_known_is_none() {
        assert_eq!(interval_of_log_ratios(&[], 0.95), None);
        assert_eq!(interval_of_log_ratios(&[0.1], 0.95), None);
        assert_eq!(
            interval_of_log_ratios(&[0.1, f64::NEG_INFINITY], 0.95),
            None
        );
        assert_eq!(interval_of_log_ratios(&[0.1, 0.2], 1.0), None);
        assert_eq!(s_d(&[0.1, f64::NAN]), None);
        assert_eq!(smallest_detectable_effect(0.02, 1), None);
        assert_eq!(smallest_detectable_effect(-0.02, 4), None);
    }

    #[test]
    fn pairs_needed_at_a_spread_of_4_2_percent() {
        assert_eq!(pairs_needed(0.042, 0.03), 18);
        assert_eq!(pairs_needed(0.042, 0.05), 8);
        assert_eq!(pairs_needed(0.0, 0.05), 2);
        assert_eq!(pairs_needed(0.042, 0.0), usize::MAX);
        assert_eq!(pairs_needed(f64::NAN, 0.05), usize::MAX);
    }

    #[test]
    fn smallest_detectable_effect_by_hand() {
        // t.975 and t.80 with 3 degrees of freedom from the printed table.
        let expected = ((3.182_446_305 + 0.978_472_312) * 0.03 / 2.0_f64).exp_m1();
        let got = smallest_detectable_effect(0.03, 4).unwrap();
        assert!((got - expected).abs() < 1e-8, "{got} {expected}");
    }

    #[test]
    fn interval_survives_json() {
        let interval = Interval {
            ratio: 1.05,
            low: 1.01,
            high: 1.09,
            level: 0.95,
            pairs: 4,
        };
        let text = serde_json::to_string(&interval).unwrap();
        assert_eq!(serde_json::from_str::<Interval>(&text).unwrap(), interval);
    }

    fn log_ratios() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(-0.3_f64..0.3, 2..30)
    }

    proptest! {
        #[test]
        fn symmetric_in_the_log(d in log_ratios(), level in 0.5_f64..0.999) {
            let i = interval_of_log_ratios(&d, level).unwrap();
            prop_assert!(close(i.low * i.high, i.ratio * i.ratio));
            prop_assert!(i.low <= i.ratio && i.ratio <= i.high);
        }

        #[test]
        fn a_shift_of_d_scales_the_ratio(d in log_ratios(), shift in -1.0_f64..1.0) {
            let i = interval_of_log_ratios(&d, 0.95).unwrap();
            let moved: Vec<f64> = d.iter().map(|x| x + shift).collect();
            let j = interval_of_log_ratios(&moved, 0.95).unwrap();
            prop_assert!(close(j.low / shift.exp(), i.low));
            prop_assert!(close(j.high / shift.exp(), i.high));
        }

        #[test]
        fn a_scale_of_d_scales_the_spread(d in log_ratios(), k in -3.0_f64..3.0) {
            let scaled: Vec<f64> = d.iter().map(|x| k * x).collect();
            prop_assert!(close(s_d(&scaled).unwrap(), k.abs() * s_d(&d).unwrap()));
        }

        #[test]
        fn swapping_the_arms_inverts_the_interval(d in log_ratios(), delta in 0.001_f64..0.3) {
            let i = interval_of_log_ratios(&d, 0.95).unwrap();
            let swapped: Vec<f64> = d.iter().map(|x| -x).collect();
            let j = interval_of_log_ratios(&swapped, 0.95).unwrap();
            prop_assert!(close(j.low, 1.0 / i.high) && close(j.high, 1.0 / i.low));
            prop_assert_eq!(i.excludes_one(), j.excludes_one());
            prop_assert_eq!(i.lies_within(delta), j.lies_within(delta));
        }

        #[test]
        fn a_higher_level_is_wider(d in log_ratios(), level in 0.5_f64..0.99) {
            let i = interval_of_log_ratios(&d, level).unwrap();
            let j = interval_of_log_ratios(&d, level + 0.005).unwrap();
            prop_assert!(j.low <= i.low && i.high <= j.high);
        }

        #[test]
        fn more_pairs_see_less(s in 0.001_f64..0.2, n in 2_usize..40) {
            let few = smallest_detectable_effect(s, n).unwrap();
            prop_assert!(smallest_detectable_effect(s, n + 1).unwrap() < few);
        }

        #[test]
        fn the_planned_pairs_nearly_see_delta(s in 0.01_f64..0.1, delta in 0.02_f64..0.1) {
            // Where the + 2 is a good stand-in for small-sample quantiles: six pairs and more.
            let n = pairs_needed(s, delta);
            prop_assume!(n >= 6);
            prop_assert!(smallest_detectable_effect(s, n).unwrap().ln_1p() < 1.1 * delta);
        }
    }
}
