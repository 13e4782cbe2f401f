//! Errors of parsing and building, with their place.

use core::fmt;

use thiserror::Error;

/// A place in a packet: the structure and its first byte, counted from the start of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// Name of the structure, as in the specification (`BTH`).
    pub structure: &'static str,
    /// Byte offset of the structure from the start of the packet.
    pub offset: usize,
}

impl At {
    /// The place of `structure` at byte `offset` of the packet.
    #[must_use]
    pub const fn new(structure: &'static str, offset: usize) -> Self {
        Self { structure, offset }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.structure, self.offset)
    }
}

/// Why bytes are not what they should be.
///
/// A view opens on any bytes that are long enough; values are judged in a second step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The bytes end inside the structure.
    #[error("{at}: {needed} bytes needed, {left} left")]
    Truncated {
        /// The structure that is cut short.
        at: At,
        /// Bytes that the structure takes.
        needed: usize,
        /// Bytes that are there.
        left: usize,
    },
    /// A field has a value that the specification forbids here.
    #[error("{at}, {field}: {found:#x}, expected {expected}")]
    BadValue {
        /// The structure that holds the field.
        at: At,
        /// The field's name in the specification's tables.
        field: &'static str,
        /// The value found.
        found: u64,
        /// Legal values, in words.
        expected: &'static str,
    },
}

impl ParseError {
    /// The kind of error in one word, as JSON output has it.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Truncated { .. } => "truncated",
            Self::BadValue { .. } => "bad_value",
        }
    }

    /// Place of the error in the packet.
    #[must_use]
    pub const fn at(&self) -> At {
        match *self {
            Self::Truncated { at, .. } | Self::BadValue { at, .. } => at,
        }
    }
}

/// Why a packet cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The buffer is shorter than the packet.
    #[error("{needed} bytes needed, the buffer has {left}")]
    NoRoom {
        /// Bytes of the packet.
        needed: usize,
        /// Bytes of the buffer.
        left: usize,
    },
    /// A length field cannot hold the length.
    #[error("{field} would be {len}, at most {max} fits")]
    TooLong {
        /// The length field.
        field: &'static str,
        /// The length, in the unit of the field.
        len: usize,
        /// The largest that fits.
        max: usize,
    },
    /// A part that must be a multiple of 4 bytes is not, or it is too long.
    #[error("{part}: {len} bytes, expected a multiple of 4 that fits")]
    Unaligned {
        /// The part that is missing.
        part: &'static str,
        /// Its length in bytes.
        len: usize,
    },
    /// The extended headers given are not those that the operation asks for.
    #[error("the extended headers given are not those of {op_code}")]
    Headers {
        /// Operation code whose headers differ.
        op_code: crate::OpCode,
    },
    /// The bytes are no packet whose end could be computed.
    #[error("no InfiniBand or RoCE packet, expected its headers and room for its CRCs")]
    NotAPacket,
}
