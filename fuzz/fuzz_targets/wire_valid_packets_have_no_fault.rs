#![no_main]

use ib_wire::properties::valid_packets_have_no_fault;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| valid_packets_have_no_fault(bytes));
