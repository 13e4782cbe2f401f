//! PortCounters: the counters that every port has (IBA vol. 1, 16.1.3.5).
//!
//! They are narrow and do not wrap: a counter that reaches all ones stays there until it is cleared
//! by a Set that selects it. A reader that wants rates takes [`PortCountersExtended`].
//!
//! [`PortCountersExtended`]: super::PortCountersExtended

use bitflags::bitflags;
use ib_wire::{flags_value, table::Layout, wire_struct};

use crate::{Attribute, AttributeId};

wire_struct! {
    /// Errors, packets and data of a port.
    ///
    /// Source: IBA vol. 1, 16.1.3.5; `attributes.csv`, struct `PortCounters`.
    pub struct PortCounters("PortCounters", 44 bytes) {
        #[doc(hidden)]
        reserved1,                       set_reserved1:                       u8             = 0, 8;
        /// Port that the counters belong to; 0xFF: all ports together, where the agent can.
        port_select,                     set_port_select:                     u8             = 8, 8;
        /// In a Set: which counters to write. The bits go with the counters' order.
        counter_select,                  set_counter_select:                  CounterSelect  = 16, 16;
        /// Minor link errors on any lane. Saturates.
        symbol_error_counter,            set_symbol_error_counter:            u16            = 32, 16;
        /// Times that the link recovered by retraining. Saturates.
        link_error_recovery_counter,     set_link_error_recovery_counter:     u8             = 48, 8;
        /// Times that the link failed to recover and went down. Saturates.
        link_downed_counter,             set_link_downed_counter:             u8             = 56, 8;
        /// Packets received with an error. Saturates.
        port_rcv_errors,                 set_port_rcv_errors:                 u16            = 64, 16;
        /// Packets received with the bad-packet delimiter. Saturates.
        port_rcv_remote_physical_errors, set_port_rcv_remote_physical_errors: u16            = 80, 16;
        /// Packets that the switch could not relay. Saturates.
        port_rcv_switch_relay_errors,    set_port_rcv_switch_relay_errors:    u16            = 96, 16;
        /// Packets dropped for sending, because the port was down or congested. Saturates.
        port_xmit_discards,              set_port_xmit_discards:              u16            = 112, 16;
        /// Packets not sent because of a P_Key or raw filter. Saturates.
        port_xmit_constraint_errors,     set_port_xmit_constraint_errors:     u8             = 128, 8;
        /// Packets dropped on receipt because of a P_Key or raw filter. Saturates.
        port_rcv_constraint_errors,      set_port_rcv_constraint_errors:      u8             = 136, 8;
        /// In a Set: which of the later counters to write.
        counter_select2,                 set_counter_select2:                 CounterSelect2 = 144, 8;
        /// Times that local physical errors passed their threshold. Saturates.
        local_link_integrity_errors,     set_local_link_integrity_errors:     u8             = 152, 4;
        /// Times that buffer overruns passed their threshold. Saturates.
        excessive_buffer_overrun_errors, set_excessive_buffer_overrun_errors: u8             = 156, 4;
        /// Packets to QP1 dropped for lack of resources. Saturates.
        qp1_dropped,                     set_qp1_dropped:                     u16            = 160, 16;
        /// Management packets dropped for lack of resources. Saturates.
        vl15_dropped,                    set_vl15_dropped:                    u16            = 176, 16;
        /// Words of 4 bytes sent, link packets left out. Saturates.
        port_xmit_data,                  set_port_xmit_data:                  u32            = 192, 32;
        /// Words of 4 bytes received, link packets left out. Saturates.
        port_rcv_data,                   set_port_rcv_data:                   u32            = 224, 32;
        /// Packets sent, link packets left out. Saturates.
        port_xmit_pkts,                  set_port_xmit_pkts:                  u32            = 256, 32;
        /// Packets received, link packets left out. Saturates.
        port_rcv_pkts,                   set_port_rcv_pkts:                   u32            = 288, 32;
        /// Ticks in which there was something to send and no credit or arbitration. Saturates.
        port_xmit_wait,                  set_port_xmit_wait:                  u32            = 320, 32;
    }
}

impl Attribute for PortCounters {
    const ID: AttributeId = AttributeId(0x0012);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

bitflags! {
    /// The counters of [`PortCounters`] that a Set writes (`counter_select`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct CounterSelect: u16 {
        /// `SymbolErrorCounter`.
        const SYMBOL_ERROR_COUNTER = 1 << 0;
        /// `LinkErrorRecoveryCounter`.
        const LINK_ERROR_RECOVERY_COUNTER = 1 << 1;
        /// `LinkDownedCounter`.
        const LINK_DOWNED_COUNTER = 1 << 2;
        /// `PortRcvErrors`.
        const PORT_RCV_ERRORS = 1 << 3;
        /// `PortRcvRemotePhysicalErrors`.
        const PORT_RCV_REMOTE_PHYSICAL_ERRORS = 1 << 4;
        /// `PortRcvSwitchRelayErrors`.
        const PORT_RCV_SWITCH_RELAY_ERRORS = 1 << 5;
        /// `PortXmitDiscards`.
        const PORT_XMIT_DISCARDS = 1 << 6;
        /// `PortXmitConstraintErrors`.
        const PORT_XMIT_CONSTRAINT_ERRORS = 1 << 7;
        /// `PortRcvConstraintErrors`.
        const PORT_RCV_CONSTRAINT_ERRORS = 1 << 8;
        /// `LocalLinkIntegrityErrors`.
        const LOCAL_LINK_INTEGRITY_ERRORS = 1 << 9;
        /// `ExcessiveBufferOverrunErrors`.
        const EXCESSIVE_BUFFER_OVERRUN_ERRORS = 1 << 10;
        /// `VL15Dropped`.
        const VL15_DROPPED = 1 << 11;
        /// `PortXmitData`.
        const PORT_XMIT_DATA = 1 << 12;
        /// `PortRcvData`.
        const PORT_RCV_DATA = 1 << 13;
        /// `PortXmitPkts`.
        const PORT_XMIT_PKTS = 1 << 14;
        /// `PortRcvPkts`.
        const PORT_RCV_PKTS = 1 << 15;
        const _ = !0;
    }
}

flags_value!(CounterSelect: u16);

bitflags! {
    /// The later counters of [`PortCounters`] that a Set writes (`counter_select2`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct CounterSelect2: u8 {
        /// `PortXmitWait`.
        const PORT_XMIT_WAIT = 1 << 0;
        /// `QP1Dropped`.
        const QP1_DROPPED = 1 << 1;
        const _ = !0;
    }
}

flags_value!(CounterSelect2: u8);
