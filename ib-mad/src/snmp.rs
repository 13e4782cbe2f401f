//! Tunnelling of SNMP: its messages in datagrams (IBA vol. 1, 16.4).

use ib_wire::{table::Layout, wire_struct};

use crate::{Attribute, AttributeId};

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
