//! Counters of congestion control (IBA vol. 1, A10.6). All saturate.

use ib_wire::{table::Layout, wire_struct};

use crate::{Attribute, AttributeId};

wire_struct! {
    /// Congestion notifications received.
    ///
    /// Source: `attributes.csv`, struct `PortRcvConCtrl`.
    pub struct PortRcvConCtrl("PortRcvConCtrl", 12 bytes) {
        #[doc(hidden)]
        reserved1,         set_reserved1:         u8  = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,       set_port_select:       u8  = 8, 8;
        /// In a Set: which counters to write. The bits go with the counters' order.
        counter_select,    set_counter_select:    u16 = 16, 16;
        /// Packets received with a forward congestion notification.
        port_pkt_rcv_fecn, set_port_pkt_rcv_fecn: u32 = 32, 32;
        /// Packets received with a backward congestion notification.
        port_pkt_rcv_becn, set_port_pkt_rcv_becn: u32 = 64, 32;
    }
}

impl Attribute for PortRcvConCtrl {
    const ID: AttributeId = AttributeId(0x0031);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Forward congestion notifications received, by service level.
    ///
    /// Source: `attributes.csv`, struct `PortSLRcvFECN`.
    pub struct PortSlRcvFecn("PortSLRcvFECN", 68 bytes) {
        #[doc(hidden)]
        reserved1,        set_reserved1:        u8        = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,      set_port_select:      u8        = 8, 8;
        /// In a Set: which counters to write. The bits go with the counters' order.
        counter_select,   set_counter_select:   u16       = 16, 16;
        /// Packets received with a forward congestion notification, by service level.
        port_sl_rcv_fecn, set_port_sl_rcv_fecn: [u32; 16] = 32, 512;
    }
}

impl Attribute for PortSlRcvFecn {
    const ID: AttributeId = AttributeId(0x0032);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Backward congestion notifications received, by service level.
    ///
    /// Source: `attributes.csv`, struct `PortSLRcvBECN`.
    pub struct PortSlRcvBecn("PortSLRcvBECN", 68 bytes) {
        #[doc(hidden)]
        reserved1,        set_reserved1:        u8        = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,      set_port_select:      u8        = 8, 8;
        /// In a Set: which counters to write. The bits go with the counters' order.
        counter_select,   set_counter_select:   u16       = 16, 16;
        /// Packets received with a backward congestion notification, by service level.
        port_sl_rcv_becn, set_port_sl_rcv_becn: [u32; 16] = 32, 512;
    }
}

impl Attribute for PortSlRcvBecn {
    const ID: AttributeId = AttributeId(0x0033);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Time for which the port was congested.
    ///
    /// Source: `attributes.csv`, struct `PortXmitConCtrl`.
    pub struct PortXmitConCtrl("PortXmitConCtrl", 8 bytes) {
        #[doc(hidden)]
        reserved1,           set_reserved1:           u8  = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,         set_port_select:         u8  = 8, 8;
        /// In a Set: which counters to write. The bits go with the counters' order.
        counter_select,      set_counter_select:      u16 = 16, 16;
        /// Time that the port was congested.
        port_xmit_time_cong, set_port_xmit_time_cong: u32 = 32, 32;
    }
}

impl Attribute for PortXmitConCtrl {
    const ID: AttributeId = AttributeId(0x0034);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Time for which each VL was congested.
    ///
    /// Source: `attributes.csv`, struct `PortVLXmitTimeCong`.
    pub struct PortVlXmitTimeCong("PortVLXmitTimeCong", 64 bytes) {
        #[doc(hidden)]
        reserved1,              set_reserved1:              u8        = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,            set_port_select:            u8        = 8, 8;
        /// In a Set: which counters to write. The bits go with the counters' order.
        counter_select,         set_counter_select:         u16       = 16, 16;
        /// Time that the VL was congested, by data VL.
        port_vl_xmit_time_cong, set_port_vl_xmit_time_cong: [u32; 15] = 32, 480;
    }
}

impl Attribute for PortVlXmitTimeCong {
    const ID: AttributeId = AttributeId(0x0035);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}
