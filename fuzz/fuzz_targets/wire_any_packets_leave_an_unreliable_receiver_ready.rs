#![no_main]

use ib_wire::properties::any_packets_leave_an_unreliable_receiver_ready;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_packets_leave_an_unreliable_receiver_ready(bytes));
