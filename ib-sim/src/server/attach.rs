//! Control messages: clients take slots, ask about their port, and leave.

use ib_routing::{NodeIdx, PortRef};
use ib_transport::Clock as _;
use ib_transport::ibsim::{ClientInfo, Control, MAX_JOINED, control_type};
use ib_wire::PortNum;
use zerocopy::{FromBytes, IntoBytes};

use crate::sim::Sim;

use super::Server;
use super::client::Client;
use super::poller::Ready;
use super::socket::{Address, Sender, Socket, is_gone};

impl Server {
    /// Answers a control message. An unknown type comes back as it was, as from ibsim.
    ///
    /// A message for a slot counts only from the socket that asked for the slot.
    pub(super) fn answer_control(&mut self, mut message: Control, from: &Sender) -> Control {
        let type_ = message.type_.get();
        let slot = message.client_id.get() as usize;
        let own = self.owner_of(slot) == from.address.as_ref() && from.address.is_some();
        let answered = match type_ {
            control_type::CONNECT => self.connect(&mut message, from),
            control_type::DISCONNECT..=control_type::GET_P_KEYS | control_type::JOIN if !own => {
                None
            }
            control_type::DISCONNECT => {
                self.free_slot(slot);
                Some(())
            }
            control_type::SET_ISSM => self.set_is_sm(slot, &message),
            control_type::GET_PORT..=control_type::GET_P_KEYS => self.describe(slot, &mut message),
            control_type::JOIN => self.join_messages(slot, &mut message),
            _ => Some(()),
        };
        if answered.is_none() {
            message.type_ = control_type::ERROR.into();
        }
        message
    }

    /// Takes a client's slot away: nothing is delivered to it any more, and IsSM is cleared if the client had announced a manager.
    pub(super) fn free_slot(&mut self, slot: usize) {
        let Some(client) = self.clients.get_mut(slot).and_then(Option::take) else {
            return;
        };
        self.silence.forget(slot);
        let mut others = self.clients.iter().flatten();
        if !others.any(|other| other.port == client.port) {
            self.sim.detach(client.port);
        }
        if client.is_sm {
            // The port was there when the client attached, and ports do not go away.
            let _ = self.sim.set_is_sm(client.port, false);
        }
    }

    /// Frees the slots of all clients that are gone.
    pub(super) fn probe_clients(&mut self) {
        self.probed_at = self.clock.now();
        for slot in 0..self.clients.len() {
            self.probe(slot);
        }
    }

    /// Frees a slot whose client is gone. Returns whether it was.
    fn probe(&mut self, slot: usize) -> bool {
        let client = self.clients.get(slot).and_then(Option::as_ref);
        let gone = client.is_some_and(|client| is_gone(&self.listen, client.id, &client.owner));
        if gone {
            self.free_slot(slot);
        }
        gone
    }

    fn owner_of(&self, slot: usize) -> Option<&Address> {
        Some(&self.clients.get(slot)?.as_ref()?.owner)
    }

    /// Returns whether a client other than that of `slot` is the subnet manager of a node. A manager that is gone loses its slot
    /// here.
    fn manager_is_announced(&mut self, node: NodeIdx, slot: Option<usize>) -> bool {
        let holder = self.clients.iter().enumerate().position(|(other, client)| {
            let client = client.as_ref().filter(|client| client.is_sm);
            Some(other) != slot && client.is_some_and(|client| client.port.node == node)
        });
        holder.is_some_and(|holder| !self.probe(holder))
    }

    fn connect(&mut self, message: &mut Control, from: &Sender) -> Option<()> {
        let (mut info, _) = ClientInfo::read_from_prefix(&message.data).ok()?;
        let owner = from.address.clone()?;
        let port = self.port_named(info.node_name())?;
        let is_sm = info.issm.get() != 0;
        let id = info.id.get();
        self.free_slots_of(id, &owner);
        if is_sm && self.manager_is_announced(port.node, None) {
            return None;
        }
        let slot = self.vacant_slot()?;
        let socket = Socket::data(&self.listen, slot, id, &owner).ok()?;
        let ready = Ready::Client(usize::from(slot));
        self.poller.add(&socket, ready).ok()?;
        self.sim.attach(port, false).ok()?;
        if is_sm {
            self.sim.set_is_sm(port, true).ok()?;
        }
        let slot_index = usize::from(slot);
        if self.clients.len() <= slot_index {
            self.clients
                .resize_with(slot_index.saturating_add(1), || None);
        }
        *self.clients.get_mut(slot_index)? = Some(Client {
            id,
            port,
            qp: info.qp.get(),
            is_sm,
            has_asked: false,
            socket,
            owner,
            per_datagram: 1,
            posted: Vec::new(),
        });
        info.id = u32::from(slot).into();
        if let Some(node) = self.sim.node(port.node) {
            info.set_node_name(node.name().as_bytes());
        }
        message.set_data(info.as_bytes());
        Some(())
    }

    /// Frees the slots of earlier attachments of a client that attaches again: it has lost them.
    fn free_slots_of(&mut self, id: u32, owner: &Address) {
        for slot in 0..self.clients.len() {
            let client = self.clients.get(slot).and_then(Option::as_ref);
            let same = client.is_some_and(|client| {
                client.id == id
                    && match (&client.owner, owner) {
                        // The number is a UDP port, which one socket of the machine has; the control port is a new one.
                        (Address::Udp(before), Address::Udp(now)) => before.ip() == now.ip(),
                        (before, now) => before == now,
                    }
            });
            if same {
                self.free_slot(slot);
            }
        }
    }

    /// The first slot without a client. When all are taken, those of clients that are gone are freed first.
    fn vacant_slot(&mut self) -> Option<u16> {
        self.first_vacant().or_else(|| {
            self.probe_clients();
            self.first_vacant()
        })
    }

    fn first_vacant(&self) -> Option<u16> {
        let free = self.clients.iter().position(Option::is_none);
        let slot = free.unwrap_or(self.clients.len());
        u16::try_from(slot)
            .ok()
            .filter(|&slot| slot < self.max_clients)
    }

    /// The port for a client that names a node: the node's first port. An empty name means the first node of the file.
    fn port_named(&self, name: &[u8]) -> Option<PortRef> {
        let node = if name.is_empty() {
            self.sim.nodes().indices().next()?
        } else {
            self.sim.find(core::str::from_utf8(name).ok()?)?
        };
        let switch = self.sim.node(node)?.is_switch();
        let port = if switch {
            PortNum::MANAGEMENT
        } else {
            PortNum(1)
        };
        Some(PortRef { node, port })
    }

    fn set_is_sm(&mut self, slot: usize, message: &Control) -> Option<()> {
        let on = message
            .data
            .first_chunk()
            .map(|word| i32::from_ne_bytes(*word) != 0)?;
        let port = self.clients.get(slot)?.as_ref()?.port;
        if on && self.manager_is_announced(port.node, Some(slot)) {
            return None;
        }
        self.clients.get_mut(slot)?.as_mut()?.is_sm = on;
        self.sim.set_is_sm(port, on).ok()
    }

    /// Joins the messages to a client from now on. The reply has the number of messages that the client may join.
    fn join_messages(&mut self, slot: usize, message: &mut Control) -> Option<()> {
        self.clients.get_mut(slot)?.as_mut()?.per_datagram = MAX_JOINED;
        message.set_data(&(MAX_JOINED as u32).to_ne_bytes());
        Some(())
    }

    /// Answers the questions about the port that a client is attached to.
    fn describe(&mut self, slot: usize, message: &mut Control) -> Option<()> {
        let port = self.clients.get(slot)?.as_ref()?.port;
        let node = self.sim.node(port.node)?;
        let here = self.sim.port(port)?;
        let guid = node.guid().0.to_ne_bytes();
        match message.type_.get() {
            control_type::GET_PORT => {
                let mut data = [0; 4];
                let lid = here.info().lid().0.to_ne_bytes();
                data[..2].copy_from_slice(&lid);
                data[2] = here.state().0;
                message.set_data(&data);
            }
            control_type::GET_VENDOR => {
                let info = node.node_info();
                let mut data = Vec::with_capacity(24);
                for word in [
                    info.vendor_id(),
                    info.device_id().into(),
                    info.revision(),
                    0,
                ] {
                    data.extend(word.to_ne_bytes());
                }
                // The firmware's version.
                data.extend(1u64.to_ne_bytes());
                message.set_data(&data);
            }
            control_type::GET_GID => {
                let prefix = here.info().gid_prefix().0.to_be_bytes();
                message.set_data(&[prefix, guid].concat());
            }
            control_type::GET_GUID => message.set_data(&guid),
            control_type::GET_NODE_INFO => {
                let info = self.sim.node_info(port)?;
                let mut data = [0; 64];
                data.iter_mut()
                    .zip(info.as_bytes())
                    .for_each(|(to, from)| *to = *from);
                message.set_data(&data);
            }
            control_type::GET_PORT_INFO => {
                let number = message.data.first().copied().filter(|&number| number != 0);
                let asked = PortRef {
                    node: port.node,
                    port: number.map_or(port.port, PortNum),
                };
                message.set_data(self.sim.port(asked)?.info().as_bytes());
            }
            control_type::GET_P_KEYS => {
                let keys: Vec<u8> = (0..32)
                    .flat_map(|index| here.sma().p_key(index).0.to_be_bytes())
                    .collect();
                message.set_data(&keys);
            }
            _ => return None,
        }
        Some(())
    }
}

impl Sim {
    /// NodeInfo as the agent shows it at a port.
    pub(super) fn node_info(&self, port: PortRef) -> Option<ib_smp::NodeInfo> {
        let mut info = *self.node(port.node)?.node_info();
        info.set_port_guid(self.port(port)?.guid())
            .set_local_port_num(port.port);
        Some(info)
    }
}
