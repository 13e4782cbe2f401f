//! The header that all management datagrams share (IBA vol. 1, 13.4.2).

use core::fmt;

use ib_wire::{table::FieldValue, wire_struct};

use crate::{AttributeId, MadStatus, Method, MgmtClass};

/// Ties a response to its request. The kernel and ibsim use the high half for themselves: match by
/// [`low`](Self::low).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionId(pub u64);

impl TransactionId {
    /// The half that no device in between changes.
    #[inline]
    #[must_use]
    pub const fn low(self) -> u32 {
        self.0 as u32
    }

    /// This ID with another low half.
    #[inline]
    #[must_use]
    pub const fn with_low(self, low: u32) -> Self {
        Self(self.0 & !0xffff_ffff | low as u64)
    }
}

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

impl fmt::Debug for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TransactionId({:#018x})", self.0)
    }
}

impl FieldValue for TransactionId {
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline(always)]
    fn to_bits(self) -> u64 {
        self.0
    }
}

wire_struct! {
    /// Common header: the first 24 bytes of every management datagram.
    ///
    /// Source: IBA vol. 1, 13.4.2; `headers.csv`, struct `MADHeader`.
    pub struct MadHeader("MADHeader", 24 bytes) {
        /// Version of the header: 1.
        base_version,       set_base_version:       u8            = 0, 8;
        /// Management class.
        mgmt_class,         set_mgmt_class:         MgmtClass     = 8, 8;
        /// Version of the class: 1; 2 for SubnAdm and ComMgt.
        class_version,      set_class_version:      u8            = 16, 8;
        /// Method; bit 7 marks a response.
        method,             set_method:             Method        = 24, 8;
        /// Status of a response.
        status,             set_status:             MadStatus     = 32, 16;
        /// Belongs to the class.
        class_specific,     set_class_specific:     u16           = 48, 16;
        /// Ties a response to its request.
        transaction_id,     set_transaction_id:     TransactionId = 64, 64;
        /// Number of the attribute.
        attribute_id,       set_attribute_id:       AttributeId   = 128, 16;
        #[doc(hidden)]
        reserved,           set_reserved:           u16           = 144, 16;
        /// The part of the attribute; each attribute has its own meaning.
        attribute_modifier, set_attribute_modifier: u32           = 160, 32;
    }
}
