//! One connection: its state and what the state needs.

use core::time::Duration;

use ib_wire::{Gid, Guid, Qpn};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use ib_mad::{Attribute, AttributeId, Call, Mad, MadAddress, MgmtClass, TransactionId};

/// State of a connection (IBA vol. 1, 12.9.7).
///
/// Idle and Listen are states of a service, not of a connection; a DREQ is answered at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConnectionState {
    /// Active: REQ was sent.
    ReqSent,
    /// Active: the other side has our REQ and needs more time.
    RepWait,
    /// Active: REP came, the consumer has the word.
    RepRcvd,
    /// Active: our MRA has asked the other side for more time for our RTU.
    MraRepSent,
    /// Passive: REQ came, the consumer has the word.
    ReqRcvd,
    /// Passive: our MRA has asked the other side for more time for our REP.
    MraReqSent,
    /// Passive: REP was sent.
    RepSent,
    /// Passive: the other side has our REP and needs more time.
    MraRepRcvd,
    /// The connection is established.
    Established,
    /// DREQ was sent.
    DreqSent,
    /// The connection is over; its packets may still arrive.
    TimeWait,
}

/// Our side of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// We sent the REQ.
    Active,
    /// We answer it.
    Passive,
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) role: Role,
    pub(super) state: ConnectionState,
    pub(super) address: MadAddress,
    /// The other side's number of the connection; 0 until it is known.
    pub(super) remote_id: u32,
    pub(super) remote_guid: Guid,
    pub(super) remote_qpn: Qpn,
    pub(super) local_qpn: Qpn,
    /// Transaction of the messages that set the connection up.
    pub(super) transaction: TransactionId,
    /// Of a peer-to-peer connection: where the other side's REQ would come from, and the service.
    pub(super) peer: Option<(Gid, u64)>,
    /// Time to wait for the other side's answer, both directions included.
    pub(super) response_time: Duration,
    /// Time that a packet needs there and back.
    pub(super) round_trip: Duration,
    pub(super) time_wait: Duration,
    pub(super) max_retries: u8,
    /// Repetitions of `message` so far.
    pub(super) retries: u8,
    /// The latest message: to be repeated if no answer comes, or if the other side repeats its own.
    pub(super) message: Option<Mad>,
    /// `message` waits to be sent.
    pub(super) is_queued: bool,
    /// DREQ goes out because the other side has forgotten the connection.
    pub(super) is_stale: bool,
}

impl Connection {
    /// Returns true if a message is out that the other side has to answer.
    pub(super) fn awaits_answer(&self) -> bool {
        use ConnectionState::{DreqSent, RepSent, ReqSent};

        matches!(self.state, ReqSent | RepSent | DreqSent)
    }

    /// Returns true if a message that names both numbers is of this connection.
    pub(super) fn is_with(&self, remote_id: u32) -> bool {
        self.remote_id == remote_id
    }

    /// Returns true if the message sent last is this one.
    pub(super) fn said_last(&self, attribute: AttributeId) -> bool {
        let message = self.message.as_ref();
        message.is_some_and(|mad| mad.header().attribute_id() == attribute)
    }
}

/// A message of the class.
pub(super) fn message<T>(address: MadAddress, transaction: TransactionId, body: &T) -> Mad
where
    T: Attribute + FromBytes + IntoBytes + Immutable + KnownLayout + Unaligned,
{
    let mut mad = Call::<T>::command(MgmtClass::COM_MGT, T::ID).request_with(address, body);
    mad.header_mut().set_transaction_id(transaction);
    mad
}
