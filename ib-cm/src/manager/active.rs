//! The active side: REQ goes out, REP comes back, RTU confirms (IBA vol. 1, 12.9.7).

use core::time::Duration;

use ib_wire::{Guid, Qpn};

use super::{
    CloseReason, CmError, CmEvent, CommunicationManager, ConnectOptions, Connection, ConnectionId,
    ConnectionState, Role, message,
};
use crate::{CmMessage, Rej, RejReason, Rep, Req, Rtu};
use ib_mad::{Attribute, Instant, Mad, MadAddress, RespTime};

impl CommunicationManager {
    /// Connects: sends `req`, with the connection's number and the own CA's GUID in it.
    ///
    /// # Errors
    /// [`TooMany`](CmError::TooMany).
    pub fn connect(
        &mut self,
        address: MadAddress,
        req: &Req,
        options: ConnectOptions,
    ) -> Result<ConnectionId, CmError> {
        if self.connections.len() >= self.config.max_connections {
            return Err(CmError::TooMany);
        }
        let id = self.connections.fresh_id();
        let transaction = self.fresh_transaction();
        let mut req = *req;
        req.set_local_communication_id(id)
            .set_local_ca_guid(self.config.ca_guid);
        let peer_gid = req.primary_remote_port_gid();
        let round_trip = options.packet_life_time.duration().saturating_mul(2);
        let entry = Connection {
            role: Role::Active,
            state: ConnectionState::ReqSent,
            address,
            remote_id: 0,
            remote_guid: Guid(0),
            remote_qpn: Qpn::default(),
            local_qpn: req.local_qpn(),
            transaction,
            peer: options.peer_to_peer.then_some((peer_gid, req.service_id())),
            response_time: self.response_time(req.remote_cm_response_timeout(), round_trip),
            round_trip,
            time_wait: round_trip,
            max_retries: req.max_cm_retries(),
            retries: 0,
            message: None,
            is_queued: false,
            is_stale: false,
        };
        self.connections.insert(id, entry);
        self.send(id, message(address, transaction, &req));
        Ok(ConnectionId(id))
    }

    /// Confirms the other side's REP, with the numbers filled in: the connection is established.
    ///
    /// # Errors
    /// [`Unknown`](CmError::Unknown) and [`WrongState`](CmError::WrongState).
    pub fn confirm(&mut self, connection: ConnectionId, rtu: &Rtu) -> Result<(), CmError> {
        let id = connection.0;
        let entry = self.connections.get_mut(id).ok_or(CmError::Unknown)?;
        match entry.state {
            ConnectionState::RepRcvd | ConnectionState::MraRepSent => {}
            state => return Err(CmError::WrongState { state }),
        }
        entry.state = ConnectionState::Established;
        entry.retries = 0;
        let mut rtu = *rtu;
        rtu.set_local_communication_id(id)
            .set_remote_communication_id(entry.remote_id);
        let mad = message(entry.address, entry.transaction, &rtu);
        self.send(id, mad);
        Ok(())
    }

    /// Time to wait for an answer, of which the REQ says the code.
    pub(super) fn response_time(&self, code: u8, round_trip: Duration) -> Duration {
        let time = RespTime::from_bits(code).duration();
        time.saturating_add(round_trip).min(self.config.max_wait)
    }

    pub(super) fn handle_rep(&mut self, now: Instant, mad: &Mad, rep: &Rep) {
        let id = rep.remote_communication_id();
        let remote_id = rep.local_communication_id();
        let Some(entry) = self.connections.get_mut(id) else {
            let reason = RejReason::INVALID_COMMUNICATION_ID;
            return self.refuse(mad, id, remote_id, CmMessage::REP, reason, &[]);
        };
        match entry.state {
            ConnectionState::ReqSent | ConnectionState::RepWait => self.replied(now, id, mad, rep),
            ConnectionState::TimeWait if entry.said_last(Rej::ID) => self.send_again(id),
            _ if entry.role == Role::Passive => {}
            // The other side's second try, or that of a third party: it accepted a REQ twice.
            _ if !entry.is_with(remote_id) => {
                let reason = RejReason::INVALID_COMMUNICATION_ID;
                self.refuse(mad, id, remote_id, CmMessage::REP, reason, &[]);
            }
            // MRA or RTU was lost.
            ConnectionState::MraRepSent | ConnectionState::Established => self.send_again(id),
            _ => {}
        }
    }

    fn replied(&mut self, now: Instant, id: u32, mad: &Mad, rep: &Rep) {
        let (guid, qpn) = (rep.local_ca_guid(), rep.local_qpn());
        let remote_id = rep.local_communication_id();
        if let Some(older) = self.queue_pair_in_use(guid, qpn) {
            let about = CmMessage::REP;
            let rej = super::close::rej(id, remote_id, about, RejReason::STALE_CONNECTION, &[]);
            let mad = message(mad.address, mad.header().transaction_id(), &rej);
            self.close(now, id, CloseReason::Stale, Some(mad));
            return self.forgotten_by_peer(now, older);
        }
        self.connections
            .set_remote(id, guid, remote_id, (qpn.bits() != 0).then_some(qpn));
        self.timers.stop(id);
        let Some(entry) = self.connections.get_mut(id) else {
            return;
        };
        entry.state = ConnectionState::RepRcvd;
        entry.message = None;
        entry.time_wait = entry
            .round_trip
            .saturating_add(RespTime::from_bits(rep.target_ack_delay()).duration());
        self.events.push_back(CmEvent::Replied {
            connection: ConnectionId(id),
            rep: *rep,
        });
    }
}
