//! A user's script is read without a panic, and what was read returns from its print.
#![no_main]

use dbdyno_bench::script::Script;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(script) = Script::parse("script.sql", text) {
        let printed = script.to_string();
        let back = Script::parse("script.sql", &printed).expect("a printed script is sound");
        assert_eq!(back.to_string(), printed);
    }
});
