#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ib_routing::properties::any_text_is_tables_or_an_error(bytes));
