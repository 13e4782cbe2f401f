//! SLtoVLMappingTableRecord: service levels to lanes between two ports (IBA vol. 1, 15.2.5.4).

use ib_mad::{Attribute, AttributeId};
use ib_smp::SlToVlMappingTable;
use ib_wire::{Lid, PortNum, table::Layout, wire_struct};

use crate::{Record, components};

wire_struct! {
    /// Service levels to lanes between two ports.
    ///
    /// Source: IBA vol. 1, 15.2.5.4; `attributes.csv`, struct `SLtoVLMappingTableRecord`.
    pub struct SlToVlMappingTableRecord("SLtoVLMappingTableRecord", 16 bytes) {
        /// LID of the port that the record is about.
        lid, set_lid: Lid = 0, 16;
        /// Port that packets come in by; 0 on a CA.
        input_port_num, set_input_port_num: PortNum = 16, 8;
        /// Port that packets leave by; 0 on a CA.
        output_port_num, set_output_port_num: PortNum = 24, 8;
        #[doc(hidden)]
        reserved1, set_reserved1: u32 = 32, 32;
        /// Table of the (input, output) pair of ports.
        sl_to_vl_mapping_table, set_sl_to_vl_mapping_table: SlToVlMappingTable = 64, 64;
    }
}

impl Attribute for SlToVlMappingTableRecord {
    const ID: AttributeId = AttributeId(0x0013);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

components! {
    /// Components of [`SlToVlMappingTableRecord`] that a query compares.
    pub struct SlToVlMappingTableComponents for SlToVlMappingTableRecord {
        LID = 0 => "lid",
        INPUT_PORT_NUM = 1 => "input_port_num",
        OUTPUT_PORT_NUM = 2 => "output_port_num",
        RESERVED1 = 3 => "reserved1",
        SL_TO_VL_MAPPING_TABLE = 4 => "sl_to_vl_mapping_table",
    }
}

impl Record for SlToVlMappingTableRecord {
    type Components = SlToVlMappingTableComponents;
}
