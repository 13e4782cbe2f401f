//! Tunnelling of SNMP: its messages in datagrams (IBA vol. 1, 16.4).

#[cfg(feature = "alloc")]
mod segments;

use ib_wire::{Lid, table::Layout, wire_struct};

#[cfg(feature = "alloc")]
pub use self::segments::{SnmpConfig, SnmpError, SnmpMessage, SnmpReassembler, snmp_segments};
use crate::{Attribute, AttributeId, MadStatus, Method, MgmtClass, TransactionId};

wire_struct! {
    /// Format of SNMP tunnelling.
    ///
    /// Source: IBA vol. 1, 16.4.1, as python-rdma has it.
    pub struct SnmpMad("SNMPMad", 256 bytes) {
        /// Version of the header: 1.
        base_version,       set_base_version:       u8            = 0, 8;
        /// Management class.
        mgmt_class,         set_mgmt_class:         MgmtClass     = 8, 8;
        /// Version of the class.
        class_version,      set_class_version:      u8            = 16, 8;
        /// Method; bit 7 marks a response.
        method,             set_method:             Method        = 24, 8;
        /// Status of a response.
        status,             set_status:             MadStatus     = 32, 16;
        /// Belongs to the class.
        class_specific,     set_class_specific:     u16           = 48, 16;
        /// Ties a response to its request.
        transaction_id,     set_transaction_id:     TransactionId = 64, 64;
        /// Which attribute.
        attribute_id,       set_attribute_id:       AttributeId   = 128, 16;
        #[doc(hidden)]
        header_reserved,    set_header_reserved:    u16           = 144, 16;
        /// Which part of the attribute; each attribute has its own meaning.
        attribute_modifier, set_attribute_modifier: u32           = 160, 32;
        #[doc(hidden)]
        reserved1,          set_reserved1:          [bytes; 32]   = 192, 256;
        /// The sender's own; an answer carries it back.
        r_address,          set_r_address:          u32           = 448, 32;
        /// Bytes of `data` that mean something.
        payload_length,     set_payload_length:     u8            = 480, 8;
        /// Which piece of the message.
        segment_number,     set_segment_number:     u8            = 488, 8;
        /// LID of the message's first sender.
        source_lid,         set_source_lid:         Lid           = 496, 16;
        /// The attribute.
        data,               set_data:               [bytes; 192]  = 512, 1536;
    }
}

wire_struct! {
    /// The community that the SNMP messages belong to.
    ///
    /// Source: IBA vol. 1, 16.4.2; `attributes.csv`, struct `CommunityInfo`.
    pub struct CommunityInfo("CommunityInfo", 64 bytes) {
        /// Name of the community.
        community_name, set_community_name: [text; 64] = 0, 512;
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
