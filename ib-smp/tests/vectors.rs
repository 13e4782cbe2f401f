//! Datagrams that other programs sent, and whole packets of a reference model.

use ib_mad::MgmtClass;
use ib_smp::CLASSES;

use ib_testkit::vectors::mad::all_read_and_write;

#[test]
fn datagrams_read_as_the_tools_and_the_model_read_them() {
    let counts = all_read_and_write(CLASSES, MgmtClass::is_smp);
    assert_eq!(counts, (329, 156));
}
