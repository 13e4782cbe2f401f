#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ib_routing::properties::nue_is_clean_on_any_number_of_lanes(bytes));
