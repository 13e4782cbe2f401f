//! The properties of the crate on random inputs.

use ib_sm::properties;
use proptest::{collection::vec, prelude::*};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_fabric_leaves_the_manager_sane(bytes in vec(any::<u8>(), 0..3000)) {
        properties::any_fabric_leaves_the_manager_sane(&bytes);
    }
}
