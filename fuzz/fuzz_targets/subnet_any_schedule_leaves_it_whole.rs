#![no_main]

use ib_testkit::lab::properties::any_schedule_leaves_the_subnet_whole;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_schedule_leaves_the_subnet_whole(bytes));
