//! Datagrams that other programs sent, and whole packets of a reference model.

use ib_mad::MgmtClass;
use ib_smp::CLASSES;

#[path = "../../ib-mad/tests/support/vectors.rs"]
mod support;

#[test]
fn datagrams_read_as_the_tools_and_the_model_read_them() {
    let counts = support::all_read_and_write(CLASSES, MgmtClass::is_smp);
    assert_eq!(counts, (329, 156));
}
