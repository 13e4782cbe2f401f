#![no_main]

use ib_sa::properties::a_larger_mask_matches_less;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| a_larger_mask_matches_less(bytes));
