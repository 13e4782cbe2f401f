//! Service ID resolution: which queue pair serves the datagrams of a service (IBA vol. 1, 12.11).
//!
//! It has no connection and no state but its repetition: SIDR_REQ until SIDR_REP or silence on one side,
//! and on the other an answer that is remembered for a while.

use alloc::collections::{BTreeMap, VecDeque};

use ib_wire::{Gid, Qpn};

use super::{
    CmConfig, CmError, CmEvent, CommunicationManager, QueryId, ResolutionId, Timers, message,
};
use crate::{SidrRep, SidrReq, SidrStatus};
use ib_mad::{Instant, Mad, MadAddress, TransactionId};

#[derive(Debug)]
pub(super) struct Resolver {
    config: CmConfig,
    resolutions: BTreeMap<u32, Resolution>,
    next_request: u32,
    queries: BTreeMap<u64, Query>,
    by_asker: BTreeMap<Asker, u64>,
    next_query: u64,
    timers: Timers<Timer>,
    outbox: VecDeque<Timer>,
}

/// The owner of a timer or of a message to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Resolution(u32),
    Query(u64),
}

/// A SIDR_REQ of ours that is not answered.
#[derive(Debug)]
struct Resolution {
    request: Mad,
    retries: u8,
    is_queued: bool,
}

/// A SIDR_REQ of another party.
#[derive(Debug)]
struct Query {
    asker: Asker,
    address: MadAddress,
    service_id: u64,
    answer: Option<Mad>,
    is_queued: bool,
}

/// Key that distinguishes the resolutions of other parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Asker {
    lid: u16,
    gid: Option<Gid>,
    qpn: Qpn,
    transaction: u64,
    request_id: u32,
}

impl Resolver {
    pub(super) const fn new(config: CmConfig) -> Self {
        Self {
            config,
            resolutions: BTreeMap::new(),
            next_request: 1,
            queries: BTreeMap::new(),
            by_asker: BTreeMap::new(),
            next_query: 0,
            timers: Timers::new(),
            outbox: VecDeque::new(),
        }
    }

    pub(super) fn resolutions(&self) -> usize {
        self.resolutions.len()
    }

    pub(super) fn queries(&self) -> usize {
        self.queries.len()
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, events: &mut VecDeque<CmEvent>) {
        while let Some(timer) = self.timers.pop_due(now) {
            match timer {
                Timer::Resolution(id) => self.resolve_again(id, events),
                Timer::Query(id) => self.forget_query(id),
            }
        }
    }

    pub(super) fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        while let Some(timer) = self.outbox.pop_front() {
            let mad = match timer {
                Timer::Resolution(id) => self.resolutions.get_mut(&id).map(|resolution| {
                    resolution.is_queued = false;
                    let until = now.saturating_add(self.config.resolve_timeout);
                    self.timers.set(timer, until);
                    resolution.request
                }),
                Timer::Query(id) => self.queries.get_mut(&id).and_then(|query| {
                    query.is_queued = false;
                    query.answer
                }),
            };
            if mad.is_some() {
                return mad;
            }
        }
        None
    }

    fn resolve_again(&mut self, id: u32, events: &mut VecDeque<CmEvent>) {
        let Some(resolution) = self.resolutions.get_mut(&id) else {
            return;
        };
        if resolution.retries >= self.config.resolve_retries {
            self.resolutions.remove(&id);
            let resolution = ResolutionId(id);
            return events.push_back(CmEvent::ResolveTimedOut { resolution });
        }
        resolution.retries = resolution.retries.saturating_add(1);
        if !core::mem::replace(&mut resolution.is_queued, true) {
            self.outbox.push_back(Timer::Resolution(id));
        }
    }

    fn forget_query(&mut self, id: u64) {
        if let Some(query) = self.queries.remove(&id) {
            self.by_asker.remove(&query.asker);
        }
    }

    fn answer_again(&mut self, id: u64) {
        if let Some(query) = self.queries.get_mut(&id)
            && query.answer.is_some()
            && !core::mem::replace(&mut query.is_queued, true)
        {
            self.outbox.push_back(Timer::Query(id));
        }
    }
}

impl CommunicationManager {
    /// Asks for the queue pair of a service: sends `req`, with a request ID of its own.
    ///
    /// # Errors
    /// [`TooMany`](CmError::TooMany).
    pub fn resolve(&mut self, address: MadAddress, req: &SidrReq) -> Result<ResolutionId, CmError> {
        let transaction = self.fresh_transaction();
        let resolver = &mut self.resolver;
        if resolver.resolutions.len() >= self.config.max_resolutions {
            return Err(CmError::TooMany);
        }
        // Some number is free: there are fewer resolutions than numbers.
        while resolver.resolutions.contains_key(&resolver.next_request) {
            resolver.next_request = resolver.next_request.wrapping_add(1);
        }
        let id = resolver.next_request;
        resolver.next_request = id.wrapping_add(1);
        let mut req = *req;
        req.set_request_id(id);
        let resolution = Resolution {
            request: message(address, transaction, &req),
            retries: 0,
            is_queued: true,
        };
        resolver.resolutions.insert(id, resolution);
        resolver.outbox.push_back(Timer::Resolution(id));
        Ok(ResolutionId(id))
    }

    /// Answers a peer's resolution of a service, with its request ID and service ID filled in.
    ///
    /// # Errors
    /// [`Unknown`](CmError::Unknown) if it was answered, or asked too long ago.
    pub fn answer_query(&mut self, query: QueryId, rep: &SidrRep) -> Result<(), CmError> {
        let entry = self.resolver.queries.get_mut(&query.0);
        let entry = entry
            .filter(|entry| entry.answer.is_none())
            .ok_or(CmError::Unknown)?;
        let mut rep = *rep;
        rep.set_request_id(entry.asker.request_id)
            .set_service_id(entry.service_id);
        let transaction = TransactionId(entry.asker.transaction);
        entry.answer = Some(message(entry.address, transaction, &rep));
        self.resolver.answer_again(query.0);
        Ok(())
    }

    pub(super) fn handle_sidr_req(&mut self, now: Instant, mad: &Mad, req: &SidrReq) {
        let transaction = mad.header().transaction_id();
        let asker = Asker {
            lid: mad.address.lid.0,
            gid: mad.address.grh.map(|grh| grh.gid),
            qpn: mad.address.qpn,
            transaction: transaction.0,
            request_id: req.request_id(),
        };
        if let Some(&id) = self.resolver.by_asker.get(&asker) {
            return self.resolver.answer_again(id);
        }
        if !self.serves(req.service_id()) {
            let mut rep = SidrRep::default();
            rep.set_request_id(req.request_id())
                .set_service_id(req.service_id())
                .set_status(SidrStatus::SERVICE_NOT_SUPPORTED);
            return self.outbox.reply(message(mad.address, transaction, &rep));
        }
        // A peer without an answer asks again.
        if self.resolver.queries.len() >= self.config.max_queries {
            return;
        }
        let id = self.resolver.next_query;
        self.resolver.next_query = id.wrapping_add(1);
        let query = Query {
            asker,
            address: mad.address,
            service_id: req.service_id(),
            answer: None,
            is_queued: false,
        };
        self.resolver.queries.insert(id, query);
        self.resolver.by_asker.insert(asker, id);
        let until = now.saturating_add(self.config.query_keep_time);
        self.resolver.timers.set(Timer::Query(id), until);
        self.events.push_back(CmEvent::Queried {
            query: QueryId(id),
            req: *req,
            address: mad.address,
        });
    }

    pub(super) fn handle_sidr_rep(&mut self, rep: &SidrRep) {
        let id = rep.request_id();
        if self.resolver.resolutions.remove(&id).is_some() {
            self.resolver.timers.stop(Timer::Resolution(id));
            self.events.push_back(CmEvent::Resolved {
                resolution: ResolutionId(id),
                answer: *rep,
            });
        }
    }
}
