//! What parsing can find wrong, and where.

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
        /// What is legal, in words.
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

    /// Where in the packet the error is.
    #[must_use]
    pub const fn at(&self) -> At {
        match *self {
            Self::Truncated { at, .. } | Self::BadValue { at, .. } => at,
        }
    }
}
