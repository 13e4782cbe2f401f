//! The properties of the crate on random inputs.

use ib_sim::properties;
use proptest::{collection::vec, prelude::*};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_script_leaves_the_fabric_sane(bytes in vec(any::<u8>(), 0..3000)) {
        properties::any_script_leaves_the_fabric_sane(&bytes);
    }

    #[test]
    fn any_text_is_a_schedule_or_an_error(text in "(loss|delay|corrupt|max-delay|seed|smp-only)=?[0-9.a-z,=]{0,12}") {
        properties::any_text_is_a_schedule_or_an_error(text.as_bytes());
    }
}
