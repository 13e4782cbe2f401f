//! The counters of a port, as performance management shows them (IBA vol. 1, 16.1.3).
//!
//! A counter is kept once, in 64 bits, under its name in the specification's tables.

use std::collections::BTreeMap;

use crate::event::DropReason;
use crate::frame::Frame;

/// Counters that seldom count, by name and by lane or service level.
type Rare = BTreeMap<(&'static str, u8), u64>;

/// What has passed a port, and what went wrong there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Words of 32 bits sent, from the LRH to the ICRC.
    pub xmit_data: u64,
    /// Words of 32 bits received.
    pub rcv_data: u64,
    /// Packets sent.
    pub xmit_pkts: u64,
    /// Packets received.
    pub rcv_pkts: u64,
    /// Packets to multicast LIDs sent, and counted in `xmit_pkts` too.
    pub multicast_xmit_pkts: u64,
    /// Packets to multicast LIDs received, and counted in `rcv_pkts` too.
    pub multicast_rcv_pkts: u64,
    /// Most ports have none: every port of the fabric would pay for an empty map.
    rare: Option<Box<Rare>>,
}

impl Counters {
    /// A counter by its name in the specification's tables, as `port_xmit_discards`; `index` is the lane or service
    /// level of those that have one, else 0. What never counted is 0.
    #[must_use]
    pub fn get(&self, name: &str, index: u8) -> u64 {
        match name {
            "port_xmit_data" => self.xmit_data,
            "port_rcv_data" => self.rcv_data,
            "port_xmit_pkts" => self.xmit_pkts,
            "port_rcv_pkts" => self.rcv_pkts,
            "port_multicast_xmit_pkts" => self.multicast_xmit_pkts,
            "port_multicast_rcv_pkts" => self.multicast_rcv_pkts,
            "port_unicast_xmit_pkts" => self.xmit_pkts.saturating_sub(self.multicast_xmit_pkts),
            "port_unicast_rcv_pkts" => self.rcv_pkts.saturating_sub(self.multicast_rcv_pkts),
            // Lives as long as the map needs it: the key's text is compared, not its address.
            name => {
                let mut rare = self.rare.iter().flat_map(|rare| rare.iter());
                let entry = rare.find(|((own, at), _)| *own == name && *at == index);
                entry.map_or(0, |(_, count)| *count)
            }
        }
    }

    pub(crate) fn set(&mut self, name: &'static str, index: u8, value: u64) {
        match name {
            "port_xmit_data" => self.xmit_data = value,
            "port_rcv_data" => self.rcv_data = value,
            "port_xmit_pkts" => self.xmit_pkts = value,
            "port_rcv_pkts" => self.rcv_pkts = value,
            "port_multicast_xmit_pkts" => self.multicast_xmit_pkts = value,
            "port_multicast_rcv_pkts" => self.multicast_rcv_pkts = value,
            "port_unicast_xmit_pkts" => {
                self.xmit_pkts = value.saturating_add(self.multicast_xmit_pkts);
            }
            "port_unicast_rcv_pkts" => {
                self.rcv_pkts = value.saturating_add(self.multicast_rcv_pkts);
            }
            name => {
                self.rare
                    .get_or_insert_default()
                    .insert((name, index), value);
            }
        }
    }

    /// Counts something that seldom happens.
    pub(crate) fn count(&mut self, name: &'static str, index: u8, by: u64) {
        let rare = self.rare.get_or_insert_default();
        let counter = rare.entry((name, index)).or_default();
        *counter = counter.saturating_add(by);
    }

    #[inline]
    pub(crate) fn count_sent(&mut self, frame: &Frame) {
        self.xmit_pkts = self.xmit_pkts.saturating_add(1);
        let words = u64::from(frame.words);
        self.xmit_data = self.xmit_data.saturating_add(words);
        if frame.dest_lid.is_multicast() {
            self.multicast_xmit_pkts = self.multicast_xmit_pkts.saturating_add(1);
        }
        if !frame.is_smp() {
            self.count("port_xmit_data_sl", frame.sl.bits(), words);
        }
    }

    #[inline]
    pub(crate) fn count_received(&mut self, frame: &Frame) {
        self.rcv_pkts = self.rcv_pkts.saturating_add(1);
        let words = u64::from(frame.words);
        self.rcv_data = self.rcv_data.saturating_add(words);
        if frame.dest_lid.is_multicast() {
            self.multicast_rcv_pkts = self.multicast_rcv_pkts.saturating_add(1);
        }
        if !frame.is_smp() {
            let lane = frame.lane.bits();
            self.count("port_rcv_data_sl", frame.sl.bits(), words);
            self.count("port_vl_op_packets", lane, 1);
            self.count("port_vl_op_data", lane, words);
        }
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
            DropReason::Vl15Overrun => return self.count("vl15_dropped", 0, 1),
            DropReason::NoLane => ("port_rcv_switch_relay_errors", "port_vl_mapping_errors"),
            DropReason::BitError => {
                self.count("symbol_error_counter", 0, 1);
                ("port_rcv_errors", "port_local_physical_errors")
            }
            _ => return,
        };
        self.count(total, 0, 1);
        self.count(detail, 0, 1);
    }
}
