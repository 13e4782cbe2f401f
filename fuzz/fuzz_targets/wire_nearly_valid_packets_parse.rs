#![no_main]

use ib_wire::properties::nearly_valid_packets_parse;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| nearly_valid_packets_parse(bytes));
