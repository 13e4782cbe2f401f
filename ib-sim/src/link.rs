//! Links: packets cross them, faults happen on them, they go down and train again.

use ib_routing::PortRef;
use ib_smp::{LinkSpeed, LinkSpeedExt, LinkWidth, PortPhysicalState, PortState};
use ib_wire::PortNum;

use crate::fault::Fate;
use crate::frame::FrameIdx;
use crate::node::PortIdx;
use crate::sim::{DropReason, Happening, Sim, SimError, SimEvent};

impl Sim {
    /// Sends a packet out of a port.
    pub(crate) fn transmit(&mut self, out: PortIdx, frame: FrameIdx) {
        let smp = self.frames[frame].is_smp();
        let port = &mut self.ports[out];
        let (true, Some(peer)) = (port.is_link_up(), port.peer) else {
            port.counters.count_discard();
            return self.drop_frame(out, frame, DropReason::LinkDown);
        };
        if !smp {
            if port.state() != PortState::ACTIVE {
                port.counters.count_discard();
                return self.drop_frame(out, frame, DropReason::PortNotActive);
            }
            let sent = &self.frames[frame];
            port.counters.count_sent(sent);
        }
        let arrival = Happening::Arrive { frame, port: peer };
        if !self.faulty || (self.options.faults.rates.smp_only && !smp) {
            self.queue
                .push_after(self.now, self.options.hop_latency, arrival);
            return;
        }
        // A packet that leaves an answer time later has been overtaken by whatever was behind it.
        let overtaken = self.options.hop_latency.saturating_mul(4);
        let overtaken = overtaken.saturating_add(self.options.agent_latency);
        let fate = self.faults.fate(&self.options.faults.rates, overtaken);
        self.suffer(peer, frame, fate);
    }

    fn suffer(&mut self, peer: PortIdx, frame: FrameIdx, fate: Fate) {
        if fate.lost {
            return self.drop_frame(peer, frame, DropReason::Lost);
        }
        if fate.bit_error {
            self.ports[peer].counters.count_bit_error();
            return self.drop_frame(peer, frame, DropReason::BitError);
        }
        let at = self.now + self.options.hop_latency + fate.wait;
        if fate.duplicated {
            let copy = self.frames[frame].clone();
            let copy = self.frames.insert(copy);
            let arrival = Happening::Arrive {
                frame: copy,
                port: peer,
            };
            self.queue.push_at(at, arrival);
        }
        if let Some(bit) = fate.flipped_bit
            && let Some(byte) = self.frames[frame].bytes.get_mut(bit / 8)
        {
            *byte ^= 0x80 >> (bit % 8);
        }
        self.queue
            .push_at(at, Happening::Arrive { frame, port: peer });
    }

    /// Joins two ports by a cable: after the training time both are in Initialize.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`]; [`SimError::Occupied`] if one has a cable already. A port may be joined to
    /// itself, as a loopback plug does.
    pub fn link(&mut self, a: PortRef, b: PortRef) -> Result<(), SimError> {
        let (first, second) = (self.cable_end(a)?, self.cable_end(b)?);
        for (end, port) in [(first, a), (second, b)] {
            if self.ports[end].peer.is_some() {
                return Err(SimError::Occupied { port });
            }
        }
        self.ports[first].peer = Some(second);
        self.ports[second].peer = Some(first);
        self.train(first);
        if second != first {
            self.train(second);
        }
        Ok(())
    }

    /// Pulls a port's cable out, at both ends; [`relink`](Self::relink) puts it back.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`].
    pub fn unlink(&mut self, port: PortRef) -> Result<(), SimError> {
        let end = self.cable_end(port)?;
        if let Some(peer) = self.ports[end].peer {
            for (end, other) in [(end, peer), (peer, end)] {
                let port = &mut self.ports[end];
                port.peer = None;
                port.remembered_peer = Some(other);
                self.link_lost(end);
            }
        }
        Ok(())
    }

    /// Puts a cable back that [`unlink`](Self::unlink) took. Returns whether there was one to put back.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`]; [`SimError::Occupied`] if an end has another cable now.
    pub fn relink(&mut self, port: PortRef) -> Result<bool, SimError> {
        let end = self.cable_end(port)?;
        let Some(other) = self.ports[end].remembered_peer else {
            return Ok(false);
        };
        let other = self.ports[other].at();
        self.link(port, other)?;
        Ok(true)
    }

    /// Switches a node off: its links go down and it answers nothing.
    pub fn power_off(&mut self, node: ib_routing::NodeIdx) {
        if let Some(node) = self.nodes.find_mut(node) {
            node.powered = false;
        }
        for port in self.external_ports(node) {
            if let Some(peer) = self.ports[port].peer {
                self.link_lost(port);
                self.link_lost(peer);
            }
        }
    }

    /// Switches a node on: its links train; it has kept nothing that a subnet manager wrote.
    pub fn power_on(&mut self, node: ib_routing::NodeIdx) {
        let Some(entry) = self.nodes.find_mut(node) else {
            return;
        };
        entry.powered = true;
        entry.forget();
        let first = entry.first_port;
        for port in std::iter::once(first).chain(self.external_ports(node)) {
            self.ports[port].forget();
        }
        for port in self.external_ports(node) {
            if let Some(peer) = self.ports[port].peer {
                self.train(port);
                self.train(peer);
            }
        }
    }

    /// Begins the training of a port's link; it ends after the training time, if both ends can.
    pub(crate) fn train(&mut self, port: PortIdx) {
        let end = &mut self.ports[port];
        end.training = end.training.wrapping_add(1);
        let training = end.training;
        let at = self.now + self.options.training_time;
        self.queue
            .push_at(at, Happening::Trained { port, training });
    }

    /// A training has ended.
    pub(crate) fn trained(&mut self, port: PortIdx, training: u32) {
        let end = &self.ports[port];
        let Some(peer) = end.peer.filter(|_| end.training == training) else {
            return;
        };
        let able = |end: PortIdx| {
            let end = &self.ports[end];
            let disabled = end.info.port_physical_state() == PortPhysicalState::DISABLED;
            !disabled && self.nodes[end.node].powered
        };
        if !able(port) || !able(peer) {
            return;
        }
        for end in [port, peer] {
            self.negotiate(end);
            if !self.ports[end].is_link_up() {
                let info = &mut self.ports[end].info;
                info.set_port_physical_state(PortPhysicalState::LINK_UP);
                self.set_port_state(end, PortState::INITIALIZE);
            }
        }
    }

    /// Takes the widest width and the highest speed that both ends have enabled.
    fn negotiate(&mut self, port: PortIdx) {
        let Some(peer) = self.ports[port].peer else {
            return;
        };
        let other = self.ports[peer].info;
        let info = &mut self.ports[port].info;
        let widths = info.link_width_enabled() & other.link_width_enabled();
        let by_lanes = [
            LinkWidth::X12,
            LinkWidth::X8,
            LinkWidth::X4,
            LinkWidth::X2,
            LinkWidth::X1,
        ];
        let width = by_lanes
            .into_iter()
            .find(|width| widths.bits() & width.0 != 0);
        info.set_link_width_active(width.unwrap_or(LinkWidth::X1));
        let speeds = (info.link_speed_enabled() & other.link_speed_enabled()).bits();
        let speed = [LinkSpeed::QDR, LinkSpeed::DDR]
            .into_iter()
            .find(|speed| speeds & speed.0 != 0);
        info.set_link_speed_active(speed.unwrap_or(LinkSpeed::SDR));
        let speeds = (info.link_speed_ext_enabled() & other.link_speed_ext_enabled()).bits();
        let speed = [
            LinkSpeedExt::NDR,
            LinkSpeedExt::HDR,
            LinkSpeedExt::EDR,
            LinkSpeedExt::FDR,
        ]
        .into_iter()
        .find(|speed| speeds & speed.0 != 0);
        info.set_link_speed_ext_active(speed.unwrap_or(LinkSpeedExt::NONE));
    }

    /// A port's link has gone.
    pub(crate) fn link_lost(&mut self, port: PortIdx) {
        let end = &mut self.ports[port];
        end.training = end.training.wrapping_add(1);
        if end.is_link_up() {
            end.counters.count_link_downed();
            end.info.set_port_physical_state(PortPhysicalState::POLLING);
            self.set_port_state(port, PortState::DOWN);
        }
    }

    /// Changes a port's state; a switch notes the change and tells the subnet manager.
    pub(crate) fn set_port_state(&mut self, port: PortIdx, to: PortState) {
        let end = &mut self.ports[port];
        let from = end.state();
        if from == to {
            return;
        }
        end.info.set_port_state(to);
        let at = end.at();
        self.events
            .push_back(SimEvent::PortState { port: at, from, to });
        self.port_state_changed(at, from, to);
    }

    /// All ports of a node that can have cables.
    pub(crate) fn external_ports(
        &self,
        node: ib_routing::NodeIdx,
    ) -> impl Iterator<Item = PortIdx> + use<> {
        let node = self.nodes.find(node);
        let (first, count) = node.map_or((0, 0), |node| (node.first_port.0, node.num_ports));
        (1..=u32::from(count)).map(move |number| PortIdx(first.saturating_add(number)))
    }

    fn cable_end(&self, port: PortRef) -> Result<PortIdx, SimError> {
        let index = self.port_idx(port);
        index
            .filter(|_| port.port != PortNum::MANAGEMENT)
            .ok_or(SimError::NoSuchPort { port })
    }
}
