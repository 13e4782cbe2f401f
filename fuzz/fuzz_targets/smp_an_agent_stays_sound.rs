#![no_main]

use ib_smp::properties::an_agent_stays_sound;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| an_agent_stays_sound(bytes));
