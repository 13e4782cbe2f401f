//! The counters of a port, as performance management shows them (IBA vol. 1, 16.1.3).
//!
//! A counter is kept once, in 64 bits, under its name in the specification's tables.

use std::collections::BTreeMap;

use ib_mad::{Attribute, AttributeId, PortOpRcvCounters, PortVlOpData, PortVlOpPackets};
use ib_wire::{OpCode, Vl};

use crate::event::DropReason;
use crate::frame::Frame;

/// Key of the operations that attributes count, by the low byte of the attribute's ID.
const OPERATION: &str = "op_code";

/// Counters of the words of each service level.
const XMIT_DATA_SL: &str = "port_xmit_data_sl";
const RCV_DATA_SL: &str = "port_rcv_data_sl";

/// Counters of multicast packets, which are in the packets of a port too.
const MULTICAST_XMIT_PKTS: &str = "port_multicast_xmit_pkts";
const MULTICAST_RCV_PKTS: &str = "port_multicast_rcv_pkts";

/// Counters of traffic and errors at a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimCounters {
    /// Words of 32 bits sent, from the LRH to the ICRC.
    pub xmit_data: u64,
    /// Words of 32 bits received.
    pub rcv_data: u64,
    /// Packets sent.
    pub xmit_pkts: u64,
    /// Packets received.
    pub rcv_pkts: u64,
    /// Packets to unicast and directed-route LIDs sent, and counted in `xmit_pkts` too.
    pub unicast_xmit_pkts: u64,
    /// Packets to unicast and directed-route LIDs received, and counted in `rcv_pkts` too.
    pub unicast_rcv_pkts: u64,
    /// Every port of the fabric would pay for these counters, and most ports have only SMPs.
    rare: Option<Box<RareCounters>>,
}

/// Counters that an SMP does not move on its way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct RareCounters {
    multicast_xmit_pkts: u64,
    multicast_rcv_pkts: u64,
    /// Words of service level 0 sent: nearly all management packets have it, and each is counted at every hop.
    xmit_data_sl0: u64,
    /// Words of service level 0 received.
    rcv_data_sl0: u64,
    /// All others by name and by lane or service level.
    others: BTreeMap<(&'static str, u8), u64>,
}

impl SimCounters {
    /// A counter by its name in the specification's tables, as `port_xmit_discards`; `index` is the lane or service
    /// level of those that have one, else 0. A counter that never counted is 0.
    #[must_use]
    pub fn get(&self, name: &str, index: u8) -> u64 {
        match name {
            "port_xmit_data" => self.xmit_data,
            "port_rcv_data" => self.rcv_data,
            "port_xmit_pkts" => self.xmit_pkts,
            "port_rcv_pkts" => self.rcv_pkts,
            "port_unicast_xmit_pkts" => self.unicast_xmit_pkts,
            "port_unicast_rcv_pkts" => self.unicast_rcv_pkts,
            name => self.rare.as_ref().map_or(0, |rare| rare.get(name, index)),
        }
    }

    pub(crate) fn set(&mut self, name: &'static str, index: u8, value: u64) {
        match name {
            "port_xmit_data" => self.xmit_data = value,
            "port_rcv_data" => self.rcv_data = value,
            "port_xmit_pkts" => self.xmit_pkts = value,
            "port_rcv_pkts" => self.rcv_pkts = value,
            "port_unicast_xmit_pkts" => self.unicast_xmit_pkts = value,
            "port_unicast_rcv_pkts" => self.unicast_rcv_pkts = value,
            name => *self.rare.get_or_insert_default().counter(name, index) = value,
        }
    }

    /// Adds to a counter of rare events.
    pub(crate) fn count(&mut self, name: &'static str, index: u8, by: u64) {
        let counter = self.rare.get_or_insert_default().counter(name, index);
        *counter = counter.saturating_add(by);
    }

    #[inline]
    pub(crate) fn count_sent(&mut self, frame: &Frame) {
        self.xmit_pkts = self.xmit_pkts.saturating_add(1);
        let words = u64::from(frame.words);
        self.xmit_data = self.xmit_data.saturating_add(words);
        if frame.dest_lid.is_multicast() {
            self.count(MULTICAST_XMIT_PKTS, 0, 1);
        } else {
            self.unicast_xmit_pkts = self.unicast_xmit_pkts.saturating_add(1);
        }
        if !frame.is_smp() {
            self.count(XMIT_DATA_SL, frame.sl.bits(), words);
        }
    }

    #[inline]
    pub(crate) fn count_received(&mut self, frame: &Frame) {
        self.rcv_pkts = self.rcv_pkts.saturating_add(1);
        let words = u64::from(frame.words);
        self.rcv_data = self.rcv_data.saturating_add(words);
        if frame.dest_lid.is_multicast() {
            self.count(MULTICAST_RCV_PKTS, 0, 1);
        } else {
            self.unicast_rcv_pkts = self.unicast_rcv_pkts.saturating_add(1);
        }
        if !frame.is_smp() {
            self.count_marks(frame);
            self.count(RCV_DATA_SL, frame.sl.bits(), words);
        }
        // SMPs are datagrams: they count where a manager has asked for that operation, so something is there.
        if !frame.is_smp() || self.rare.is_some() {
            self.count_operation(frame);
        }
    }

    /// Counts the congestion marks that a switch on the path, or the far end, sees.
    fn count_marks(&mut self, frame: &Frame) {
        let Some(data) = &frame.data else { return };
        let sl = frame.sl.bits();
        if data.fecn {
            self.count("port_pkt_rcv_fecn", 0, 1);
            self.count("port_sl_rcv_fecn", sl, 1);
        }
        if data.becn {
            self.count("port_pkt_rcv_becn", 0, 1);
            self.count("port_sl_rcv_becn", sl, 1);
        }
    }

    /// Counts a packet for the attributes that count one operation.
    fn count_operation(&mut self, frame: &Frame) {
        let op_code = match &frame.data {
            None => Some(OpCode::UD_SEND_ONLY),
            Some(data) => data.op_code,
        };
        let Some(op_code) = op_code else { return };
        // Every packet comes here: one look tells of most ports that no operation was chosen.
        let is_chosen = self.rare.as_deref().is_some_and(|rare| {
            let mut chosen = rare.others.range((OPERATION, 0)..=(OPERATION, u8::MAX));
            chosen.next().is_some()
        });
        if !is_chosen && op_code.0 != 0 {
            return;
        }
        let lane = if frame.is_smp() {
            Vl::MANAGEMENT
        } else {
            frame.lane
        };
        let (lane, words) = (lane.bits(), u64::from(frame.words));
        if self.operation(PortOpRcvCounters::ID) == op_code {
            self.count("port_op_rcv_pkts", 0, 1);
            self.count("port_op_rcv_data", 0, words);
        }
        if self.operation(PortVlOpPackets::ID) == op_code {
            self.count("port_vl_op_packets", lane, 1);
        }
        if self.operation(PortVlOpData::ID) == op_code {
            self.count("port_vl_op_data", lane, words);
        }
    }

    /// The operation that an attribute counts: the OpCode that was written with it, 0 before.
    pub(crate) fn operation(&self, attribute: AttributeId) -> OpCode {
        let [_, attribute] = attribute.0.to_be_bytes();
        OpCode(self.get(OPERATION, attribute).to_be_bytes()[7])
    }

    pub(crate) fn set_operation(&mut self, attribute: AttributeId, op_code: OpCode) {
        let [_, attribute] = attribute.0.to_be_bytes();
        self.set(OPERATION, attribute, op_code.0.into());
    }

    /// Counts a packet that ended here, where the specification has a counter for the reason.
    pub(crate) fn count_drop(&mut self, reason: DropReason) {
        let (total, detail) = match reason {
            DropReason::LinkDown | DropReason::PortNotActive => {
                ("port_xmit_discards", "port_inactive_discards")
            }
            DropReason::TooLong => ("port_xmit_discards", "port_neighbor_mtu_discards"),
            DropReason::TooManyHops => ("port_xmit_discards", "port_sw_lifetime_limit_discards"),
            DropReason::NoRoute => ("port_rcv_switch_relay_errors", "port_dlid_mapping_errors"),
            DropReason::SamePort => ("port_rcv_switch_relay_errors", "port_looping_errors"),
            DropReason::NoLane => ("port_rcv_switch_relay_errors", "port_vl_mapping_errors"),
            DropReason::Vl15Overrun => return self.count("vl15_dropped", 0, 1),
            DropReason::BitError | DropReason::Icrc => {
                ("port_rcv_errors", "port_local_physical_errors")
            }
            DropReason::Malformed => ("port_rcv_errors", "port_malformed_packet_errors"),
            _ => return,
        };
        self.count(total, 0, 1);
        self.count(detail, 0, 1);
    }
}

impl RareCounters {
    fn get(&self, name: &str, index: u8) -> u64 {
        match name {
            MULTICAST_XMIT_PKTS => self.multicast_xmit_pkts,
            MULTICAST_RCV_PKTS => self.multicast_rcv_pkts,
            XMIT_DATA_SL if index == 0 => self.xmit_data_sl0,
            RCV_DATA_SL if index == 0 => self.rcv_data_sl0,
            name => {
                // Through this reference, a key may live as briefly as the caller's text.
                let others: &BTreeMap<(&str, u8), u64> = &self.others;
                others.get(&(name, index)).copied().unwrap_or(0)
            }
        }
    }

    /// A counter to change.
    #[inline]
    fn counter(&mut self, name: &'static str, index: u8) -> &mut u64 {
        match name {
            MULTICAST_XMIT_PKTS => &mut self.multicast_xmit_pkts,
            MULTICAST_RCV_PKTS => &mut self.multicast_rcv_pkts,
            XMIT_DATA_SL if index == 0 => &mut self.xmit_data_sl0,
            RCV_DATA_SL if index == 0 => &mut self.rcv_data_sl0,
            name => self.others.entry((name, index)).or_default(),
        }
    }
}
