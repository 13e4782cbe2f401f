//! Traps: what agents tell the subnet manager by themselves.

use ib_mad::Mad;
use ib_routing::NodeIdx;

use crate::frame::FrameIdx;
use crate::node::PortIdx;
use crate::sim::{DropReason, Sim};

impl Sim {
    /// The links of a switch changed the state of one of its ports.
    pub(crate) fn trap_port_state(&mut self, _port: PortIdx) {}

    /// A manager has heard a trap of a node.
    pub(crate) fn repress(&mut self, _node: NodeIdx, _notice: &[u8; Mad::LEN]) {}

    /// A packet's P_Key is not in the table of `port`.
    pub(crate) fn p_key_violation(&mut self, port: PortIdx, frame: FrameIdx) {
        if let Some(info) = self.info_mut(port) {
            info.set_p_key_violations(info.p_key_violations().saturating_add(1));
        }
        let counters = &mut self.ports[port].counters;
        counters.count("port_rcv_constraint_errors", 0, 1);
        self.drop_frame(port, frame, DropReason::PKey);
    }
}
