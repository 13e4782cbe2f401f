//! Values of fields, compiled into where they are and how they are printed.

use std::ffi::CStr;

use ib_wire::{
    Gid,
    table::{Field, load_bits},
};

use crate::{
    Cursor,
    constant::Label,
    window::{InByte, Whole, Window},
};

/// A value without structure, and where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    /// None: the text is longer than a block, or the last one.
    Nothing,
    /// The offset of the structure. It is not in the bytes of the structure, so the caller gives it.
    Offset,
    /// A number of one byte.
    Byte(Whole<1>),
    /// Another number inside a byte.
    Small(InByte),
    /// A number of two bytes.
    Half(Whole<2>),
    /// Another number of up to 16 bits.
    Short(Window),
    /// A number of four bytes.
    Word(Whole<4>),
    /// Another number of up to 32 bits.
    Number(Window),
    /// Sixteen hexadecimal digits of a number.
    Octets(Whole<8>),
    /// Hexadecimal digits of a number.
    Wide { bit_offset: u32, bits: u8 },
    /// An IPv6 address.
    Gid { start: u32 },
    /// Hexadecimal digits of bytes.
    Bytes { start: u32, len: u32 },
    /// Numbers of eight bits, each with a separator after it.
    List { start: u32, len: u32, separator: u8 },
    /// Text up to the first NUL.
    Text { start: u32, len: u32 },
}

impl Value {
    /// The value of an unsigned field in a structure of `len` bytes: a decimal number of up to 32 bits.
    pub(crate) fn of_number(field: &Field, len: usize) -> Self {
        if let Some(place) = Whole::of(field) {
            Self::Byte(place)
        } else if let Some(place) = Whole::of(field) {
            Self::Half(place)
        } else if let Some(place) = Whole::of(field) {
            Self::Word(place)
        } else if let Some(place) = InByte::of(field) {
            Self::Small(place)
        } else if field.bits <= 16 {
            Self::Short(Window::of(field, len))
        } else if field.bits <= 32 {
            Self::Number(Window::of(field, len))
        } else {
            Self::hexadecimal(field)
        }
    }

    /// The value of an unsigned field as hexadecimal digits.
    pub(crate) fn hexadecimal(field: &Field) -> Self {
        match Whole::of(field) {
            Some(place) => Self::Octets(place),
            None => Self::Wide {
                bit_offset: field.bit_offset as u32,
                bits: field.bits as u8,
            },
        }
    }

    /// The number, if the value is one.
    #[inline(always)]
    pub(crate) fn number(&self, bytes: &[u8]) -> Option<u64> {
        match *self {
            Self::Byte(place) => Some(u8::from_be_bytes(*place.load(bytes)).into()),
            Self::Small(place) => Some(place.load(bytes).into()),
            Self::Half(place) => Some(u16::from_be_bytes(*place.load(bytes)).into()),
            Self::Word(place) => Some(u32::from_be_bytes(*place.load(bytes)).into()),
            Self::Short(window) | Self::Number(window) => Some(window.load(bytes).into()),
            Self::Octets(place) => Some(u64::from_be_bytes(*place.load(bytes))),
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
            Self::Offset => 20,
            Self::Byte(_) | Self::Small(_) => 3,
            Self::Half(_) | Self::Short(_) => 5,
            Self::Word(_) | Self::Number(_) => 10,
            Self::Octets(_) | Self::Wide { .. } => 16,
            Self::Gid { .. } => 40,
            Self::Bytes { len, .. } => 2 * len as usize,
            Self::List { len, .. } => 4 * len as usize,
            // A control character becomes `\u0001`, a byte that is no text `\\xff`.
            Self::Text { len, .. } => 6 * len as usize,
        }
    }

    /// Prints the text before the value, and the value in the structure of `bytes`, which is at `offset`.
    #[inline(always)]
    pub(crate) fn print(
        &self,
        cursor: &mut Cursor<'_>,
        before: &impl Label,
        offset: usize,
        bytes: &[u8],
    ) {
        match *self {
            Self::Nothing => cursor.label(before),
            Self::Byte(place) => cursor.small(before, u8::from_be_bytes(*place.load(bytes))),
            Self::Small(place) => cursor.small(before, place.load(bytes)),
            Self::Half(place) => cursor.short(before, u16::from_be_bytes(*place.load(bytes))),
            Self::Short(window) => cursor.short(before, window.load(bytes) as u16),
            Self::Word(place) => cursor.long(before, u32::from_be_bytes(*place.load(bytes))),
            Self::Number(window) => cursor.long(before, window.load(bytes)),
            Self::Octets(place) => cursor.octets(before, place.load(bytes)),
            Self::Bytes { start, len } => {
                cursor.label(before);
                cursor.hex_bytes(octets(bytes, start, len));
            }
            Self::Offset => match u8::try_from(offset) {
                Ok(offset) => cursor.small(before, offset),
                Err(_) => {
                    cursor.label(before);
                    cursor.apart(|room| print_offset(room, offset));
                }
            },
            Self::List { .. } | Self::Wide { .. } | Self::Gid { .. } | Self::Text { .. } => {
                cursor.label(before);
                cursor.apart(|room| self.print_long(room, bytes));
            }
        }
    }

    /// Prints a value that takes longer; returns the length of its text.
    #[inline(never)]
    fn print_long(&self, room: &mut [u8], bytes: &[u8]) -> usize {
        let mut cursor = Cursor::new(room);
        match *self {
            Self::Nothing
            | Self::Offset
            | Self::Byte(_)
            | Self::Small(_)
            | Self::Half(_)
            | Self::Short(_)
            | Self::Word(_)
            | Self::Number(_)
            | Self::Octets(_)
            | Self::Bytes { .. } => {}
            Self::List {
                start,
                len,
                separator,
            } => cursor.list(octets(bytes, start, len), separator),
            Self::Wide { bits, .. } => {
                let digits = usize::from(bits).div_ceil(4);
                let number = self.number(bytes).unwrap_or(0);
                cursor.aside(|cursor| cursor.hex(number, digits));
            }
            Self::Gid { start } => {
                if let Some(gid) = octets(bytes, start, 16).first_chunk() {
                    cursor.aside(|cursor| cursor.gid(Gid(*gid)));
                }
            }
            Self::Text { start, len } => {
                let octets = octets(bytes, start, len);
                let text = CStr::from_bytes_until_nul(octets).map_or(octets, CStr::to_bytes);
                cursor.aside(|cursor| cursor.json_bytes(text));
            }
        }
        cursor.len()
    }
}

/// Prints an offset of several digits; returns the length of its text.
#[inline(never)]
fn print_offset(room: &mut [u8], offset: usize) -> usize {
    let mut cursor = Cursor::new(room);
    cursor.decimal(offset as u64);
    cursor.len()
}

/// `len` bytes from `start`.
#[inline(always)]
fn octets(bytes: &[u8], start: u32, len: u32) -> &[u8] {
    let start = start as usize;
    bytes.get(start..start + len as usize).unwrap_or_default()
}
