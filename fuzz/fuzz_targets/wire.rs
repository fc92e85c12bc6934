//! Whatever a server sends, in either protocol, no decoder panics.
#![no_main]

use dbdyno_bench::wire::{Engine, decode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    decode(Engine::Postgres, bytes);
    decode(Engine::MySql, bytes);
});
