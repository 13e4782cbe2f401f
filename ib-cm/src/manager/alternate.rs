//! Another alternate path for an established connection: LAP offers it, APR answers (IBA vol. 1, 12.8 and
//! 12.9.8).
//!
//! Moving to the path is the queue pair's work, not ours. Both directions are kept apart from the
//! connection's state: an offer that fails leaves the connection as it was.

use alloc::collections::BTreeMap;
use core::time::Duration;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{
    CmError, CmEvent, CommunicationManager, ConnectionId, ConnectionState, Outgoing, Role, Timers,
    message,
};
use crate::{Apr, AprStatus, Lap};
use ib_mad::{Attribute, Instant, Mad, TransactionId};

/// The offers of all connections: at most one in each direction.
#[derive(Debug)]
pub(super) struct AlternatePaths {
    ours: BTreeMap<u32, Offer>,
    theirs: BTreeMap<u32, Asked>,
    timers: Timers<u32>,
}

/// A LAP of ours that is not answered.
#[derive(Debug)]
struct Offer {
    lap: Mad,
    response_time: Duration,
    retries: u8,
    max_retries: u8,
    /// The other side has asked for more time.
    is_held: bool,
    is_queued: bool,
}

/// The last LAP of the other side.
#[derive(Debug)]
struct Asked {
    transaction: TransactionId,
    /// The reply to it: an MRA or an APR.
    answer: Option<Mad>,
    /// The APR was sent.
    is_answered: bool,
}

impl AlternatePaths {
    pub(super) const fn new() -> Self {
        Self {
            ours: BTreeMap::new(),
            theirs: BTreeMap::new(),
            timers: Timers::new(),
        }
    }

    /// Returns true if the other side waits for our word on its path.
    pub(super) fn is_asked(&self, id: u32) -> bool {
        self.theirs.get(&id).is_some_and(|asked| !asked.is_answered)
    }

    /// The other side wants more time until `until`, once for each LAP.
    pub(super) fn hold(&mut self, id: u32, until: Instant) {
        if let Some(offer) = self.ours.get_mut(&id)
            && !core::mem::replace(&mut offer.is_held, true)
        {
            self.timers.set(id, until);
        }
    }

    pub(super) fn forget(&mut self, id: u32) {
        self.ours.remove(&id);
        self.theirs.remove(&id);
        self.timers.stop(id);
    }

    /// The LAP of a connection, and the start of its time.
    pub(super) fn poll_lap(&mut self, now: Instant, id: u32) -> Option<Mad> {
        let offer = self.ours.get_mut(&id)?;
        offer.is_queued = false;
        self.timers.set(id, now.saturating_add(offer.response_time));
        Some(offer.lap)
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }
}

impl CommunicationManager {
    /// Offers another alternate path, with the numbers filled in.
    ///
    /// # Errors
    /// [`Unknown`](CmError::Unknown); [`WrongState`](CmError::WrongState) for a connection that is not
    /// established; [`Passive`](CmError::Passive) on the side that accepted it;
    /// [`PathOnOffer`](CmError::PathOnOffer) while an offer is open.
    pub fn load_path(&mut self, connection: ConnectionId, lap: &Lap) -> Result<(), CmError> {
        let id = connection.0;
        let entry = self.connections.get(id).ok_or(CmError::Unknown)?;
        let (state, round_trip) = (entry.state, entry.round_trip);
        if state != ConnectionState::Established {
            return Err(CmError::WrongState { state });
        }
        if entry.role == Role::Passive {
            return Err(CmError::Passive);
        }
        if self.paths.ours.contains_key(&id) {
            return Err(CmError::PathOnOffer);
        }
        let mut lap = *lap;
        lap.set_local_communication_id(id)
            .set_remote_communication_id(entry.remote_id)
            .set_remote_qpn_eecn(entry.remote_qpn);
        let (address, max_retries) = (entry.address, entry.max_retries);
        let offer = Offer {
            lap: message(address, self.fresh_transaction(), &lap),
            response_time: self.response_time(lap.remote_cm_response_timeout(), round_trip),
            retries: 0,
            max_retries,
            is_held: false,
            is_queued: true,
        };
        self.paths.ours.insert(id, offer);
        self.outbox.push(Outgoing::Lap(id));
        Ok(())
    }

    /// Answers an alternate path that the other side offers, with the numbers filled in;
    /// `apr.ap_status` takes or refuses it.
    ///
    /// # Errors
    /// [`Unknown`](CmError::Unknown) if no path is on offer.
    pub fn answer_path(&mut self, connection: ConnectionId, apr: &Apr) -> Result<(), CmError> {
        let id = connection.0;
        let entry = self.connections.get(id).ok_or(CmError::Unknown)?;
        if !self.paths.is_asked(id) {
            return Err(CmError::Unknown);
        }
        let mut apr = *apr;
        apr.set_local_communication_id(id)
            .set_remote_communication_id(entry.remote_id);
        self.answer_lap(id, &apr, true)
    }

    /// Says something to the LAP of the other side: an MRA, or the APR that answers it.
    pub(super) fn answer_lap<T>(&mut self, id: u32, body: &T, answers: bool) -> Result<(), CmError>
    where
        T: Attribute + FromBytes + IntoBytes + Immutable + KnownLayout + Unaligned,
    {
        let entry = self.connections.get(id).ok_or(CmError::Unknown)?;
        let asked = self.paths.theirs.get_mut(&id).ok_or(CmError::Unknown)?;
        let mad = message(entry.address, asked.transaction, body);
        asked.answer = Some(mad);
        asked.is_answered = answers;
        self.outbox.reply(mad);
        Ok(())
    }

    pub(super) fn handle_lap(&mut self, mad: &Mad, lap: &Lap) {
        let id = lap.remote_communication_id();
        let remote_id = lap.local_communication_id();
        let known = self
            .connections
            .get(id)
            .filter(|entry| entry.is_with(remote_id));
        let Some(entry) = known else {
            let status = AprStatus::INVALID_COMMUNICATION_INSTANCE;
            return self.refuse_path(mad, lap, status);
        };
        if entry.state != ConnectionState::Established {
            return;
        }
        if entry.local_qpn != lap.remote_qpn_eecn() {
            return self.refuse_path(mad, lap, AprStatus::INVALID_QPN_OR_EECN);
        }
        let transaction = mad.header().transaction_id();
        match self.paths.theirs.get(&id) {
            Some(asked) if asked.transaction == transaction => {
                if let Some(answer) = asked.answer {
                    self.outbox.reply(answer);
                }
            }
            // A new one replaces an old one that the other side no longer waits for.
            _ => {
                let asked = Asked {
                    transaction,
                    answer: None,
                    is_answered: false,
                };
                self.paths.theirs.insert(id, asked);
                self.events.push_back(CmEvent::PathOffered {
                    connection: ConnectionId(id),
                    lap: *lap,
                });
            }
        }
    }

    pub(super) fn handle_apr(&mut self, transaction: TransactionId, apr: &Apr) {
        let id = apr.remote_communication_id();
        let offer = self.paths.ours.get(&id);
        if offer.is_some_and(|offer| offer.lap.header().transaction_id() == transaction) {
            self.paths.ours.remove(&id);
            self.paths.timers.stop(id);
            self.events.push_back(CmEvent::PathAnswered {
                connection: ConnectionId(id),
                apr: *apr,
            });
        }
    }

    /// Repeats or gives up the offers that were not answered in time.
    pub(super) fn paths_timed_out(&mut self, now: Instant) {
        while let Some(id) = self.paths.timers.pop_due(now) {
            let Some(offer) = self.paths.ours.get_mut(&id) else {
                continue;
            };
            if offer.retries >= offer.max_retries {
                self.paths.ours.remove(&id);
                let connection = ConnectionId(id);
                self.events.push_back(CmEvent::PathTimedOut { connection });
                continue;
            }
            offer.retries = offer.retries.saturating_add(1);
            offer.is_held = false;
            if !core::mem::replace(&mut offer.is_queued, true) {
                self.outbox.push(Outgoing::Lap(id));
            }
        }
    }

    fn refuse_path(&mut self, mad: &Mad, lap: &Lap, status: AprStatus) {
        let mut apr = Apr::default();
        apr.set_local_communication_id(lap.remote_communication_id())
            .set_remote_communication_id(lap.local_communication_id())
            .set_ap_status(status);
        let transaction = mad.header().transaction_id();
        self.outbox.reply(message(mad.address, transaction, &apr));
    }
}
