#![no_main]

use ib_sa::properties::any_table_packs_again;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_table_packs_again(bytes));
