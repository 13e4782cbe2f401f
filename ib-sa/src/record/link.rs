//! LinkRecord: a link between two ports (IBA vol. 1, 15.2.5.13).
//!
//! A port of a switch is its LID and its port number, a port of a CA its own LID.

use ib_mad::{Attribute, AttributeId};
use ib_wire::{Lid, PortNum, table::Layout, wire_struct};

use crate::{Record, components};

wire_struct! {
    /// A link between two ports.
    ///
    /// Source: IBA vol. 1, 15.2.5.13; `attributes.csv`, struct `LinkRecord`.
    pub struct LinkRecord("LinkRecord", 8 bytes) {
        /// LID at one end of the link.
        from_lid, set_from_lid: Lid = 0, 16;
        /// Port at that end.
        from_port, set_from_port: PortNum = 16, 8;
        /// Port at the other end.
        to_port, set_to_port: PortNum = 24, 8;
        /// LID at the other end.
        to_lid, set_to_lid: Lid = 32, 16;
        #[doc(hidden)]
        reserved1, set_reserved1: u16 = 48, 16;
    }
}

impl Attribute for LinkRecord {
    const ID: AttributeId = AttributeId(0x0020);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

components! {
    /// Components of [`LinkRecord`] that a query compares.
    pub struct LinkComponents for LinkRecord {
        FROM_LID = 0 => "from_lid",
        FROM_PORT = 1 => "from_port",
        TO_PORT = 2 => "to_port",
        TO_LID = 3 => "to_lid",
    }
}

impl Record for LinkRecord {
    type Components = LinkComponents;
}
