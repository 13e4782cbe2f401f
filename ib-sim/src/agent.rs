//! Agents: requests that a node answers by itself, and those that it passes to its host.

use std::time::Duration;

use ib_mad::{Attribute, MadHeader, MadStatus, Method, MgmtClass};
use ib_smp::SmpDirected;
use ib_smp::{Arrival, LinearForwardingTable, NodeInfo, NodeType, SmInfo, Sma, SmpDisposition};
use ib_wire::{Guid, Lid};

use crate::event::DropReason;
use crate::fault::{Behaviour, Corruption};
use crate::frame::{Frame, FrameIdx};
use crate::node::PortIdx;
use crate::options::DeviceProfile;
use crate::queue::Latency;
use crate::sim::{Event, Sim, directed};

impl Sim {
    /// An SMP has reached its destination: it goes to the agent, or to the host if it is for a subnet manager.
    pub(crate) fn receive_smp(&mut self, end_port: PortIdx, arrival: PortIdx, frame: FrameIdx) {
        let header = self.header(frame);
        let for_manager = header.method().is_response()
            || header.method() == Method::TRAP
            || (header.attribute_id() == SmInfo::ID && self.manager_answers(end_port));
        if for_manager {
            return self.deliver(end_port, frame);
        }
        self.queue_reply(arrival, frame);
    }

    /// Returns whether the host of a port answers SMInfo. Without a host the agent refuses the attribute; ibsim returns the
    /// request to its sender.
    fn manager_answers(&self, end_port: PortIdx) -> bool {
        self.ports[end_port].hosted || self.options.profile == DeviceProfile::Ibsim
    }

    /// A general management packet has reached its end port.
    pub(crate) fn receive_gmp(&mut self, end_port: PortIdx, frame: FrameIdx) {
        let header = self.header(frame);
        if !header.method().is_response() && self.has_agent(end_port, header.mgmt_class()) {
            return self.queue_reply(end_port, frame);
        }
        self.deliver(end_port, frame);
    }

    /// Queues the answer for the end of the agent's latency.
    fn queue_reply(&mut self, arrival: PortIdx, frame: FrameIdx) {
        if let Some(rate) = self.ports[arrival].drop_rate.as_deref().copied() {
            let asked = self.header(frame).attribute_id();
            let concerned = rate.attribute.is_none_or(|id| id == asked);
            if concerned && self.faults.happens(rate.share) {
                return self.drop_frame(arrival, frame, DropReason::Lost);
            }
        }
        let node = self.ports[arrival].node;
        if self.frames[frame].is_smp() {
            let pending_smps = &mut self.nodes[node].pending_smps;
            if *pending_smps >= self.options.vl15_buffers {
                return self.drop_frame(arrival, frame, DropReason::Vl15Overrun);
            }
            *pending_smps = pending_smps.saturating_add(1);
        }
        let extra = match self.nodes[node].behaviour {
            Behaviour::Silent => Duration::ZERO,
            Behaviour::Slow(extra) => extra,
            Behaviour::Honest | Behaviour::Byzantine(_) => Duration::ZERO,
        };
        let answer = Event::Answer {
            frame,
            port: arrival,
        };
        if extra.is_zero() {
            self.queue.push_after(self.now, Latency::Answer, answer);
        } else {
            let wait = self.options.agent_latency.saturating_add(extra);
            self.queue.push_later(self.now, wait, answer);
        }
    }

    /// The agent answers the request that arrived at `arrival`, and the answer is sent.
    pub(crate) fn answer(&mut self, arrival: PortIdx, frame: FrameIdx) {
        let node = self.ports[arrival].node;
        let smp = self.frames[frame].is_smp();
        if smp {
            let pending_smps = &mut self.nodes[node].pending_smps;
            *pending_smps = pending_smps.saturating_sub(1);
        }
        if !self.nodes[node].powered {
            return self.drop_frame(arrival, frame, DropReason::NodeDown);
        }
        if self.nodes[node].behaviour == Behaviour::Silent {
            return self.drop_frame(arrival, frame, DropReason::Silent);
        }
        let answered = if smp {
            self.answer_smp(arrival, frame)
        } else {
            self.answer_gmp(arrival, frame)
        };
        if !answered {
            return self.drop_frame(arrival, frame, DropReason::NoAnswer);
        }
        self.stats.answered = self.stats.answered.wrapping_add(1);
        self.frames[frame].length = Frame::PAYLOAD;
        let behaviour = self.nodes[node].behaviour;
        if let Behaviour::Byzantine(corruption) = behaviour {
            self.corrupt_reply(corruption, frame);
        }
        let end_port = self.end_port(arrival);
        if smp && self.frames[frame].bytes[1] == MgmtClass::SUBN_DIRECTED.0 {
            let smi = self.smi(arrival, frame);
            let reply = &mut self.frames[frame];
            let request_slid = reply.source_lid;
            reply.hops = 0;
            let step = match directed(&mut reply.bytes) {
                Some(smp) => smi.respond(smp, request_slid),
                None => return self.drop_frame(arrival, frame, DropReason::DirectedRoute),
            };
            return self.follow(arrival, frame, step);
        }
        let own = self.agent_port(end_port);
        let own = own.map_or(Lid::NONE, |port| port.info().lid());
        let reply = &mut self.frames[frame];
        let to = reply.source_lid;
        // A multicast or permissive LID cannot be a source.
        let from = if reply.dest_lid.is_unicast() {
            reply.dest_lid
        } else {
            own
        };
        (reply.source_lid, reply.dest_lid) = (from, to);
        (reply.source_qp, reply.dest_qp) = (reply.dest_qp, reply.source_qp);
        reply.hops = 0;
        self.send_by_lid(end_port, frame);
    }

    /// Turns the request in `frame` into its response; `false` if there is none.
    fn answer_smp(&mut self, arrival: PortIdx, frame: FrameIdx) -> bool {
        let written = self.written_lft_block(frame);
        let entry = &self.ports[arrival];
        let node = entry.node;
        let request = &mut self.frames[frame];
        let arrival = Arrival {
            port: entry.number,
            slid: request.source_lid,
        };
        let agent = &mut self.nodes[node];
        let answered = match agent.sma.respond(self.now, arrival, &mut request.bytes) {
            SmpDisposition::Respond => true,
            SmpDisposition::ForManager => Sma::refuse(&mut request.bytes),
            SmpDisposition::Drop(_) => false,
        };
        if answered {
            agent.smps_answered = agent.smps_answered.wrapping_add(1);
        }
        if let Some(block) = written {
            let pool = &mut self.lft_pool;
            agent.sma.share_lft_block(block, |block| pool.share(block));
        }
        self.process_sma_events(node);
        answered
    }

    /// The block of a linear forwarding table that a request writes.
    #[inline]
    fn written_lft_block(&self, request: FrameIdx) -> Option<u32> {
        let header = self.header(request);
        let is_write =
            header.attribute_id() == LinearForwardingTable::ID && header.method() == Method::SET;
        is_write.then(|| header.attribute_modifier())
    }

    pub(crate) fn header(&self, frame: FrameIdx) -> MadHeader {
        let bytes = &self.frames[frame].bytes;
        MadHeader::from_bytes(*bytes.first_chunk().unwrap_or(&[0; MadHeader::LEN]))
    }

    /// Corrupts an answer.
    fn corrupt_reply(&mut self, corruption: Corruption, frame: FrameIdx) {
        let wrong = self.faults.next();
        let id = self.header(frame).attribute_id();
        let Some(smp) = directed(&mut self.frames[frame].bytes) else {
            return;
        };
        match corruption {
            Corruption::Status => {
                smp.set_status(MadStatus::INVALID_FIELD_VALUE);
            }
            Corruption::Garbage => {
                smp.set_smp_data(&[0xff; 64]);
            }
            _ if id != NodeInfo::ID => {}
            Corruption::NodeType => alter_node_info(smp, |info| {
                info.set_node_type(NodeType(9));
            }),
            Corruption::NumPorts(ports) => alter_node_info(smp, |info| {
                info.set_num_ports(ports);
            }),
            Corruption::ChangingGuid => alter_node_info(smp, |info| {
                info.set_node_guid(Guid(wrong)).set_port_guid(Guid(wrong));
            }),
            Corruption::Guid(guid) => alter_node_info(smp, |info| {
                info.set_node_guid(guid).set_port_guid(guid);
            }),
        }
    }
}

fn alter_node_info(smp: &mut SmpDirected, alter: impl FnOnce(&mut NodeInfo)) {
    let mut data = *smp.smp_data();
    if let Ok((info, _)) = NodeInfo::parse_mut(&mut data, 0) {
        alter(info);
    }
    smp.set_smp_data(&data);
}
