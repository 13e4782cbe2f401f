//! TraceRecord: a node on a path (IBA vol. 1, 15.2.5.19).
//!
//! The IDs represent GUIDs without revealing them.

use ib_mad::{Attribute, AttributeId};
use ib_smp::NodeType;
use ib_wire::{GidPrefix, PortNum, table::Layout, wire_struct};

use crate::{Record, components};

wire_struct! {
    /// A node on a path.
    ///
    /// Source: IBA vol. 1, 15.2.5.19; `attributes.csv`, struct `TraceRecord`.
    pub struct TraceRecord("TraceRecord", 48 bytes) {
        /// Prefix of the subnet.
        gid_prefix, set_gid_prefix: GidPrefix = 0, 64;
        /// Changes when the GUIDs that the IDs represent do.
        id_generation, set_id_generation: u16 = 64, 16;
        #[doc(hidden)]
        reserved1, set_reserved1: u8 = 80, 8;
        /// Kind of the node.
        node_type, set_node_type: NodeType = 88, 8;
        /// Stands for the node.
        node_id, set_node_id: u64 = 96, 64;
        /// Stands for the chassis.
        chassis_id, set_chassis_id: u64 = 160, 64;
        /// Stands for the port of arrival.
        entry_port_id, set_entry_port_id: u64 = 224, 64;
        /// Stands for the port of departure.
        exit_port_id, set_exit_port_id: u64 = 288, 64;
        /// Port of arrival.
        entry_port, set_entry_port: PortNum = 352, 8;
        /// Port of departure.
        exit_port, set_exit_port: PortNum = 360, 8;
        #[doc(hidden)]
        reserved2, set_reserved2: u16 = 368, 16;
    }
}

impl Attribute for TraceRecord {
    const ID: AttributeId = AttributeId(0x0039);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

components! {
    /// Components of [`TraceRecord`] that a query compares.
    pub struct TraceComponents for TraceRecord {
        GID_PREFIX = 0 => "gid_prefix",
        ID_GENERATION = 1 => "id_generation",
        RESERVED1 = 2 => "reserved1",
        NODE_TYPE = 3 => "node_type",
        NODE_ID = 4 => "node_id",
        CHASSIS_ID = 5 => "chassis_id",
        ENTRY_PORT_ID = 6 => "entry_port_id",
        EXIT_PORT_ID = 7 => "exit_port_id",
        ENTRY_PORT = 8 => "entry_port",
        EXIT_PORT = 9 => "exit_port",
    }
}

impl Record for TraceRecord {
    type Components = TraceComponents;
}
