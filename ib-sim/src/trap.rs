//! Traps: what agents tell the subnet manager by themselves.

use ib_routing::PortRef;
use ib_smp::PortState;

use crate::frame::FrameIdx;
use crate::node::PortIdx;
use crate::sim::{DropReason, Sim};

impl Sim {
    /// A port's state changed: its switch notes it.
    pub(crate) fn port_state_changed(&mut self, at: PortRef, from: PortState, to: PortState) {
        let _ = (from, to);
        self.note_state_change(at.node);
    }

    /// A packet's P_Key is not in the table of `port`.
    pub(crate) fn p_key_violation(&mut self, port: PortIdx, frame: FrameIdx) {
        let info = &mut self.ports[port].info;
        info.set_p_key_violations(info.p_key_violations().saturating_add(1));
        self.drop_frame(port, frame, DropReason::PKey);
    }
}
