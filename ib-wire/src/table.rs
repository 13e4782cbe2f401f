//! Layout as data: a header is declared once, as a table that reads like the specification's.
//!
//! [`wire_struct!`](crate::wire_struct) turns a table of (field, type, bit offset, width) into an unaligned view over the
//! wire's bytes, with typed getters and setters and a public [`Layout`] that tests, JSON output and
//! generators walk. [`code_points!`](crate::code_points) declares an open set of values: a newtype with named constants
//! that keeps every other value as well.
//!
//! Bit offsets count from the most significant bit of byte 0; a field's value is the big-endian
//! integer of its bits.

mod code_points;
#[cfg(feature = "serde")]
mod deserialize;
mod load;
mod row;
#[cfg(feature = "serde")]
mod serialize;
mod wire_struct;

use crate::const_str;

pub use code_points::UnknownName;
#[cfg(feature = "serde")]
pub use deserialize::FieldsMut;
pub use load::{load, load_bits, store, store_bits};
pub use row::{FieldValue, Row, Text, bytes_row, set_bytes_row};
#[cfg(feature = "serde")]
pub use serialize::{Fields, serialize_fields};
pub use wire_struct::{DebugList, DebugSecret};

/// The layout of a structure on the wire: its name in the specification, its length and its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Name in the specification's tables (`BTH`, `PortInfo`).
    pub name: &'static str,
    /// Length in bytes.
    pub len: usize,
    /// Every field in wire order; together they cover all bits, reserved ones too.
    pub fields: &'static [Field],
}

impl Layout {
    /// The field called `name` in the specification's tables.
    #[must_use]
    pub const fn field(&self, name: &str) -> Option<&'static Field> {
        let mut fields = self.fields;
        while let [field, others @ ..] = fields {
            if const_str::is_equal(field.name, name) {
                return Some(field);
            }
            fields = others;
        }
        None
    }
}

/// One row of a layout table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name in the specification's tables; the getter's name but for Rust's keywords.
    pub name: &'static str,
    /// First bit, counted from the most significant bit of byte 0.
    pub bit_offset: usize,
    /// Width in bits.
    pub bits: usize,
    /// Kind of value of the bits.
    pub kind: FieldKind,
}

impl Field {
    /// Returns true if the specification gives these bits no meaning; its tables name them so.
    #[must_use]
    pub const fn is_reserved(&self) -> bool {
        const_str::starts_with(self.name, "resv") || const_str::starts_with(self.name, "reserved")
    }
}

/// Kind of value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A number of up to 64 bits: integers, code points, flags, LIDs, GUIDs, keys.
    Uint,
    /// A 128-bit GID.
    Gid,
    /// Raw bytes.
    Bytes,
    /// Text that ends at the first NUL or fills the field.
    Text,
    /// Another structure.
    Struct(&'static Layout),
    /// Elements of equal width, the first one first.
    Array {
        /// Width of one element in bits.
        element_bits: usize,
        /// Kind of value of one element.
        element: &'static FieldKind,
    },
}

/// Keeps its input where this crate has the feature `serde`: the exported macros ask their own crate for
/// its features, not the crate that they are used in.
#[cfg(feature = "serde")]
#[doc(hidden)]
#[macro_export]
macro_rules! __if_serde {
    ($($items:item)*) => { $($items)* };
}

/// Drops its input: this crate has not the feature `serde`.
#[cfg(not(feature = "serde"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __if_serde {
    ($($items:item)*) => {};
}

/// Keeps its input where this crate has the feature `arbitrary`.
#[cfg(feature = "arbitrary")]
#[doc(hidden)]
#[macro_export]
macro_rules! __if_arbitrary {
    ($($items:item)*) => { $($items)* };
}

/// Drops its input: this crate has not the feature `arbitrary`.
#[cfg(not(feature = "arbitrary"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __if_arbitrary {
    ($($items:item)*) => {};
}

/// The field's name in the specification: the getter's without the underscore that a keyword needs.
#[doc(hidden)]
#[must_use]
pub const fn spec_name(getter: &'static str) -> &'static str {
    match getter.as_bytes() {
        [name @ .., b'_'] => match core::str::from_utf8(name) {
            Ok(name) => name,
            Err(_) => getter,
        },
        _ => getter,
    }
}

/// The bytes of a structure at the start of a field of `N` bytes; the rest is zero, and what is longer is
/// cut off.
///
/// ```
/// assert_eq!(ib_wire::table::padded(&[1, 2]), [1, 2, 0, 0]);
/// assert_eq!(ib_wire::table::padded(&[1, 2, 3]), [1, 2]);
/// ```
#[must_use]
#[inline]
pub fn padded<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut field = [0; N];
    for (to, &from) in field.iter_mut().zip(bytes) {
        *to = from;
    }
    field
}

#[cfg(test)]
#[allow(
    unreachable_pub,
    dead_code,
    reason = "the macro declares more public items than the tests use"
)]
mod tests;
