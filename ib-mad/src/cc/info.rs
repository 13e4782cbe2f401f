//! Abilities and key of congestion control, and its clock (IBA vol. 1, A10.4.3).

use ib_wire::{table::Layout, wire_struct};

use crate::{Attribute, AttributeId, CcKey};

wire_struct! {
    /// Capabilities of a node for congestion control.
    ///
    /// Source: IBA vol. 1, A10.4.3; `attributes.csv`, struct `CongestionInfo`.
    pub struct CongestionInfo("CongestionInfo", 4 bytes) {
        /// Abilities of the congestion control agent.
        congestion_info,   set_congestion_info:   u16 = 0, 16;
        /// Blocks of 64 entries that the congestion control table has.
        control_table_cap, set_control_table_cap: u8  = 16, 8;
        #[doc(hidden)]
        reserved1,         set_reserved1:         u8  = 24, 8;
    }
}

impl Attribute for CongestionInfo {
    const ID: AttributeId = AttributeId(0x0011);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// The key that guards the congestion settings of a node.
    ///
    /// Source: IBA vol. 1, A10.4.3; `attributes.csv`, struct `CongestionKeyInfo`.
    pub struct CongestionKeyInfo("CongestionKeyInfo", 14 bytes) {
        /// Key that guards the settings; 0: none.
        cc_key,              set_cc_key:              CcKey = 0, 64;
        /// The key is not shown to who does not know it.
        cc_key_protect_bit,  set_cc_key_protect_bit:  bool  = 64, 1;
        #[doc(hidden)]
        reserved1,           set_reserved1:           u16   = 65, 15;
        /// Seconds until the key's protection ends; 0: never.
        cc_key_lease_period, set_cc_key_lease_period: u16   = 80, 16;
        /// Requests with a wrong key so far.
        cc_key_violations,   set_cc_key_violations:   u16   = 96, 16;
    }
}

impl Attribute for CongestionKeyInfo {
    const ID: AttributeId = AttributeId(0x0012);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// The clock of the congestion log.
    ///
    /// Source: IBA vol. 1, A10.4.3; `attributes.csv`, struct `Timestamp`.
    pub struct Timestamp("Timestamp", 4 bytes) {
        /// Time of the entry, in units of 1.024 us.
        timestamp, set_timestamp: u32 = 0, 32;
    }
}

impl Attribute for Timestamp {
    const ID: AttributeId = AttributeId(0x0018);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}
