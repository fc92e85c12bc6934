//! A second's histogram in a few bytes.

use hdrhistogram::Histogram;

/// A histogram as pairs of (step to the next recorded value, count), in variable-length integers:
/// some 4 bytes for each distinct latency instead of 100 kB a second.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Compact(Vec<u8>);

impl Compact {
    pub(crate) fn of(histogram: &Histogram<u32>) -> Self {
        let (mut bytes, mut last) = (Vec::new(), 0);
        for step in histogram.iter_recorded() {
            write_varint(&mut bytes, step.value_iterated_to() - last);
            write_varint(&mut bytes, u64::from(step.count_at_value()));
            last = step.value_iterated_to();
        }
        bytes.shrink_to_fit();
        Self(bytes)
    }

    pub(crate) fn add_to(&self, histogram: &mut Histogram<u64>) {
        let (mut rest, mut value) = (self.0.as_slice(), 0);
        while !rest.is_empty() {
            value += read_varint(&mut rest);
            let _ = histogram.record_n(value, read_varint(&mut rest));
        }
    }
}

fn write_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn read_varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let Some((&byte, rest)) = bytes.split_first() else {
            break;
        };
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_stats::new_histogram;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn compact_keeps_every_bucket(values in prop::collection::vec(1_u64..5_000_000_000_000, 0..300)) {
            let mut small = new_histogram::<u32>();
            let mut direct = new_histogram::<u64>();
            for &value in &values {
                small.record(value).unwrap();
                direct.record(value).unwrap();
            }
            let mut back = new_histogram::<u64>();
            Compact::of(&small).add_to(&mut back);
            prop_assert_eq!(back, direct);
        }

        #[test]
        fn varints_return(value: u64) {
            let mut bytes = Vec::new();
            write_varint(&mut bytes, value);
            let mut rest = bytes.as_slice();
            prop_assert_eq!(read_varint(&mut rest), value);
            prop_assert!(rest.is_empty());
        }
    }
}
