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

#[cfg(feature = "arbitrary")]
extern crate alloc;

mod credits;
#[cfg(feature = "arbitrary")]
#[doc(hidden)]
pub mod properties;
mod vl_arbiter;

pub use credits::{CreditConfig, CreditError, CreditEvent, CreditLoop};
pub use vl_arbiter::{Turn, VlArbiter, VlQueues, VlWeight};
