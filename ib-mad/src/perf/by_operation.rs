//! Counters of packets with one operation code, and of flow control (IBA vol. 1, 16.1.4.3 to 16.1.4.6).
//!
//! All saturate.

use ib_wire::{table::Layout, wire_struct};

use crate::{Attribute, AttributeId};

wire_struct! {
    /// Packets and data received with an operation code.
    ///
    /// Source: IBA vol. 1, 16.1.4.3; `attributes.csv`, struct `PortOpRcvCounters`.
    pub struct PortOpRcvCounters("PortOpRcvCounters", 12 bytes) {
        /// Operation code of the packets to count.
        op_code,          set_op_code:          u8  = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,      set_port_select:      u8  = 8, 8;
        /// In a Set: which counters to write. The bits go with the counters' order.
        counter_select,   set_counter_select:   u16 = 16, 16;
        /// Packets received with the operation code.
        port_op_rcv_pkts, set_port_op_rcv_pkts: u32 = 32, 32;
        /// Words of 4 bytes received with the operation code.
        port_op_rcv_data, set_port_op_rcv_data: u32 = 64, 32;
    }
}

impl Attribute for PortOpRcvCounters {
    const ID: AttributeId = AttributeId(0x0017);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Flow control packets of a port.
    ///
    /// Source: IBA vol. 1, 16.1.4.4; `attributes.csv`, struct `PortFlowCtlCounters`.
    pub struct PortFlowCtlCounters("PortFlowCtlCounters", 12 bytes) {
        #[doc(hidden)]
        reserved1,           set_reserved1:           u8  = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,         set_port_select:         u8  = 8, 8;
        /// In a Set: which counters to write. The bits go with the counters' order.
        counter_select,      set_counter_select:      u16 = 16, 16;
        /// Flow control packets sent.
        port_xmit_flow_pkts, set_port_xmit_flow_pkts: u32 = 32, 32;
        /// Flow control packets received.
        port_rcv_flow_pkts,  set_port_rcv_flow_pkts:  u32 = 64, 32;
    }
}

impl Attribute for PortFlowCtlCounters {
    const ID: AttributeId = AttributeId(0x0018);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Packets received with an operation code, by VL.
    ///
    /// Source: IBA vol. 1, 16.1.4.5; `attributes.csv`, struct `PortVLOpPackets`.
    pub struct PortVlOpPackets("PortVLOpPackets", 36 bytes) {
        /// Operation code of the packets to count.
        op_code,            set_op_code:            u8        = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,        set_port_select:        u8        = 8, 8;
        /// In a Set: which counters to write. The bits go with the counters' order.
        counter_select,     set_counter_select:     u16       = 16, 16;
        /// Packets received with the operation code, by VL.
        port_vl_op_packets, set_port_vl_op_packets: [u16; 16] = 32, 256;
    }
}

impl Attribute for PortVlOpPackets {
    const ID: AttributeId = AttributeId(0x0019);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Data received with an operation code, by VL.
    ///
    /// Source: IBA vol. 1, 16.1.4.6; `attributes.csv`, struct `PortVLOpData`.
    pub struct PortVlOpData("PortVLOpData", 68 bytes) {
        /// Operation code of the packets to count.
        op_code,         set_op_code:         u8        = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,     set_port_select:     u8        = 8, 8;
        /// In a Set: which counters to write. The bits go with the counters' order.
        counter_select,  set_counter_select:  u16       = 16, 16;
        /// Words of 4 bytes received with the operation code, by VL.
        port_vl_op_data, set_port_vl_op_data: [u32; 16] = 32, 512;
    }
}

impl Attribute for PortVlOpData {
    const ID: AttributeId = AttributeId(0x001a);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}
