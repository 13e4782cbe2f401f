#![no_main]

use ib_mad::properties::a_walk_ends_once;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| a_walk_ends_once(bytes));
