//! Component masks: which fields of a template a query compares (IBA vol. 1, 15.2.1.4 and 15.4.4).
//!
//! Every component of a record has a bit, mostly in the order of the fields; an embedded attribute
//! counts field by field, a table body as one. Pitfall: the bits are not the fields. PathRecord's
//! ServiceID has two, and fields that came later to a reserved byte share its bit.

use core::fmt;

use ib_wire::table::{FieldKind, FieldValue, Layout};

/// The components of a template that must match, whatever the record. A record's own set names them
/// and turns into this.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ComponentMask(pub u64);

impl ComponentMask {
    /// Nothing is compared: every record matches.
    pub const ALL_RECORDS: Self = Self(0);

    /// Returns true if bit `bit` is set.
    #[inline]
    #[must_use]
    pub const fn has(self, bit: u8) -> bool {
        bit < 64 && self.0.wrapping_shr(bit as u32) & 1 != 0
    }
}

impl fmt::Display for ComponentMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for ComponentMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ComponentMask({:#x})", self.0)
    }
}

impl FieldValue for ComponentMask {
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline(always)]
    fn to_bits(self) -> u64 {
        self.0
    }
}

/// A component of a record: its bit in the mask and its place in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Component {
    /// Path of the field: `lid`, `node_info.num_ports`, `service_data8[3]`.
    pub name: &'static str,
    /// Bit in the mask; 0 is the least significant.
    pub bit: u8,
    /// First bit in the record, counted from the most significant bit of byte 0.
    pub bit_offset: usize,
    /// Width in bits.
    pub bits: usize,
}

impl Component {
    /// The component that the record's layout has at `name`.
    ///
    /// A name without a place does not compile: only constants call it.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(layout: &Layout, name: &'static str, bit: u8) -> Self {
        let (bit_offset, bits) = match place(layout, name.as_bytes()) {
            Some(place) => place,
            None => (usize::MAX, 0),
        };
        assert!(bits > 0, "a component has a place in its record");
        Self {
            name,
            bit,
            bit_offset,
            bits,
        }
    }
}

/// First bit and width of the field that a path leads to.
#[allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where an overflow is an error"
)]
const fn place(layout: &Layout, path: &[u8]) -> Option<(usize, usize)> {
    // PathRecord.ServiceID is one field with two components.
    if same(path, b"service_id_8msb") && layout.len == 64 {
        return Some((0, 8));
    }
    if same(path, b"service_id_56lsb") && layout.len == 64 {
        return Some((8, 56));
    }
    // Byte 56 of PortInfo was reserved before the fields of XDR were put there.
    if same(path, b"reserved_byte_56") {
        return Some((56 * 8, 8));
    }
    let mut end = 0;
    while end < path.len() && path[end] != b'.' && path[end] != b'[' {
        end += 1;
    }
    let (name, rest) = path.split_at(end);
    let mut index = 0;
    while index < layout.fields.len() {
        let field = &layout.fields[index];
        if same(field.name.as_bytes(), name) {
            return match (rest, field.kind) {
                ([], _) => Some((field.bit_offset, field.bits)),
                ([b'.', inner @ ..], FieldKind::Struct(layout)) => match place(layout, inner) {
                    Some((offset, bits)) => Some((field.bit_offset + offset, bits)),
                    None => None,
                },
                ([b'[', digits @ .., b']'], FieldKind::Array { element_bits, .. }) => Some((
                    field.bit_offset + number(digits) * element_bits,
                    element_bits,
                )),
                _ => None,
            };
        }
        index += 1;
    }
    None
}

#[allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where an overflow is an error"
)]
const fn number(digits: &[u8]) -> usize {
    let mut value = 0;
    let mut index = 0;
    while index < digits.len() {
        value = value * 10 + (digits[index] - b'0') as usize;
        index += 1;
    }
    value
}

#[allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where an overflow is an error"
)]
const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut index = 0;
    while index < a.len() {
        if a[index] != b[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// Declares the components of a record: `NAME = bit => "path of the field";`.
///
/// It gives a set of flags that turns into a [`ComponentMask`], and the table of places that queries
/// compare by.
macro_rules! components {
    (
        $(#[$meta:meta])*
        pub struct $name:ident for $record:ident {
            $( $flag:ident = $bit:literal => $path:literal, )*
        }
    ) => {
        bitflags::bitflags! {
            $(#[$meta])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
            pub struct $name: u64 {
                $(
                    #[doc = concat!("`", $path, "`.")]
                    const $flag = 1 << $bit;
                )*
            }
        }

        impl From<$name> for $crate::ComponentMask {
            fn from(components: $name) -> Self {
                Self(components.bits())
            }
        }

        impl $crate::ComponentSet for $name {
            const TABLE: &'static [$crate::Component] = &[
                $($crate::Component::new($record::LAYOUT, $path, $bit),)*
            ];
        }
    };
}
pub(crate) use components;
