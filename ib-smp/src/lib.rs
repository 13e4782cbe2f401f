//! InfiniBand subnet management packets: directed routes and every SM attribute.
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

pub mod attr;
pub mod directed;
mod smp;

pub use attr::*;
pub use directed::DrPath;
pub use smp::{DrDirection, SmpDirected, SmpLidRouted};
