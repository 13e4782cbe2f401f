//! Cases for the subnet manager that is the master of the subnet.

mod election;
mod order;
mod recovery;
mod subnet;
mod traps;

use super::Case;

pub(super) const FILES: &[&[Case]] = &[
    subnet::CASES,
    election::CASES,
    order::CASES,
    traps::CASES,
    recovery::CASES,
];
