#![no_main]

use ib_testkit::lab::properties::any_file_is_read_or_refused;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_file_is_read_or_refused(bytes));
