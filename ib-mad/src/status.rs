//! Status of a response (IBA vol. 1, 13.4.7).

use core::fmt;

use ib_wire::table::FieldValue;

/// Status of a datagram: 0 is success; bit 0 busy, bit 1 redirect, bits 4..2 what was wrong with the
/// request, the high byte belongs to the class.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct MadStatus(pub u16);

impl MadStatus {
    /// The request was carried out.
    pub const OK: Self = Self(0);
    /// Busy: the request was dropped; ask again later.
    pub const BUSY: Self = Self(0x0001);
    /// Redirection: the answer says whom to ask.
    pub const REDIRECT: Self = Self(0x0002);
    /// The method is not supported.
    pub const UNSUPPORTED_METHOD: Self = Self(0x0008);
    /// The method is not supported for this attribute.
    pub const UNSUPPORTED_METHOD_ATTRIBUTE: Self = Self(0x000c);
    /// A field of the attribute, or the modifier, has a value that is not supported.
    pub const INVALID_FIELD_VALUE: Self = Self(0x001c);

    /// Whether the request was carried out.
    #[inline]
    #[must_use]
    pub const fn is_ok(self) -> bool {
        self.0 == 0
    }

    /// Whether the responder is busy and may be asked again later.
    #[inline]
    #[must_use]
    pub const fn is_busy(self) -> bool {
        self.0 & Self::BUSY.0 != 0
    }

    /// Whether the responder wants another address to be asked: its ClassPortInfo says which.
    #[inline]
    #[must_use]
    pub const fn is_redirect(self) -> bool {
        self.0 & Self::REDIRECT.0 != 0
    }
}

impl fmt::Display for MadStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

impl fmt::Debug for MadStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MadStatus({:#06x})", self.0)
    }
}

impl FieldValue for MadStatus {
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        Self(bits as u16)
    }

    #[inline(always)]
    fn to_bits(self) -> u64 {
        self.0.into()
    }
}
