//! Facts that hold for every input: called by the property tests and the fuzz targets alike.
#![allow(
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a property that does not hold panics: that is how tests and fuzzers learn of it"
)]

mod crcs;
mod layouts;
mod messages;
mod packets;

pub use crcs::crcs_agree_with_a_shift_register;
pub use layouts::{layout_disagreements, structs_of};
pub use messages::{
    any_packets_leave_an_unreliable_receiver_ready, messages_survive_loss_and_repetition,
};
pub use packets::{
    any_bytes_parse, edits_leave_packets_valid, faults_are_found, nearly_valid_packets_parse,
    valid_packets_have_no_fault,
};
