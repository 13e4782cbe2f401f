//! The tables of the code against the tables of the specification, both ways.

use ib_cm::{CLASSES, CmCapabilities, LAYOUTS};

use ib_testkit::spec::mad::*;

#[test]
fn every_layout_agrees_with_its_rows() {
    layouts_agree(LAYOUTS);
}

#[test]
fn every_message_has_its_number_its_structure_and_its_methods() {
    class_agrees("ComMgt", &CLASSES[0], LAYOUTS);
}

#[test]
fn every_message_uses_methods_of_the_class() {
    let [table] = CLASSES else { unreachable!() };
    let methods = table.class.methods().unwrap();
    for entry in table.attributes {
        for method in entry.methods {
            assert!(methods.contains(method), "{}: {method}", entry.name);
            assert!(table.allows(*method, entry.id));
        }
    }
}

#[test]
fn flags_agree_with_the_masks() {
    masks_agree!("CM.ClassPortInfo.CapabilityMask": CmCapabilities);
}
