//! Answers of a walk for changes: the switches and ports that have to be read.

use ib_mad::Attribute;
use ib_smp::{PortInfo, SmInfo, SwitchInfo};
use ib_wire::Lid;

use super::Walk;
use crate::{PortId, Read, ReadTarget, Subnet, SubnetPort, SubnetSwitch};

impl Walk {
    /// Marks a switch whose SwitchInfo has changed.
    pub(super) fn compare_switch_info(&mut self, subnet: &Subnet, port: PortId, info: &SwitchInfo) {
        let known = subnet.switch(port.node).and_then(SubnetSwitch::info);
        // A switch that was restarted has lost its top.
        let is_other = known.is_none_or(|known| known.linear_fdb_top() != info.linear_fdb_top());
        if is_other || info.port_state_change() {
            self.outcome.marked.insert(port);
        }
    }

    /// Marks a port if its state has changed, or if it has lost its LID: the device was restarted then.
    ///
    /// If the port serves another master, that one has configured the subnet meanwhile, and nothing that is known need
    /// hold.
    pub(super) fn compare_port(&mut self, subnet: &Subnet, port: PortId, info: &PortInfo) {
        let known = subnet.port(port);
        let before = known.and_then(|port| port.info());
        let had_lid = before.is_some_and(|before| before.lid() != Lid(0));
        let has_lost_lid = had_lid && info.lid() == Lid(0);
        if has_lost_lid || known.map(SubnetPort::state) != Some(info.port_state()) {
            self.outcome.marked.insert(port);
        }
        let master = before.map(|before| before.master_sm_lid());
        if had_lid && !has_lost_lid && master != Some(info.master_sm_lid()) {
            self.outcome.inconsistent = true;
        }
    }

    /// Marks the device that a walk for changes could not read, and the switches around it: their ports show
    /// whether its cables are still connected.
    pub(super) fn mark_failed(&mut self, subnet: &Subnet, read: Read) {
        let ReadTarget::Port(port) = read.target else {
            return;
        };
        if read.attribute == SmInfo::ID {
            return;
        }
        self.outcome.marked.insert(port);
        if let Some(node) = subnet.node(port.node) {
            let peers = node.ports().filter_map(|(_, port)| port.peer());
            let around = peers.filter(|peer| subnet.switch(peer.node).is_some());
            self.outcome.marked.extend(around);
        }
    }
}
