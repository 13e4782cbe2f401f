#![no_main]

use ib_testkit::lab::properties::any_managers_agree_on_one_master;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_managers_agree_on_one_master(bytes));
