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

mod codes;
mod connect;
mod ip;
#[cfg(feature = "alloc")]
mod manager;
mod message;
mod migrate;
#[cfg(feature = "arbitrary")]
#[doc(hidden)]
pub mod properties;
mod reject;
mod sidr;

pub use codes::{AprStatus, CmCapabilities, CmMessage, SidrStatus, TransportService};
pub use connect::{Drep, Dreq, Mra, Rej, Rep, Req, Rtu};
pub use ip::{IpCmPrivateData, IpServiceId};
#[cfg(feature = "alloc")]
pub use manager::{
    CloseReason, CmConfig, CmError, CmEvent, CommunicationManager, ConnectOptions, ConnectionId,
    ConnectionState, QueryId, ResolutionId,
};
pub use message::{CLASSES, CmAttribute, CommunicationMgmtMad, LAYOUTS};
pub use migrate::{Apr, Lap};
pub use reject::{RejInformation, RejReason};
pub use sidr::{SidrRep, SidrReq};
