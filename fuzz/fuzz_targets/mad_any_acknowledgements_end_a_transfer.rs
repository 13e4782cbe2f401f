#![no_main]

use ib_mad::properties::any_acknowledgements_end_a_transfer;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_acknowledgements_end_a_transfer(bytes));
