//! Whatever stands in synchronous_standby_names, reading it does not panic.
#![no_main]

use dbdyno_model::postgres::standby_names::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|setting: &str| {
    if let Some(names) = parse(setting) {
        assert!(names.required > 0 && !names.names.is_empty());
    }
});
