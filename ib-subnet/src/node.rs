//! Nodes and ports of a subnet, as far as they are known.

mod port;
mod switch;

use alloc::{boxed::Box, vec};

use ib_smp::{DrPath, NodeDescription, NodeInfo, NodeType};
use ib_wire::PortNum;

pub use self::{port::SubnetPort, switch::SubnetSwitch};
use crate::{
    PortId,
    route::{Reach, StoredReach},
};

/// One node of a subnet.
#[derive(Clone, Debug)]
pub struct SubnetNode {
    info: NodeInfo,
    description: NodeDescription,
    switch: Option<Box<SubnetSwitch>>,
    reach: StoredReach,
    found_via: Option<PortId>,
    trust: Trust,
    all_speeds: AllSpeeds,
    silent: bool,
    /// Number of the walk in which the node was last read.
    read_in: u32,
    /// [Version](crate::Subnet::version) of the subnet since which at most the forwarding tables of the node have been changed.
    version: u64,
    /// The ports of a switch from 0, those of a CA or router from 1.
    ports: Box<[SubnetPort]>,
}

/// True if a node's GUID can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Trust {
    /// No answer contradicts the GUID.
    #[default]
    Given,
    /// A cable from the node seems to end where another cable already does, so the node's NodeInfo is read once
    /// more.
    Checked,
    /// The second NodeInfo had another GUID, so the node is not trusted.
    Lost,
}

/// True if a device is asked for speeds beyond HDR, by bit 31 of PortInfo's modifier.
///
/// Older devices refuse the bit, so it is set only for those that announce such speeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AllSpeeds {
    /// The device has announced no such speeds; the bit is not set.
    #[default]
    Unasked,
    /// The device announced such speeds; the bit is set.
    Asked,
    /// The device announced such speeds but refused the bit; the bit is not set.
    Refused,
}

impl SubnetNode {
    /// NodeInfo as the first port that answered reported it.
    #[must_use]
    pub const fn info(&self) -> &NodeInfo {
        &self.info
    }

    /// NodeDescription; zeros until it is known.
    #[must_use]
    pub const fn description(&self) -> &NodeDescription {
        &self.description
    }

    /// SwitchInfo and tables of a switch; `None` for a CA or router.
    #[must_use]
    pub fn switch(&self) -> Option<&SubnetSwitch> {
        self.switch.as_deref()
    }

    /// The directed route to the node; its directed part if it [begins with a LID-routed part](crate::SmpRoute::start).
    #[must_use]
    pub fn path(&self) -> DrPath {
        self.reach.path()
    }

    /// The port from which the cable leads to the node on [`path`](Self::path); `None` for the own node.
    #[must_use]
    pub const fn found_via(&self) -> Option<PortId> {
        self.found_via
    }

    /// Returns true if the node left a request unanswered since the last walk began.
    #[must_use]
    pub const fn is_silent(&self) -> bool {
        self.silent
    }

    /// Returns true if PortInfo of this device is read with bit 31 of the modifier, which makes it show speeds beyond
    /// HDR.
    #[must_use]
    pub fn shows_all_speeds(&self) -> bool {
        self.all_speeds == AllSpeeds::Asked
    }

    /// A port by its number. A CA or router has no port 0.
    #[must_use]
    pub fn port(&self, port: PortNum) -> Option<&SubnetPort> {
        self.ports.get(self.place(port)?)
    }

    /// All ports in order: those of a switch from 0, those of a CA or router from 1.
    pub fn ports(&self) -> impl Iterator<Item = (PortNum, &SubnetPort)> {
        (self.first_port()..=u8::MAX).map(PortNum).zip(&self.ports)
    }

    /// Returns true if the node is a switch.
    #[must_use]
    pub const fn is_switch(&self) -> bool {
        self.switch.is_some()
    }

    /// The number of the first port.
    const fn first_port(&self) -> u8 {
        if self.is_switch() { 0 } else { 1 }
    }

    /// The index of a port in `ports`; `None` for port 0 of a CA or router.
    #[inline]
    fn place(&self, port: PortNum) -> Option<usize> {
        port.0.checked_sub(self.first_port()).map(usize::from)
    }
}

/// Changes by [`Subnet`](crate::Subnet) and [`Walk`](crate::Walk).
impl SubnetNode {
    /// A node that answered along a route, by the cable at the port `found_via`.
    pub(crate) fn new(info: NodeInfo, reach: Reach, found_via: Option<PortId>) -> Self {
        let is_switch = info.node_type() == NodeType::SWITCH;
        let num_ports = usize::from(info.num_ports()).saturating_add(is_switch.into());
        Self {
            switch: is_switch.then(Box::default),
            ports: vec![SubnetPort::default(); num_ports].into_boxed_slice(),
            description: NodeDescription::default(),
            info,
            reach: StoredReach::from(&reach),
            found_via,
            trust: Trust::Given,
            all_speeds: AllSpeeds::Unasked,
            silent: false,
            read_in: 0,
            version: 0,
        }
    }

    /// The version of the subnet since which nothing about the node or its ports has changed but its route and its
    /// forwarding tables.
    pub(crate) const fn version(&self) -> u64 {
        self.version
    }

    pub(crate) const fn set_version(&mut self, version: u64) {
        self.version = version;
    }

    /// Begins a walk: a silent node is asked again. A walk of everything also trusts its GUID again.
    pub(crate) const fn begin_walk(&mut self, everything: bool) {
        self.silent = false;
        if everything {
            self.trust = Trust::Given;
            self.all_speeds = AllSpeeds::Unasked;
        }
    }

    /// Records that the walk reads the node.
    pub(crate) const fn note_read(&mut self, walk: u32) {
        self.read_in = walk;
    }

    /// Returns true if the walk reads the node.
    pub(crate) const fn is_read_in(&self, walk: u32) -> bool {
        self.read_in == walk
    }

    pub(crate) const fn set_info(&mut self, info: NodeInfo) {
        self.info = info;
    }

    pub(crate) const fn set_description(&mut self, description: NodeDescription) {
        self.description = description;
    }

    /// Returns true if another answer under the same GUID can come from this node: its type and number of ports are the
    /// same.
    pub(crate) fn is_same_kind(&self, info: &NodeInfo) -> bool {
        self.info.node_type() == info.node_type() && self.info.num_ports() == info.num_ports()
    }

    /// The stored route to the node.
    pub(crate) fn reach(&self) -> Reach {
        self.reach.reach()
    }

    /// Records the route to the node. Returns whether it is another one than before.
    pub(crate) fn set_reach(&mut self, reach: Reach, found_via: Option<PortId>) -> bool {
        self.found_via = found_via;
        let reach = StoredReach::from(&reach);
        let is_new = self.reach != reach;
        self.reach = reach;
        is_new
    }

    /// Records the port from which the route leads to the node. The route itself is the same as before.
    pub(crate) const fn set_found_via(&mut self, via: PortId) {
        self.found_via = Some(via);
    }

    /// Returns true if the stored route to the node, and that to its end port `entry`, is the one to the switch `here`
    /// and on by `port`.
    pub(crate) fn is_behind(&self, here: &Self, port: PortNum, entry: PortNum) -> bool {
        here.is_switch()
            && self.reach.is_behind(&here.reach, port)
            && (self.is_switch()
                || self
                    .port(entry)
                    .is_some_and(|entry| entry.has_reach(&self.reach)))
    }

    /// Returns true if the route to the switch `here` and on by `port` is a better one to the node than the stored one, or
    /// another one to its end port `entry`.
    pub(crate) fn gains_behind(&self, here: &Self, port: PortNum, entry: PortNum) -> bool {
        self.reach.is_after(&here.reach, port)
            || !self.is_switch()
                && self
                    .port(entry)
                    .is_some_and(|entry| !entry.is_behind(&here.reach, port))
    }

    /// Records that a request was not answered. Returns whether it is the first one since the last walk began.
    pub(crate) const fn note_silence(&mut self) -> bool {
        !core::mem::replace(&mut self.silent, true)
    }

    /// Returns true if no second answer contradicts the node's GUID.
    pub(crate) fn is_trusted(&self) -> bool {
        self.trust != Trust::Lost
    }

    /// Records that an answer contradicts the node's GUID. Returns whether it is the first one, after which the node is
    /// asked again.
    pub(crate) fn suspect(&mut self) -> bool {
        let is_first = self.trust == Trust::Given;
        if is_first {
            self.trust = Trust::Checked;
        }
        is_first
    }

    /// Records that the node answered under another GUID.
    pub(crate) const fn distrust(&mut self) {
        self.trust = Trust::Lost;
    }

    /// Records that the device announces speeds beyond HDR. Returns whether it is asked for them from now on.
    pub(crate) fn ask_all_speeds(&mut self) -> bool {
        let is_first = self.all_speeds == AllSpeeds::Unasked;
        if is_first {
            self.all_speeds = AllSpeeds::Asked;
        }
        is_first
    }

    /// Records that the device refuses to be asked for speeds beyond HDR.
    pub(crate) const fn refuse_all_speeds(&mut self) {
        self.all_speeds = AllSpeeds::Refused;
    }

    /// Makes the tables unknown that a switch loses when it is restarted.
    pub(crate) fn note_restart(&mut self) {
        if let Some(switch) = &mut self.switch {
            switch.note_restart();
        }
        self.ports.iter_mut().for_each(SubnetPort::forget_tables);
    }

    pub(crate) fn switch_mut(&mut self) -> Option<&mut SubnetSwitch> {
        self.switch.as_deref_mut()
    }

    pub(crate) fn port_mut(&mut self, port: PortNum) -> Option<&mut SubnetPort> {
        let place = self.place(port)?;
        self.ports.get_mut(place)
    }

    pub(crate) fn ports_mut(&mut self) -> impl Iterator<Item = &mut SubnetPort> {
        self.ports.iter_mut()
    }
}
