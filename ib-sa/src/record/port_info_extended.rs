//! PortInfoExtendedRecord: error correction of a port (IBA vol. 1, 15.2.5.21).

use ib_mad::{Attribute, AttributeId};
use ib_smp::PortInfoExtended;
use ib_wire::{Lid, PortNum, table::Layout, wire_struct};

use crate::{Record, components};

wire_struct! {
    /// Error correction of a port.
    ///
    /// Source: IBA vol. 1, 15.2.5.21; `attributes.csv`, struct `PortInfoExtendedRecord`.
    pub struct PortInfoExtendedRecord("PortInfoExtendedRecord", 68 bytes) {
        /// LID of the end port that the record is about.
        endport_lid, set_endport_lid: Lid = 0, 16;
        /// Port of a switch; the port itself elsewhere.
        port_num, set_port_num: PortNum = 16, 8;
        /// Options of a query; 0 in a response.
        options, set_options: u8 = 24, 8;
        /// PortInfoExtended of the port.
        port_info_extended, set_port_info_extended: PortInfoExtended = 32, 512;
    }
}

impl Attribute for PortInfoExtendedRecord {
    const ID: AttributeId = AttributeId(0x003E);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

components! {
    /// Components of [`PortInfoExtendedRecord`] that a query compares.
    pub struct PortInfoExtendedComponents for PortInfoExtendedRecord {
    }
}

impl Record for PortInfoExtendedRecord {
    type Components = PortInfoExtendedComponents;
}
