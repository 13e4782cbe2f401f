//! Values of fields, compiled into where they are and how they are printed.

use ib_wire::{
    Gid,
    table::{Field, load_bits},
};

use crate::{
    Constant, Cursor,
    digits::{self, SMALL_BITS},
    window::{Window, eight_bytes},
};

/// A value without structure, and where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    /// None: the text is longer than a block, or the last one.
    Nothing,
    /// A number of up to [`SMALL_BITS`].
    Small(Window),
    /// A number of up to 32 bits.
    Number(Window),
    /// Sixteen hexadecimal digits of a number.
    Octets { start: u32 },
    /// Hexadecimal digits of a number.
    Wide { bit_offset: u32, bits: u8 },
    /// An IPv6 address.
    Gid { start: u32 },
    /// Hexadecimal digits of bytes.
    Bytes { start: u32, len: u32 },
    /// Text up to the first NUL.
    Text { start: u32, len: u32 },
}

impl Value {
    /// The value of an unsigned field in a structure of `len` bytes.
    pub(crate) fn of_number(field: &Field, len: usize) -> Self {
        if field.bits <= SMALL_BITS {
            Self::Small(Window::of(field, len))
        } else if field.bits <= 32 {
            Self::Number(Window::of(field, len))
        } else {
            Self::hexadecimal(field)
        }
    }

    /// The value of an unsigned field as hexadecimal digits.
    pub(crate) fn hexadecimal(field: &Field) -> Self {
        if field.bits == 64 && field.bit_offset.is_multiple_of(8) {
            Self::Octets {
                start: (field.bit_offset / 8) as u32,
            }
        } else {
            Self::Wide {
                bit_offset: field.bit_offset as u32,
                bits: field.bits as u8,
            }
        }
    }

    /// The number, if the value is one.
    #[inline(always)]
    pub(crate) fn number(&self, bytes: &[u8]) -> Option<u64> {
        match *self {
            Self::Small(window) | Self::Number(window) => Some(window.load(bytes).into()),
            Self::Octets { start } => Some(u64::from_be_bytes(eight_bytes(bytes, start as usize))),
            Self::Wide { bit_offset, bits } => {
                load_bits(bytes, bit_offset as usize, usize::from(bits))
            }
            _ => None,
        }
    }

    /// Most bytes of the value's text.
    pub(crate) fn longest(self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Small(_) => 3,
            Self::Number(_) => 10,
            Self::Octets { .. } | Self::Wide { .. } => 16,
            Self::Gid { .. } => 40,
            Self::Bytes { len, .. } => 2 * len as usize,
            // A control character becomes `\u0001`, a byte that is no text `\\xff`.
            Self::Text { len, .. } => 6 * len as usize,
        }
    }

    /// Prints the text before the value, and the value.
    #[inline(always)]
    pub(crate) fn print(&self, cursor: &mut Cursor<'_>, before: &Constant, bytes: &[u8]) {
        match *self {
            Self::Nothing => cursor.constant(before),
            Self::Small(window) => {
                let value = window.load(bytes);
                cursor.labelled(before, |room| digits::small(value).write(room));
            }
            Self::Number(window) => {
                let value = window.load(bytes);
                cursor.labelled(before, |room| digits::decimal(value).write(room));
            }
            Self::Octets { start } => {
                let octets = eight_bytes(bytes, start as usize);
                cursor.labelled(before, |room| digits::sixteen_digits(room, octets));
            }
            _ => {
                cursor.constant(before);
                cursor.aside(|cursor| self.print_long(cursor, bytes));
            }
        }
    }

    /// Prints a value that is no number of a usual length.
    #[inline(never)]
    fn print_long(&self, cursor: &mut Cursor<'_>, bytes: &[u8]) {
        let octets = |start: u32, len: u32| {
            let start = start as usize;
            bytes.get(start..start + len as usize).unwrap_or_default()
        };
        match *self {
            Self::Nothing | Self::Small(_) | Self::Number(_) | Self::Octets { .. } => {}
            Self::Wide { bits, .. } => {
                let digits = usize::from(bits).div_ceil(4);
                cursor.hex(self.number(bytes).unwrap_or(0), digits);
            }
            Self::Gid { start } => {
                if let Some(gid) = octets(start, 16).first_chunk() {
                    cursor.gid(Gid(*gid));
                }
            }
            Self::Bytes { start, len } => cursor.hex_bytes(octets(start, len)),
            Self::Text { start, len } => {
                let octets = octets(start, len);
                let text = octets.split(|&byte| byte == 0).next().unwrap_or_default();
                cursor.json_bytes(text);
            }
        }
    }
}
