//! Packets and management datagrams as text: which structures they hold, and their fields in columns, as JSON or for
//! a person.
//!
//! [`dissect`] names the structures of a management datagram, by the tables of the crates below. A structure is
//! described by its [`Layout`](ib_wire::table::Layout); [`FieldPrinter`] prints all of its fields as JSON,
//! [`Columns`] a few chosen ones, [`ReadablePrinter`] names and units beside the numbers. All of them append to a
//! [`Line`], which is as fast as memory. [`Encoder`] makes bytes of the JSON again.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )
)]

mod by_layout;
mod columns;
mod constant;
mod cursor;
mod digits;
pub mod dissect;
mod encode;
mod escape;
mod field_name;
mod fields;
pub mod hex;
mod last;
mod line;
pub mod meaning;
#[cfg(feature = "arbitrary")]
#[doc(hidden)]
pub mod properties;
mod readable;
mod value;
mod window;

pub use columns::Columns;
pub use constant::Constant;
pub use cursor::Cursor;
pub use encode::{EncodeError, Encoder};
pub use field_name::{FieldName, FieldNameError, plain};
pub use fields::{FieldFormat, FieldPrinter, Style};
pub use line::Line;
pub use readable::{Context, ReadablePrinter, Terminal, dump};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
