//! Latency histograms: one shape for all, written and read back whole.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use hdrhistogram::{Counter, Histogram};

/// Significant digits that every latency keeps.
const DIGITS: u8 = 3;
/// Buckets of a histogram that spans nanoseconds to a day; a text that claims more is not ours.
const MOST_NANOS: u64 = 86_400_000_000_000;

/// An empty histogram of nanoseconds that grows as it needs to.
///
/// # Panics
/// Never: three digits are within what the format knows.
#[must_use]
pub fn new_histogram<C: Counter>() -> Histogram<C> {
    Histogram::new(DIGITS).expect("3 digits are supported")
}

/// HdrHistogram's V2 form with DEFLATE, in base64, as its logs hold it.
#[must_use]
pub fn encode_histogram(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    // Into memory, with a format that holds any histogram of 64-bit counts.
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .expect("memory takes it");
    STANDARD.encode(bytes)
}

/// The histogram that [`encode_histogram`] wrote; none where the text is not one.
#[must_use]
pub fn decode_histogram(text: &str) -> Option<Histogram<u64>> {
    let bytes = STANDARD.decode(text).ok()?;
    let read: Histogram<u64> = Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .ok()?;
    (read.sigfig() == DIGITS && read.max() <= MOST_NANOS).then_some(read)
}

/// All of them together; none where there is nothing to merge.
#[must_use]
pub fn merge_histograms<'a>(texts: impl IntoIterator<Item = &'a str>) -> Option<Histogram<u64>> {
    let mut merged = new_histogram::<u64>();
    for text in texts {
        // Ours resize, so that adding cannot fail for want of range.
        merged.add(decode_histogram(text)?).ok()?;
    }
    (!merged.is_empty()).then_some(merged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_and_merged(
            values in proptest::collection::vec(1..60_000_000_000_u64, 1..400),
            cut in 0..400_usize,
        ) {
            let of = |values: &[u64]| {
                let mut histogram = new_histogram::<u64>();
                for value in values {
                    histogram.record(*value).unwrap();
                }
                histogram
            };
            let whole = of(&values);
            prop_assert_eq!(&decode_histogram(&encode_histogram(&whole)).unwrap(), &whole);
            let (first, second) = values.split_at(cut.min(values.len()));
            let parts = [encode_histogram(&of(first)), encode_histogram(&of(second))];
            let merged = merge_histograms(parts.iter().map(String::as_str)).unwrap();
            prop_assert_eq!(merged, whole);
        }

        #[test]
        fn no_text_panics(text in "[A-Za-z0-9+/=]{0,200}") {
            let _ = decode_histogram(&text);
        }
    }

    #[test]
    fn nothing_is_not_an_empty_histogram() {
        assert!(merge_histograms([]).is_none());
        assert!(merge_histograms([encode_histogram(&new_histogram::<u64>()).as_str()]).is_none());
        assert!(merge_histograms(["nonsense"]).is_none());
    }
}
