//! Whatever stands in a statement, reading it does not panic, and what is kept is one short line.
#![no_main]

use dbdyno_target::postgres::without_literals;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let shown = without_literals(text);
    assert!(shown.len() <= 603 && !shown.contains('\n'), "{shown}");
});
