//! Response times as codes (IBA vol. 1, 13.4.6.2).

use core::{fmt, time::Duration};

use ib_wire::table::FieldValue;

/// Longest time a responder takes to answer: 4.096 us * 2^n, as the code n of 5 bits.
///
/// Pitfall: in an RMPP header 31 says that no time is given.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RespTime(u8);

impl RespTime {
    /// In an RMPP header: no time is given.
    pub const NONE: Self = Self(31);

    /// The code `bits`; higher bits than five are left out, as on the wire.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 31)
    }

    /// The five bits on the wire.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The time: 4.096 us to 2.4 h.
    #[must_use]
    pub const fn duration(self) -> Duration {
        // The code has five bits: the shift stays far below 64.
        Duration::from_nanos(4096u64.wrapping_shl(self.0 as u32))
    }

    /// The shortest time with a code that is at least `time`.
    #[must_use]
    pub fn at_least(time: Duration) -> Self {
        (0..31)
            .map(Self)
            .find(|code| code.duration() >= time)
            .unwrap_or(Self::NONE)
    }
}

impl fmt::Display for RespTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.duration(), f)
    }
}

impl fmt::Debug for RespTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RespTime({}: {:?})", self.0, self.duration())
    }
}

impl FieldValue for RespTime {
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        Self(bits as u8 & 31)
    }

    #[inline(always)]
    fn to_bits(self) -> u64 {
        self.0.into()
    }
}
