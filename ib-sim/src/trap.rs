//! Traps: notices that agents send to the subnet manager unasked (IBA vol. 1, 13.4.9 and 14.2.5.1).
//!
//! The agent ([`ib_smp::Sma`]) chooses the notice and repeats it until the manager represses it. This file is the device's
//! part: it reports changes to the agent, sends its traps, and calls it again when the next one is due.

use ib_mad::{Engine as _, NoticeSm};
use ib_routing::{NodeIdx, PortRef};
use ib_smp::{KeyViolation, LinkTrouble};
use ib_wire::Guid;

use crate::event::{DropReason, SimError};
use crate::frame::FrameIdx;
use crate::node::PortIdx;
use crate::sim::{Event, Sim};

impl Sim {
    /// Makes a port's agent send any trap, for tests of a manager.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`].
    pub fn trap(&mut self, port: PortRef, notice: &NoticeSm) -> Result<(), SimError> {
        let index = self.port_idx(port).ok_or(SimError::NoSuchPort { port })?;
        let reporting_port = self.ports[self.end_port(index)].number;
        let now = self.now;
        self.sma_of(port.node)?.raise(now, reporting_port, notice);
        self.process_sma_events(port.node);
        Ok(())
    }

    /// Simulates an error of a bad link at a port: it is counted, and the agent sends trap 129, 130 or 131.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`].
    pub fn trouble_link(&mut self, port: PortRef, trouble: LinkTrouble) -> Result<(), SimError> {
        let index = self.port_idx(port).ok_or(SimError::NoSuchPort { port })?;
        self.link_troubled(index, trouble);
        Ok(())
    }

    /// Changes a node's system image GUID: trap 145.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`] if there is no such node.
    pub fn set_system_image_guid(&mut self, node: NodeIdx, guid: Guid) -> Result<(), SimError> {
        let now = self.now;
        self.sma_of(node)?.set_system_image_guid(now, guid);
        self.process_sma_events(node);
        Ok(())
    }

    pub(crate) fn link_troubled(&mut self, port: PortIdx, trouble: LinkTrouble) {
        let info = self.agent_port(port).map(ib_smp::SmaPort::info);
        let overruns = info.map_or(1, |info| info.overrun_errors().max(1));
        let counters = &mut self.ports[port].counters;
        match trouble {
            LinkTrouble::LocalLinkIntegrity => {
                counters.count("local_link_integrity_errors", 0, 1);
            }
            // That many flow control periods in a row, each with a packet that found no room.
            LinkTrouble::ExcessiveBufferOverrun => {
                counters.count("excessive_buffer_overrun_errors", 0, 1);
                counters.count("port_buffer_overrun_errors", 0, overruns.into());
                counters.count("port_rcv_errors", 0, overruns.into());
            }
            // The trouble names no lane; a link has lane 0 always.
            LinkTrouble::FlowControlUpdateWatchdog => {
                counters.count("port_vl_xmit_flow_ctl_update_errors", 0, 1);
            }
        }
        // Each of the three makes the link recover by training, which both ends complete.
        let peer = self.ports[port].link.reachable();
        for end in peer.into_iter().chain(peer.map(|_| port)) {
            let counters = &mut self.ports[end].counters;
            counters.count("link_error_recovery_counter", 0, 1);
        }
        let entry = &self.ports[port];
        let (node, number) = (entry.node, entry.number);
        self.nodes[node].sma.link_trouble(self.now, number, trouble);
        self.process_sma_events(node);
    }

    /// A packet's P_Key is not in the table of `port`: it is counted, and the agent sends trap 257, or 259 for a switch's
    /// external port. `counter` is that of the direction in which the port enforces; an end port has none.
    pub(crate) fn p_key_violation(
        &mut self,
        port: PortIdx,
        frame: FrameIdx,
        counter: Option<&'static str>,
    ) {
        if let Some(counter) = counter {
            self.ports[port].counters.count(counter, 0, 1);
        }
        let (violation, p_key) = (self.violation(frame), self.frames[frame].p_key);
        let entry = &self.ports[port];
        let (node, number) = (entry.node, entry.number);
        let now = self.now;
        self.nodes[node]
            .sma
            .p_key_violation(now, number, p_key, &violation);
        self.process_sma_events(node);
        self.drop_frame(port, frame, DropReason::PKey);
    }

    /// A packet's Q_Key is not that of its queue pair: it is counted, and the agent sends trap 258.
    pub(crate) fn q_key_violation(&mut self, end_port: PortIdx, frame: FrameIdx) {
        let (violation, q_key) = (self.violation(frame), self.frames[frame].q_key);
        let entry = &self.ports[end_port];
        let (node, number) = (entry.node, entry.number);
        let now = self.now;
        self.nodes[node]
            .sma
            .q_key_violation(now, number, q_key, &violation);
        self.process_sma_events(node);
        self.drop_frame(end_port, frame, DropReason::QKey);
    }

    fn violation(&self, frame: FrameIdx) -> KeyViolation {
        let packet = &self.frames[frame];
        KeyViolation {
            slid: packet.source_lid,
            dlid: packet.dest_lid,
            sl: packet.sl,
            source_qp: packet.source_qp,
            dest_qp: packet.dest_qp,
            gids: None,
        }
    }

    /// Sends the traps of a node that are due, and queues the time of the next one.
    #[inline]
    pub(crate) fn send_traps(&mut self, node: NodeIdx) {
        if self.nodes[node].sma.next_trap().is_some() {
            self.send_due_traps(node);
        }
    }

    fn send_due_traps(&mut self, node: NodeIdx) {
        while let Some(trap) = self.nodes[node].sma.poll_transmit(self.now) {
            let Some(port) = self.nodes[node].port_idx(trap.port) else {
                continue;
            };
            self.stats.traps = self.stats.traps.wrapping_add(1);
            let frame = self.frame_of(port, &trap.mad);
            self.send_by_lid(port, frame);
        }
        let sender = &mut self.nodes[node];
        if let Some(due) = sender.sma.next_trap()
            && sender.wakes_at.is_none_or(|at| due < at)
        {
            sender.wakes_at = Some(due);
            self.queue.push_at(due, Event::Traps { node });
        }
    }

    /// A node's next trap is due.
    pub(crate) fn traps_due(&mut self, node: NodeIdx) {
        let sender = &mut self.nodes[node];
        sender.wakes_at = None;
        if sender.powered {
            self.send_traps(node);
        }
    }
}
