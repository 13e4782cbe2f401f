//! The properties of the crate on random inputs, and on inputs once found.

use std::{fs, path::Path};

use ib_cm::properties;
use proptest::{collection::vec, prelude::*};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn few_losses_leave_both_connected(bytes in vec(any::<u8>(), 0..200)) {
        properties::few_losses_leave_both_connected(&bytes);
    }

    #[test]
    fn any_link_leaves_agreement(bytes in vec(any::<u8>(), 0..400)) {
        properties::any_link_leaves_agreement(&bytes);
    }

    #[test]
    fn any_cm_messages_stay_within_bounds(bytes in vec(any::<u8>(), 0..4000)) {
        properties::any_cm_messages_stay_within_bounds(&bytes);
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
            Some("connected") => properties::few_losses_leave_both_connected,
            Some("agreement") => properties::any_link_leaves_agreement,
            Some("messages") => properties::any_cm_messages_stay_within_bounds,
            _ => continue,
        };
        property(&bytes);
    }
}
