//! NodeInfo: what a node is (IBA vol. 1, 14.2.5.3).
//!
//! The first attribute a subnet manager asks of a node, by directed route. `port_guid` and
//! `local_port_num` depend on the port by which the request came in: the same node answers
//! differently over different ports.

use ib_mad::{Attribute, AttributeId};
use ib_wire::{Guid, NodeType, PortNum, table::Layout, wire_struct};

wire_struct! {
    /// Kind, ports and identity of a node.
    ///
    /// Source: IBA vol. 1, 14.2.5.3; `attributes.csv`, struct `NodeInfo`.
    pub struct NodeInfo("NodeInfo", 40 bytes) {
        /// Highest MAD version the node understands: 1.
        base_version, set_base_version: u8 = 0, 8;
        /// Highest version of the subnet management class: 1.
        class_version, set_class_version: u8 = 8, 8;
        /// Channel adapter, switch or router.
        node_type, set_node_type: NodeType = 16, 8;
        /// External ports; a switch's port 0 is not counted.
        num_ports, set_num_ports: u8 = 24, 8;
        /// GUID shared by all nodes of one system; 0 if the node knows none.
        system_image_guid, set_system_image_guid: Guid = 32, 64;
        /// GUID of the node.
        node_guid, set_node_guid: Guid = 96, 64;
        /// GUID of the port that the request came in by; of port 0 for a switch.
        port_guid, set_port_guid: Guid = 160, 64;
        /// P_Keys that each port's table holds; of port 0 for a switch.
        partition_cap, set_partition_cap: u16 = 224, 16;
        /// The manufacturer's number for the kind of device.
        device_id, set_device_id: u16 = 240, 16;
        /// The manufacturer's revision of the device.
        revision, set_revision: u32 = 256, 32;
        /// Port that the request came in by.
        local_port_num, set_local_port_num: PortNum = 288, 8;
        /// The manufacturer's OUI.
        vendor_id, set_vendor_id: u32 = 296, 24;
    }
}

impl Attribute for NodeInfo {
    const ID: AttributeId = AttributeId(0x0011);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}
