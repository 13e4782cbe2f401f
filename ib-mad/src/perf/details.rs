//! Details of two sums of PortCounters: receive errors and transmit discards (IBA vol. 1, 16.1.4.1).

use bitflags::bitflags;
use ib_wire::{flags_value, table::Layout, wire_struct};

use crate::{Attribute, AttributeId};

wire_struct! {
    /// The parts of `port_rcv_errors` and `port_rcv_switch_relay_errors`. The counters saturate.
    ///
    /// Source: IBA vol. 1, 16.1.4.1; `attributes.csv`, struct `PortRcvErrorDetails`.
    pub struct PortRcvErrorDetails("PortRcvErrorDetails", 16 bytes) {
        #[doc(hidden)]
        reserved1,                    set_reserved1:                    u8             = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,                  set_port_select:                  u8             = 8, 8;
        /// In a Set: which counters to write. The bits go with the counters' order.
        counter_select,               set_counter_select:               RcvErrorSelect = 16, 16;
        /// Packets with an error of the link: bad CRC, symbol error.
        port_local_physical_errors,   set_port_local_physical_errors:   u16            = 32, 16;
        /// Packets with a malformed header.
        port_malformed_packet_errors, set_port_malformed_packet_errors: u16            = 48, 16;
        /// Packets dropped because no buffer was left.
        port_buffer_overrun_errors,   set_port_buffer_overrun_errors:   u16            = 64, 16;
        /// Packets whose destination LID no table maps.
        port_dlid_mapping_errors,     set_port_dlid_mapping_errors:     u16            = 80, 16;
        /// Packets whose service level maps to no VL.
        port_vl_mapping_errors,       set_port_vl_mapping_errors:       u16            = 96, 16;
        /// Packets that would leave by the port they came in by.
        port_looping_errors,          set_port_looping_errors:          u16            = 112, 16;
    }
}

impl Attribute for PortRcvErrorDetails {
    const ID: AttributeId = AttributeId(0x0015);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// The parts of `port_xmit_discards`. The counters saturate.
    ///
    /// Source: IBA vol. 1, 16.1.4.2; `attributes.csv`, struct `PortXmitDiscardDetails`.
    pub struct PortXmitDiscardDetails("PortXmitDiscardDetails", 12 bytes) {
        #[doc(hidden)]
        reserved1,                       set_reserved1:                       u8  = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,                     set_port_select:                     u8  = 8, 8;
        /// In a Set: which counters to write. The bits go with the counters' order.
        counter_select,                  set_counter_select:                  u16 = 16, 16;
        /// Packets dropped because the port was not active.
        port_inactive_discards,          set_port_inactive_discards:          u16 = 32, 16;
        /// Packets dropped because they were longer than the neighbour takes.
        port_neighbor_mtu_discards,      set_port_neighbor_mtu_discards:      u16 = 48, 16;
        /// Packets dropped because they stayed in the switch too long.
        port_sw_lifetime_limit_discards, set_port_sw_lifetime_limit_discards: u16 = 64, 16;
        /// Packets dropped because they were at the head of a queue too long.
        port_sw_hoq_limit_discards,      set_port_sw_hoq_limit_discards:      u16 = 80, 16;
    }
}

impl Attribute for PortXmitDiscardDetails {
    const ID: AttributeId = AttributeId(0x0016);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

bitflags! {
    /// The counters of [`PortRcvErrorDetails`] that a Set writes (`counter_select`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct RcvErrorSelect: u16 {
        /// `PortLocalPhysicalErrors`.
        const PORT_LOCAL_PHYSICAL_ERRORS = 1 << 0;
        /// `PortMalformedPacketErrors`.
        const PORT_MALFORMED_PACKET_ERRORS = 1 << 1;
        /// `PortBufferOverrunErrors`.
        const PORT_BUFFER_OVERRUN_ERRORS = 1 << 2;
        /// `PortDLIDMappingErrors`.
        const PORT_DLID_MAPPING_ERRORS = 1 << 3;
        /// `PortVLMappingErrors`.
        const PORT_VL_MAPPING_ERRORS = 1 << 4;
        /// `PortLoopingErrors`.
        const PORT_LOOPING_ERRORS = 1 << 5;
        const _ = !0;
    }
}

flags_value!(RcvErrorSelect: u16);
