#![no_main]

use ib_smp::properties::any_smp_is_its_bytes;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_smp_is_its_bytes(bytes));
