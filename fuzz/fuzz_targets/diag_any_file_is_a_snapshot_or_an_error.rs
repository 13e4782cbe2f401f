#![no_main]

use ib_diag::properties::any_file_is_a_snapshot_or_an_error;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_file_is_a_snapshot_or_an_error(bytes));
