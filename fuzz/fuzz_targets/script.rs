//! A user's script is read without a panic, and what was read returns from its print, for each engine.
#![no_main]

use dbdyno_bench::script::Script;
use dbdyno_bench::wire::Engine;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(script) = Script::parse("script.sql", text) else {
        return;
    };
    for engine in [Engine::Postgres, Engine::MySql] {
        if let Ok(printed) = script.print(engine) {
            let back = Script::parse_for(engine, "script.sql", &printed);
            let back = back.expect("a printed script is sound");
            assert_eq!(back.print(engine), Ok(printed));
        }
    }
});
