#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ib_routing::properties::damaged_captures_are_routed_or_refused(bytes));
