//! GUIDInfoRecord: GUIDs of a port (IBA vol. 1, 15.2.5.18).
//!
//! A host sets it to get alias GUIDs for its virtual machines.

use ib_mad::{Attribute, AttributeId};
use ib_smp::GuidInfo;
use ib_wire::{Lid, table::Layout, wire_struct};

use crate::{Record, components};

wire_struct! {
    /// GUIDs of a port.
    ///
    /// Source: IBA vol. 1, 15.2.5.18; `attributes.csv`, struct `GUIDInfoRecord`.
    pub struct GuidInfoRecord("GUIDInfoRecord", 72 bytes) {
        /// LID of the port that the record is about.
        lid, set_lid: Lid = 0, 16;
        /// Number of the block in the table.
        block_num, set_block_num: u8 = 16, 8;
        #[doc(hidden)]
        reserved1, set_reserved1: u8 = 24, 8;
        #[doc(hidden)]
        reserved2, set_reserved2: u32 = 32, 32;
        /// The block: 8 GUIDs.
        guid_info, set_guid_info: GuidInfo = 64, 512;
    }
}

impl Attribute for GuidInfoRecord {
    const ID: AttributeId = AttributeId(0x0030);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

components! {
    /// Components of [`GuidInfoRecord`] that a query compares.
    pub struct GuidInfoComponents for GuidInfoRecord {
        LID = 0 => "lid",
        BLOCK_NUM = 1 => "block_num",
        RESERVED1 = 2 => "reserved1",
        RESERVED2 = 3 => "reserved2",
        GUID_BLOCK_0 = 4 => "guid_info.guid_block[0]",
        GUID_BLOCK_1 = 5 => "guid_info.guid_block[1]",
        GUID_BLOCK_2 = 6 => "guid_info.guid_block[2]",
        GUID_BLOCK_3 = 7 => "guid_info.guid_block[3]",
        GUID_BLOCK_4 = 8 => "guid_info.guid_block[4]",
        GUID_BLOCK_5 = 9 => "guid_info.guid_block[5]",
        GUID_BLOCK_6 = 10 => "guid_info.guid_block[6]",
        GUID_BLOCK_7 = 11 => "guid_info.guid_block[7]",
    }
}

impl Record for GuidInfoRecord {
    type Components = GuidInfoComponents;
}
