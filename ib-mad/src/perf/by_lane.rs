//! Counters by virtual lane and by service level (IBA vol. 1, 16.1.4.7 to 16.1.4.10).
//!
//! All saturate.

use ib_wire::{table::Layout, wire_struct};

use crate::{Attribute, AttributeId};

wire_struct! {
    /// Missing flow control updates, by VL.
    ///
    /// Source: IBA vol. 1, 16.1.4.7; `attributes.csv`, struct `PortVLXmitFlowCtlUpdateErrors`.
    pub struct PortVlXmitFlowCtlUpdateErrors("PortVLXmitFlowCtlUpdateErrors", 8 bytes) {
        #[doc(hidden)]
        reserved1,                           set_reserved1:                           u8       = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,                         set_port_select:                         u8       = 8, 8;
        /// In a Set: which counters to write. The bits go with the counters' order.
        counter_select,                      set_counter_select:                      u16      = 16, 16;
        /// Times that no flow control update came in time, by VL: 2 bits each.
        port_vl_xmit_flow_ctl_update_errors, set_port_vl_xmit_flow_ctl_update_errors: [u8; 16] = 32, 32;
    }
}

impl Attribute for PortVlXmitFlowCtlUpdateErrors {
    const ID: AttributeId = AttributeId(0x001b);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Waiting to send, by VL.
    ///
    /// Source: IBA vol. 1, 16.1.4.8; `attributes.csv`, struct `PortVLXmitWaitCounters`.
    pub struct PortVlXmitWaitCounters("PortVLXmitWaitCounters", 36 bytes) {
        #[doc(hidden)]
        reserved1,         set_reserved1:         u8        = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,       set_port_select:       u8        = 8, 8;
        /// In a Set: which counters to write. The bits go with the counters' order.
        counter_select,    set_counter_select:    u16       = 16, 16;
        /// Ticks in which the VL had something to send and did not, by VL.
        port_vl_xmit_wait, set_port_vl_xmit_wait: [u16; 16] = 32, 256;
    }
}

impl Attribute for PortVlXmitWaitCounters {
    const ID: AttributeId = AttributeId(0x001c);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Discards for congestion of a switch port, by VL.
    ///
    /// Source: IBA vol. 1, 16.1.4.9; `attributes.csv`, struct `SwPortVLCongestion`.
    pub struct SwPortVlCongestion("SwPortVLCongestion", 36 bytes) {
        #[doc(hidden)]
        reserved1,             set_reserved1:             u8        = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,           set_port_select:           u8        = 8, 8;
        /// In a Set: which counters to write. The bits go with the counters' order.
        counter_select,        set_counter_select:        u16       = 16, 16;
        /// Packets dropped for congestion, by VL.
        sw_port_vl_congestion, set_sw_port_vl_congestion: [u16; 16] = 32, 256;
    }
}

impl Attribute for SwPortVlCongestion {
    const ID: AttributeId = AttributeId(0x0030);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Data sent, by service level.
    ///
    /// Source: `attributes.csv`, struct `PortXmitDataSL`.
    pub struct PortXmitDataSl("PortXmitDataSL", 68 bytes) {
        #[doc(hidden)]
        reserved1,         set_reserved1:         u8        = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,       set_port_select:       u8        = 8, 8;
        /// In a Set: which counters to write. The bits go with the counters' order.
        counter_select,    set_counter_select:    u16       = 16, 16;
        /// Words of 4 bytes sent, by service level.
        port_xmit_data_sl, set_port_xmit_data_sl: [u32; 16] = 32, 512;
    }
}

impl Attribute for PortXmitDataSl {
    const ID: AttributeId = AttributeId(0x0036);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Data received, by service level.
    ///
    /// Source: `attributes.csv`, struct `PortRcvDataSL`.
    pub struct PortRcvDataSl("PortRcvDataSL", 68 bytes) {
        #[doc(hidden)]
        reserved1,        set_reserved1:        u8        = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,      set_port_select:      u8        = 8, 8;
        /// In a Set: which counters to write. The bits go with the counters' order.
        counter_select,   set_counter_select:   u16       = 16, 16;
        /// Words of 4 bytes received, by service level.
        port_rcv_data_sl, set_port_rcv_data_sl: [u32; 16] = 32, 512;
    }
}

impl Attribute for PortRcvDataSl {
    const ID: AttributeId = AttributeId(0x0037);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}
