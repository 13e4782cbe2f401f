//! NodeRecord: a node as one of its ports shows it (IBA vol. 1, 15.2.5.2).

use ib_mad::{Attribute, AttributeId};
use ib_smp::{NodeDescription, NodeInfo};
use ib_wire::{Lid, table::Layout, wire_struct};

use crate::{Record, components};

wire_struct! {
    /// A node as one of its ports shows it.
    ///
    /// Source: IBA vol. 1, 15.2.5.2; `attributes.csv`, struct `NodeRecord`.
    pub struct NodeRecord("NodeRecord", 108 bytes) {
        /// LID of the port that the record is about.
        lid, set_lid: Lid = 0, 16;
        #[doc(hidden)]
        reserved1, set_reserved1: u16 = 16, 16;
        /// NodeInfo as the port of this LID shows it.
        node_info, set_node_info: NodeInfo = 32, 320;
        /// The text that people know the node by.
        node_description, set_node_description: NodeDescription = 352, 512;
    }
}

impl Attribute for NodeRecord {
    const ID: AttributeId = AttributeId(0x0011);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

components! {
    /// Components of [`NodeRecord`] that a query compares.
    pub struct NodeComponents for NodeRecord {
        LID = 0 => "lid",
        RESERVED1 = 1 => "reserved1",
        BASE_VERSION = 2 => "node_info.base_version",
        CLASS_VERSION = 3 => "node_info.class_version",
        NODE_TYPE = 4 => "node_info.node_type",
        NUM_PORTS = 5 => "node_info.num_ports",
        SYSTEM_IMAGE_GUID = 6 => "node_info.system_image_guid",
        NODE_GUID = 7 => "node_info.node_guid",
        PORT_GUID = 8 => "node_info.port_guid",
        PARTITION_CAP = 9 => "node_info.partition_cap",
        DEVICE_ID = 10 => "node_info.device_id",
        REVISION = 11 => "node_info.revision",
        LOCAL_PORT_NUM = 12 => "node_info.local_port_num",
        VENDOR_ID = 13 => "node_info.vendor_id",
        NODE_STRING = 14 => "node_description.node_string",
    }
}

impl Record for NodeRecord {
    type Components = NodeComponents;
}
