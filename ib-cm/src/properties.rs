//! Facts that hold for every input: called by the property tests and the fuzz targets alike.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a property that does not hold panics, that is how it is reported"
)]

mod connections;

pub use connections::{
    any_cm_messages_stay_within_bounds, any_link_leaves_agreement, few_losses_leave_both_connected,
};
