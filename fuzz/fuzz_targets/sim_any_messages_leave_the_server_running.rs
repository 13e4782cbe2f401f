#![no_main]

use ib_testkit::lab::properties::any_messages_leave_the_server_running;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_messages_leave_the_server_running(bytes));
