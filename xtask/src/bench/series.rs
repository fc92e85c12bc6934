//! Values of one figure over all runs: their median, the least and the most.

use dbdyno_report::number;

/// One figure of all runs, in their order. Never empty.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Series {
    pub(super) values: Vec<f64>,
}

impl Series {
    pub(super) fn median(&self) -> f64 {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        }
    }

    pub(super) fn least(&self) -> f64 {
        self.values.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub(super) fn most(&self) -> f64 {
        let values = self.values.iter().copied();
        values.fold(f64::NEG_INFINITY, f64::max)
    }
}

/// `152 (148 to 160)`; a single run has no spread.
pub(super) fn spread(middle: f64, series: &Series) -> String {
    let middle = number::measured(middle);
    if series.values.len() == 1 {
        return middle;
    }
    let (least, most) = (series.least(), series.most());
    format!(
        "{middle} ({} to {})",
        number::measured(least),
        number::measured(most)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> Series {
        Series {
            values: values.to_vec(),
        }
    }

    #[test]
    fn a_median_is_the_middle_or_half_way_between_two() {
        assert_eq!(series(&[5.0]).median(), 5.0);
        assert_eq!(series(&[9.0, 1.0, 5.0]).median(), 5.0);
        assert_eq!(series(&[9.0, 1.0, 5.0, 4.0]).median(), 4.5);
        let spread = series(&[9.0, 1.0, 5.0]);
        assert_eq!((spread.least(), spread.most()), (1.0, 9.0));
    }
}
