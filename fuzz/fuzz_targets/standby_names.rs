//! Whatever stands in synchronous_standby_names, reading it does not panic.
#![no_main]

use dbdyno_rules::replication::parse_standby_names;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|setting: &str| {
    if let Some(names) = parse_standby_names(setting) {
        assert!(names.required > 0 && !names.names.is_empty());
    }
});
