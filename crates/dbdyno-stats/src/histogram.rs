//! Latency histograms: one shape for all, written and read back whole.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use hdrhistogram::{Counter, Histogram};

/// Significant digits that every latency keeps.
const DIGITS: u8 = 3;
/// Buckets of a histogram that spans nanoseconds to a day; a text that claims more is not ours.
const MOST_NANOS: u64 = 86_400_000_000_000;
/// First bytes of the compressed form; its length and the stream follow.
const COMPRESSED: [u8; 4] = [0x1c, 0x84, 0x93, 0x14];
/// Header of what the stream holds: cookie, length, offset, digits, lowest, highest, ratio.
const HEADER: usize = 40;
/// Three digits over a day are 38,912 buckets of at most 8 bytes.
const MOST_BYTES: usize = HEADER + LONGEST * 38_912;
/// Bytes of a number in the stream; one that takes more counts 2^55 latencies, or skips as many
/// buckets, over which the reader overflows.
const LONGEST: usize = 8;

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
    let bytes = inflate(&STANDARD.decode(text).ok()?)?;
    let read: Histogram<u64> = Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .ok()?;
    // The highest value of a bucket may lie beyond what was recorded.
    (read.lowest_equivalent(read.max()) <= MOST_NANOS).then_some(read)
}

/// The reader sets aside whatever the header claims, so that the claims are checked first.
fn inflate(bytes: &[u8]) -> Option<Vec<u8>> {
    let (length, stream) = bytes.strip_prefix(&COMPRESSED)?.split_first_chunk()?;
    if usize::try_from(u32::from_be_bytes(*length)) != Ok(stream.len()) {
        return None;
    }
    let mut inflated = Vec::new();
    ZlibDecoder::new(stream)
        .take(MOST_BYTES as u64 + 1)
        .read_to_end(&mut inflated)
        .ok()?;
    let (header, payload) = inflated.split_first_chunk::<HEADER>()?;
    let number = |at: usize| {
        let bytes = header.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_be_bytes(bytes))
    };
    let continues = |bytes: &[u8]| bytes.iter().all(|byte| byte & 0x80 != 0);
    let sound = inflated.len() <= MOST_BYTES
        && !payload.windows(LONGEST).any(continues)
        && usize::try_from(number(4)?) == Ok(payload.len())
        && number(12)? == u32::from(DIGITS);
    sound.then_some(inflated)
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

    /// A text as it is written, with other bytes in place of what it holds.
    fn text_of(change: impl Fn(&mut Vec<u8>)) -> String {
        use std::io::Write;
        let mut histogram = new_histogram();
        histogram.record(1_000_000).unwrap();
        let written = STANDARD.decode(encode_histogram(&histogram)).unwrap();
        let mut held = inflate(&written).unwrap();
        change(&mut held);
        let mut stream = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        stream.write_all(&held).unwrap();
        let stream = stream.finish().unwrap();
        let length = u32::try_from(stream.len()).unwrap().to_be_bytes();
        STANDARD.encode([&COMPRESSED[..], &length, &stream].concat())
    }

    #[test]
    fn what_a_text_claims_is_not_set_aside() {
        let claim = |at: usize, value: u32| {
            text_of(move |held| held[at..at + 4].copy_from_slice(&value.to_be_bytes()))
        };
        assert!(decode_histogram(&text_of(|_| ())).is_some());
        let refused = |text: &str| inflate(&STANDARD.decode(text).unwrap()).is_none();
        assert!(refused(&claim(4, u32::MAX)), "4 GiB of counts");
        assert!(refused(&claim(12, 5)), "100 times the buckets");
        let bomb = text_of(|held| {
            held.resize(HEADER + (64 << 20), 0);
            held[4..8].copy_from_slice(&(64_u32 << 20).to_be_bytes());
        });
        assert!(bomb.len() < 1 << 20 && refused(&bomb), "{}", bomb.len());
        let skipping = text_of(|held| {
            held.truncate(HEADER);
            held.extend([0xff; 9]);
            held[4..8].copy_from_slice(&9_u32.to_be_bytes());
        });
        assert!(refused(&skipping), "2^63 buckets");
        assert!(refused(&STANDARD.encode([0x1c, 0x84, 0x93, 0x14])));
    }

    #[test]
    fn a_day_is_kept_whole() {
        let mut histogram = new_histogram::<u64>();
        // Every bucket is in use.
        let mut nanos = 1;
        while nanos <= MOST_NANOS {
            histogram.record_n(nanos, 1 << 44).unwrap();
            nanos = histogram.next_non_equivalent(nanos);
        }
        let back = decode_histogram(&encode_histogram(&histogram));
        assert!(
            back == Some(histogram),
            "38,912 buckets are too many to print"
        );
    }

    #[test]
    fn nothing_is_not_an_empty_histogram() {
        assert!(merge_histograms([]).is_none());
        assert!(merge_histograms([encode_histogram(&new_histogram::<u64>()).as_str()]).is_none());
        assert!(merge_histograms(["nonsense"]).is_none());
    }
}
