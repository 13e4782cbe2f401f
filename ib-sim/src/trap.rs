//! Traps: what agents tell the subnet manager by themselves (IBA vol. 1, 13.4.9 and 14.2.5.1).
//!
//! A trap goes LID routed to PortInfo.MasterSMLID and is sent again every SubnetTimeOut until the manager represses it
//! with the same transaction ID. Before a manager has given LIDs there is nobody to tell.

use std::time::Duration;

use ib_mad::{
    Attribute, Mad, MadAddress, Method, NoticeDetails128, NoticeDetails144, NoticeDetails257,
    NoticeSm, NoticeType, TransactionId, TrapNumber,
};
use ib_routing::{NodeIdx, PortRef};
use ib_smp::SmpLidRouted;
use ib_wire::{Lid, PortNum};

use crate::frame::FrameIdx;
use crate::node::PortIdx;
use crate::sim::{DropReason, Happening, Sim};

/// A trap that no manager has repressed yet.
#[derive(Clone, Debug)]
pub(crate) struct PendingTrap {
    /// The port that sends it: port 0 of a switch.
    port: PortIdx,
    notice: NoticeSm,
    attempts_left: u32,
}

impl Sim {
    /// The links of a switch changed the state of one of its ports: trap 128.
    pub(crate) fn trap_port_state(&mut self, port: PortIdx) {
        let node = self.ports[port].node;
        if self.nodes[node].is_switch {
            let end_port = self.end_port(port);
            let mut details = NoticeDetails128::default();
            details.set_lidaddr(self.lid_of(end_port));
            let notice = self.notice(
                end_port,
                NoticeType::URGENT,
                TrapNumber::LINK_STATE_CHANGE,
                details.as_bytes(),
            );
            self.raise(end_port, notice);
        }
    }

    /// Something changed at a port that a manager keeps a copy of: trap 144.
    pub(crate) fn trap_local_change(&mut self, port: PortIdx, description: bool) {
        let end_port = self.end_port(port);
        let Some(info) = self.agent_port(end_port).map(|port| *port.info()) else {
            return;
        };
        let mut details = NoticeDetails144::default();
        details
            .set_lidaddr(info.lid())
            .set_capability_mask(info.capability_mask().bits())
            .set_other_local_changes(description)
            .set_node_description_change(description);
        let notice = self.notice(
            end_port,
            NoticeType::INFORMATIONAL,
            TrapNumber::CAPABILITY_MASK_CHANGE,
            details.as_bytes(),
        );
        self.raise(end_port, notice);
    }

    /// Lets a port's agent send a trap of its host's choice, as a test of a manager needs it.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`](crate::SimError::NoSuchPort).
    pub fn trap(&mut self, port: PortRef, notice: &NoticeSm) -> Result<(), crate::SimError> {
        let index = self
            .port_idx(port)
            .ok_or(crate::SimError::NoSuchPort { port })?;
        let end_port = self.end_port(index);
        self.raise(end_port, *notice);
        Ok(())
    }

    /// A manager has heard a trap of a node.
    pub(crate) fn repress(&mut self, node: NodeIdx, bytes: &[u8; Mad::LEN]) {
        let mad = Mad {
            bytes: *bytes,
            ..Mad::new(MadAddress::DIRECTED)
        };
        // A kernel or a server on the manager's way writes to the upper half of what it sends.
        let id = mad.header().transaction_id().low();
        if let Some(trap) = self.traps.get(&id)
            && self.ports[trap.port].node == node
        {
            self.traps.remove(&id);
        }
    }

    /// A packet's P_Key is not in the table of `port`: it counts, and an end port tells (trap 257).
    pub(crate) fn p_key_violation(&mut self, port: PortIdx, frame: FrameIdx) {
        if let Some(info) = self.info_mut(port) {
            info.set_p_key_violations(info.p_key_violations().saturating_add(1));
        }
        let counters = &mut self.ports[port].counters;
        counters.count("port_rcv_constraint_errors", 0, 1);
        if self.end_port(port) == port {
            let packet = &self.frames[frame];
            let mut details = NoticeDetails257::default();
            details
                .set_lidaddr1(packet.source_lid)
                .set_lidaddr2(packet.dest_lid)
                .set_key(packet.p_key.0.into())
                .set_sl(packet.sl)
                .set_qp1(packet.source_qp)
                .set_qp2(packet.dest_qp);
            let notice = self.notice(
                port,
                NoticeType::SECURITY,
                TrapNumber::BAD_P_KEY,
                details.as_bytes(),
            );
            self.raise(port, notice);
        }
        self.drop_frame(port, frame, DropReason::PKey);
    }

    /// Sends a trap, and again after a while.
    pub(crate) fn send_trap(&mut self, id: u32) {
        let Some(trap) = self.traps.get_mut(&id) else {
            return;
        };
        let (port, notice) = (trap.port, trap.notice);
        trap.attempts_left = trap.attempts_left.saturating_sub(1);
        let last = trap.attempts_left == 0;
        let info = self.agent_port(port).map(|port| *port.info());
        let manager = info.map_or(Lid::NONE, |info| info.master_sm_lid());
        if last || manager == Lid::NONE {
            self.traps.remove(&id);
        }
        let Some(info) = info.filter(|_| manager != Lid::NONE) else {
            return;
        };
        let mut smp = SmpLidRouted::new(Method::TRAP, NoticeSm::ID, 0);
        smp.set_transaction_id(TransactionId(id.into()))
            .set_smp_data(notice.as_bytes());
        let mut mad = Mad::new(MadAddress::smi(manager));
        mad.bytes = *smp.as_bytes();
        self.stats.traps = self.stats.traps.wrapping_add(1);
        let frame = self.frame_of(port, &mad);
        if !last {
            // SubnetTimeOut: 4.096 us * 2^value, of 5 bits.
            let interval = Duration::from_nanos(4096u64 << (info.subnet_timeout() & 31));
            self.queue
                .push_later(self.now, interval, Happening::Trap { id });
        }
        self.send_by_lid(port, frame);
    }

    fn raise(&mut self, port: PortIdx, notice: NoticeSm) {
        let told = self.agent_port(port).is_some_and(|port| {
            let info = port.info();
            info.master_sm_lid() != Lid::NONE && info.lid() != Lid::NONE
        });
        if !self.options.traps || !told || self.options.trap_attempts == 0 {
            return;
        }
        self.next_trap = self.next_trap.wrapping_add(1);
        let id = self.next_trap;
        self.traps.insert(
            id,
            PendingTrap {
                port,
                notice,
                attempts_left: self.options.trap_attempts,
            },
        );
        self.queue.push_at(self.now, Happening::Trap { id });
    }

    fn notice(
        &self,
        port: PortIdx,
        type_: NoticeType,
        trap: TrapNumber,
        details: &[u8; 54],
    ) -> NoticeSm {
        let producer = &self.nodes[self.ports[port].node];
        let mut notice = NoticeSm::default();
        notice
            .set_is_generic(true)
            .set_type(type_)
            .set_producer_type(u32::from(producer.node_info().node_type().0))
            .set_trap_number(trap.bits())
            .set_issuer_lid(self.lid_of(port))
            .set_data_details(details);
        notice
    }

    fn lid_of(&self, port: PortIdx) -> Lid {
        let port = self.agent_port(port);
        port.map_or(Lid::NONE, |port| port.info().lid())
    }

    /// Port 0 of a switch, the first port of a CA.
    pub(crate) fn first_end_port(&self, node: NodeIdx) -> Option<PortIdx> {
        let node = self.nodes.find(node)?;
        node.port_idx(if node.is_switch {
            PortNum::MANAGEMENT
        } else {
            PortNum(1)
        })
    }
}
