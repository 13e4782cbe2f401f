//! The properties of the crate on random inputs, and on inputs once found.

use std::{fs, path::Path};

use ib_mad::properties;
use proptest::{collection::vec, prelude::*};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn any_datagram_is_its_typed_message(bytes in vec(any::<u8>(), 0..=256)) {
        properties::any_datagram_is_its_typed_message(&bytes);
    }

    #[test]
    fn fields_cover_every_bit(bytes in vec(any::<u8>(), 1..=256)) {
        properties::fields_cover_every_bit(&bytes);
    }

    #[test]
    fn a_lossy_link_delivers_or_reports(bytes in vec(any::<u8>(), 0..200)) {
        properties::a_lossy_link_delivers_or_reports(&bytes);
    }

    #[test]
    fn any_segments_stay_within_bounds(bytes in vec(any::<u8>(), 0..2000)) {
        properties::any_segments_stay_within_bounds(&bytes);
    }

    #[test]
    fn any_acknowledgements_end_a_transfer(bytes in vec(any::<u8>(), 0..200)) {
        properties::any_acknowledgements_end_a_transfer(&bytes);
    }

    #[test]
    fn every_call_ends_once(bytes in vec(any::<u8>(), 0..1000)) {
        properties::every_call_ends_once(&bytes);
    }

    #[test]
    fn every_request_ends_once(bytes in vec(any::<u8>(), 0..1000)) {
        properties::every_request_ends_once(&bytes);
    }

    #[test]
    fn credits_overrun_no_buffer(bytes in vec(any::<u8>(), 0..600)) {
        properties::credits_overrun_no_buffer(&bytes);
    }

    #[test]
    fn an_arbiter_serves_who_waits(bytes in vec(any::<u8>(), 0..600)) {
        properties::an_arbiter_serves_who_waits(&bytes);
    }

    #[test]
    fn segments_make_the_messages_that_were_sent(bytes in vec(any::<u8>(), 0..400)) {
        properties::segments_make_the_messages_that_were_sent(&bytes);
    }

    #[test]
    fn a_walk_ends_once(bytes in vec(any::<u8>(), 0..200)) {
        properties::a_walk_ends_once(&bytes);
    }
}

/// Every datagram of the classes that this crate knows, with random content behind a good header.
#[test]
fn each_class_and_attribute_opens() {
    for table in ib_mad::CLASSES {
        for entry in table.attributes {
            let mut bytes = [0x5a; 256];
            bytes[1] = table.class.bits();
            bytes[16..18].copy_from_slice(&entry.id.0.to_be_bytes());
            properties::any_datagram_is_its_typed_message(&bytes);
        }
    }
}

#[test]
fn inputs_once_found_hold() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/regressions");
    for file in fs::read_dir(dir).into_iter().flatten() {
        let path = file.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let property = match name.split('-').next() {
            Some("datagram") => properties::any_datagram_is_its_typed_message,
            Some("lossy") => properties::a_lossy_link_delivers_or_reports,
            Some("segments") => properties::any_segments_stay_within_bounds,
            Some("acknowledgements") => properties::any_acknowledgements_end_a_transfer,
            Some("calls") => properties::every_call_ends_once,
            Some("credits") => properties::credits_overrun_no_buffer,
            Some("arbiter") => properties::an_arbiter_serves_who_waits,
            Some("snmp") => properties::segments_make_the_messages_that_were_sent,
            Some("walk") => properties::a_walk_ends_once,
            Some("window") => properties::every_request_ends_once,
            _ => continue,
        };
        property(&bytes);
    }
}
