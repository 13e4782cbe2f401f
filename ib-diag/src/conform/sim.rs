//! Cases for a simulator, or for a fabric: cables, forwarding, traps and counters.

mod cables;
mod counters;
mod forwarding;
mod traps;

use super::Case;

pub(super) const FILES: &[&[Case]] = &[
    cables::CASES,
    forwarding::CASES,
    traps::CASES,
    counters::CASES,
];
