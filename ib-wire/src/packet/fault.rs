//! The faults that a packet can have.

use core::fmt;

use crate::At;

/// One thing that is wrong with a packet: what, where, found, expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}, {field}: {found:#x}, expected {expected}")]
pub struct Fault {
    /// Kind of fault.
    pub kind: FaultKind,
    /// The structure, and its first byte from the start of the packet.
    pub at: At,
    /// The field, by its name in the specification's tables, or `length`.
    pub field: &'static str,
    /// The value found.
    pub found: u64,
    /// The value that was expected.
    pub expected: Expected,
}

/// The value that a field should have had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Exactly this number.
    Number(u64),
    /// This number or a larger one.
    AtLeast(u64),
    /// This number or a smaller one.
    AtMost(u64),
    /// In words.
    Words(&'static str),
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number:#x}"),
            Self::AtLeast(number) => write!(f, "at least {number:#x}"),
            Self::AtMost(number) => write!(f, "at most {number:#x}"),
            Self::Words(words) => f.write_str(words),
        }
    }
}

macro_rules! fault_kinds {
    ($($(#[$meta:meta])* $kind:ident => $word:literal,)*) => {
        /// Kinds of faults of a packet.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum FaultKind {
            $($(#[$meta])* $kind,)*
        }

        impl FaultKind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// The kind in one word, as JSON output has it.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$kind => $word,)*
                }
            }
        }
    };
}

fault_kinds! {
    /// The bytes end before the packet does.
    Truncated => "truncated",
    /// Bytes follow the end of the packet.
    LengthMismatch => "length_mismatch",
    /// The packet's length is right, and too short for its headers.
    HeaderStackExceedsPacket => "header_stack_exceeds_packet",
    /// LRH.pkt_len is below what any packet has.
    BadPktLen => "bad_pktlen",
    /// LRH.lver is not 0.
    BadLver => "bad_lver",
    /// BTH.t_ver is not 0.
    BadTver => "bad_tver",
    /// The IP version of GRH, IPv4 or IPv6 is wrong.
    BadIpVer => "bad_ipver",
    /// GRH.nxt_hdr does not announce a BTH.
    BadNxtHdr => "bad_nxthdr",
    /// GRH.pay_len, or the length of IP or UDP, does not match the packet.
    BadPayLen => "bad_paylen",
    /// IPv4.ihl is below 5.
    BadIhl => "bad_ihl",
    /// The IPv4 header's checksum is wrong. A note: senders that leave it to the adapter show
    /// packets like that in captures.
    BadChecksum => "bad_checksum",
    /// BTH.pad_cnt exceeds the payload, or does not fill it to a multiple of 4 bytes.
    BadPadCnt => "bad_padcnt",
    /// The payload is not as long as the operation asks for.
    BadPayloadLength => "bad_payload_length",
    /// The operation has no payload, the packet has.
    UnexpectedPayload => "unexpected_payload",
    /// The operation code is reserved. A note: the packet may be right, and newer.
    ReservedOpCode => "reserved_opcode",
    /// The operation code belongs to a manufacturer. A note: the packet may be right.
    ManufacturerOpCode => "manufacturer_opcode",
    /// The frame or IP packet carries no RoCE.
    NotRoce => "not_roce",
    /// The invariant CRC is wrong.
    IcrcMismatch => "icrc_mismatch",
    /// The kind of a flow control packet is reserved.
    ReservedLinkOp => "reserved_link_op",
    /// A flow control packet names VL15, which has no flow control. A note: receivers ignore it.
    BadVl => "bad_vl",
    /// The CRC of a flow control packet is wrong.
    LpcrcMismatch => "lpcrc_mismatch",
    /// The variant CRC is wrong.
    VcrcMismatch => "vcrc_mismatch",
}

impl FaultKind {
    /// Returns true if this is a remark about a packet that may be right.
    #[must_use]
    pub const fn is_note(self) -> bool {
        matches!(
            self,
            Self::ReservedOpCode | Self::ManufacturerOpCode | Self::BadChecksum | Self::BadVl
        )
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Everything that is wrong with a packet, in the order of the checks.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Faults {
    list: [Option<Fault>; Self::MAX],
    /// The number of faults, which are the first entries of the list. A packet without faults needs no look at the list.
    count: usize,
}

impl Faults {
    /// More than all checks together can find.
    const MAX: usize = 20;

    pub(crate) fn push(&mut self, fault: Fault) {
        if let Some(slot) = self.list.get_mut(self.count) {
            *slot = Some(fault);
            self.count = self.count.saturating_add(1);
        }
    }

    /// Returns true if nothing was found, not even a note.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        let list = self.list.get(..self.count).unwrap_or_default();
        list.iter().flatten()
    }

    /// Returns true if a fault of this kind is among them.
    #[must_use]
    pub fn has(&self, kind: FaultKind) -> bool {
        self.iter().any(|fault| fault.kind == kind)
    }

    /// The first that is not merely a note.
    #[must_use]
    pub fn error(&self) -> Option<&Fault> {
        self.iter().find(|fault| !fault.kind.is_note())
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl IntoIterator for Faults {
    type Item = Fault;
    type IntoIter = core::iter::Flatten<core::array::IntoIter<Option<Fault>, { Faults::MAX }>>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use crate::Packet;

    #[test]
    fn debug_of_faults_is_the_list_of_them() {
        let faults = Packet::parse(&[0u8; 3][..]).validate();
        let text = format!("{faults:?}");
        assert!(
            text.starts_with("[Fault {") && !text.contains("None"),
            "{text}"
        );
        assert_eq!(format!("{:?}", super::Faults::default()), "[]");
    }
}
