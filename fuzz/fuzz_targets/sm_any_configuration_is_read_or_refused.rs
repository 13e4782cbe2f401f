#![no_main]

use ib_sm::properties::any_configuration_is_read_or_refused;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_configuration_is_read_or_refused(bytes));
