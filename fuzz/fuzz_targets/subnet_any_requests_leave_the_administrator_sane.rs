#![no_main]

use ib_testkit::lab::properties::any_requests_leave_the_administrator_sane;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_requests_leave_the_administrator_sane(bytes));
