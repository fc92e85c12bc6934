//! A histogram's text is read in bounded memory, and what was read is written and read back the same.
#![no_main]

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dbdyno_stats::{decode_histogram, encode_histogram, merge_histograms};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use libfuzzer_sys::fuzz_target;

/// The highest value of a sound text: without one that is read, nothing would be tried here.
const DAY: [u8; 8] = 86_400_000_000_000_u64.to_be_bytes();

fuzz_target!(init: assert!(decode_histogram(&text(DAY, &[2])).is_some()), |bytes: &[u8]| {
    read(&String::from_utf8_lossy(bytes));
    // No mutation gets through a checksum: these are the counts of a text that is sound around them.
    if let Some((highest, counts)) = bytes.split_first_chunk() {
        read(&text(*highest, counts));
    }
});

fn read(text: &str) {
    let Some(histogram) = decode_histogram(text) else {
        return;
    };
    let written = encode_histogram(&histogram);
    assert_eq!(decode_histogram(&written).as_ref(), Some(&histogram));
    let merged = merge_histograms([text, written.as_str()]);
    assert_eq!(merged.is_none(), histogram.is_empty());
}

/// As it is written, with this highest value and these encoded counts.
fn text(highest: [u8; 8], counts: &[u8]) -> String {
    let length = u32::try_from(counts.len())
        .unwrap_or(u32::MAX)
        .to_be_bytes();
    let mut stream = ZlibEncoder::new(Vec::new(), Compression::fast());
    for part in [
        &[0x1c, 0x84, 0x93, 0x13][..],
        &length,
        &0_u32.to_be_bytes(),
        &3_u32.to_be_bytes(),
        &1_u64.to_be_bytes(),
        &highest,
        &1_f64.to_be_bytes(),
        counts,
    ] {
        stream.write_all(part).expect("memory takes it");
    }
    let stream = stream.finish().expect("memory takes it");
    let length = u32::try_from(stream.len())
        .unwrap_or(u32::MAX)
        .to_be_bytes();
    STANDARD.encode([&[0x1c, 0x84, 0x93, 0x14][..], &length, &stream].concat())
}
