#![no_main]

use ib_link::properties::credits_overrun_no_buffer;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| credits_overrun_no_buffer(bytes));
