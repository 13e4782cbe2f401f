//! PortCountersCong: the counters of a port at once, as QLogic's adapters have them.
//!
//! A vendor's attribute: PortCounters with the data counters in 64 bits, and how long the port waited to
//! send. The port and, in a Set, the counters to clear are in the modifier.

use ib_wire::{PortNum, table::Layout, wire_struct};

use crate::{Attribute, AttributeId};

bitflags::bitflags! {
    /// The counters that a Set of PortCountersCong clears.
    ///
    /// Source: Linux qib; `capability_masks.csv`, mask `PortCountersCong.CounterSelect`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct PortCountersCongSelect: u8 {
        /// The error counters.
        const ALL       = 1 << 0;
        /// Data and packets.
        const PORT_DATA = 1 << 1;
        /// `port_xmit_wait`.
        const XMIT_WAIT = 1 << 2;
        /// `port_adr_events`.
        const ROUTING   = 1 << 3;
    }
}

/// The attribute modifier of PortCountersCong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortCountersCongModifier {
    /// Port whose counters are read or cleared.
    pub port: PortNum,
    /// Counters that a Set clears.
    pub select: PortCountersCongSelect,
}

impl PortCountersCongModifier {
    /// The parts of a modifier; `None` if a bit is set that has no meaning.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Option<Self> {
        if bits & 0x00ff_ff00 != 0 {
            return None;
        }
        Some(Self {
            port: PortNum(bits as u8),
            select: PortCountersCongSelect::from_bits_retain((bits >> 24) as u8),
        })
    }

    /// The attribute modifier of these parts.
    #[must_use]
    pub const fn bits(self) -> u32 {
        (self.select.bits() as u32) << 24 | self.port.0 as u32
    }
}

wire_struct! {
    /// Errors, data and waiting of a port.
    ///
    /// The error counters saturate; the others have 64 bits.
    ///
    /// Source: Linux qib; `attributes.csv`, struct `PortCountersCong`.
    pub struct PortCountersCong("PortCountersCong", 72 bytes) {
        #[doc(hidden)]
        reserved1, set_reserved1: u16 = 0, 16;
        /// Rate at which `port_xmit_wait` is sampled; top bits 7: the others are picoseconds.
        port_check_rate, set_port_check_rate: u16 = 16, 16;
        /// Symbols that no lane could decode.
        symbol_error_counter, set_symbol_error_counter: u16 = 32, 16;
        /// Times that the link recovered from errors.
        link_error_recovery_counter, set_link_error_recovery_counter: u8 = 48, 8;
        /// Times that the link went down.
        link_downed_counter, set_link_downed_counter: u8 = 56, 8;
        /// Packets received with an error.
        port_rcv_errors, set_port_rcv_errors: u16 = 64, 16;
        /// Packets received that the other end had marked as bad.
        port_rcv_remote_physical_errors, set_port_rcv_remote_physical_errors: u16 = 80, 16;
        /// Packets that a switch could not forward.
        port_rcv_switch_relay_errors, set_port_rcv_switch_relay_errors: u16 = 96, 16;
        /// Packets that were not sent: the port was down or stuck.
        port_xmit_discards, set_port_xmit_discards: u16 = 112, 16;
        /// Packets not sent for their partition.
        port_xmit_constraint_errors, set_port_xmit_constraint_errors: u8 = 128, 8;
        /// Packets not taken for their partition.
        port_rcv_constraint_errors, set_port_rcv_constraint_errors: u8 = 136, 8;
        #[doc(hidden)]
        reserved2, set_reserved2: u8 = 144, 8;
        /// Times that errors in a row passed the threshold.
        local_link_integrity_errors, set_local_link_integrity_errors: u8 = 152, 4;
        /// Times that buffers ran over in a row.
        excessive_buffer_overrun_errors, set_excessive_buffer_overrun_errors: u8 = 156, 4;
        #[doc(hidden)]
        reserved3, set_reserved3: u16 = 160, 16;
        /// Subnet management packets dropped for want of room.
        vl15_dropped, set_vl15_dropped: u16 = 176, 16;
        /// Words of 32 bits sent.
        port_xmit_data, set_port_xmit_data: u64 = 192, 64;
        /// Words of 32 bits received.
        port_rcv_data, set_port_rcv_data: u64 = 256, 64;
        /// Packets sent.
        port_xmit_packets, set_port_xmit_packets: u64 = 320, 64;
        /// Packets received.
        port_rcv_packets, set_port_rcv_packets: u64 = 384, 64;
        /// Time for which the port had data to send and no credits or arbitration.
        port_xmit_wait, set_port_xmit_wait: u64 = 448, 64;
        /// Events of adaptive routing.
        port_adr_events, set_port_adr_events: u64 = 512, 64;
    }
}

impl Attribute for PortCountersCong {
    const ID: AttributeId = AttributeId(0xff00);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_modifier_is_its_bits() {
        let modifier = PortCountersCongModifier {
            port: PortNum(2),
            select: PortCountersCongSelect::ALL | PortCountersCongSelect::XMIT_WAIT,
        };
        assert_eq!(modifier.bits(), 0x0500_0002);
        assert_eq!(
            PortCountersCongModifier::from_bits(0x0500_0002),
            Some(modifier)
        );
        assert_eq!(PortCountersCongModifier::from_bits(0x0100), None);
    }
}
