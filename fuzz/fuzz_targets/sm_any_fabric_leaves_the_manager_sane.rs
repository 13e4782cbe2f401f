#![no_main]

use ib_sm::properties::any_fabric_leaves_the_manager_sane;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_fabric_leaves_the_manager_sane(bytes));
