#![no_main]

use ib_wire::properties::edits_leave_packets_valid;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| edits_leave_packets_valid(bytes));
