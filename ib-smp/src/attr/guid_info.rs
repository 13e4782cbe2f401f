//! GUIDInfo: the GUIDs that a port answers to (IBA vol. 1, 14.2.5.5).
//!
//! The modifier is the number of a block of 8. Entry 0 of block 0 is the port GUID and cannot be
//! written; the others are aliases that the subnet manager assigns. PortInfo.GUIDCap says how many
//! there may be.

use ib_mad::{Attribute, AttributeId};
use ib_wire::{Guid, table::Layout, wire_struct};

wire_struct! {
    /// Eight GUIDs of a port.
    ///
    /// Source: IBA vol. 1, 14.2.5.5; `attributes.csv`, struct `GUIDInfo`.
    pub struct GuidInfo("GUIDInfo", 64 bytes) {
        /// GUID 8 * block + index of the port; 0 is none.
        guid_block, set_guid_block: [Guid; 8] = 0, 512;
    }
}

impl Attribute for GuidInfo {
    const ID: AttributeId = AttributeId(0x0014);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

impl GuidInfo {
    /// GUIDs of a block.
    pub const ENTRIES: u8 = 8;
}
