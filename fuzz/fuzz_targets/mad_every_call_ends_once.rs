#![no_main]

use ib_mad::properties::every_call_ends_once;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| every_call_ends_once(bytes));
