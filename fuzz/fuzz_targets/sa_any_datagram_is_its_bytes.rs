#![no_main]

use ib_sa::properties::any_datagram_is_its_bytes;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_datagram_is_its_bytes(bytes));
