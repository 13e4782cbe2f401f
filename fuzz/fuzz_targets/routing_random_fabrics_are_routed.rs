#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ib_routing::properties::random_fabrics_are_routed(bytes));
