#![no_main]

use ib_link::properties::an_arbiter_serves_who_waits;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| an_arbiter_serves_who_waits(bytes));
