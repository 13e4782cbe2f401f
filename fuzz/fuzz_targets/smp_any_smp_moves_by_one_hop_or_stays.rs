#![no_main]

use ib_smp::properties::any_smp_moves_by_one_hop_or_stays;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_smp_moves_by_one_hop_or_stays(bytes));
