//! A client's slot, and the datagrams that go through it.

use ib_mad::{Mad, MadAddress, MadHeader, Method, MgmtClass, RmppData, RmppType, TransactionId};
use ib_routing::PortRef;
use ib_transport::ibsim::Datagram;
use ib_wire::{Lid, QKey, Qpn, Sl};
use zerocopy::IntoBytes;

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
