//! P_KeyTableRecord: a block of a P_Key table (IBA vol. 1, 15.2.5.11).

use ib_mad::{Attribute, AttributeId};
use ib_smp::PartitionKeyTable;
use ib_wire::{Lid, PortNum, table::Layout, wire_struct};

use crate::{Record, components};

wire_struct! {
    /// A block of a P_Key table.
    ///
    /// Source: IBA vol. 1, 15.2.5.11; `attributes.csv`, struct `P_KeyTableRecord`.
    pub struct PKeyTableRecord("P_KeyTableRecord", 72 bytes) {
        /// LID of the port that the record is about.
        lid, set_lid: Lid = 0, 16;
        /// Number of the block in the table.
        block_num, set_block_num: u16 = 16, 16;
        /// Port of a switch; the port itself elsewhere.
        port_num, set_port_num: PortNum = 32, 8;
        #[doc(hidden)]
        reserved1, set_reserved1: u32 = 40, 24;
        /// The block: 32 P_Keys.
        p_key_table, set_p_key_table: PartitionKeyTable = 64, 512;
    }
}

impl Attribute for PKeyTableRecord {
    const ID: AttributeId = AttributeId(0x0033);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

components! {
    /// Components of [`PKeyTableRecord`] that a query compares.
    pub struct PKeyTableComponents for PKeyTableRecord {
        LID = 0 => "lid",
        BLOCK_NUM = 1 => "block_num",
        PORT_NUM = 2 => "port_num",
        RESERVED1 = 3 => "reserved1",
        P_KEY_TABLE = 4 => "p_key_table",
    }
}

impl Record for PKeyTableRecord {
    type Components = PKeyTableComponents;
}
