//! InfiniBand management datagrams: headers, classes, RMPP, transactions.
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

mod attribute;
mod class;
mod engine;
mod header;
mod mad;
mod method;
mod redirect;
mod status;
mod time;
#[cfg(feature = "alloc")]
mod transaction;

pub use attribute::{Attribute, AttributeId};
pub use class::MgmtClass;
pub use engine::Engine;
pub use header::{MadHeader, TransactionId};
pub use mad::{GrhAddress, Input, Mad, MadAddress};
pub use method::Method;
pub use status::MadStatus;
pub use time::Instant;
#[cfg(feature = "alloc")]
pub use transaction::{
    Answer, Backoff, Failure, FailureReason, InFlight, Received, RequestOptions, TransactionWindow,
    WindowConfig, WindowCounters, WindowEvent, WindowFull,
};
