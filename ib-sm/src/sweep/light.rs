//! The light sweep: one question to every switch instead of the whole discovery (IBA vol. 1,
//! 14.4.4).
//!
//! SwitchInfo.PortStateChange tells whether any port of a switch changed since it was acknowledged.
//! Ports behind which nobody answered are asked once more: a host that was booting may be there now.
//! Other managers are asked for their states. Whatever is not as the last heavy sweep left it calls for another one; a light sweep sets nothing.

use ib_smp::SwitchInfo;

use super::{Step, Sweep};
use crate::{request::Request, subnet::NodeIdx};

impl Sweep {
    /// Begins a light sweep over what the last sweep found.
    pub(crate) fn start_light(&mut self) {
        self.step = Step::Light;
        self.changed = false;
        for (node, record) in self.subnet.nodes() {
            if record.is_switch() {
                self.queue.push_back(Request::LightSwitchInfo(node));
            }
        }
        for (node, record) in self.subnet.nodes() {
            for (port, record) in record.ports() {
                if record.is_up() && record.peer.is_none() && record.neighbor_silent {
                    let port = crate::subnet::PortRef { node, port };
                    self.queue.push_back(Request::LightNodeInfo(port));
                }
            }
        }
        let others = self.others.iter();
        self.queue
            .extend(others.map(|&(port, _)| Request::LightSmInfo(port)));
    }

    pub(super) fn on_light_switch_info(&mut self, node: NodeIdx, info: &SwitchInfo) {
        let known = self
            .subnet
            .node(node)
            .and_then(|node| node.switch.as_ref()?.info);
        // A switch that was restarted has lost its top.
        self.changed |= info.port_state_change()
            || known.is_none_or(|known| known.linear_fdb_top() != info.linear_fdb_top());
    }
}
