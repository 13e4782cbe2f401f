//! Packet sequence numbers (IBA vol. 1, 9.7.1).

use core::fmt;

use super::number_value;

/// Packet sequence number: 24 bits that wrap.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Psn(u32);

impl Psn {
    /// The low 24 bits of `bits`.
    #[inline]
    #[must_use]
    pub const fn new(bits: u32) -> Self {
        Self(bits & 0xff_ffff)
    }

    /// The 24 bits.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The number `count` packets later.
    #[inline]
    #[must_use]
    pub const fn add(self, count: u32) -> Self {
        Self::new(self.0.wrapping_add(count))
    }

    /// Distance of `self` after `other` in packets, in serial arithmetic: -2^23..2^23.
    #[inline]
    #[must_use]
    pub const fn since(self, other: Self) -> i32 {
        // Shifting left by 8 puts the sign of the 24-bit difference into the sign of the i32.
        (self.0.wrapping_sub(other.0) << 8).cast_signed() >> 8
    }
}

impl fmt::Display for Psn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Psn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Psn({:#08x})", self.0)
    }
}

number_value!(Psn(u32), 0xff_ffff);
