#![doc = include_str!("../README.md")]
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

mod call;
mod capability;
mod component_mask;
mod header;
mod matching;
#[cfg(feature = "arbitrary")]
#[doc(hidden)]
pub mod properties;
mod query;
mod record;
mod response;

use component_mask::components;

pub use call::{MultiPathCall, RecordCall, TableCall};
pub use capability::{SaCapabilities, SaCapabilities2};
pub use component_mask::{Component, ComponentMask};
pub use header::{SaHeader, SaMad};
pub use matching::{ComponentSet, Record, Selector};
pub use query::QueryError;
pub use record::*;
pub use response::{MultiPathQuery, RecordTable, Records, pack_multi_path, pack_table};
