//! Facts that hold for every input: called by the property tests and the fuzz targets alike.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a property that does not hold panics, that is how it is reported"
)]

mod client;
mod datagram;
mod rmpp;
mod snmp;
mod walk;
mod window;

pub use client::every_call_ends_once;
pub use datagram::{any_datagram_is_its_typed_message, fields_cover_every_bit};
pub use rmpp::{
    a_lossy_link_delivers_or_reports, any_acknowledgements_end_a_transfer,
    any_segments_stay_within_bounds,
};
pub use snmp::segments_make_the_messages_that_were_sent;
pub use walk::a_walk_ends_once;
pub use window::every_request_ends_once;
