//! PortCountersExtended: the counters that do not overflow in practice (IBA vol. 1, 16.1.4.11).
//!
//! 64 bits each. The error counters from `symbol_error_counter` on are there if the agent's
//! ClassPortInfo says `IsAdditionalPortCountersExtendedSupported`.

use bitflags::bitflags;
use ib_wire::{flags_value, table::Layout, wire_struct};

use crate::{Attribute, AttributeId};

wire_struct! {
    /// Errors, packets and data of a port in 64 bits each.
    ///
    /// Source: IBA vol. 1, 16.1.4.11; `attributes.csv`, struct `PortCountersExtended`.
    pub struct PortCountersExtended("PortCountersExtended", 184 bytes) {
        #[doc(hidden)]
        reserved1,                       set_reserved1:                       u8                    = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,                     set_port_select:                     u8                    = 8, 8;
        /// In a Set: which counters to write. The bits go with the counters' order.
        counter_select,                  set_counter_select:                  CounterSelectExtended = 16, 16;
        /// In a Set: which of the error counters to write.
        counter_select2,                 set_counter_select2:                 u32                   = 32, 32;
        /// Words of 4 bytes sent, link packets left out.
        port_xmit_data,                  set_port_xmit_data:                  u64                   = 64, 64;
        /// Words of 4 bytes received, link packets left out.
        port_rcv_data,                   set_port_rcv_data:                   u64                   = 128, 64;
        /// Packets sent, link packets left out.
        port_xmit_pkts,                  set_port_xmit_pkts:                  u64                   = 192, 64;
        /// Packets received, link packets left out.
        port_rcv_pkts,                   set_port_rcv_pkts:                   u64                   = 256, 64;
        /// Unicast packets sent.
        port_unicast_xmit_pkts,          set_port_unicast_xmit_pkts:          u64                   = 320, 64;
        /// Unicast packets received.
        port_unicast_rcv_pkts,           set_port_unicast_rcv_pkts:           u64                   = 384, 64;
        /// Multicast packets sent.
        port_multicast_xmit_pkts,        set_port_multicast_xmit_pkts:        u64                   = 448, 64;
        /// Multicast packets received.
        port_multicast_rcv_pkts,         set_port_multicast_rcv_pkts:         u64                   = 512, 64;
        /// Minor link errors on any lane.
        symbol_error_counter,            set_symbol_error_counter:            u64                   = 576, 64;
        /// Times that the link recovered by retraining.
        link_error_recovery_counter,     set_link_error_recovery_counter:     u64                   = 640, 64;
        /// Times that the link failed to recover and went down.
        link_downed_counter,             set_link_downed_counter:             u64                   = 704, 64;
        /// Packets received with an error.
        port_rcv_errors,                 set_port_rcv_errors:                 u64                   = 768, 64;
        /// Packets received with the bad-packet delimiter.
        port_rcv_remote_physical_errors, set_port_rcv_remote_physical_errors: u64                   = 832, 64;
        /// Packets that the switch could not relay.
        port_rcv_switch_relay_errors,    set_port_rcv_switch_relay_errors:    u64                   = 896, 64;
        /// Packets dropped for sending, because the port was down or congested.
        port_xmit_discards,              set_port_xmit_discards:              u64                   = 960, 64;
        /// Packets not sent because of a P_Key or raw filter.
        port_xmit_constraint_errors,     set_port_xmit_constraint_errors:     u64                   = 1024, 64;
        /// Packets dropped on receipt because of a P_Key or raw filter.
        port_rcv_constraint_errors,      set_port_rcv_constraint_errors:      u64                   = 1088, 64;
        /// Times that local physical errors passed their threshold.
        local_link_integrity_errors,     set_local_link_integrity_errors:     u64                   = 1152, 64;
        /// Times that buffer overruns passed their threshold.
        excessive_buffer_overrun_errors, set_excessive_buffer_overrun_errors: u64                   = 1216, 64;
        /// Management packets dropped for lack of resources.
        vl15_dropped,                    set_vl15_dropped:                    u64                   = 1280, 64;
        /// Ticks in which there was something to send and no credit or arbitration.
        port_xmit_wait,                  set_port_xmit_wait:                  u64                   = 1344, 64;
        /// Packets to QP1 dropped for lack of resources.
        qp1_dropped,                     set_qp1_dropped:                     u64                   = 1408, 64;
    }
}

impl Attribute for PortCountersExtended {
    const ID: AttributeId = AttributeId(0x001d);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

bitflags! {
    /// The first counters of [`PortCountersExtended`] that a Set writes (`counter_select`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct CounterSelectExtended: u16 {
        /// `PortXmitData`.
        const PORT_XMIT_DATA = 1 << 0;
        /// `PortRcvData`.
        const PORT_RCV_DATA = 1 << 1;
        /// `PortXmitPkts`.
        const PORT_XMIT_PKTS = 1 << 2;
        /// `PortRcvPkts`.
        const PORT_RCV_PKTS = 1 << 3;
        /// `PortUnicastXmitPkts`.
        const PORT_UNICAST_XMIT_PKTS = 1 << 4;
        /// `PortUnicastRcvPkts`.
        const PORT_UNICAST_RCV_PKTS = 1 << 5;
        /// `PortMulticastXmitPkts`.
        const PORT_MULTICAST_XMIT_PKTS = 1 << 6;
        /// `PortMulticastRcvPkts`.
        const PORT_MULTICAST_RCV_PKTS = 1 << 7;
        const _ = !0;
    }
}

flags_value!(CounterSelectExtended: u16);
