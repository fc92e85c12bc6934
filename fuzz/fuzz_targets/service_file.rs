//! Whatever a service file of libpq holds, reading it does not panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for service in ["main", "a]b", ""] {
        dbdyno_target::connection::read_service(text, service);
    }
});
