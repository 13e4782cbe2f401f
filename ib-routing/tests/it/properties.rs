//! The facts of `properties.rs` on random input.
#![cfg(feature = "arbitrary")]

use ib_routing::properties;
use proptest::{collection::vec, prelude::*};

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_fabric_or_an_error(bytes in vec(any::<u8>(), 0..400)) {
        properties::any_text_is_a_fabric_or_an_error(&bytes);
    }

    #[test]
    fn any_modules_are_a_fabric_or_an_error(text in "(include \"p\"\n|module=\"[mn]\"\n|Switch 3 \"[st]\"\n|@\\[[1-3]\\] \"[ab]\"\n|\\[[1-3]\\] \"m?@[ab]\"\n|\\[[1-3]\\] \"(m#)?[st]\"\\[[1-3]\\]\n|\n){0,30}") {
        properties::any_text_is_a_fabric_or_an_error(text.as_bytes());
    }

    #[test]
    fn damaged_captures_are_routed_or_refused(bytes in vec(prop_oneof![9 => Just(0u8), 1 => 1..4u8], 0..140)) {
        properties::damaged_captures_are_routed_or_refused(&bytes);
    }

    #[test]
    fn random_fabrics_are_routed(bytes in vec(any::<u8>(), 0..240)) {
        properties::random_fabrics_are_routed(&bytes);
    }

    #[test]
    fn nue_is_clean_on_any_number_of_lanes(bytes in vec(any::<u8>(), 0..240)) {
        properties::nue_is_clean_on_any_number_of_lanes(&bytes);
    }

    #[test]
    fn any_lids_are_sorted_out(bytes in vec(any::<u8>(), 0..240)) {
        properties::any_lids_are_sorted_out(&bytes);
    }

    #[test]
    fn any_clusters_reach_each_other(bytes in vec(any::<u8>(), 0..240)) {
        properties::any_clusters_reach_each_other(&bytes);
    }

    #[test]
    fn any_tables_are_judged(bytes in vec(any::<u8>(), 0..600)) {
        properties::any_tables_are_judged(&bytes);
    }

    #[test]
    fn healing_takes_no_path_away(bytes in vec(any::<u8>(), 0..240)) {
        properties::healing_takes_no_path_away(&bytes);
    }

    #[test]
    fn any_changes_are_followed(bytes in vec(any::<u8>(), 0..240)) {
        properties::any_changes_are_followed(&bytes);
    }

    #[test]
    fn any_text_is_tables_or_an_error(text in "(Unicast lids|H |P |0x|cluster a\n|lids 1 9\n|transit |Switch: guid 0xf2\n|Switch 0xf2\n|0xC00[0-9] : 0x001 |[{] SW |dump_ucast_routes: Switch 0xf2\n|[0-9a-f :#\n]){0,60}") {
        properties::any_text_is_tables_or_an_error(text.as_bytes());
    }
}
