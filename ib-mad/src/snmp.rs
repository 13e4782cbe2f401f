//! Tunnelling of SNMP: its messages in datagrams (IBA vol. 1, 16.4).

#[cfg(feature = "alloc")]
mod segments;

use ib_wire::{Lid, table::Layout, wire_struct};

#[cfg(feature = "alloc")]
pub use self::segments::{SnmpConfig, SnmpError, SnmpMessage, SnmpReassembler, snmp_segments};
use crate::{Attribute, AttributeId, MadStatus, Method, MgmtClass, TransactionId, mad_format};

mad_format! {
    /// Format of SNMP tunnelling.
    ///
    /// Source: IBA vol. 1, 16.4.1, as python-rdma has it.
    pub struct SnmpMad("SNMPMad") {
        #[doc(hidden)]
        reserved1,          set_reserved1:          [bytes; 32]   = 192, 256;
        /// The sender's own; an answer carries it back.
        r_address,          set_r_address:          u32           = 448, 32;
        /// Bytes of `data` that mean something.
        payload_length,     set_payload_length:     u8            = 480, 8;
        /// Number of the piece in the message.
        segment_number,     set_segment_number:     u8            = 488, 8;
        /// LID of the message's first sender.
        source_lid,         set_source_lid:         Lid           = 496, 16;
        /// Data of the segment, at most 192 bytes.
        data,               set_data:               [bytes; 192]  = 512, 1536;
    }
}

wire_struct! {
    /// The community that the SNMP messages belong to.
    ///
    /// Source: IBA vol. 1, 16.4.2; `attributes.csv`, struct `CommunityInfo`.
    pub struct CommunityInfo("CommunityInfo", 64 bytes) {
        /// Name of the community: what agents take for a password.
        community_name, set_community_name: [secret_text; 64] = 0, 512;
    }
}

impl Attribute for CommunityInfo {
    const ID: AttributeId = AttributeId(0x0010);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// A piece of an SNMP message.
    ///
    /// Source: IBA vol. 1, 16.4.2; `attributes.csv`, struct `PduInfo`.
    pub struct PduInfo("PduInfo", 192 bytes) {
        /// Bytes of the message.
        pdu_data, set_pdu_data: [bytes; 192] = 0, 1536;
    }
}

impl Attribute for PduInfo {
    const ID: AttributeId = AttributeId(0x0011);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}
