//! A client's slot: attaching, the questions of its control messages, its datagrams.

use ib_mad::{Mad, MadAddress, MadHeader, Method, MgmtClass, TransactionId};
use ib_routing::PortRef;
use ib_transport::ibsim::{ClientInfo, Control, Datagram, control_type};
use ib_wire::{Lid, PortNum, QKey, Qpn, Sl};
use zerocopy::{FromBytes, IntoBytes};

use crate::event::Delivery;
use crate::sim::Sim;

use super::poller::Ready;
use super::socket::{Sender, Sent, Socket};
use super::{Server, with_slot};

/// A program that is attached to a port.
#[derive(Debug)]
pub(super) struct Client {
    /// Its process, or its UDP port.
    pub(super) id: u32,
    pub(super) port: PortRef,
    /// Queue pair that it wants datagrams for; 0: none.
    pub(super) qp: u32,
    pub(super) is_sm: bool,
    /// Whether it has sent a request: who has is no server of a vendor's class.
    pub(super) has_asked: bool,
    pub(super) socket: Socket,
}

impl Client {
    /// The port and the datagram to send for a message; `None` for one that no port would send.
    pub(super) fn outgoing(&mut self, slot: usize, message: &Datagram) -> Option<(PortRef, Mad)> {
        let mut mad = Mad::new(MadAddress {
            lid: message.dlid.into(),
            qpn: Qpn::try_new(message.dqp.get()).ok()?,
            qkey: QKey::GSI,
            sl: Sl::ZERO,
            path_bits: Lid::from(message.slid).0 as u8 & 0x7f,
            pkey_index: 0,
            grh: None,
        });
        mad.bytes = message.mad;
        let (header, _) = MadHeader::parse_mut(&mut mad.bytes, 0).ok()?;
        if header.base_version() != 1 || header.class_version() > 2 {
            return None;
        }
        if !header.method().is_response() {
            let id = with_slot(header.transaction_id(), slot);
            header.set_transaction_id(id);
            self.has_asked |= header.mgmt_class() != MgmtClass::SUBN_DIRECTED;
        }
        Some((self.port, mad))
    }

    pub(super) fn send(&self, message: &Datagram) -> Sent {
        self.socket.send(message.as_bytes())
    }
}

/// The slot that a transaction ID names.
pub(super) fn slot_of(id: TransactionId) -> usize {
    usize::from((id.0 >> 48) as u16)
}

/// Whether a datagram of subnet administration is an ACK, STOP or ABORT of RMPP.
pub(super) fn is_rmpp_control(mad: &Mad) -> bool {
    // RMPPType, the byte behind RMPPVersion, which follows the common header.
    let rmpp_type = mad.bytes.get(MadHeader::LEN.saturating_add(1));
    mad.header().mgmt_class() == MgmtClass::SUBN_ADM
        && rmpp_type.is_some_and(|type_| (2..=4).contains(type_))
}

/// The message that brings a datagram to its client.
pub(super) fn incoming(delivery: &Delivery, status: u32) -> Datagram {
    Datagram {
        dlid: delivery.dest_lid.into(),
        slid: delivery.mad.address.lid.into(),
        dqp: delivery.dest_qp.bits().into(),
        sqp: delivery.mad.address.qpn.bits().into(),
        status: status.into(),
        padding: [0; 4],
        length: (Mad::LEN as u64).into(),
        mad: delivery.mad.bytes,
    }
}

/// The message that gives a request back to its sender; `None` where nobody waits for an answer.
pub(super) fn returned(mad: &Mad) -> Option<Datagram> {
    let mut bytes = mad.bytes;
    let (header, _) = MadHeader::parse_mut(&mut bytes, 0).ok()?;
    // What was lost may be the answer already: its request is what comes back.
    let method = Method(header.method().0 & 0x7f);
    if matches!(method, Method::TRAP | Method::TRAP_REPRESS) {
        return None;
    }
    header.set_method(method);
    Some(Datagram {
        dlid: mad.address.lid.into(),
        slid: mad.address.lid.into(),
        dqp: mad.address.qpn.bits().into(),
        sqp: mad.address.qpn.bits().into(),
        status: Datagram::TIMED_OUT.into(),
        padding: [0; 4],
        length: (Mad::LEN as u64).into(),
        mad: bytes,
    })
}

impl Server {
    /// Answers a control message. A type that nobody knows comes back as it was.
    pub(super) fn answer_control(&mut self, mut message: Control, from: &Sender) -> Control {
        let type_ = message.type_.get();
        let slot = message.client_id.get() as usize;
        let answered = match type_ {
            control_type::CONNECT => self.connect(&mut message, from),
            control_type::DISCONNECT => self.is_client(slot).map(|()| self.disconnect(slot)),
            control_type::SET_ISSM => self.set_is_sm(slot, &message),
            control_type::GET_PORT..=control_type::GET_P_KEYS => self.describe(slot, &mut message),
            _ => Some(()),
        };
        if answered.is_none() {
            message.type_ = control_type::ERROR.into();
        }
        message
    }

    pub(super) fn disconnect(&mut self, slot: usize) {
        let Some(client) = self.clients.get_mut(slot).and_then(Option::take) else {
            return;
        };
        let mut others = self.clients.iter().flatten();
        if !others.any(|other| other.port == client.port) {
            self.sim.detach(client.port);
        }
        if client.is_sm {
            // The port was there when the client attached, and ports do not go away.
            let _ = self.sim.set_is_sm(client.port, false);
        }
    }

    fn is_client(&self, slot: usize) -> Option<()> {
        self.clients.get(slot)?.as_ref().map(|_| ())
    }

    fn connect(&mut self, message: &mut Control, from: &Sender) -> Option<()> {
        let (mut info, _) = ClientInfo::read_from_prefix(&message.data).ok()?;
        let port = self.port_named(info.node_name())?;
        let is_sm = info.issm.get() != 0;
        let mut clients = self.clients.iter().flatten();
        if is_sm && clients.any(|other| other.is_sm && other.port.node == port.node) {
            return None;
        }
        let id = info.id.get();
        // A process that attaches again has lost its first attachment.
        let stale = self.clients.iter().position(|client| {
            client
                .as_ref()
                .is_some_and(|client| client.id == id && client.port == port)
        });
        if let (Some(slot), super::Listen::Unix(_)) = (stale, &self.listen) {
            self.disconnect(slot);
        }
        let slot = self.free_slot()?;
        let socket = Socket::data(&self.listen, slot, id, from).ok()?;
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
        });
        info.id = u32::from(slot).into();
        if let Some(node) = self.sim.node(port.node) {
            info.set_node_name(node.name().as_bytes());
        }
        message.set_data(info.as_bytes());
        Some(())
    }

    /// The first slot that nobody has. When all are taken, those of clients that are gone are given free.
    fn free_slot(&mut self) -> Option<u16> {
        let free = self.clients.iter().position(Option::is_none);
        let slot = free.unwrap_or(self.clients.len());
        u16::try_from(slot)
            .ok()
            .filter(|&slot| slot < self.max_clients)
    }

    /// Where a client that names a node is attached: its first port. Without a name: the first node of the file.
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
        let client = self.clients.get(slot)?.as_ref()?;
        let port = client.port;
        let mut clients = self.clients.iter().enumerate();
        let taken = clients.any(|(other, client)| {
            other != slot
                && client
                    .as_ref()
                    .is_some_and(|other| other.is_sm && other.port.node == port.node)
        });
        if on && taken {
            return None;
        }
        self.clients.get_mut(slot)?.as_mut()?.is_sm = on;
        self.sim.set_is_sm(port, on).ok()
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
