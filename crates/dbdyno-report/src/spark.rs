//! Small charts made of characters: bars of a series, and marks on a line.

/// From nearly nothing to the top of the scale.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One bar a value between 0 and `top`, a blank where there is none.
pub(crate) fn bars(values: &[Option<f64>], top: f64) -> String {
    let bar = |value: &Option<f64>| match value.filter(|value| value.is_finite()) {
        Some(value) if top > 0.0 => {
            let level = (value / top * BARS.len() as f64).ceil() as usize;
            BARS[level.clamp(1, BARS.len()) - 1]
        }
        Some(_) => BARS[0],
        None => ' ',
    };
    values.iter().map(bar).collect()
}

/// A logarithmic scale on columns of text: half and double are equally far from 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    columns: usize,
}

impl Scale {
    /// The scale on which all values have a column; none where a value has no logarithm.
    pub(crate) fn over(values: &[f64], columns: usize) -> Option<Self> {
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let low = logs.iter().copied().fold(f64::INFINITY, f64::min);
        let high = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let drawable = logs.iter().all(|log| log.is_finite()) && low <= high && columns > 0;
        drawable.then_some(Self { low, high, columns })
    }

    /// The column of a value; one off the scale is at its end.
    pub(crate) fn at(&self, value: f64) -> usize {
        let span = self.high - self.low;
        if span <= 0.0 {
            return 0;
        }
        let last = (self.columns - 1) as f64;
        ((value.ln() - self.low) / span * last).round() as usize
    }
}

/// A line of text that marks are put on.
#[derive(Debug, Clone)]
pub(crate) struct Row(Vec<char>);

impl Row {
    pub(crate) fn new(columns: usize) -> Self {
        Self(vec![' '; columns])
    }

    /// Puts a mark over what was there; beyond the end is nowhere.
    pub(crate) fn put(&mut self, at: usize, mark: char) {
        if let Some(place) = self.0.get_mut(at) {
            *place = mark;
        }
    }

    /// One more dot at a place: several there are counted.
    pub(crate) fn dot(&mut self, at: usize) {
        let mark = match self.0.get(at) {
            Some('●') => '2',
            Some(count @ '2'..='8') => char::from_u32(*count as u32 + 1).unwrap_or('+'),
            Some('9' | '+') => '+',
            _ => '●',
        };
        self.put(at, mark);
    }

    /// A text with its middle at a place, pushed in from the ends, where it touches no other.
    pub(crate) fn label(&mut self, at: usize, text: &str) {
        let width = text.chars().count();
        if width > self.0.len() {
            return;
        }
        let start = at
            .saturating_sub(width / 2)
            .min(self.0.len().saturating_sub(width));
        let around = start.saturating_sub(1)..(start + width + 1).min(self.0.len());
        if self.0[around].iter().all(|place| *place == ' ') {
            for (offset, char) in text.chars().enumerate() {
                self.put(start + offset, char);
            }
        }
    }

    pub(crate) fn text(&self) -> String {
        let text: String = self.0.iter().collect();
        text.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bars_share_a_scale_and_show_gaps() {
        let values = [Some(0.0), Some(12.5), None, Some(50.0), Some(100.0)];
        assert_eq!(bars(&values, 100.0), "▁▁ ▄█");
        assert_eq!(bars(&values[..1], 0.0), "▁");
        assert_eq!(bars(&[Some(f64::NAN)], 1.0), " ");
    }

    #[test]
    fn marks_are_counted_and_labels_do_not_touch() {
        let mut row = Row::new(12);
        row.dot(3);
        row.dot(3);
        row.dot(11);
        row.dot(12);
        assert_eq!(row.text(), "   2       ●");
        let mut row = Row::new(12);
        row.label(11, "1.37");
        row.label(7, "1.31");
        row.label(0, "1.00");
        assert_eq!(row.text(), "1.00    1.37");
    }

    #[test]
    fn the_scale_is_logarithmic() {
        let scale = Scale::over(&[0.5, 2.0], 11).unwrap();
        assert_eq!([0.5, 1.0, 2.0].map(|value| scale.at(value)), [0, 5, 10]);
        assert!(Scale::over(&[0.0, 1.0], 11).is_none());
        assert!(Scale::over(&[], 11).is_none());
        assert_eq!(Scale::over(&[1.0], 11).unwrap().at(1.0), 0);
    }

    proptest! {
        #[test]
        fn every_value_has_a_column(values in prop::collection::vec(0.01_f64..100.0, 1..20), columns in 1_usize..120) {
            let scale = Scale::over(&values, columns).unwrap();
            for value in &values {
                prop_assert!(scale.at(*value) < columns);
            }
        }
    }
}
