//! Datagrams that other programs sent, and whole packets of a reference model.

use ib_cm::CLASSES;
use ib_mad::MgmtClass;

#[path = "../../ib-mad/tests/support/vectors.rs"]
mod support;

#[test]
fn datagrams_read_as_the_tools_and_the_model_read_them() {
    let is_ours = |class: MgmtClass| class == MgmtClass::COM_MGT;
    assert_eq!(support::all_read_and_write(CLASSES, is_ours), (0, 0));
}
