//! InfiniBand subnet administration: records, component masks, queries.
#![no_std]
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

extern crate alloc;
#[cfg(test)]
extern crate std;

mod component_mask;
mod matching;
mod record;

use component_mask::components;

pub use component_mask::{Component, ComponentMask};
pub use matching::{ComponentSet, Record, Selector};
pub use record::*;
