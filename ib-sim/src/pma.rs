//! Performance management: the counters of every port.

use ib_routing::PortRef;

use crate::frame::{Frame, FrameIdx};
use crate::node::PortIdx;
use crate::sim::Sim;

/// What has passed a port, and what went wrong there. They do not wrap in a lifetime; what a datagram shows
/// stops at the width of its field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Words of 32 bits sent, SMPs left out.
    pub xmit_data: u64,
    /// Words of 32 bits received, SMPs left out.
    pub rcv_data: u64,
    /// Packets sent, SMPs left out.
    pub xmit_pkts: u64,
    /// Packets received, SMPs left out.
    pub rcv_pkts: u64,
    /// Packets that could not leave by the port.
    pub xmit_discards: u64,
    /// Packets that the switch had no way for.
    pub rcv_switch_relay_errors: u64,
    /// Packets with an error that a CRC found.
    pub rcv_errors: u64,
    /// Bit errors on the lanes.
    pub symbol_errors: u64,
    /// How often the link went down.
    pub link_downed: u64,
}

impl Counters {
    pub(crate) fn count_sent(&mut self, frame: &Frame) {
        self.xmit_pkts = self.xmit_pkts.saturating_add(1);
        self.xmit_data = self.xmit_data.saturating_add(frame.words());
    }

    pub(crate) fn count_received(&mut self, frame: &Frame) {
        self.rcv_pkts = self.rcv_pkts.saturating_add(1);
        self.rcv_data = self.rcv_data.saturating_add(frame.words());
    }

    pub(crate) fn count_discard(&mut self) {
        self.xmit_discards = self.xmit_discards.saturating_add(1);
    }

    pub(crate) fn count_relay_error(&mut self) {
        self.rcv_switch_relay_errors = self.rcv_switch_relay_errors.saturating_add(1);
    }

    pub(crate) fn count_bit_error(&mut self) {
        self.symbol_errors = self.symbol_errors.saturating_add(1);
        self.rcv_errors = self.rcv_errors.saturating_add(1);
    }

    pub(crate) fn count_link_downed(&mut self) {
        self.link_downed = self.link_downed.saturating_add(1);
    }
}

impl Sim {
    /// Sets a counter by the name of its attribute and field; `None` if there is no such.
    pub(crate) fn set_counter(
        &mut self,
        _port: PortRef,
        _attribute: &str,
        _field: &str,
        _value: u64,
    ) -> Option<()> {
        None
    }

    /// Turns the request in `frame` into its response; `false` if there is none.
    pub(crate) fn answer_perf(&mut self, _end_port: PortIdx, _frame: FrameIdx) -> bool {
        false
    }
}
