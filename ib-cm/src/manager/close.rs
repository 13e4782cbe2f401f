//! The end of a connection: rejection, disconnection, silence, and the TimeWait after each (IBA vol. 1,
//! 12.9.7 and 12.10).

use super::{
    CloseReason, CmError, CmEvent, CommunicationManager, ConnectionId, ConnectionState, message,
};
use crate::{CmMessage, Drep, Dreq, Rej, RejInformation, RejReason};
use ib_mad::{Attribute, Instant, Mad};

impl CommunicationManager {
    /// Rejects a REQ or a REP, with the numbers filled in; `rej` has the reason.
    ///
    /// A connection of ours that is not answered yet is given up, whatever reason `rej` gives: the other
    /// side knows it only by the number that a [`TIMEOUT`](RejReason::TIMEOUT) goes with.
    ///
    /// # Errors
    /// [`Unknown`](CmError::Unknown), and [`WrongState`](CmError::WrongState) for a connection that is
    /// established or over.
    pub fn reject(&mut self, connection: ConnectionId, rej: &Rej) -> Result<(), CmError> {
        let id = connection.0;
        let entry = self.connections.get(id).ok_or(CmError::Unknown)?;
        let (about, mut rej) = match entry.state {
            ConnectionState::ReqRcvd | ConnectionState::MraReqSent => (CmMessage::REQ, *rej),
            ConnectionState::RepRcvd | ConnectionState::MraRepSent => (CmMessage::REP, *rej),
            ConnectionState::RepSent | ConnectionState::MraRepRcvd => (CmMessage::OTHER, *rej),
            ConnectionState::ReqSent | ConnectionState::RepWait => {
                (CmMessage::OTHER, self.timeout_rej(CmMessage::OTHER))
            }
            state => return Err(CmError::WrongState { state }),
        };
        rej.set_message_rejected(about)
            .set_local_communication_id(id)
            .set_remote_communication_id(entry.remote_id);
        let mad = message(entry.address, entry.transaction, &rej);
        self.end(id, CloseReason::RejectedHere, Some(mad));
        Ok(())
    }

    /// Takes a connection down: sends `dreq`, with the numbers filled in.
    ///
    /// # Errors
    /// [`Unknown`](CmError::Unknown), and [`WrongState`](CmError::WrongState) for a connection that is not
    /// established.
    pub fn disconnect(&mut self, connection: ConnectionId, dreq: &Dreq) -> Result<(), CmError> {
        let entry = self.connections.get(connection.0);
        match entry.ok_or(CmError::Unknown)?.state {
            ConnectionState::Established => {
                self.send_dreq(connection.0, dreq);
                Ok(())
            }
            state => Err(CmError::WrongState { state }),
        }
    }

    pub(super) fn send_dreq(&mut self, id: u32, dreq: &Dreq) {
        let transaction = self.fresh_transaction();
        let Some(entry) = self.connections.get_mut(id) else {
            return;
        };
        entry.state = ConnectionState::DreqSent;
        entry.retries = 0;
        let mut dreq = *dreq;
        dreq.set_local_communication_id(id)
            .set_remote_communication_id(entry.remote_id)
            .set_remote_qpn_eecn(entry.remote_qpn);
        let mad = message(entry.address, transaction, &dreq);
        self.paths.forget(id);
        self.send(id, mad);
    }

    /// A message was repeated as often as it may be.
    pub(super) fn give_up(&mut self, now: Instant, id: u32) {
        let Some(entry) = self.connections.get(id) else {
            return;
        };
        if entry.state == ConnectionState::DreqSent {
            let reason = match entry.is_stale {
                true => CloseReason::Stale,
                false => CloseReason::DisconnectTimedOut,
            };
            return self.close(now, id, reason, None);
        }
        let mut rej = self.timeout_rej(match entry.state {
            ConnectionState::RepSent => CmMessage::REP,
            _ => CmMessage::REQ,
        });
        rej.set_local_communication_id(id)
            .set_remote_communication_id(entry.remote_id);
        let mad = message(entry.address, entry.transaction, &rej);
        self.close(now, id, CloseReason::TimedOut, Some(mad));
    }

    /// Ends a connection; `last_words` answer whatever the other side still says.
    pub(super) fn close(
        &mut self,
        now: Instant,
        id: u32,
        reason: CloseReason,
        last_words: Option<Mad>,
    ) {
        self.end(id, reason, last_words);
        if let Some(entry) = self.connections.get(id) {
            self.timers.set(id, now.saturating_add(entry.time_wait));
        }
    }

    /// As [`close`](Self::close); TimeWait begins when `last_words` are sent.
    fn end(&mut self, id: u32, reason: CloseReason, last_words: Option<Mad>) {
        let Some(entry) = self.connections.get_mut(id) else {
            return;
        };
        entry.state = ConnectionState::TimeWait;
        entry.message = last_words;
        self.timers.stop(id);
        self.paths.forget(id);
        self.connections.settle_peer(id);
        self.send_again(id);
        let connection = ConnectionId(id);
        self.events
            .push_back(CmEvent::Closed { connection, reason });
    }

    pub(super) fn handle_rej(&mut self, now: Instant, rej: &Rej) {
        let Some(id) = self.rejected(rej) else {
            return;
        };
        let Some(entry) = self.connections.get(id) else {
            return;
        };
        let is_with = entry.is_with(rej.local_communication_id());
        let closes = match entry.state {
            ConnectionState::ReqSent | ConnectionState::RepWait => {
                // The peer has only not begun yet.
                let is_early =
                    entry.peer.is_some() && rej.reason() == RejReason::INVALID_SERVICE_ID;
                !is_early
            }
            ConnectionState::TimeWait => false,
            _ => is_with,
        };
        if closes {
            self.close(now, id, CloseReason::Rejected(*rej), None);
        }
    }

    /// The connection that a REJ ends.
    fn rejected(&self, rej: &Rej) -> Option<u32> {
        let id = rej.remote_communication_id();
        match rej.information() {
            // A side that gave up waiting for our REP has never learned our number.
            RejInformation::CaGuid(guid) if id == 0 => {
                let remote_id = rej.local_communication_id();
                self.connections.by_remote_id(guid, remote_id)
            }
            _ => Some(id),
        }
    }

    pub(super) fn handle_dreq(&mut self, now: Instant, mad: &Mad, dreq: &Dreq) {
        let id = dreq.remote_communication_id();
        let remote_id = dreq.local_communication_id();
        let mut drep = Drep::default();
        drep.set_local_communication_id(id)
            .set_remote_communication_id(remote_id);
        let mad = message(mad.address, mad.header().transaction_id(), &drep);
        let known = self
            .connections
            .get(id)
            .filter(|entry| entry.is_with(remote_id));
        let Some(entry) = known else {
            // A DREQ for a forgotten connection is answered, so that its sender need not wait.
            return self.outbox.reply(mad);
        };
        if entry.local_qpn != dreq.remote_qpn_eecn() {
            return;
        }
        match entry.state {
            ConnectionState::TimeWait if entry.said_last(Drep::ID) => self.send_again(id),
            ConnectionState::TimeWait | ConnectionState::ReqSent | ConnectionState::RepWait => {
                self.outbox.reply(mad)
            }
            // In RepSent the RTU was lost, in DreqSent both want the same.
            _ => self.close(now, id, CloseReason::DisconnectedByPeer(*dreq), Some(mad)),
        }
    }

    pub(super) fn handle_drep(&mut self, now: Instant, drep: &Drep) {
        let id = drep.remote_communication_id();
        let Some(entry) = self.connections.get(id) else {
            return;
        };
        if entry.state == ConnectionState::DreqSent && entry.is_with(drep.local_communication_id())
        {
            let reason = match entry.is_stale {
                true => CloseReason::Stale,
                false => CloseReason::Disconnected(*drep),
            };
            self.close(now, id, reason, None);
        }
    }

    /// Rejects a message that no connection of ours is about.
    pub(super) fn refuse(
        &mut self,
        mad: &Mad,
        local_id: u32,
        remote_id: u32,
        about: CmMessage,
        reason: RejReason,
        information: &[u8],
    ) {
        let rej = rej(local_id, remote_id, about, reason, information);
        let transaction = mad.header().transaction_id();
        self.outbox.reply(message(mad.address, transaction, &rej));
    }

    fn timeout_rej(&self, about: CmMessage) -> Rej {
        let guid = self.config.ca_guid.0.to_be_bytes();
        rej(0, 0, about, RejReason::TIMEOUT, &guid)
    }
}

pub(super) fn rej(
    local_id: u32,
    remote_id: u32,
    about: CmMessage,
    reason: RejReason,
    information: &[u8],
) -> Rej {
    let mut field = [0; 72];
    let mut len = 0;
    for (to, from) in field.iter_mut().zip(information) {
        *to = *from;
        len = u8::saturating_add(len, 1);
    }
    let mut rej = Rej::default();
    rej.set_local_communication_id(local_id)
        .set_remote_communication_id(remote_id)
        .set_message_rejected(about)
        .set_reason(reason)
        .set_reject_info_length(len)
        .set_additional_reject_information(&field);
    rej
}
