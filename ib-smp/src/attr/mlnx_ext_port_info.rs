//! MlnxExtPortInfo: the vendor attribute by which FDR10 is seen and enabled.
//!
//! FDR10 is QDR with 64/66 coding: PortInfo shows 10 Gb/s, and only this attribute distinguishes the two.
//! Devices without it answer with the status of an unknown attribute.

use ib_mad::{Attribute, AttributeId};
use ib_wire::{flags_value, table::Layout, wire_struct};

bitflags::bitflags! {
    /// Speeds that only the vendor's attribute knows.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct VendorLinkSpeeds: u8 {
        /// 10.3125 Gb/s per lane, 64/66 coding.
        const FDR10 = 1 << 0;
    }
}

flags_value!(VendorLinkSpeeds: u8);

wire_struct! {
    /// Speeds beside PortInfo's. The modifier is the port.
    ///
    /// Source: `attributes.csv`, struct `MlnxExtPortInfo`.
    pub struct MlnxExtPortInfo("MlnxExtPortInfo", 64 bytes) {
        #[doc(hidden)]
        reserved1, set_reserved1: u32 = 0, 24;
        /// The fields that a Set changes.
        state_change_enable, set_state_change_enable: u8 = 24, 8;
        #[doc(hidden)]
        reserved2, set_reserved2: u32 = 32, 24;
        /// Speeds that the port can do.
        link_speed_supported, set_link_speed_supported: VendorLinkSpeeds = 56, 8;
        #[doc(hidden)]
        reserved3, set_reserved3: u32 = 64, 24;
        /// Speeds that the port may use.
        link_speed_enabled, set_link_speed_enabled: VendorLinkSpeeds = 88, 8;
        #[doc(hidden)]
        reserved4, set_reserved4: u32 = 96, 24;
        /// Speed in use.
        link_speed_active, set_link_speed_active: VendorLinkSpeeds = 120, 8;
        #[doc(hidden)]
        reserved5, set_reserved5: [bytes; 48] = 128, 384;
    }
}

impl Attribute for MlnxExtPortInfo {
    const ID: AttributeId = AttributeId(0xFF90);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}
