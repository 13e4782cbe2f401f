//! Queue pair numbers.

use core::fmt;

use super::{OutOfRange, number_value};

/// Queue pair number: 24 bits.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Qpn(u32);

impl Qpn {
    /// QP0: the subnet management interface.
    pub const SMI: Self = Self(0);
    /// QP1: the general services interface.
    pub const GSI: Self = Self(1);
    /// 0xFFFFFF: the destination of multicast packets.
    pub const MULTICAST: Self = Self(0xff_ffff);

    /// The queue pair `bits`.
    ///
    /// # Errors
    /// [`OutOfRange`] above 24 bits.
    pub const fn try_new(bits: u32) -> Result<Self, OutOfRange> {
        match bits {
            0..=0xff_ffff => Ok(Self(bits)),
            _ => Err(OutOfRange {
                name: "QPN",
                found: bits as u64,
                expected: "24 bits",
            }),
        }
    }

    /// The 24 bits.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Qpn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Qpn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Qpn({:#08x})", self.0)
    }
}

number_value!(Qpn(u32), 0xff_ffff);
