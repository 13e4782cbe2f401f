#![no_main]

use ib_wire::properties::crcs_agree_with_a_shift_register;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| crcs_agree_with_a_shift_register(bytes));
