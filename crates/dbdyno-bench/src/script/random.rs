//! pgbench's distributions over a seeded generator.

/// SplitMix64: small, fast, and the same numbers for the same seed everywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Random(u64);

impl Random {
    /// A stream of its own for each `stream` of one seed.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut outer = Self(seed);
        let mut inner = Self(outer.next() ^ stream.wrapping_mul(0xd6e8_feb8_6659_fd93));
        Self(inner.next())
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In [0, 1).
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// In 0..n; 0 for n = 0.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    pub(super) fn uniform(&mut self, lo: i64, hi: i64) -> i64 {
        match span(lo, hi).checked_add(1) {
            Some(n) => lo.wrapping_add_unsigned(self.below(n)),
            None => self.next() as i64,
        }
    }

    /// Density falls by e^-parameter from `lo` to `hi`.
    pub(super) fn exponential(&mut self, lo: i64, hi: i64, parameter: f64) -> i64 {
        let cut = (-parameter).exp();
        let uniform = 1.0 - self.unit();
        scale(lo, hi, -(cut + (1.0 - cut) * uniform).ln() / parameter)
    }

    /// A bell around the middle, cut off at `parameter` standard deviations (at least 2).
    pub(super) fn gaussian(&mut self, lo: i64, hi: i64, parameter: f64) -> i64 {
        loop {
            let (r1, r2) = (1.0 - self.unit(), 1.0 - self.unit());
            let deviation = (-2.0 * r1.ln()).sqrt() * (std::f64::consts::TAU * r2).sin();
            if (-parameter..parameter).contains(&deviation) {
                return scale(lo, hi, (deviation + parameter) / (parameter * 2.0));
            }
        }
    }

    /// Value `lo` + k − 1 has a weight of 1/k^parameter (1.001 to 1000), by Devroye's rejection.
    pub(super) fn zipfian(&mut self, lo: i64, hi: i64, parameter: f64) -> i64 {
        let n = span(lo, hi) as f64 + 1.0;
        let b = (parameter - 1.0).exp2();
        loop {
            let (u, v) = (1.0 - self.unit(), self.unit());
            let x = u.powf(-1.0 / (parameter - 1.0)).floor();
            let t = (1.0 + 1.0 / x).powf(parameter - 1.0);
            if v * x * (t - 1.0) / (b - 1.0) <= t / b && x <= n {
                return lo.wrapping_add_unsigned((x as u64 - 1).min(span(lo, hi)));
            }
        }
    }
}

fn span(lo: i64, hi: i64) -> u64 {
    hi.abs_diff(lo)
}

fn scale(lo: i64, hi: i64, unit: f64) -> i64 {
    let width = span(lo, hi) as f64 + 1.0;
    lo.wrapping_add_unsigned(((width * unit) as u64).min(span(lo, hi)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn share(mut draw: impl FnMut() -> i64, of: std::ops::RangeInclusive<i64>) -> f64 {
        (0..100_000).filter(|_| of.contains(&draw())).count() as f64 / 100_000.0
    }

    #[test]
    fn shares_are_those_of_pgbench() {
        let mut r = Random::new(1, 0);
        assert!((share(|| r.uniform(1, 10), 1..=1) - 0.1).abs() < 0.01);
        // pgbench's manual: about 67 % of the time from the middle half relative to 1/parameter.
        assert!((share(|| r.gaussian(1, 1000, 2.0), 251..=750) - 0.715).abs() < 0.01);
        // f(1) = (1 − e^(−p/n)) / (1 − e^−p)
        let first = (1.0 - (-0.25_f64).exp()) / (1.0 - (-2.5_f64).exp());
        assert!((share(|| r.exponential(1, 10, 2.5), 1..=1) - first).abs() < 0.01);
        // 1 / Σ k^-1.5 for k up to 10.
        let total: f64 = (1..=10).map(|k| f64::from(k).powf(-1.5)).sum();
        assert!((share(|| r.zipfian(1, 10, 1.5), 1..=1) - 1.0 / total).abs() < 0.01);
    }

    #[test]
    fn streams_differ_and_seeds_repeat() {
        let first = |seed, stream| Random::new(seed, stream).next();
        assert_eq!(first(7, 3), first(7, 3));
        assert_ne!(first(7, 3), first(7, 4));
        assert_ne!(first(7, 3), first(8, 3));
    }

    proptest! {
        #[test]
        fn all_stay_within_their_bounds(a: i64, b: i64, seed: u64, p in 2.0_f64..100.0) {
            let (lo, hi) = (a.min(b), a.max(b));
            let mut r = Random::new(seed, 0);
            for value in [
                r.uniform(lo, hi), r.gaussian(lo, hi, p), r.exponential(lo, hi, p),
                r.zipfian(lo, hi, p), r.zipfian(lo, hi, 1.001), r.uniform(i64::MIN, i64::MAX),
            ].into_iter().take(5) {
                prop_assert!((lo..=hi).contains(&value));
            }
        }
    }
}
