//! The properties over generated inputs, and over inputs that once broke one.

use ib_mad::properties;
use proptest::{collection::vec, prelude::*};

ib_testkit::properties! {
    any_datagram_is_its_typed_message(vec(any::<u8>(), 0..=256));
    fields_cover_every_bit(vec(any::<u8>(), 1..=256));
    a_lossy_link_delivers_or_reports(vec(any::<u8>(), 0..200));
    any_segments_stay_within_bounds(vec(any::<u8>(), 0..2000));
    any_acknowledgements_end_a_transfer(vec(any::<u8>(), 0..200));
    every_call_ends_once(vec(any::<u8>(), 0..1000));
    every_request_ends_once(vec(any::<u8>(), 0..1000));
    segments_make_the_messages_that_were_sent(vec(any::<u8>(), 0..400));
    a_walk_ends_once(vec(any::<u8>(), 0..200));
}

/// Every datagram of the classes of this crate, with random content after a good header.
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
