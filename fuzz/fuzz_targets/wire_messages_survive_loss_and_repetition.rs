#![no_main]

use ib_wire::properties::messages_survive_loss_and_repetition;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| messages_survive_loss_and_repetition(bytes));
