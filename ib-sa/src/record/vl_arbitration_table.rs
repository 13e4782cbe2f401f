//! VLArbitrationTableRecord: part of a VL arbitration table (IBA vol. 1, 15.2.5.9).

use ib_mad::{Attribute, AttributeId};
use ib_smp::VlArbitrationTable;
use ib_wire::{Lid, PortNum, table::Layout, wire_struct};

use crate::{Record, components};

wire_struct! {
    /// Part of a VL arbitration table.
    ///
    /// Source: IBA vol. 1, 15.2.5.9; `attributes.csv`, struct `VLArbitrationTableRecord`.
    pub struct VlArbitrationTableRecord("VLArbitrationTableRecord", 72 bytes) {
        /// LID of the port that the record is about.
        lid, set_lid: Lid = 0, 16;
        /// Port that packets leave by; 0 on a CA.
        output_port_num, set_output_port_num: PortNum = 16, 8;
        /// Number of the block in the table.
        block_num, set_block_num: u8 = 24, 8;
        #[doc(hidden)]
        reserved1, set_reserved1: u32 = 32, 32;
        /// The half of the table that the block number names.
        vl_arbitration_table, set_vl_arbitration_table: VlArbitrationTable = 64, 512;
    }
}

impl Attribute for VlArbitrationTableRecord {
    const ID: AttributeId = AttributeId(0x0036);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

components! {
    /// Components of [`VlArbitrationTableRecord`] that a query compares.
    pub struct VlArbitrationTableComponents for VlArbitrationTableRecord {
        LID = 0 => "lid",
        OUTPUT_PORT_NUM = 1 => "output_port_num",
        BLOCK_NUM = 2 => "block_num",
        RESERVED1 = 3 => "reserved1",
        VL_ARBITRATION_TABLE = 4 => "vl_arbitration_table",
    }
}

impl Record for VlArbitrationTableRecord {
    type Components = VlArbitrationTableComponents;
}
