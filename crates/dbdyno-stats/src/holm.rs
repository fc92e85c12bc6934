//! P-values of the secondary metrics, corrected for being many.

use crate::paired::{mean, s_d};
use crate::student::t_two_sided_p;

/// Holm's adjusted p-values, in the order given: compare each with the wanted error rate.
///
/// The i-th smallest of m is multiplied by m − i + 1, made monotone and capped at 1. A p-value
/// that is not a number counts as 1: no evidence, but still a metric that was looked at. Source:
/// Holm, Scandinavian Journal of Statistics 1979.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let known = |i: usize| if p[i].is_nan() { 1.0 } else { p[i] };
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| known(a).total_cmp(&known(b)));

    let mut adjusted = vec![1.0; p.len()];
    let mut largest = 0.0_f64;
    for (rank, &i) in order.iter().enumerate() {
        let remaining = (p.len() - rank) as f64;
        largest = largest.max((remaining * known(i)).min(1.0));
        adjusted[i] = largest;
    }
    adjusted
}

/// The two-sided p-value of the paired t-test that the mean of `d` (D = ln B − ln A, one a pair)
/// is zero, in 0..=1.
///
/// `None` for fewer than two pairs or a value that is not finite. Without any spread it is 1 when
/// all D are zero, else 0. Source: Student, Biometrika 1908.
#[must_use]
pub fn paired_t_p(d: &[f64]) -> Option<f64> {
    let s = s_d(d)?;
    let centre = mean(d);
    if centre == 0.0 {
        return Some(1.0);
    }
    let n = d.len() as f64;
    // Zero spread divides to infinity, whose tail is zero.
    Some(t_two_sided_p(centre * n.sqrt() / s, n - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::interval_of_log_ratios;
    use proptest::prelude::*;

    #[test]
    fn holm_by_hand() {
        let got = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (a, b) in got.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((a - b).abs() < 1e-12, "{got:?}");
        }
        assert!(holm(&[]).is_empty());
        assert_eq!(holm(&[f64::NAN, 0.01]), [1.0, 0.02]);
    }

    #[test]
    fn paired_t_p_from_the_table() {
        // t = mean/(s/√n) placed exactly on the 97.5 % quantile of 3 degrees of freedom.
        let s = (0.002_f64 / 3.0).sqrt();
        let centre = 3.182_446_305 * s / 2.0;
        let d = [centre - 0.03, centre - 0.01, centre + 0.01, centre + 0.03];
        assert!((paired_t_p(&d).unwrap() - 0.05).abs() < 1e-8);
    }

    #[test]
    fn without_spread() {
        assert_eq!(paired_t_p(&[0.0, 0.0]), Some(1.0));
        assert_eq!(paired_t_p(&[0.5, 0.5]), Some(0.0));
        assert_eq!(paired_t_p(&[0.5]), None);
    }

    proptest! {
        #[test]
        fn adjusted_is_at_least_p_and_keeps_the_order(
            p in prop::collection::vec(0.0_f64..=1.0, 1..20)
        ) {
            let adjusted = holm(&p);
            for i in 0..p.len() {
                prop_assert!(adjusted[i] >= p[i] && adjusted[i] <= 1.0);
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
                }
            }
        }

        #[test]
        fn agrees_with_the_interval(d in prop::collection::vec(-0.2_f64..0.3, 2..20)) {
            let p = paired_t_p(&d).unwrap();
            prop_assume!((p - 0.05).abs() > 1e-9);
            let interval = interval_of_log_ratios(&d, 0.95).unwrap();
            prop_assert_eq!(p < 0.05, interval.excludes_one());
        }
    }
}
