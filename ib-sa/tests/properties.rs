//! The properties over generated inputs, and over inputs that once broke one.

use ib_sa::properties;
use proptest::{collection::vec, prelude::*};

ib_testkit::properties! {
    any_datagram_is_its_bytes(vec(any::<u8>(), 256));
    any_table_packs_again(vec(any::<u8>(), 0..1000));
    a_larger_mask_matches_less(vec(any::<u8>(), 17..160));
}
