#![no_main]

use ib_smp::properties::a_response_retraces_its_request;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| a_response_retraces_its_request(bytes));
