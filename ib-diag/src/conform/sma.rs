//! Cases for subnet management agents: those of a channel adapter and of a switch.

mod answers;
mod directed;
mod fields;
mod history;
mod keys;
mod lids;
mod port_down;
mod port_fields;
mod port_info;
mod port_state;
mod refusals;
mod tables;

use super::Case;

pub(super) const FILES: &[&[Case]] = &[
    answers::CASES,
    refusals::CASES,
    fields::CASES,
    history::CASES,
    port_state::CASES,
    port_info::CASES,
    port_fields::CASES,
    lids::CASES,
    keys::CASES,
    tables::CASES,
    directed::CASES,
    port_down::CASES,
];
