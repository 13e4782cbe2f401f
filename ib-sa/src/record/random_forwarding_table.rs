//! RandomForwardingTableRecord: a block of a random table (IBA vol. 1, 15.2.5.7).

use ib_mad::{Attribute, AttributeId};
use ib_smp::RandomForwardingTable;
use ib_wire::{Lid, table::Layout, wire_struct};

use crate::{Record, components};

wire_struct! {
    /// A block of a random table.
    ///
    /// Source: IBA vol. 1, 15.2.5.7; `attributes.csv`, struct `RandomForwardingTableRecord`.
    pub struct RandomForwardingTableRecord("RandomForwardingTableRecord", 72 bytes) {
        /// LID of the port that the record is about.
        lid, set_lid: Lid = 0, 16;
        /// Number of the block in the table.
        block_num, set_block_num: u16 = 16, 16;
        #[doc(hidden)]
        reserved1, set_reserved1: u32 = 32, 32;
        /// The block: 16 entries.
        random_forwarding_table, set_random_forwarding_table: RandomForwardingTable = 64, 512;
    }
}

impl Attribute for RandomForwardingTableRecord {
    const ID: AttributeId = AttributeId(0x0016);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

components! {
    /// Components of [`RandomForwardingTableRecord`] that a query compares.
    pub struct RandomForwardingTableComponents for RandomForwardingTableRecord {
        LID = 0 => "lid",
        BLOCK_NUM = 1 => "block_num",
        RESERVED1 = 2 => "reserved1",
        RANDOM_FORWARDING_TABLE = 3 => "random_forwarding_table",
    }
}

impl Record for RandomForwardingTableRecord {
    type Components = RandomForwardingTableComponents;
}
