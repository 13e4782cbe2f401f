//! Status of a response (IBA vol. 1, 13.4.7).

use core::fmt;

use ib_wire::{code_points, table::FieldValue};

/// Status of a datagram: 0 is success; bit 0 busy, bit 1 redirect, bits 4..2 what was wrong with the
/// request, the high byte belongs to the class. The top bit is a directed route's direction.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct MadStatus(pub u16);

impl MadStatus {
    /// The request was carried out.
    pub const OK: Self = Self(0);
    /// Busy: the request was dropped; ask again later.
    pub const BUSY: Self = Self(0x0001);
    /// Redirection: the answer says whom to ask.
    pub const REDIRECT: Self = Self(0x0002);
    /// The version of the header or of the class is not supported.
    pub const BAD_VERSION: Self = Self(0x0004);
    /// The method is not supported.
    pub const UNSUPPORTED_METHOD: Self = Self(0x0008);
    /// The method is not supported for this attribute.
    pub const UNSUPPORTED_METHOD_ATTRIBUTE: Self = Self(0x000c);
    /// A field of the attribute, or the modifier, has a value that is not supported.
    pub const INVALID_FIELD_VALUE: Self = Self(0x001c);

    /// The status of a request with this fault.
    #[must_use]
    pub const fn from_code(code: StatusCode) -> Self {
        Self(((code.0 & 7) as u16) << 2)
    }

    /// The status with which a subnet administrator refuses.
    #[must_use]
    pub const fn from_sa(status: SaStatus) -> Self {
        Self((status.0 as u16) << 8)
    }

    /// Returns true if the request was carried out.
    #[inline]
    #[must_use]
    pub const fn is_ok(self) -> bool {
        self.0 == 0
    }

    /// Returns true if the responder is busy and may be asked again later.
    #[inline]
    #[must_use]
    pub const fn is_busy(self) -> bool {
        self.0 & Self::BUSY.0 != 0
    }

    /// Returns true if the responder wants another address to be asked: its ClassPortInfo says which.
    #[inline]
    #[must_use]
    pub const fn is_redirect(self) -> bool {
        self.0 & Self::REDIRECT.0 != 0
    }

    /// Fault of the request: bits 4..2.
    #[inline]
    #[must_use]
    pub const fn code(self) -> StatusCode {
        StatusCode((self.0 >> 2) as u8 & 7)
    }

    /// The part that belongs to the class: the high byte. In a directed-route SMP its top bit is the
    /// direction and no status.
    #[inline]
    #[must_use]
    pub const fn class_part(self) -> u8 {
        (self.0 >> 8) as u8
    }

    /// The subnet administrator's part: the high byte.
    #[inline]
    #[must_use]
    pub const fn sa(self) -> SaStatus {
        SaStatus(self.class_part())
    }
}

impl fmt::Display for MadStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

impl fmt::Debug for MadStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MadStatus({:#06x}", self.0)?;
        if self.is_busy() {
            f.write_str(" busy")?;
        }
        if self.is_redirect() {
            f.write_str(" redirect")?;
        }
        if self.code() != StatusCode::OK {
            write!(f, " {}", self.code())?;
        }
        f.write_str(")")
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

code_points! {
    /// Fault of a request: bits 4..2 of the status.
    ///
    /// Source: IBA vol. 1, 13.4.7; `enums.csv`, enum `MAD_STATUS_CODE`.
    pub struct StatusCode(u8) {
        OK                           = 0 => "Ok",
        BAD_VERSION                  = 1 => "BadVersion",
        UNSUPPORTED_METHOD           = 2 => "UnsupportedMethod",
        UNSUPPORTED_METHOD_ATTRIBUTE = 3 => "UnsupportedMethodAttribute",
        RESERVED4                    = 4 => "Reserved4",
        RESERVED5                    = 5 => "Reserved5",
        RESERVED6                    = 6 => "Reserved6",
        INVALID_FIELD_VALUE          = 7 => "InvalidFieldValue",
    }
}

code_points! {
    /// Why a subnet administrator refuses: the high byte of the status.
    ///
    /// Source: IBA vol. 1, 15.4.2; `enums.csv`, enum `SA_STATUS`.
    pub struct SaStatus(u8) {
        SUCCESS                     = 0 => "Success",
        NO_RESOURCES                = 1 => "NoResources",
        REQ_INVALID                 = 2 => "ReqInvalid",
        NO_RECORDS                  = 3 => "NoRecords",
        /// A Get matches more than one record.
        TOO_MANY_RECORDS            = 4 => "TooManyRecords",
        REQ_INVALID_GID             = 5 => "ReqInvalidGid",
        /// A component that the request needs is not selected.
        REQ_INSUFFICIENT_COMPONENTS = 6 => "ReqInsufficientComponents",
        REQ_DENIED                  = 7 => "ReqDenied",
        /// The priority of the path is only suggested.
        PRIORITY_SUGGESTED          = 8 => "PrioritySuggested",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_splits_into_its_parts() {
        let status = MadStatus(0x031d);
        assert!(status.is_busy() && !status.is_redirect());
        assert_eq!(status.code(), StatusCode::INVALID_FIELD_VALUE);
        assert_eq!(status.sa(), SaStatus::NO_RECORDS);
    }

    #[test]
    fn the_named_statuses_are_made_of_their_faults() {
        for (status, fault) in [
            (MadStatus::BAD_VERSION, StatusCode::BAD_VERSION),
            (
                MadStatus::UNSUPPORTED_METHOD,
                StatusCode::UNSUPPORTED_METHOD,
            ),
            (
                MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE,
                StatusCode::UNSUPPORTED_METHOD_ATTRIBUTE,
            ),
            (
                MadStatus::INVALID_FIELD_VALUE,
                StatusCode::INVALID_FIELD_VALUE,
            ),
        ] {
            assert_eq!(MadStatus::from_code(fault), status);
            assert_eq!(status.code(), fault);
        }
        assert_eq!(MadStatus::from_sa(SaStatus::NO_RECORDS).0, 0x0300);
    }
}
