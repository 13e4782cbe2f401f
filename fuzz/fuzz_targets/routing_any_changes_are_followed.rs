#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ib_routing::properties::any_changes_are_followed(bytes));
