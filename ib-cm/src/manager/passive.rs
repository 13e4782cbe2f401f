//! The passive side: REQ comes, REP goes out, RTU comes back (IBA vol. 1, 12.9.7).

use core::time::Duration;

use ib_wire::Qpn;

use super::{
    CLASS_VERSION, CmError, CmEvent, CommunicationManager, Connection, ConnectionId,
    ConnectionState, Role, message,
};
use crate::{CmMessage, Rej, RejReason, Rep, Req, Rtu, TransportService};
use ib_mad::{Attribute, Instant, Mad, RespTime};

impl CommunicationManager {
    /// Accepts a request: sends `rep`, with the numbers and the own CA's GUID filled in.
    ///
    /// # Errors
    /// [`Unknown`](CmError::Unknown) and [`WrongState`](CmError::WrongState).
    pub fn accept(&mut self, connection: ConnectionId, rep: &Rep) -> Result<(), CmError> {
        let id = connection.0;
        let entry = self.connections.get_mut(id).ok_or(CmError::Unknown)?;
        match entry.state {
            ConnectionState::ReqRcvd | ConnectionState::MraReqSent => {}
            state => return Err(CmError::WrongState { state }),
        }
        entry.state = ConnectionState::RepSent;
        entry.local_qpn = rep.local_qpn();
        entry.time_wait = entry
            .round_trip
            .saturating_add(RespTime::from_bits(rep.target_ack_delay()).duration());
        let mut rep = *rep;
        rep.set_local_communication_id(id)
            .set_remote_communication_id(entry.remote_id)
            .set_local_ca_guid(self.config.ca_guid);
        let mad = message(entry.address, entry.transaction, &rep);
        self.send(id, mad);
        Ok(())
    }

    /// Reports that data came over a connection whose RTU has not: it is established (IBA vol. 1, 12.9.7).
    pub fn data_arrived(&mut self, connection: ConnectionId) {
        self.established(connection.0, None);
    }

    pub(super) fn handle_req(&mut self, now: Instant, mad: &Mad, req: &Req) {
        let guid = req.local_ca_guid();
        if let Some(id) = self
            .connections
            .by_remote_id(guid, req.local_communication_id())
        {
            return self.handle_req_again(id, mad, req);
        }
        if uses_queue_pair(req)
            && let Some(older) = self.queue_pair_in_use(guid, req.local_qpn())
        {
            self.refuse_req(mad, req, RejReason::STALE_CONNECTION);
            return self.forgotten_by_peer(now, older);
        }
        if let Some(id) = self
            .connections
            .peer(req.primary_local_port_gid(), req.service_id())
        {
            return self.handle_peer_req(id, mad, req);
        }
        if !self.serves(req.service_id()) {
            return self.refuse_req(mad, req, RejReason::INVALID_SERVICE_ID);
        }
        if self.connections.len() >= self.config.max_connections {
            return self.refuse_req(mad, req, RejReason::NO_RESOURCES);
        }
        let id = self.connections.fresh_id();
        let way = self.config.packet_life_time.duration();
        let entry = self.requested(mad, req, way.saturating_mul(2));
        self.connections.insert(id, entry);
        self.ask_consumer(id, mad, req);
    }

    /// A connection as a REQ wants it.
    pub(super) fn requested(&self, mad: &Mad, req: &Req, round_trip: Duration) -> Connection {
        Connection {
            role: Role::Passive,
            state: ConnectionState::ReqRcvd,
            address: mad.address,
            remote_id: req.local_communication_id(),
            remote_guid: req.local_ca_guid(),
            remote_qpn: req.local_qpn(),
            local_qpn: Qpn::default(),
            transaction: mad.header().transaction_id(),
            peer: None,
            response_time: self.response_time(req.local_cm_response_timeout(), round_trip),
            round_trip,
            time_wait: round_trip,
            max_retries: req.max_cm_retries(),
            retries: 0,
            message: None,
            is_queued: false,
            is_stale: false,
        }
    }

    pub(super) fn ask_consumer(&mut self, id: u32, mad: &Mad, req: &Req) {
        self.connections.set_remote(
            id,
            req.local_ca_guid(),
            req.local_communication_id(),
            uses_queue_pair(req).then_some(req.local_qpn()),
        );
        self.events.push_back(CmEvent::Requested {
            connection: ConnectionId(id),
            req: *req,
            address: mad.address,
        });
    }

    /// A REQ whose number is known: the same again, or another with a number that is taken.
    fn handle_req_again(&mut self, id: u32, mad: &Mad, req: &Req) {
        let Some(entry) = self.connections.get(id) else {
            return;
        };
        if entry.role == Role::Active && entry.peer.is_some() {
            // The REQ that lost against ours, late.
            return;
        }
        if entry.transaction != mad.header().transaction_id() {
            return self.refuse_req(mad, req, RejReason::DUPLICATE_LOCAL_COMMUNICATION_ID);
        }
        match entry.state {
            ConnectionState::MraReqSent | ConnectionState::RepSent => self.send_again(id),
            ConnectionState::TimeWait if entry.said_last(Rej::ID) => self.send_again(id),
            // The consumer has the word, or the REQ is a late copy.
            _ => {}
        }
    }

    pub(super) fn handle_rtu(&mut self, rtu: &Rtu) {
        let id = rtu.remote_communication_id();
        let entry = self.connections.get(id);
        if entry.is_some_and(|entry| entry.is_with(rtu.local_communication_id())) {
            self.established(id, Some(*rtu));
        }
    }

    fn established(&mut self, id: u32, rtu: Option<Rtu>) {
        let Some(entry) = self.connections.get_mut(id) else {
            return;
        };
        if !matches!(
            entry.state,
            ConnectionState::RepSent | ConnectionState::MraRepRcvd
        ) {
            return;
        }
        entry.state = ConnectionState::Established;
        entry.retries = 0;
        entry.message = None;
        self.timers.stop(id);
        let connection = ConnectionId(id);
        self.events
            .push_back(CmEvent::Established { connection, rtu });
    }

    /// Refuses a REQ of another version of the class.
    pub(super) fn refuse_version(&mut self, mad: &Mad, req: &Req) {
        let remote_id = req.local_communication_id();
        let (about, reason) = (CmMessage::REQ, RejReason::INVALID_CLASS_VERSION);
        self.refuse(mad, 0, remote_id, about, reason, &[CLASS_VERSION]);
    }

    fn refuse_req(&mut self, mad: &Mad, req: &Req, reason: RejReason) {
        let remote_id = req.local_communication_id();
        self.refuse(mad, 0, remote_id, CmMessage::REQ, reason, &[]);
    }
}

/// Returns true if the sender's queue pair is of this connection alone; a reliable datagram's serves many.
fn uses_queue_pair(req: &Req) -> bool {
    req.transport_service_type() != TransportService::RD && req.local_qpn().bits() != 0
}
