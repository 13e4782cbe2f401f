#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ib_text::properties::any_document_is_encoded_or_refused(bytes));
