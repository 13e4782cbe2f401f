#![no_main]

use ib_wire::properties::faults_are_found;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| faults_are_found(bytes));
