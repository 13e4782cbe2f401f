//! Traps: what agents tell the subnet manager by themselves.

use ib_routing::PortRef;
use ib_smp::PortState;

use crate::frame::FrameIdx;
use crate::node::PortIdx;
use crate::sim::{DropReason, Sim};

impl Sim {
    /// A port's state changed. Its switch notes what its own link logic did; the steps to Armed and
    /// Active are the subnet manager's (IBA vol. 1, 14.2.5.4, PortStateChange).
    pub(crate) fn port_state_changed(&mut self, at: PortRef, from: PortState, to: PortState) {
        let _ = from;
        if matches!(to, PortState::DOWN | PortState::INITIALIZE) {
            self.note_state_change(at.node);
        }
    }

    /// A packet's P_Key is not in the table of `port`.
    pub(crate) fn p_key_violation(&mut self, port: PortIdx, frame: FrameIdx) {
        let info = &mut self.ports[port].info;
        info.set_p_key_violations(info.p_key_violations().saturating_add(1));
        self.drop_frame(port, frame, DropReason::PKey);
    }
}
