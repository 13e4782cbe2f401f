#![no_main]

use ib_wire::properties::any_bytes_parse;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_bytes_parse(bytes));
