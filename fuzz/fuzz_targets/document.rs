//! A saved document is read without a panic, and what was read survives being written.
#![no_main]

use dbdyno_model::Tune;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(tune) = serde_json::from_slice::<Tune>(bytes) {
        let written = serde_json::to_vec(&tune).expect("a document is JSON");
        let back: Tune = serde_json::from_slice(&written).expect("a written document is sound");
        assert_eq!(back, tune);
    }
});
