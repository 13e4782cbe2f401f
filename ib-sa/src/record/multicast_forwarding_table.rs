//! MulticastForwardingTableRecord: a block of a multicast table (IBA vol. 1, 15.2.5.8).

use ib_mad::{Attribute, AttributeId};
use ib_smp::MulticastForwardingTable;
use ib_wire::{Lid, table::Layout, wire_struct};

use crate::{Record, components};

wire_struct! {
    /// A block of a multicast table.
    ///
    /// Source: IBA vol. 1, 15.2.5.8; `attributes.csv`, struct `MulticastForwardingTableRecord`.
    pub struct MulticastForwardingTableRecord("MulticastForwardingTableRecord", 72 bytes) {
        /// LID of the port that the record is about.
        lid, set_lid: Lid = 0, 16;
        /// Number of the group of 16 ports of the switch.
        position, set_position: u8 = 16, 4;
        #[doc(hidden)]
        reserved1, set_reserved1: u8 = 20, 3;
        /// Number of the block in the table.
        block_num, set_block_num: u16 = 23, 9;
        #[doc(hidden)]
        reserved2, set_reserved2: u32 = 32, 32;
        /// The block: 32 multicast LIDs.
        multicast_forwarding_table, set_multicast_forwarding_table: MulticastForwardingTable = 64, 512;
    }
}

impl Attribute for MulticastForwardingTableRecord {
    const ID: AttributeId = AttributeId(0x0017);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

components! {
    /// Components of [`MulticastForwardingTableRecord`] that a query compares.
    pub struct MulticastForwardingTableComponents for MulticastForwardingTableRecord {
        LID = 0 => "lid",
        POSITION = 1 => "position",
        RESERVED1 = 2 => "reserved1",
        BLOCK_NUM = 3 => "block_num",
        RESERVED2 = 4 => "reserved2",
        MULTICAST_FORWARDING_TABLE = 5 => "multicast_forwarding_table",
    }
}

impl Record for MulticastForwardingTableRecord {
    type Components = MulticastForwardingTableComponents;
}
