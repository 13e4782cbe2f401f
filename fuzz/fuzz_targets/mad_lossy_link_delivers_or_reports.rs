#![no_main]

use ib_mad::properties::a_lossy_link_delivers_or_reports;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| a_lossy_link_delivers_or_reports(bytes));
