//! Links: packets cross them, faults happen on them, they go down and train again.

use ib_mad::Engine as _;
use ib_routing::PortRef;
use ib_smp::{LinkMode, LinkTrouble, PortPhysicalState, PortState, SmaEvent};
use ib_wire::PortNum;

use crate::event::{DropReason, Notification, SimError};
use crate::fault::FaultDraw;
use crate::frame::FrameIdx;
use crate::node::PortIdx;
use crate::queue::Latency;
use crate::sim::{Event, Sim};

/// Greatest number of doublings of a packet and its copies: one on each of many links would make more copies than fit into
/// memory.
const MOST_DOUBLINGS: u8 = 4;

impl Sim {
    /// Sends a packet out of a port.
    pub(crate) fn transmit(&mut self, out: PortIdx, frame: FrameIdx) {
        let smp = self.frames[frame].is_smp();
        if let Some(watch) = self.smp_watch.as_deref_mut()
            && smp
        {
            watch.count_through(out);
        }
        let Some(peer) = self.ports[out].link.reachable() else {
            return self.drop_frame(out, frame, DropReason::LinkDown);
        };
        if !smp {
            let state = self.agent_port(out).map(|port| port.info().port_state());
            if state != Some(PortState::ACTIVE) {
                return self.drop_frame(out, frame, DropReason::PortNotActive);
            }
        }
        let sent = &self.frames[frame];
        self.ports[out].counters.count_sent(sent);
        if sent.data.is_some() {
            self.trace_hop(out, peer, frame);
        }
        let arrival = Event::Arrive { frame, port: peer };
        if !self.faulty || (self.options.faults.rates.smp_only && !smp) {
            self.queue.push_after(self.now, Latency::Hop, arrival);
            return;
        }
        // A packet that is delayed by an agent's latency is overtaken by the packets after it.
        let overtaken = self.options.hop_latency.saturating_mul(4);
        let overtaken = overtaken.saturating_add(self.options.agent_latency);
        let draw = self.faults.draw(&self.options.faults.rates, overtaken);
        self.apply_faults(peer, frame, draw);
    }

    fn apply_faults(&mut self, peer: PortIdx, frame: FrameIdx, draw: FaultDraw) {
        if draw.lost {
            return self.drop_frame(peer, frame, DropReason::Lost);
        }
        if draw.bit_error {
            let counters = &mut self.ports[peer].counters;
            counters.count("symbol_error_counter", 0, 1);
            self.physical_error(peer);
            return self.drop_frame(peer, frame, DropReason::BitError);
        }
        let wait = self.options.hop_latency.saturating_add(draw.wait);
        if draw.duplicated
            && self.frames[frame].doublings < MOST_DOUBLINGS
            && let Some(copy) = self.copy_frame(frame)
        {
            for twin in [frame, copy] {
                let doublings = &mut self.frames[twin].doublings;
                *doublings = doublings.saturating_add(1);
            }
            let arrival = Event::Arrive {
                frame: copy,
                port: peer,
            };
            self.queue.push_later(self.now, wait, arrival);
        }
        if let Some(bit) = draw.flipped_bit {
            self.flip_bit(frame, bit);
        }
        self.queue
            .push_later(self.now, wait, Event::Arrive { frame, port: peer });
    }

    /// A port has received a packet with a wrong CRC. Each good packet cancels a bad one; more bad ones than
    /// PortInfo.LocalPhyErrors are a local link integrity error (IBA vol. 1, 7.12.2).
    pub(crate) fn physical_error(&mut self, port: PortIdx) {
        let info = self.agent_port(port).map(ib_smp::SmaPort::info);
        let threshold = info.map_or(0, |info| info.local_phy_errors());
        if self.ports[port].link.count_bit_error(threshold) {
            self.link_troubled(port, LinkTrouble::LocalLinkIntegrity);
        }
    }

    /// Joins two ports by a cable: after the training time both are in Initialize.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`]; [`SimError::Occupied`] if one has a cable already. A port may be joined to
    /// itself, as a loopback plug does.
    pub fn link(&mut self, a: PortRef, b: PortRef) -> Result<(), SimError> {
        let (first, second) = (self.cable_end(a)?, self.cable_end(b)?);
        for (end, port) in [(first, a), (second, b)] {
            if self.ports[end].link.peer().is_some() {
                return Err(SimError::Occupied { port });
            }
        }
        self.ports[first].link.plug(second);
        self.ports[second].link.plug(first);
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
        if let Some(peer) = self.ports[end].link.peer() {
            for end in [end, peer] {
                self.ports[end].link.unplug();
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
        let Some(other) = self.ports[end].link.unplugged() else {
            return Ok(false);
        };
        let other = self.at(other);
        self.link(port, other)?;
        Ok(true)
    }

    /// Switches a node off: its links go down and it answers nothing.
    pub fn power_off(&mut self, node: ib_routing::NodeIdx) {
        if let Some(node) = self.nodes.find_mut(node) {
            node.powered = false;
        }
        for port in self.external_ports(node) {
            if let Some(peer) = self.ports[port].link.peer() {
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
        entry.sma.reset();
        for port in self.external_ports(node) {
            if let Some(peer) = self.ports[port].link.peer() {
                self.train(port);
                self.train(peer);
            }
        }
    }

    /// Starts the training of a port's link; it ends after the training time, if both ends can train.
    pub(crate) fn train(&mut self, port: PortIdx) {
        let training = self.ports[port].link.start_training();
        let wait = self.options.training_time;
        self.queue
            .push_later(self.now, wait, Event::Trained { port, training });
    }

    /// A training has ended.
    pub(crate) fn trained(&mut self, port: PortIdx, training: u32) {
        let link = &self.ports[port].link;
        let Some(peer) = link.peer().filter(|_| link.is_current(training)) else {
            return;
        };
        let info = |end: PortIdx| {
            let powered = self.nodes[self.ports[end].node].powered;
            let port = self.agent_port(end).filter(|_| powered)?;
            let disabled = port.info().port_physical_state() == PortPhysicalState::DISABLED;
            (!disabled).then_some(port.info())
        };
        let modes = info(port).zip(info(peer));
        let Some(mode) = modes.and_then(|(here, there)| LinkMode::negotiate(here, there)) else {
            return;
        };
        for end in [port, peer] {
            if self.ports[end].link.set_up() {
                let number = self.ports[end].number;
                let node = self.ports[end].node;
                self.nodes[node].sma.link_up(self.now, number, mode);
                self.state_changed(end, PortState::DOWN, PortState::INITIALIZE);
                self.send_traps(node);
            }
        }
    }

    /// A port's link has gone down.
    pub(crate) fn link_lost(&mut self, port: PortIdx) {
        let entry = &mut self.ports[port];
        if entry.link.set_down() {
            entry.counters.count("link_downed_counter", 0, 1);
            let (node, number) = (entry.node, entry.number);
            let from = self.agent_port(port).map(|port| port.info().port_state());
            self.nodes[node].sma.link_down(self.now, number);
            self.state_changed(port, from.unwrap_or(PortState::DOWN), PortState::DOWN);
            self.send_traps(node);
        }
    }

    /// Reports a port's change of state.
    fn state_changed(&mut self, port: PortIdx, from: PortState, to: PortState) {
        let port = self.at(port);
        self.report(Notification::PortState { port, from, to });
    }

    /// Carries out what a node's agent asks of its device.
    pub(crate) fn process_sma_events(&mut self, node: ib_routing::NodeIdx) {
        while let Some(event) = self.nodes[node].sma.poll_event() {
            match event {
                SmaEvent::PortState { port, state } => {
                    let at = PortRef { node, port };
                    // Armed and Active have one state each that leads to them.
                    let from = match state {
                        PortState::ACTIVE => PortState::ARMED,
                        _ => PortState::INITIALIZE,
                    };
                    let to = state;
                    self.report(Notification::PortState { port: at, from, to });
                }
                SmaEvent::LinkDown {
                    port,
                    physical_state,
                } => {
                    let at = PortRef { node, port };
                    let Some(index) = self.port_idx(at) else {
                        continue;
                    };
                    let peer = self.ports[index].link.peer();
                    self.link_lost(index);
                    if let Some(peer) = peer {
                        self.link_lost(peer);
                    }
                    if physical_state == PortPhysicalState::POLLING {
                        self.train(index);
                    }
                }
                _ => {}
            }
        }
        self.send_traps(node);
    }

    fn report(&mut self, event: Notification) {
        if self.options.events {
            self.events.push_back(event);
        }
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
