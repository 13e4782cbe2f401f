#![no_main]

use ib_cm::properties::any_cm_messages_stay_within_bounds;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_cm_messages_stay_within_bounds(bytes));
