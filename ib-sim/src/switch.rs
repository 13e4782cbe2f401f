//! Forwarding: the next hop of a packet that arrived at a node, or that a node sends.

use ib_mad::{Mad, MgmtClass};
use ib_routing::NodeIdx;
use ib_routing::mcast::PortSet;
use ib_smp::PortState;
use ib_smp::{Discard, NodeType, Smi, SmiAction, Source};
use ib_wire::{Lid, PortNum, QKey, Qpn, Vl};

use crate::event::DropReason;
use crate::frame::FrameIdx;
use crate::node::PortIdx;
use crate::options::DeviceProfile;
use crate::sim::{Sim, directed};

impl Sim {
    /// A packet arrives at `port` from its link.
    pub(crate) fn arrive(&mut self, port: PortIdx, frame: FrameIdx) {
        let arrived = &mut self.frames[frame];
        arrived.hops = arrived.hops.saturating_add(1);
        self.stats.hops = self.stats.hops.wrapping_add(1);
        let entry = &mut self.ports[port];
        let node = entry.node;
        let here = &self.nodes[node];
        let fault = if !entry.link.is_up() {
            Some(DropReason::LinkDown)
        } else if !here.powered {
            Some(DropReason::NodeDown)
        } else {
            None
        };
        if let Some(reason) = fault {
            // A packet that is lost counts as no discard of the port that it was for.
            return self.lose(port, frame, reason);
        }
        // Good packets make up for bad ones.
        if !arrived.data.as_ref().is_some_and(|data| data.spoiled) {
            entry.link.count_good_packet();
        }
        entry.counters.count_received(arrived);
        if arrived.is_smp() {
            let class = MgmtClass(arrived.bytes[1]);
            if arrived.dest_lid.is_permissive() && class == MgmtClass::SUBN_DIRECTED {
                return self.directed_from(port, frame);
            }
        } else if let Err(reason) = self.data_arrives(port, frame) {
            return match reason {
                DropReason::PKey => {
                    self.p_key_violation(port, frame, Some("port_rcv_constraint_errors"))
                }
                DropReason::BitError => {
                    self.physical_error(port);
                    self.drop_frame(port, frame, reason)
                }
                DropReason::Malformed => self.drop_frame(port, frame, reason),
                _ => self.lose(port, frame, reason),
            };
        }
        if !self.nodes[node].is_switch {
            return self.receive(port, port, frame);
        }
        self.forward(node, Some(port), frame);
    }

    /// Checks and counts a packet other than an SMP that arrives at `port` from its link.
    fn data_arrives(&mut self, port: PortIdx, frame: FrameIdx) -> Result<(), DropReason> {
        let entry = &self.ports[port];
        let (node, number) = (entry.node, entry.number);
        let sma = &mut self.nodes[node].sma;
        let Some(info) = sma.port(number).map(ib_smp::SmaPort::info) else {
            return Err(DropReason::LinkDown);
        };
        match info.port_state() {
            PortState::ACTIVE => {}
            // The neighbour is Active and sends data: it is this port's turn to become Active.
            PortState::ARMED => sma.data_received(number),
            _ => return Err(DropReason::PortNotActive),
        }
        let (enforced, filtered, lanes, mtu) =
            sma.port(number).map_or((false, false, 1, 256), |port| {
                let info = port.info();
                let enforced = info.partition_enforcement_inbound();
                let lanes = info.operational_vls().count().unwrap_or(1);
                let mtu = info.mtu_cap().bytes().unwrap_or(256);
                (enforced, info.filter_raw_inbound(), lanes, mtu)
            });
        self.process_sma_events(node);
        if self.spoiled(frame) {
            return Err(DropReason::BitError);
        }
        let arrived = &self.frames[frame];
        if arrived.lane.bits() >= lanes || arrived.payload > mtu {
            return Err(DropReason::Malformed);
        }
        if filtered && self.nodes[node].is_switch && self.is_raw(frame) {
            let counters = &mut self.ports[port].counters;
            counters.count("port_rcv_constraint_errors", 0, 1);
            return Err(DropReason::RawFiltered);
        }
        if enforced && !self.passes_partition(port, frame) {
            return Err(DropReason::PKey);
        }
        Ok(())
    }

    /// Sends a packet that starts at an end port by its destination LID.
    pub(crate) fn send_by_lid(&mut self, end_port: PortIdx, frame: FrameIdx) {
        let node = self.ports[end_port].node;
        let dest = self.frames[frame].dest_lid;
        if self.has_lid(end_port, dest) || dest.is_permissive() {
            return self.receive(end_port, end_port, frame);
        }
        if self.nodes[node].is_switch {
            return self.forward(node, None, frame);
        }
        self.set_lane(PortNum::MANAGEMENT, end_port, frame);
        if !self.has_lane(end_port, frame) {
            // A switch counts what it cannot relay; here nothing was received.
            return self.lose(end_port, frame, DropReason::NoLane);
        }
        self.leave(end_port, frame);
    }

    /// Forwards a packet through a switch by its tables; `arrival` is none for one that starts at port 0.
    pub(crate) fn forward(&mut self, node: NodeIdx, arrival: Option<PortIdx>, frame: FrameIdx) {
        let switch = &self.nodes[node];
        let management = switch.first_port;
        let dest = self.frames[frame].dest_lid;
        if dest.is_multicast() {
            return self.forward_multicast(node, arrival, frame);
        }
        if dest.is_permissive() || self.has_lid(management, dest) {
            return self.receive(management, arrival.unwrap_or(management), frame);
        }
        let here = arrival.unwrap_or(management);
        let out = switch.lft_port(dest).and_then(|out| switch.port_idx(out));
        let Some(out) = out else {
            return self.drop_frame(here, frame, DropReason::NoRoute);
        };
        if out == management {
            // The table says port 0, but the LID is another.
            return self.drop_frame(here, frame, DropReason::WrongLid);
        }
        if Some(out) == arrival {
            return self.drop_frame(here, frame, DropReason::SamePort);
        }
        self.relay(here, out, frame);
    }

    /// Moves a packet from its input port to its output port.
    fn relay(&mut self, here: PortIdx, out: PortIdx, frame: FrameIdx) {
        self.set_lane(self.ports[here].number, out, frame);
        if self.has_lane(out, frame) {
            self.leave(out, frame);
        } else {
            self.drop_frame(here, frame, DropReason::NoLane);
        }
    }

    fn forward_multicast(&mut self, node: NodeIdx, arrival: Option<PortIdx>, frame: FrameIdx) {
        let switch = &self.nodes[node];
        let management = switch.first_port;
        let here = arrival.unwrap_or(management);
        let mlid = self.frames[frame].dest_lid;
        let input = self.ports[here].number;
        let mut outs = PortSet::default();
        if self.has_multicast_entry(node, mlid) {
            switch.mft_ports(mlid).for_each(|port| outs.insert(port));
        } else if let Some(info) = switch.switch_info() {
            let primary = info.default_multicast_primary_port();
            if input == primary {
                outs.insert(info.default_multicast_not_primary_port());
            } else {
                outs.insert(primary);
            }
        }
        let outs: Vec<PortIdx> = outs
            .iter()
            .filter(|&port| port != input)
            .filter_map(|port| switch.port_idx(port))
            .collect();
        if outs.is_empty() {
            return self.drop_frame(here, frame, DropReason::NoRoute);
        }
        for out in outs {
            let Some(copy) = self.copy_frame(frame) else {
                return self.drop_frame(out, frame, DropReason::TooManyHops);
            };
            if out == management {
                self.receive(management, here, copy);
            } else {
                self.relay(here, out, copy);
            }
        }
        self.release_original(frame);
    }

    /// Returns whether the switch has a table entry for a multicast LID, within its capacity and its top.
    fn has_multicast_entry(&self, node: NodeIdx, mlid: Lid) -> bool {
        let Some(info) = self.nodes[node].switch_info() else {
            return false;
        };
        let top = info.multicast_fdb_top();
        let below_top = top == Lid::NONE || mlid <= top;
        below_top && (mlid.0 & 0x3fff) < info.multicast_fdb_cap()
    }

    /// Chooses the lane of a data packet by its service level, its input port and its output port.
    fn set_lane(&mut self, input: PortNum, out: PortIdx, frame: FrameIdx) {
        let packet = &mut self.frames[frame];
        if packet.is_smp() {
            return;
        }
        let out = &self.ports[out];
        packet.lane = self.nodes[out.node].vl(input, out.number, packet.sl);
    }

    /// Returns whether a data packet's lane is operational at its output port.
    fn has_lane(&self, out: PortIdx, frame: FrameIdx) -> bool {
        let packet = &self.frames[frame];
        let Some(port) = self.agent_port(out).filter(|_| !packet.is_smp()) else {
            return true;
        };
        let lanes = port.info().operational_vls().count().unwrap_or(1);
        packet.lane != Vl::MANAGEMENT && packet.lane.bits() < lanes
    }

    /// Sends a packet out of a port after the checks of an output port.
    fn leave(&mut self, out: PortIdx, frame: FrameIdx) {
        let packet = &self.frames[frame];
        if packet.hops >= self.max_hops {
            return self.drop_frame(out, frame, DropReason::TooManyHops);
        }
        if !packet.is_smp()
            && let Some(port) = self.agent_port(out)
        {
            let info = port.info();
            let mtu = info.neighbor_mtu().bytes().unwrap_or(256);
            if packet.payload > mtu {
                return self.drop_frame(out, frame, DropReason::TooLong);
            }
            let switch = self.nodes[self.ports[out].node].is_switch;
            if switch && info.filter_raw_outbound() && self.is_raw(frame) {
                let counters = &mut self.ports[out].counters;
                counters.count("port_xmit_constraint_errors", 0, 1);
                return self.drop_frame(out, frame, DropReason::RawFiltered);
            }
            let enforced = info.partition_enforcement_outbound();
            if enforced && !self.passes_partition(out, frame) {
                return self.p_key_violation(out, frame, Some("port_xmit_constraint_errors"));
            }
        }
        self.transmit(out, frame);
    }

    /// A packet has reached an end port that it may be for; `arrival` is the port by which it entered the node.
    pub(crate) fn receive(&mut self, end_port: PortIdx, arrival: PortIdx, frame: FrameIdx) {
        let packet = &self.frames[frame];
        let dest = packet.dest_lid;
        if !(self.has_lid(end_port, dest) || dest.is_multicast() || dest.is_permissive()) {
            return self.drop_frame(arrival, frame, DropReason::WrongLid);
        }
        if packet.is_smp() {
            let own = arrival == end_port && packet.hops == 0;
            return if packet.bytes[1] == MgmtClass::SUBN_DIRECTED.0 && !own {
                self.directed_from(arrival, frame)
            } else {
                self.receive_smp(end_port, arrival, frame)
            };
        }
        if self.broken(frame) {
            return self.drop_frame(end_port, frame, DropReason::Icrc);
        }
        if !self.has_partition(end_port, frame) {
            return self.p_key_violation(end_port, frame, None);
        }
        if packet.dest_qp != Qpn::GSI {
            return self.deliver(end_port, frame);
        }
        if packet.q_key != QKey::GSI && self.options.profile == DeviceProfile::Specified {
            return self.q_key_violation(end_port, frame);
        }
        self.receive_gmp(end_port, frame);
    }

    /// Handles a directed-route SMP that arrived at `port` from its link.
    fn directed_from(&mut self, port: PortIdx, frame: FrameIdx) {
        let source = Source::Port(self.ports[port].number);
        let smi = self.smi(port, frame);
        let step = match directed(&mut self.frames[frame].bytes) {
            Some(smp) => smi.handle(smp, source),
            None => Err(Discard::Short { found: Mad::LEN }),
        };
        self.follow(port, frame, step);
    }

    /// Follows the rules of directed routes; `here` is the port of arrival, or the own end port.
    pub(crate) fn follow(
        &mut self,
        here: PortIdx,
        frame: FrameIdx,
        step: Result<SmiAction, Discard>,
    ) {
        let node = self.ports[here].node;
        match step {
            Ok(SmiAction::Deliver) => self.receive_smp(self.end_port(here), here, frame),
            Ok(SmiAction::Send(out)) => {
                let packet = &mut self.frames[frame];
                packet.source_lid = Lid::PERMISSIVE;
                packet.dest_lid = Lid::PERMISSIVE;
                match self.nodes[node].port_idx(out) {
                    Some(out) => self.transmit(out, frame),
                    None => self.drop_frame(here, frame, DropReason::DirectedRoute),
                }
            }
            Ok(SmiAction::LidRouted { slid, dlid }) => {
                let packet = &mut self.frames[frame];
                packet.source_lid = slid;
                packet.dest_lid = dlid;
                self.send_by_lid(self.end_port(here), frame);
            }
            Err(_) => self.drop_frame(here, frame, DropReason::DirectedRoute),
        }
    }

    /// The subnet management interface that handles an SMP at `port`: one for all ports of a switch, else the port's own.
    #[inline]
    pub(crate) fn smi(&mut self, port: PortIdx, frame: FrameIdx) -> Smi {
        let arrival = &self.ports[port];
        let node = &self.nodes[arrival.node];
        let (node_type, port) = if node.is_switch {
            (NodeType::SWITCH, PortNum::MANAGEMENT)
        } else {
            // The rules treat a router like a CA; neither has a port 0.
            (NodeType::CA, PortNum(arrival.number.0.max(1)))
        };
        // The port's LID is read only for a route that ends with a LID-routed part; most have none.
        let all_directed = directed(&mut self.frames[frame].bytes)
            .is_none_or(|smp| smp.dr_slid().is_permissive() && smp.dr_dlid().is_permissive());
        let own = if all_directed {
            None
        } else {
            node.sma.port(port)
        };
        let lid = own.map_or(Lid::NONE, |own| own.info().lid());
        Smi {
            node_type,
            num_ports: node.num_ports,
            port,
            lid,
        }
    }

    /// Returns whether a port lets a packet of this partition pass: ports of switches check it here, others at delivery.
    fn passes_partition(&self, port: PortIdx, frame: FrameIdx) -> bool {
        !self.nodes[self.ports[port].node].is_switch || self.has_partition(port, frame)
    }

    /// Returns whether the port's table has a key that matches the packet's.
    fn has_partition(&self, port: PortIdx, frame: FrameIdx) -> bool {
        if self.is_raw(frame) {
            return true;
        }
        let key = self.frames[frame].p_key;
        self.agent_port(port)
            .is_some_and(|port| port.p_keys().any(|own| own.matches(key)))
    }
}
