//! The interval of a ratio between two groups of runs that were not paired.

use crate::paired::{Interval, mean, s_d};
use crate::student::t_quantile;

/// The interval of other / base between two groups of positive figures, such as the throughputs of
/// their runs: Welch's t on the logarithms, with Satterthwaite's degrees of freedom.
///
/// The ratio is that of the geometric means. The interval holds the spread within each group only:
/// whatever changed on the machine between the groups looks like a difference of theirs. Its
/// [`pairs`](Interval::pairs) are 0. `level` is 0.95 for 95 %.
///
/// Where one group is smaller, it counts in the degrees of freedom as if it varied no less than the
/// larger one: two or three runs are often close to each other by chance, which Satterthwaite takes
/// for precision, and 95 % intervals of 2 against 10 equal runs then miss in 10 % of cases. So they
/// miss in at most 5.5 % while one group's spread is up to 1.5 times the other's.
///
/// `None` for fewer than two figures in a group, a figure that is not positive or not finite, a
/// level outside 0..1, and a group that does not vary: an interval of no width would claim to know
/// how far off it can be. Sources: Welch, Biometrika 1947; Satterthwaite, Biometrics Bulletin 1946.
#[must_use]
pub fn unpaired_interval_of_log_ratio(base: &[f64], other: &[f64], level: f64) -> Option<Interval> {
    if !(level > 0.0 && level < 1.0) {
        return None;
    }
    let (base, other) = (Group::of(base)?, Group::of(other)?);
    let variance = base.variance_of_mean() + other.variance_of_mean();
    let t = t_quantile(f64::midpoint(1.0, level), degrees_of_freedom(&base, &other));
    let (centre, half) = (other.mean - base.mean, t * variance.sqrt());
    Some(Interval {
        ratio: centre.exp(),
        low: (centre - half).exp(),
        high: (centre + half).exp(),
        level,
        pairs: 0,
    })
}

/// Satterthwaite's, with the smaller group's variance raised to the larger group's.
fn degrees_of_freedom(base: &Group, other: &Group) -> f64 {
    let (few, many) = if base.n <= other.n {
        (base, other)
    } else {
        (other, base)
    };
    let of_few = if few.n < many.n {
        few.variance.max(many.variance) / few.n
    } else {
        few.variance_of_mean()
    };
    let of_many = many.variance_of_mean();
    // Shares instead of variances: squares of tiny variances would vanish.
    let share = |part: f64, group: &Group| (part / (of_few + of_many)).powi(2) / (group.n - 1.0);
    1.0 / (share(of_few, few) + share(of_many, many))
}

/// The logarithms of one group's figures.
struct Group {
    mean: f64,
    variance: f64,
    n: f64,
}

impl Group {
    fn of(figures: &[f64]) -> Option<Self> {
        let logs: Vec<f64> = figures.iter().map(|figure| figure.ln()).collect();
        // Zero and less have no finite logarithm, so that there is no spread of them either.
        let spread = s_d(&logs)?;
        // Asked of the numbers: the mean of equal ones may be off by a last bit.
        let varies = logs.iter().any(|log| *log != logs[0]);
        varies.then(|| Self {
            mean: mean(&logs),
            variance: spread.powi(2),
            n: logs.len() as f64,
        })
    }

    fn variance_of_mean(&self) -> f64 {
        self.variance / self.n
    }
}

#[cfg(test)]
#[path = "unpaired_tests.rs"]
mod tests;
