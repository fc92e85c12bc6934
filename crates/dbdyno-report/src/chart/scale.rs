//! From values to pixels, and where the ticks stand.

/// A linear map of values to pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    from: [f64; 2],
    to: [f64; 2],
}

impl Scale {
    /// Maps `from[0]` to `to[0]` and `from[1]` to `to[1]`; an empty range is widened.
    pub(super) fn new(from: [f64; 2], to: [f64; 2]) -> Self {
        let from = if from[1] - from[0] > 1e-12 {
            from
        } else {
            [from[0] - 0.5, from[0] + 0.5]
        };
        Self { from, to }
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        let share = (value - self.from[0]) / (self.from[1] - self.from[0]);
        self.to[0] + share * (self.to[1] - self.to[0])
    }
}

/// Round values within a range, at most `most` of them, and their decimals.
pub(super) fn ticks(low: f64, high: f64, most: usize) -> (Vec<f64>, usize) {
    let span = (high - low).max(1e-9);
    let raw = span / most.max(1) as f64;
    let magnitude = raw.log10().floor();
    let power = 10_f64.powf(magnitude);
    for factor in [1.0, 2.0, 5.0, 10.0, 20.0] {
        let step = factor * power;
        let first = (low / step).ceil() as i64;
        let last = (high / step).floor() as i64;
        if last - first < most as i64 {
            let decimals = (-(step.log10() + 1e-9).floor()).max(0.0) as usize;
            let values = (first..=last).map(|index| index as f64 * step).collect();
            return (values, decimals);
        }
    }
    (Vec::new(), 0)
}

/// Ticks of a logarithmic axis of ratios: even steps over a narrow range, 1, 2, 5 over a wide one.
pub(super) fn ratio_ticks(low: f64, high: f64) -> (Vec<f64>, usize) {
    if high / low < 4.0 {
        let (values, decimals) = ticks(low, high, 5);
        return (
            values.into_iter().filter(|value| *value > 0.0).collect(),
            decimals,
        );
    }
    let wide = (-3..=6).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)));
    let values: Vec<f64> = wide.filter(|value| (low..=high).contains(value)).collect();
    let smallest = values.first().copied().unwrap_or(1.0);
    let decimals = (-(smallest.log10() + 1e-9).floor()).max(0.0) as usize;
    (values, decimals)
}

/// Lowest and highest of what can stand on a logarithmic axis, with these shares of the span
/// below and above; 1 where nothing can.
pub(super) fn log_range(values: impl IntoIterator<Item = f64>, below: f64, above: f64) -> [f64; 2] {
    let drawable = values
        .into_iter()
        .filter(|value| value.is_finite() && *value > 0.0);
    let range = drawable.fold(None, |range: Option<[f64; 2]>, value| {
        let [low, high] = range.unwrap_or([value; 2]);
        Some([low.min(value), high.max(value)])
    });
    let [low, high] = range.unwrap_or([1.0; 2]);
    let span = (high / low).ln().max(0.02);
    [low * (-below * span).exp(), high * (above * span).exp()]
}

/// Ticks of a logarithmic axis of quantities, as values and texts: 1, 2, 5 of each power of ten
/// where at most `most` of them fit, else 1 alone.
pub(super) fn log_ticks(low: f64, high: f64, most: usize) -> Vec<(f64, String)> {
    let of = |digits: &'static [f64]| {
        let steps = (-6..=9).flat_map(move |power: i32| digits.iter().map(move |d| (*d, power)));
        steps
            .map(|(digit, power)| (digit * 10_f64.powi(power), power))
            .filter(|(value, _)| (low..=high).contains(value))
            .map(|(value, power)| {
                let text = if power >= 3 {
                    crate::number::count(value.round() as u64)
                } else {
                    format!("{value:.*}", (-power).max(0) as usize)
                };
                (value, text)
            })
            .collect::<Vec<_>>()
    };
    let fine = of(&[1.0, 2.0, 5.0]);
    if fine.len() <= most {
        return fine;
    }
    let coarse = of(&[1.0]);
    let every = coarse.len().div_ceil(most.max(1));
    coarse.into_iter().step_by(every.max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round() {
        let (values, decimals) = ticks(0.93, 1.41, 5);
        assert_eq!(decimals, 1);
        assert_eq!(values.len(), 5);
        assert!((values[0] - 1.0).abs() < 1e-12 && (values[4] - 1.4).abs() < 1e-12);
        assert_eq!(ticks(0.0, 3_400.0, 3).0, [0.0, 2_000.0]);
    }

    #[test]
    fn a_wide_range_of_ratios_has_logarithmic_ticks() {
        assert_eq!(ratio_ticks(0.8, 12.0), (vec![1.0, 2.0, 5.0, 10.0], 0));
        assert_eq!(ratio_ticks(0.15, 1.1), (vec![0.2, 0.5, 1.0], 1));
    }

    #[test]
    fn logarithmic_ticks_thin_out() {
        let texts = |low, high| -> Vec<String> {
            let ticks = log_ticks(low, high, 5);
            ticks.into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(texts(0.4, 12.0), ["0.5", "1", "2", "5", "10"]);
        assert_eq!(texts(0.02, 3_000.0), ["0.1", "1", "10", "100", "1,000"]);
        assert_eq!(log_ticks(1e-4, 1e4, 5).len(), 5);
    }

    #[test]
    fn a_range_leaves_out_what_has_no_logarithm() {
        let range = log_range([2.0, 0.0, f64::NAN, 8.0], 0.0, 0.0);
        assert!((range[0] - 2.0).abs() < 1e-12 && (range[1] - 8.0).abs() < 1e-12);
        let nothing = log_range([], 0.5, 0.5);
        assert!(nothing[0] < 1.0 && nothing[1] > 1.0);
    }

    #[test]
    fn a_scale_maps_its_ends_and_survives_an_empty_range() {
        let scale = Scale::new([0.0, 2.0], [100.0, 0.0]);
        assert!((scale.at(0.5) - 75.0).abs() < 1e-9);
        assert!(Scale::new([1.0, 1.0], [0.0, 10.0]).at(1.0).is_finite());
    }

    proptest! {
        #[test]
        fn ticks_stay_within(low in -1e6_f64..1e6, span in 1e-3_f64..1e6, most in 2_usize..8) {
            let (values, _) = ticks(low, low + span, most);
            prop_assert!(values.len() <= most);
            prop_assert!(values.iter().all(|v| *v >= low - 1e-9 * low.abs().max(span) && *v <= low + span + 1e-9 * low.abs().max(span)));
        }
    }
}
