//! The properties over generated inputs, and over inputs that once broke one.

use ib_smp::properties;
use proptest::{collection::vec, prelude::*};

ib_testkit::properties! {
    any_smp_is_its_bytes(vec(any::<u8>(), 256));
    any_smp_moves_by_one_hop_or_stays(vec(any::<u8>(), 264));
    a_response_retraces_its_request(vec(any::<u8>(), 0..64));
    an_agent_stays_sound(vec(any::<u8>(), 0..4000));
}

proptest! {
    /// Datagrams of the two classes, with attributes that exist.
    #[test]
    fn smps_of_known_attributes_are_their_bytes(directed: bool, at in 0usize..21, bytes in vec(any::<u8>(), 256)) {
        let mut bytes = bytes;
        bytes[1] = if directed { 0x81 } else { 0x01 };
        let id = ib_smp::SmAttribute::ATTRIBUTES[at].id.0;
        bytes[16..18].copy_from_slice(&id.to_be_bytes());
        properties::any_smp_is_its_bytes(&bytes);
    }
}
