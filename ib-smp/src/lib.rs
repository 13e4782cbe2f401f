#![doc = include_str!("../README.md")]
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg(feature = "alloc")]
mod agent;
mod attr;
mod directed;
mod dr_path;
mod message;
mod port_address;
#[cfg(feature = "arbitrary")]
#[doc(hidden)]
pub mod properties;
mod smp;

#[cfg(feature = "alloc")]
pub use agent::{
    Arrival, InvalidSet, KeyViolation, LinkMode, LinkTrouble, PortKind, RouterTables, Sma,
    SmaEvent, SmaInput, SmaPort, SmaTransmit, SmpDisposition, SmpDropReason, SwitchTables,
    set_port_info, set_port_state,
};
pub use attr::*;
pub use directed::{Discard, Envelope, Smi, SmiAction, Source};
pub use dr_path::DrPath;
pub use ib_wire::{LinkSpeed, LinkWidth, NodeType};
pub use message::{CLASSES, LAYOUTS, SmAttribute, Smp};
pub use port_address::PortAddress;
pub use smp::{DrDirection, SmpDirected, SmpLidRouted};
