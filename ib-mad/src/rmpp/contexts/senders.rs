//! The senders of a port: how many there may be, and in which order they send.
//!
//! Ports take turns at each segment, so that no table delays another. Where no place is left, a message that is not
//! acknowledged gives its place up: its receiver may be gone.

use alloc::collections::BTreeMap;

use ib_wire::Gid;

use super::{Rmpp, RmppEvent, RmppKey};
use crate::{Instant, Mad, RmppError, RmppSender, RmppStatus, RmppType, rmpp::segment::ending_mad};

/// LID, GID and queue pair of a port.
pub(super) type PortKey = (u16, Option<Gid>, u32);

#[derive(Debug)]
pub(super) struct Sender {
    pub(super) machine: RmppSender,
    pub(super) template: Mad,
    /// Senders are numbered in the order in which they start.
    pub(super) number: u64,
    /// True if it waits in `ready`.
    pub(super) is_ready: bool,
    /// Until when a double-sided request is kept that was acknowledged, to give the turn again.
    pub(super) done_until: Option<Instant>,
}

impl Sender {
    /// Returns true if nothing of the message is acknowledged: its receiver may be gone.
    fn is_idle(&self) -> bool {
        self.done_until.is_none() && !self.machine.is_acknowledged()
    }
}

impl RmppKey {
    /// The port at the other end.
    fn port(self) -> PortKey {
        (self.lid, self.gid, self.qpn)
    }
}

impl Rmpp {
    /// Takes in that a datagram of this engine could not be delivered: a transfer whose port is gone ends. Returns
    /// whether the datagram was one of a transfer.
    pub fn handle_undelivered(&mut self, mad: &Mad) -> bool {
        let is_data = mad
            .rmpp()
            .is_some_and(|header| header.rmpp_type() == RmppType::DATA);
        let key = RmppKey::of_data(mad);
        if !is_data || !self.senders.contains_key(&key) {
            return false;
        }
        self.remove_sender(key);
        let status = RmppStatus::UNSPECIFIED;
        let error = RmppError::Ended { status };
        self.events.push_back(RmppEvent::SendFailed { key, error });
        true
    }

    /// Reports a sender that is done, once its last words are sent.
    pub(super) fn report_sender(&mut self, key: RmppKey) {
        let Some(outcome) = self.senders.get(&key).and_then(|s| s.machine.outcome()) else {
            return;
        };
        let event = match outcome {
            Ok(()) => RmppEvent::Sent(key),
            Err(error) => RmppEvent::SendFailed { key, error },
        };
        if let Some(mut sender) = self.remove_sender(key)
            && let Some(abort) = sender.machine.poll_transmit(Instant::ZERO)
        {
            self.reply(abort);
        }
        self.events.push_back(event);
    }

    /// Lets a sender take its turn at the next segment.
    pub(super) fn make_ready(&mut self, key: RmppKey) {
        if let Some(sender) = self.senders.get_mut(&key).filter(|it| !it.is_ready) {
            sender.is_ready = true;
            // The queue has no bounds: each sender is in it once at most.
            let _ = self.ready.push(key.port(), key);
        }
    }

    /// Adds a sender under its key.
    pub(super) fn insert_sender(&mut self, key: RmppKey, sender: Sender) {
        self.send_memory = self.send_memory.saturating_add(sender.machine.memory());
        let to_port = self.by_port.entry(key.port()).or_default();
        to_port.insert(sender.number, key);
        self.senders.insert(key, sender);
    }

    pub(super) fn remove_sender(&mut self, key: RmppKey) -> Option<Sender> {
        let sender = self.senders.remove(&key)?;
        let port = key.port();
        if let Some(to_port) = self.by_port.get_mut(&port) {
            to_port.remove(&sender.number);
            if to_port.is_empty() {
                self.by_port.remove(&port);
            }
        }
        self.send_memory = self.send_memory.saturating_sub(sender.machine.memory());
        Some(sender)
    }

    /// Finds a place for a message of `len` bytes: of those that are not acknowledged the oldest to the same port,
    /// else to the port with the most, ends.
    pub(super) fn make_room(&mut self, key: RmppKey, len: usize) -> Result<(), RmppError> {
        loop {
            let port = key.port();
            let to_port = self.senders_to(port);
            let full_port = to_port >= self.config.max_senders_per_port;
            let memory = self.send_memory.saturating_add(len);
            let full = self.senders.len() >= self.config.max_senders
                || (memory > self.config.max_send_memory && !self.senders.is_empty());
            if !full_port && !full {
                return Ok(());
            }
            let evicted = match full_port {
                true => self.oldest_idle_to(port),
                false => self.oldest_idle(),
            };
            let evicted = evicted.ok_or(RmppError::Busy)?;
            let sender = self.remove_sender(evicted);
            let status = RmppStatus::RESOURCES_EXHAUSTED;
            if let Some(sender) = sender.filter(|_| self.config.peers_acknowledge) {
                self.reply(ending_mad(&sender.template, status, self.config.resp_time));
            }
            self.events.push_back(RmppEvent::SendFailed {
                key: evicted,
                error: RmppError::Ended { status },
            });
        }
    }

    /// Number of messages that are being sent to a port.
    fn senders_to(&self, port: PortKey) -> usize {
        self.by_port.get(&port).map_or(0, BTreeMap::len)
    }

    /// The oldest message to a port of which nothing is acknowledged.
    fn oldest_idle_to(&self, port: PortKey) -> Option<RmppKey> {
        let mut by_age = self.by_port.get(&port)?.values();
        let is_idle = |key: &&RmppKey| self.senders.get(key).is_some_and(Sender::is_idle);
        by_age.find(is_idle).copied()
    }

    /// The oldest message of which nothing is acknowledged, to the port with the most of these.
    fn oldest_idle(&self) -> Option<RmppKey> {
        let mut idle: BTreeMap<PortKey, (usize, u64, RmppKey)> = BTreeMap::new();
        for (&key, sender) in self.senders.iter().filter(|(_, sender)| sender.is_idle()) {
            let oldest = idle.entry(key.port()).or_insert((0, sender.number, key));
            oldest.0 = oldest.0.saturating_add(1);
            if sender.number < oldest.1 {
                (oldest.1, oldest.2) = (sender.number, key);
            }
        }
        let most = idle
            .values()
            .max_by_key(|(count, number, _)| (*count, u64::MAX.saturating_sub(*number)));
        most.map(|&(_, _, key)| key)
    }
}
