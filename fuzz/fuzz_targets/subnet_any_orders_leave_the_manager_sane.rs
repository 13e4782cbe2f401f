#![no_main]

use ib_testkit::lab::properties::any_orders_leave_the_manager_sane;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_orders_leave_the_manager_sane(bytes));
