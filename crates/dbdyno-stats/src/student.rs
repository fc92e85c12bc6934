//! Quantiles and tail probabilities of Student's t and of the normal distribution.

use std::cell::RefCell;
use std::collections::HashMap;

use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::beta::beta_reg;
use statrs::function::gamma::ln_gamma;

/// Above this many degrees of freedom the two-term Cornish-Fisher expansion is exact to a double.
const NEARLY_NORMAL_DF: f64 = 1e6;

/// More entries than the designs and budgets in use can ask for; a bound, so that nothing grows unseen.
const MAX_CACHED: usize = 512;

thread_local! {
    // A judge asks for the same few quantiles after each pair; a root search each time would make
    // simulating the judge itself a hundred times slower.
    static CACHE: RefCell<HashMap<(u64, u64), f64>> = RefCell::new(HashMap::new());
}

/// The `p` quantile of Student's t with `df` degrees of freedom (any positive number, not only
/// integers); both arguments and the result are dimensionless.
///
/// Not a number unless 0 < `p` < 1 and `df` > 0. Source: Abramowitz & Stegun 26.7.1, inverted by
/// a bracketed Newton search; relative error under 1e-6 against printed tables.
#[must_use]
pub fn t_quantile(p: f64, df: f64) -> f64 {
    if !(p > 0.0 && p < 1.0 && df > 0.0) {
        return f64::NAN;
    }
    // The search works on the smaller tail, where 1 - p would lose digits.
    let tail = p.min(1.0 - p);
    let magnitude = upper_quantile(tail, df);
    if p < 0.5 { -magnitude } else { magnitude }
}

/// The `p` quantile of the standard normal distribution; not a number unless 0 < `p` < 1.
///
/// Source: Abramowitz & Stegun 26.2, by the inverse complementary error function.
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    if p > 0.0 && p < 1.0 {
        Normal::standard().inverse_cdf(p)
    } else {
        f64::NAN
    }
}

/// The probability that |T| exceeds |`t`| for Student's t with `df` degrees of freedom: the
/// two-sided p-value, in 0..=1. Source: Abramowitz & Stegun 26.7.1.
#[must_use]
pub fn t_two_sided_p(t: f64, df: f64) -> f64 {
    if t.is_nan() || df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    if t.is_infinite() {
        return 0.0;
    }
    beta_reg(df / 2.0, 0.5, df / (df + t * t))
}

/// The point that Student's t exceeds with probability `tail` (at most one half).
fn upper_quantile(tail: f64, df: f64) -> f64 {
    if tail == 0.5 {
        return 0.0;
    }
    if df > NEARLY_NORMAL_DF {
        let z = -normal_quantile(tail);
        return z + (z.powi(3) + z) / (4.0 * df);
    }
    let key = (tail.to_bits(), df.to_bits());
    if let Some(known) = CACHE.with_borrow(|cache| cache.get(&key).copied()) {
        return known;
    }
    let found = search_upper_quantile(tail, df);
    CACHE.with_borrow_mut(|cache| {
        if cache.len() >= MAX_CACHED {
            cache.clear();
        }
        cache.insert(key, found);
    });
    found
}

/// Newton on the upper tail, kept inside a bracket by bisection.
fn search_upper_quantile(tail: f64, df: f64) -> f64 {
    let excess = |x: f64| t_two_sided_p(x, df) / 2.0 - tail;
    let ln_scale = ln_gamma(f64::midpoint(df, 1.0))
        - ln_gamma(df / 2.0)
        - 0.5 * (df * std::f64::consts::PI).ln();
    let density = |x: f64| (ln_scale - f64::midpoint(df, 1.0) * (x * x / df).ln_1p()).exp();

    let (mut low, mut high) = (0.0, 1.0);
    while excess(high) > 0.0 && high < 1e150 {
        low = high;
        high *= 2.0;
    }
    let mut x = low;
    // Bisection alone would halve the bracket to the last bit in about 60 steps.
    for _ in 0..100 {
        let above = excess(x);
        if above > 0.0 {
            low = x;
        } else {
            high = x;
        }
        let newton = x + above / density(x);
        let next = if newton > low && newton < high {
            newton
        } else {
            f64::midpoint(low, high)
        };
        if (next - x).abs() <= 1e-13 * next {
            return next;
        }
        x = next;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Printed tables: quantile, degrees of freedom, value (to the digits printed).
    const TABLE: [(f64, f64, f64); 12] = [
        (0.975, 1.0, 12.706_204_74),
        (0.975, 2.0, 4.302_652_730),
        (0.975, 3.0, 3.182_446_305),
        (0.975, 4.0, 2.776_445_105),
        (0.975, 5.0, 2.570_581_836),
        (0.975, 9.0, 2.262_157_163),
        (0.975, 19.0, 2.093_024_054),
        (0.975, 30.0, 2.042_272_456),
        (0.95, 10.0, 1.812_461_123),
        (0.995, 3.0, 5.840_909_310),
        (0.995, 20.0, 2.845_339_710),
        (0.9995, 9.0, 4.780_912_586),
    ];

    #[test]
    fn t_matches_published_tables() {
        for (p, df, value) in TABLE {
            let got = t_quantile(p, df);
            assert!(
                (got / value - 1.0).abs() < 1e-8,
                "t({p}, {df}) = {got}, table {value}"
            );
        }
    }

    #[test]
    fn t_closed_forms_for_one_and_two_degrees_of_freedom() {
        for p in [1e-9, 0.001, 0.3, 0.499, 0.5, 0.501, 0.7, 0.9909, 0.999_999] {
            let cauchy = (std::f64::consts::PI * (p - 0.5)).tan();
            assert!(
                (t_quantile(p, 1.0) - cauchy).abs() <= 1e-6 * cauchy.abs(),
                "p {p}"
            );
            let two = (2.0 * p - 1.0) / (2.0 * p * (1.0 - p)).sqrt();
            assert!(
                (t_quantile(p, 2.0) - two).abs() <= 1e-6 * two.abs(),
                "p {p}"
            );
        }
    }

    #[test]
    fn normal_matches_published_tables() {
        for (p, value) in [(0.975, 1.959_963_985), (0.8, 0.841_621_234), (0.5, 0.0)] {
            assert!((normal_quantile(p) - value).abs() < 1e-8);
        }
        assert!((t_quantile(0.975, 1e9) - normal_quantile(0.975)).abs() < 1e-7);
        assert!((t_quantile(0.975, f64::INFINITY) - normal_quantile(0.975)).abs() < 1e-12);
    }

    #[test]
    fn nonsense_is_not_a_number() {
        for (p, df) in [
            (0.0, 3.0),
            (1.0, 3.0),
            (-0.1, 3.0),
            (0.9, 0.0),
            (f64::NAN, 3.0),
        ] {
            assert!(t_quantile(p, df).is_nan());
        }
        assert!(normal_quantile(1.0).is_nan());
        assert!(t_two_sided_p(1.0, 0.0).is_nan());
    }

    proptest! {
        #[test]
        fn quantile_and_tail_are_inverse(p in 0.0001_f64..0.4999, df in 1.0_f64..500.0) {
            let x = t_quantile(p, df);
            prop_assert!((t_two_sided_p(x, df) / 2.0 / p - 1.0).abs() < 1e-9);
            prop_assert!((t_quantile(1.0 - p, df) / -x - 1.0).abs() < 1e-6);
        }

        #[test]
        fn heavier_tails_with_fewer_degrees_of_freedom(p in 0.6_f64..0.999, df in 1.0_f64..100.0) {
            prop_assert!(t_quantile(p, df) > t_quantile(p, df + 1.0));
            prop_assert!(t_quantile(p, df) > normal_quantile(p));
        }
    }
}
