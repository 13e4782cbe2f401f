//! InfiniBand and RoCE packets, without allocation.
#![cfg_attr(not(feature = "std"), no_std)]
#![deny(unsafe_code)]
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

pub mod addr;
mod bth;
mod error;
mod eth;
mod link;
mod lrh;
#[cfg(feature = "arbitrary")]
#[doc(hidden)]
pub mod properties;
pub mod table;

pub use addr::{Gid, GidPrefix, Guid, Lid, Lmc, MKey, PKey, PortNum, Psn, QKey, Qpn, Sl, Vl};
pub use bth::Bth;
pub use error::{At, ParseError};
pub use eth::Deth;
pub use link::{Mtu, Rate};
pub use lrh::{Lnh, Lrh};

/// What the exported macros need of other crates.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "arbitrary")]
    pub use arbitrary;
    #[cfg(feature = "serde")]
    pub use serde;
    pub use zerocopy;
}
