#![no_main]

use ib_diag::properties::any_body_can_be_judged;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_body_can_be_judged(bytes));
