//! LinearForwardingTableRecord: a block of a unicast table (IBA vol. 1, 15.2.5.6).

use ib_mad::{Attribute, AttributeId};
use ib_smp::LinearForwardingTable;
use ib_wire::{Lid, table::Layout, wire_struct};

use crate::{Record, components};

wire_struct! {
    /// A block of a unicast table.
    ///
    /// Source: IBA vol. 1, 15.2.5.6; `attributes.csv`, struct `LinearForwardingTableRecord`.
    pub struct LinearForwardingTableRecord("LinearForwardingTableRecord", 72 bytes) {
        /// LID of the port that the record is about.
        lid, set_lid: Lid = 0, 16;
        /// Number of the block in the table.
        block_num, set_block_num: u16 = 16, 16;
        #[doc(hidden)]
        reserved1, set_reserved1: u32 = 32, 32;
        /// The block: 64 LIDs.
        linear_forwarding_table, set_linear_forwarding_table: LinearForwardingTable = 64, 512;
    }
}

impl Attribute for LinearForwardingTableRecord {
    const ID: AttributeId = AttributeId(0x0015);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

components! {
    /// Components of [`LinearForwardingTableRecord`] that a query compares.
    pub struct LinearForwardingTableComponents for LinearForwardingTableRecord {
        LID = 0 => "lid",
        BLOCK_NUM = 1 => "block_num",
        RESERVED1 = 2 => "reserved1",
        LINEAR_FORWARDING_TABLE = 3 => "linear_forwarding_table",
    }
}

impl Record for LinearForwardingTableRecord {
    type Components = LinearForwardingTableComponents;
}
