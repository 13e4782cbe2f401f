#![no_main]

use ib_mad::properties::segments_make_the_messages_that_were_sent;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| segments_make_the_messages_that_were_sent(bytes));
