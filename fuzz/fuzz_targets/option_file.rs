//! Whatever an option file of the mysql client holds, reading it does not panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    dbdyno_target::connection::read_options(text);
});
