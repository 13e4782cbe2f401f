//! Keys: partition, queue and management keys (IBA vol. 1, 10.9, 10.2.4 and 14.2.4).

use core::fmt;

use super::number_value;
use crate::{code_points, wire_struct};

/// Partition key: bit 15 is set for full members and clear for limited ones, the low 15 bits name the
/// partition.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PKey(pub u16);

impl PKey {
    /// 0xFFFF: full member of the default partition.
    pub const DEFAULT_FULL: Self = Self(0xffff);
    /// 0x7FFF: limited member of the default partition.
    pub const DEFAULT_LIMITED: Self = Self(0x7fff);

    /// The partition: the low 15 bits; 0 is invalid.
    #[must_use]
    pub const fn base(self) -> u16 {
        self.0 & 0x7fff
    }

    /// Returns true if the holder is a full member.
    #[must_use]
    pub const fn is_full(self) -> bool {
        self.0 & 0x8000 != 0
    }

    /// Returns true if packets pass between holders of the two keys: the same valid partition, and not both
    /// limited members.
    #[must_use]
    pub const fn matches(self, other: Self) -> bool {
        self.base() != 0 && self.base() == other.base() && (self.is_full() || other.is_full())
    }
}

impl fmt::Display for PKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

impl fmt::Debug for PKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PKey({:#06x})", self.0)
    }
}

number_value!(PKey(u16), u16::MAX);

code_points! {
    /// Kind of membership in a partition: bit 15 of a [`PKey`].
    pub struct PKeyMembership(u8) {
        /// Talks to full members only.
        LIMITED = 0 => "Limited",
        FULL    = 1 => "Full",
    }
}

wire_struct! {
    /// The parts of a partition key; [`PKey`] is the value.
    ///
    /// Source: IBA vol. 1, 10.9.1; `headers.csv`, struct `PKey`.
    pub struct PKeyParts("PKey", 2 bytes) {
        /// Full or limited.
        membership, set_membership: PKeyMembership = 0, 1;
        /// The partition; 0 is invalid, 0x7FFF the default one.
        base,       set_base:       u16            = 1, 15;
    }
}

impl From<PKeyParts> for PKey {
    fn from(parts: PKeyParts) -> Self {
        Self(u16::from_be_bytes(*parts.as_bytes()))
    }
}

/// Queue key: a datagram is accepted only with the receiving queue pair's own.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QKey(pub u32);

impl QKey {
    /// The well-known key of QP1, the general services interface.
    pub const GSI: Self = Self(0x8001_0000);

    /// Returns true if only privileged consumers may send with it: bit 31.
    #[must_use]
    pub const fn is_controlled(self) -> bool {
        self.0 & 0x8000_0000 != 0
    }
}

impl fmt::Display for QKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

impl fmt::Debug for QKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QKey({:#010x})", self.0)
    }
}

number_value!(QKey(u32), u32::MAX);

/// Management key that guards a port against other managers. `Debug` does not print it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct MKey(pub u64);

impl fmt::Debug for MKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 == 0 {
            "MKey(none)"
        } else {
            "MKey(..)"
        })
    }
}

number_value!(MKey(u64), u64::MAX);
