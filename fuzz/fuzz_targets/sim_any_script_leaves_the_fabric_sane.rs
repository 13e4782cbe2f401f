#![no_main]

use ib_sim::properties::any_script_leaves_the_fabric_sane;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_script_leaves_the_fabric_sane(bytes));
