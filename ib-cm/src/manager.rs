//! The communication manager: sets connections up, moves their paths and takes them down (IBA vol. 1,
//! chapter 12; states and transitions 12.9).
//!
//! The side that connects is active, the side that answers passive: REQ, REP and RTU make a connection,
//! DREQ and DREP end it, LAP and APR give it another alternate path; SIDR_REQ and SIDR_REP only ask for
//! a queue pair. Pitfall: every message may be lost, late or repeated, and either side may have
//! forgotten the other. The time-outs and repetitions of both sides come from the REQ, an MRA asks for
//! more time, a REJ says why not, and who answers a message sends the answer again when the message
//! comes again. Get(ClassPortInfo) says what the manager can do.

mod active;
mod agent;
mod alternate;
mod close;
mod config;
mod connection;
mod connections;
mod event;
mod outbox;
mod passive;
mod peer;
mod resolve;
mod stale;
#[cfg(test)]
mod tests;
mod timers;

use alloc::{collections::VecDeque, vec::Vec};

use self::{
    alternate::AlternatePaths,
    connection::{Connection, Role, message},
    connections::Connections,
    outbox::{Outbox, Outgoing},
    resolve::Resolver,
    timers::Timers,
};
pub use self::{
    config::{CmConfig, ConnectOptions},
    connection::ConnectionState,
    event::{CloseReason, CmError, CmEvent, ConnectionId, QueryId, ResolutionId},
};
use super::{CmMessage, Mra};
use crate::CmAttribute;
use ib_mad::{Engine, Input, Instant, Mad, Method, MgmtClass, TransactionId};

/// Version of the class that is spoken here.
const CLASS_VERSION: u8 = MgmtClass::COM_MGT.version();

/// Both sides of every connection of a CA, and both sides of service ID resolution.
///
/// Commands only queue work. The manager fills in the numbers and transaction IDs of the messages that
/// commands hand over. Messages that no connection knows are answered as the specification wants, and
/// never remembered; memory is bounded by [`CmConfig`].
///
/// ```
/// use ib_cm::{CmConfig, CmEvent, CommunicationManager, ConnectOptions, Rep, Req, Rtu};
/// use ib_mad::{Engine, Input, Instant, MadAddress};
/// use ib_wire::{Guid, Lid, Qpn, Sl};
///
/// let manager = |guid| CommunicationManager::new(CmConfig { ca_guid: Guid(guid), ..CmConfig::default() });
/// let (mut client, mut server) = (manager(1), manager(2));
/// let now = Instant::ZERO;
/// let carry = |from: &mut CommunicationManager, to: &mut CommunicationManager| {
///     while let Some(mad) = from.poll_transmit(now) {
///         to.handle_input(now, Input::Mad(&mad));
///     }
/// };
///
/// server.listen(0x1234, u64::MAX);
/// let mut req = Req::default();
/// req.set_service_id(0x1234)
///     .set_local_qpn(Qpn::try_new(0x48)?)
///     .set_remote_cm_response_timeout(20)
///     .set_local_cm_response_timeout(20)
///     .set_max_cm_retries(15);
/// let address = MadAddress::gsi(Lid(7), Sl::ZERO);
/// client.connect(address, &req, ConnectOptions::default())?;
/// carry(&mut client, &mut server);
///
/// let Some(CmEvent::Requested { connection, .. }) = server.poll_event() else {
///     panic!("no request");
/// };
/// server.accept(connection, &Rep::default())?;
/// carry(&mut server, &mut client);
///
/// let Some(CmEvent::Replied { connection, .. }) = client.poll_event() else {
///     panic!("no reply");
/// };
/// client.confirm(connection, &Rtu::default())?;
/// carry(&mut client, &mut server);
/// assert!(matches!(server.poll_event(), Some(CmEvent::Established { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CommunicationManager {
    config: CmConfig,
    /// Service IDs that are served, each with the bits of it that count.
    services: Vec<(u64, u64)>,
    connections: Connections,
    paths: AlternatePaths,
    resolver: Resolver,
    timers: Timers<u32>,
    outbox: Outbox,
    events: VecDeque<CmEvent>,
    next_transaction: TransactionId,
}

impl CommunicationManager {
    /// A manager without connections, which serves nothing.
    #[must_use]
    pub fn new(config: CmConfig) -> Self {
        Self {
            services: Vec::new(),
            connections: Connections::new(config.first_communication_id),
            paths: AlternatePaths::new(),
            resolver: Resolver::new(config),
            timers: Timers::new(),
            outbox: Outbox::new(config.max_replies),
            events: VecDeque::new(),
            next_transaction: config.first_transaction_id,
            config,
        }
    }

    /// Serves the service IDs that equal `service_id` in the bits of `mask`.
    pub fn listen(&mut self, service_id: u64, mask: u64) {
        self.services.push((service_id & mask, mask));
    }

    /// Ends what [`listen`](Self::listen) began with the same numbers.
    pub fn unlisten(&mut self, service_id: u64, mask: u64) {
        self.services
            .retain(|&service| service != (service_id & mask, mask));
    }

    /// Asks the other side for more time, `mra.service_timeout`: for our REP, our RTU or our APR,
    /// whichever it waits for.
    ///
    /// # Errors
    /// [`Unknown`](CmError::Unknown) and [`WrongState`](CmError::WrongState).
    pub fn delay(&mut self, connection: ConnectionId, mra: &Mra) -> Result<(), CmError> {
        let entry = self
            .connections
            .get_mut(connection.0)
            .ok_or(CmError::Unknown)?;
        let mut mra = *mra;
        mra.set_local_communication_id(connection.0)
            .set_remote_communication_id(entry.remote_id);
        let (next, about) = match entry.state {
            ConnectionState::ReqRcvd | ConnectionState::MraReqSent => {
                (ConnectionState::MraReqSent, CmMessage::REQ)
            }
            ConnectionState::RepRcvd | ConnectionState::MraRepSent => {
                (ConnectionState::MraRepSent, CmMessage::REP)
            }
            ConnectionState::Established if self.paths.is_asked(connection.0) => {
                mra.set_message_mraed(CmMessage::OTHER);
                return self.answer_lap(connection.0, &mra, false);
            }
            state => return Err(CmError::WrongState { state }),
        };
        mra.set_message_mraed(about);
        entry.state = next;
        let mad = message(entry.address, entry.transaction, &mra);
        self.send(connection.0, mad);
        Ok(())
    }

    /// The state of a connection; `None` once it is released.
    #[must_use]
    pub fn state(&self, connection: ConnectionId) -> Option<ConnectionState> {
        Some(self.connections.get(connection.0)?.state)
    }

    /// Connections, those in TimeWait included.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Resolutions of our own that are open.
    #[must_use]
    pub fn resolutions(&self) -> usize {
        self.resolver.resolutions()
    }

    /// Resolutions of others that are open or remembered.
    #[must_use]
    pub fn queries(&self) -> usize {
        self.resolver.queries()
    }

    fn serves(&self, service_id: u64) -> bool {
        let mut services = self.services.iter();
        services.any(|&(served, mask)| service_id & mask == served)
    }

    fn fresh_transaction(&mut self) -> TransactionId {
        let id = self.next_transaction;
        self.next_transaction = id.with_low(id.low().wrapping_add(1));
        id
    }

    /// Sends a connection's next message; one that still waits to be sent is no longer true.
    fn send(&mut self, id: u32, mad: Mad) {
        if let Some(entry) = self.connections.get_mut(id) {
            entry.message = Some(mad);
            self.send_again(id);
        }
    }

    /// Sends a connection's last message once more. Its time-out goes on.
    fn send_again(&mut self, id: u32) {
        if let Some(entry) = self.connections.get_mut(id)
            && entry.message.is_some()
            && !core::mem::replace(&mut entry.is_queued, true)
        {
            self.outbox.push(Outgoing::Connection(id));
        }
    }

    /// Takes in an MRA: what it is about is not sent again for a while.
    fn handle_mra(&mut self, now: Instant, mra: &Mra) {
        let id = mra.remote_communication_id();
        let Some(entry) = self.connections.get_mut(id) else {
            return;
        };
        let service_time = ib_mad::RespTime::from_bits(mra.service_timeout()).duration();
        let wait = service_time.saturating_add(entry.round_trip);
        let until = now.saturating_add(wait.min(self.config.max_wait));
        let is_with = entry.is_with(mra.local_communication_id());
        // A second MRA has no effect: the wait is never longer than one MRA allows.
        match (entry.state, mra.message_mraed()) {
            (ConnectionState::ReqSent, CmMessage::REQ) => {
                entry.state = ConnectionState::RepWait;
                self.timers.set(id, until);
            }
            (ConnectionState::RepSent, CmMessage::REP) if is_with => {
                entry.state = ConnectionState::MraRepRcvd;
                self.timers.set(id, until);
            }
            (ConnectionState::Established, CmMessage::OTHER) if is_with => {
                self.paths.hold(id, until);
            }
            _ => {}
        }
    }

    fn handle_mad(&mut self, now: Instant, mad: &Mad) {
        let header = mad.header();
        match header.method() {
            _ if header.mgmt_class() != MgmtClass::COM_MGT => return,
            Method::GET | Method::SET => return self.handle_request(mad),
            Method::SEND if header.base_version() == 1 => {}
            _ => return,
        }
        let message = CmAttribute::parse(header.attribute_id(), &mad.bytes);
        if header.class_version() != CLASS_VERSION {
            if let CmAttribute::Req(req) = message {
                self.refuse_version(mad, req);
            }
            return;
        }
        match message {
            CmAttribute::Req(req) => self.handle_req(now, mad, req),
            CmAttribute::Mra(mra) => self.handle_mra(now, mra),
            CmAttribute::Rej(rej) => self.handle_rej(now, rej),
            CmAttribute::Rep(rep) => self.handle_rep(now, mad, rep),
            CmAttribute::Rtu(rtu) => self.handle_rtu(rtu),
            CmAttribute::Dreq(dreq) => self.handle_dreq(now, mad, dreq),
            CmAttribute::Drep(drep) => self.handle_drep(now, drep),
            CmAttribute::Lap(lap) => self.handle_lap(mad, lap),
            CmAttribute::Apr(apr) => self.handle_apr(header.transaction_id(), apr),
            CmAttribute::SidrReq(req) => self.handle_sidr_req(now, mad, req),
            CmAttribute::SidrRep(rep) => self.handle_sidr_rep(rep),
            _ => {}
        }
    }

    /// A connection's time is over: its message goes out again, or nothing more is waited for.
    fn timed_out(&mut self, now: Instant, id: u32) {
        use ConnectionState::{DreqSent, MraRepRcvd, RepSent, RepWait, ReqSent, TimeWait};

        let Some(entry) = self.connections.get_mut(id) else {
            return;
        };
        entry.state = match entry.state {
            ReqSent | RepWait => ReqSent,
            RepSent | MraRepRcvd => RepSent,
            DreqSent => DreqSent,
            TimeWait => {
                self.connections.remove(id);
                let connection = ConnectionId(id);
                return self.events.push_back(CmEvent::Released { connection });
            }
            // No other state has a time-out.
            _ => return,
        };
        if entry.retries < entry.max_retries {
            entry.retries = entry.retries.saturating_add(1);
            self.send_again(id);
        } else {
            self.give_up(now, id);
        }
    }
}

impl Engine for CommunicationManager {
    type Input<'a> = Input<'a>;
    type Transmit = Mad;
    type Event = CmEvent;

    fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        match input {
            Input::Mad(mad) => self.handle_mad(now, mad),
            // A datagram that was not sent counts as lost: its time-out repeats it.
            Input::SendFailed(_) | Input::Returned(_) => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(id) = self.timers.pop_due(now) {
            self.timed_out(now, id);
        }
        self.paths_timed_out(now);
        self.resolver.handle_timeout(now, &mut self.events);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        while let Some(outgoing) = self.outbox.pop() {
            let mad = match outgoing {
                Outgoing::Connection(id) => self.connection_message(now, id),
                Outgoing::Lap(id) => self.paths.poll_lap(now, id),
                Outgoing::Reply(mad) => Some(*mad),
            };
            if mad.is_some() {
                return mad;
            }
        }
        self.resolver.poll_transmit(now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let timeouts = [
            self.timers.next(),
            self.paths.poll_timeout(),
            self.resolver.poll_timeout(),
        ];
        Instant::earliest(timeouts)
    }

    fn poll_event(&mut self) -> Option<CmEvent> {
        self.events.pop_front()
    }
}

impl CommunicationManager {
    /// The message of a connection that goes out now, and the start of the time that it sets.
    fn connection_message(&mut self, now: Instant, id: u32) -> Option<Mad> {
        let entry = self.connections.get_mut(id)?;
        entry.is_queued = false;
        let mad = entry.message?;
        let wait = match entry.state {
            ConnectionState::TimeWait => Some(entry.time_wait),
            _ if entry.awaits_answer() => Some(entry.response_time),
            _ => None,
        };
        if let Some(wait) = wait
            && !self.timers.is_set(id)
        {
            self.timers.set(id, now.saturating_add(wait));
        }
        Some(mad)
    }
}
