#![no_main]

use ib_cm::properties::any_link_leaves_agreement;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_link_leaves_agreement(bytes));
