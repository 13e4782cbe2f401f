//! A client's slot, and the datagrams that go through it.

use ib_mad::{Mad, MadAddress, MadHeader, Method, MgmtClass, RmppData, RmppType, TransactionId};
use ib_routing::PortRef;
use ib_transport::ibsim::Datagram;
use ib_wire::{Lid, QKey, Qpn, Sl};

use crate::event::Delivery;
use crate::frame::Frame;

use super::socket::{Address, Sent, Socket};

/// Bytes of the header of subnet administration after the RMPP header: SM_Key, AttributeOffset, ComponentMask.
const SA_HEADER: usize = 20;

/// A program that is attached to a port.
#[derive(Debug)]
pub(super) struct Client {
    /// Its process, or its UDP port.
    pub(super) id: u32,
    pub(super) port: PortRef,
    /// Queue pair that it wants datagrams for; 0: none.
    pub(super) qp: u32,
    pub(super) is_sm: bool,
    /// True once it has sent a request: such a client is not a server of a vendor's class.
    pub(super) has_asked: bool,
    pub(super) socket: Socket,
    /// The address of its control socket: control messages for the slot are taken from there only.
    pub(super) owner: Address,
    /// Number of messages that the client accepts in one datagram; 1 if messages to it are not joined.
    pub(super) per_datagram: usize,
    /// Messages to the client that are not sent yet.
    pub(super) posted: Vec<Datagram>,
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

    /// Sends the posted messages. Those that a client has no room for are lost: it does not read. Returns the messages
    /// that were left when the client turned out to be gone; none if it is there.
    pub(super) fn send_posted(&mut self) -> Vec<Datagram> {
        let mut done = 0;
        while let Some(rest) = self.posted.get(done..).filter(|rest| !rest.is_empty()) {
            done = match self.socket.send(rest, self.per_datagram) {
                Sent::Count(count) => done.saturating_add(count),
                // It may read meanwhile, so the next message is tried.
                Sent::Full => done.saturating_add(1),
                Sent::Gone => return self.posted.split_off(done),
            };
        }
        self.posted.clear();
        Vec::new()
    }
}

/// The transaction ID with the slot in its highest 16 bits, by which the answer finds its client.
fn with_slot(id: TransactionId, slot: usize) -> TransactionId {
    TransactionId(id.0 & 0x0000_ffff_ffff_ffff | (slot as u64 & 0xffff) << 48)
}

/// The length of a client's datagram, as it is passed on to the receiver.
///
/// A program that leaves RMPP to the layer below sends as many bytes as its message has. One that makes its segments
/// itself sends whole datagrams; the layer below would give their receiver what the last segment holds, and programs
/// take the number of records from that.
pub(super) fn length(message: &Datagram) -> u16 {
    let said = u16::try_from(message.length.get()).unwrap_or(Frame::PAYLOAD);
    if (1..Frame::PAYLOAD).contains(&said) {
        return said;
    }
    last_segment_length(&message.mad).unwrap_or(Frame::PAYLOAD)
}

/// Bytes of a datagram that holds the last segment of an answer of subnet administration, headers included.
fn last_segment_length(bytes: &[u8; Mad::LEN]) -> Option<u16> {
    let (header, rest) = MadHeader::parse(bytes, 0).ok()?;
    let (rmpp, data) = RmppData::parse(rest, MadHeader::LEN).ok()?;
    let last = header.mgmt_class() == MgmtClass::SUBN_ADM
        && rmpp.active()
        && rmpp.rmpp_type() == RmppType::DATA
        && rmpp.last();
    let payload = usize::try_from(rmpp.payload_length()).ok()?;
    let headers = Mad::LEN.checked_sub(data.len())?;
    // The header of subnet administration is part of the payload.
    let whole = (SA_HEADER..=data.len()).contains(&payload);
    u16::try_from(headers.checked_add(payload)?)
        .ok()
        .filter(|_| last && whole)
}

/// The slot that a transaction ID names.
pub(super) fn slot_of(id: TransactionId) -> usize {
    usize::from((id.0 >> 48) as u16)
}

/// Returns whether a datagram of subnet administration is an ACK, STOP or ABORT of RMPP.
pub(super) fn is_rmpp_control(mad: &Mad) -> bool {
    // RMPPType is the byte after RMPPVersion, which follows the common header.
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
        length: u64::from(delivery.length).into(),
        mad: delivery.mad.bytes,
    }
}

/// The datagram of a message that did not reach its client; `None` if the message gave a request back.
pub(super) fn undelivered(message: &Datagram) -> Option<Mad> {
    let mut mad = Mad::new(MadAddress {
        qpn: Qpn::try_new(message.sqp.get()).ok()?,
        ..MadAddress::gsi(message.slid.into(), Sl::ZERO)
    });
    mad.bytes = message.mad;
    (message.status.get() == 0).then_some(mad)
}

/// The message that gives a request back to its sender; `None` for a trap, which has no response.
pub(super) fn returned(mad: &Mad) -> Option<Datagram> {
    let mut bytes = mad.bytes;
    let (header, _) = MadHeader::parse_mut(&mut bytes, 0).ok()?;
    // The lost datagram may be the answer: its request is returned.
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

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::os::unix::net::UnixDatagram;

    use ib_routing::NodeIdx;
    use ib_wire::PortNum;

    use super::*;

    /// A client, and its end of the socket.
    fn joined() -> (Client, UnixDatagram) {
        let (socket, clients) = UnixDatagram::pair().unwrap();
        socket.set_nonblocking(true).unwrap();
        clients.set_nonblocking(true).unwrap();
        let client = Client {
            id: 1,
            port: PortRef {
                node: NodeIdx(0),
                port: PortNum(1),
            },
            qp: 0,
            is_sm: false,
            has_asked: false,
            socket: Socket::Unix(socket),
            owner: Address::Udp(SocketAddr::from((Ipv4Addr::LOCALHOST, 1))),
            per_datagram: 1,
            posted: Vec::new(),
        };
        (client, clients)
    }

    fn delivery(id: u64) -> Delivery {
        let mut mad = Mad::new(MadAddress::gsi(Lid(7), Sl::ZERO));
        mad.header_mut().set_transaction_id(TransactionId(id));
        Delivery {
            port: PortRef {
                node: NodeIdx(0),
                port: PortNum(1),
            },
            dest_qp: Qpn::GSI,
            dest_lid: Lid(9),
            length: 256,
            mad,
        }
    }

    fn ids(messages: &[Datagram]) -> Vec<u64> {
        let mads = messages.iter().filter_map(undelivered);
        mads.map(|mad| mad.header().transaction_id().0).collect()
    }

    fn read(clients: &UnixDatagram) -> Vec<Datagram> {
        let mut messages = Vec::new();
        let mut bytes = [0; Datagram::LEN];
        while let Ok(length) = clients.recv(&mut bytes) {
            messages.push(*Datagram::parse(&bytes[..length]).unwrap());
        }
        messages
    }

    #[test]
    fn posted_messages_are_sent_in_their_order() {
        let (mut client, clients) = joined();
        let messages = (0..50).map(|id| incoming(&delivery(id), 0));
        client.posted.extend(messages);
        assert_eq!(client.send_posted(), []);
        assert!(client.posted.is_empty());
        assert_eq!(ids(&read(&clients)), Vec::from_iter(0..50));
    }

    #[test]
    fn what_a_client_has_no_room_for_is_lost_and_it_is_served_again_when_it_reads() {
        let (mut client, clients) = joined();
        let messages = (0..10_000).map(|id| incoming(&delivery(id), 0));
        client.posted.extend(messages);
        assert_eq!(client.send_posted(), []);
        assert!(client.posted.is_empty());
        let arrived = ids(&read(&clients));
        assert!((1..10_000).contains(&arrived.len()), "{}", arrived.len());
        assert_eq!(arrived, Vec::from_iter(0..arrived.len() as u64));
        client.posted.push(incoming(&delivery(7), 0));
        assert_eq!(client.send_posted(), []);
        assert_eq!(ids(&read(&clients)), [7]);
    }

    #[test]
    fn messages_to_a_client_that_is_gone_are_left_over() {
        let (mut client, clients) = joined();
        drop(clients);
        let messages = (0..50).map(|id| incoming(&delivery(id), 0));
        client.posted.extend(messages);
        assert_eq!(ids(&client.send_posted()), Vec::from_iter(0..50));
    }

    #[test]
    fn a_datagram_that_did_not_reach_its_client_keeps_its_sender() {
        let sent = delivery(3);
        let mad = undelivered(&incoming(&sent, 0)).unwrap();
        assert_eq!((mad.address.lid, mad.address.qpn), (Lid(7), Qpn::GSI));
        assert_eq!(mad.bytes, sent.mad.bytes);
        let given_back = returned(&sent.mad).unwrap();
        assert_eq!(undelivered(&given_back), None);
    }
}
