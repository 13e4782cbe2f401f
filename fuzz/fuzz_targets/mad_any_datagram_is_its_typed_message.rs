#![no_main]

use ib_mad::properties::any_datagram_is_its_typed_message;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_datagram_is_its_typed_message(bytes));
