//! Replication: the master tells the standby managers what hosts registered with it, so that a takeover loses no
//! membership, service or subscription.
//!
//! Hosts register with the master alone. Without replication a new master has to ask every host to register again
//! (ClientReregister), and until they have done so their traffic is cut off. The messages are those of a vendor class
//! that only managers of this crate know ([`message`] has the layout): a manager that does not answer, as OpenSM, is not
//! asked again until it has been away, and its hosts register again as they would without it.
//!
//! The master numbers its states. It asks each standby for the number that it holds, sends what has changed since, or all
//! of it, and asks again: only the answer counts. A standby takes an update if it stands by for its sender, the SM_Key and
//! the checksum are right and the update begins at the state that it holds; else it keeps what it has, and its next
//! answer makes the master send all of it. Changes are collected for [`DELAY`], and both sides are bounded.

mod entry;
pub(crate) mod message;

use alloc::{
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};
use core::time::Duration;

use ib_mad::{
    Engine as _, Instant, Mad, MadAddress, Method, Received, Rmpp, RmppConfig, RmppEvent, RmppKey,
    SmKey, TransactionId, TransactionWindow, WindowConfig,
};
use ib_wire::Guid;

use self::{
    entry::{Entry, Key},
    message::{Change, ReplicaHeader},
};
use crate::registrations::Registrations;

/// Time from a change to its message: hosts come in crowds.
const DELAY: Duration = Duration::from_millis(100);
/// Time until a standby is asked again that answered and then did not, or was not ready.
const PAUSE: Duration = Duration::from_secs(2);
/// Transfers in a row that may fail until a standby counts as one that does not know the class.
const MAX_FAILURES: u8 = 5;
/// Entries that a standby holds; beyond, an update is not taken.
const MAX_ENTRIES: usize = 1 << 18;
/// Entries that are gone and are remembered, so that changes can be told; beyond, all is sent.
const MAX_REMOVED: usize = 1 << 14;
/// A lease that was renewed by less is the same.
const SAME_LEASE: Duration = Duration::from_secs(2);

/// The own part: who this manager is, and what it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Own {
    pub(crate) guid: Guid,
    pub(crate) sm_key: SmKey,
}

/// A standby, as the master sees it.
#[derive(Clone, Debug)]
struct Peer {
    address: MadAddress,
    state: PeerState,
    /// Whether it has ever answered.
    answers: bool,
    failures: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PeerState {
    /// Is asked at this moment what it holds.
    Due(Instant),
    /// Was asked.
    Asked,
    /// Is sent changes.
    Sending(RmppKey),
    /// Holds the state of this number.
    Holds(u64),
    /// Does not know the class.
    Silent,
}

/// An entry of the master's state.
#[derive(Clone, Debug)]
struct Slot {
    /// `None`: it is gone.
    entry: Option<Entry>,
    /// The state in which it changed last.
    sequence: u64,
}

/// What a standby holds of its master's state.
#[derive(Clone, Debug, Default)]
struct Replica {
    master: Guid,
    epoch: u64,
    sequence: u64,
    entries: BTreeMap<Key, Entry>,
}

/// Both sides.
#[derive(Debug)]
pub(crate) struct Replication {
    rmpp: Rmpp,
    window: TransactionWindow<Guid>,
    peers: BTreeMap<Guid, Peer>,
    slots: BTreeMap<Key, Slot>,
    removed: usize,
    /// States before this one are not known any more: who holds one of them is sent all.
    oldest: u64,
    epoch: u64,
    sequence: u64,
    /// The version of the registrations that the state was made of.
    version: Option<u64>,
    /// When the state is to be made anew.
    due: Option<Instant>,
    transfers: u32,
    replica: Option<Replica>,
    /// The last manager that this one stood by for, until the subnet is taken over.
    last_master: Option<Guid>,
    answers: VecDeque<Mad>,
}

impl Replication {
    /// No peers, no replica. `window` has the times of requests, `epoch` differs from run to run.
    pub(crate) fn new(window: WindowConfig, epoch: TransactionId) -> Self {
        Self {
            rmpp: Rmpp::new(RmppConfig::default()),
            window: TransactionWindow::new(window),
            peers: BTreeMap::new(),
            slots: BTreeMap::new(),
            removed: 0,
            oldest: 0,
            epoch: epoch.0,
            sequence: 0,
            version: None,
            due: None,
            transfers: 0,
            replica: None,
            last_master: None,
            answers: VecDeque::new(),
        }
    }

    /// Whether a datagram is of the class.
    pub(crate) fn is_ours(mad: &Mad) -> bool {
        let header = mad.header();
        header.mgmt_class() == message::CLASS && header.class_version() == message::CLASS_VERSION
    }

    /// The master met these standby managers. Others are forgotten, and are asked again when they come back.
    pub(crate) fn set_peers(&mut self, now: Instant, found: &BTreeMap<Guid, MadAddress>) {
        self.peers.retain(|guid, _| found.contains_key(guid));
        for (&guid, &address) in found {
            let peer = self.peers.entry(guid).or_insert(Peer {
                address,
                state: PeerState::Due(now),
                answers: false,
                failures: 0,
            });
            peer.address = address;
        }
    }

    /// The master's registrations have this version: if it is another one, a new state is due.
    pub(crate) fn note_version(&mut self, now: Instant, version: u64) {
        if self.version != Some(version) && !self.peers.is_empty() {
            self.due.get_or_insert(now.saturating_add(DELAY));
        }
    }

    /// Whether the registrations are wanted now.
    pub(crate) fn wants_registrations(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// Makes a new state of the master's registrations, and sends what changed.
    pub(crate) fn update(&mut self, now: Instant, own: Own, version: u64, all: &Registrations) {
        self.due = None;
        self.version = Some(version);
        let entries = entry::entries(all, now);
        let next = self.sequence.saturating_add(1);
        let mut changed = false;
        for (key, slot) in &mut self.slots {
            if slot.entry.is_some() && !entries.contains_key(key) {
                *slot = Slot {
                    entry: None,
                    sequence: next,
                };
                self.removed = self.removed.saturating_add(1);
                changed = true;
            }
        }
        for (key, entry) in entries {
            let known = self.slots.get(&key).and_then(|slot| slot.entry.as_ref());
            if known.is_some_and(|known| is_same(known, &entry)) {
                continue;
            }
            let slot = Slot {
                entry: Some(entry),
                sequence: next,
            };
            let before = self.slots.insert(key, slot);
            if before.is_some_and(|before| before.entry.is_none()) {
                self.removed = self.removed.saturating_sub(1);
            }
            changed = true;
        }
        if changed {
            self.sequence = next;
        }
        if self.removed > MAX_REMOVED {
            self.slots.retain(|_, slot| slot.entry.is_some());
            self.removed = 0;
            self.oldest = self.sequence;
        }
        let behind: Vec<(Guid, u64)> = self
            .peers
            .iter()
            .filter_map(|(&guid, peer)| match peer.state {
                PeerState::Holds(held) if held != self.sequence => Some((guid, held)),
                _ => None,
            })
            .collect();
        for (guid, held) in behind {
            self.send(now, own, guid, Some(held));
        }
    }

    /// This manager is no master any more: transfers go on, and no new one begins.
    pub(crate) fn retire(&mut self) {
        self.peers.clear();
        self.slots.clear();
        self.removed = 0;
        self.version = None;
        self.due = None;
        // Whoever holds a state of this mastership must not take it for one of the next.
        self.epoch = self.epoch.wrapping_add(1);
        self.sequence = 0;
        self.oldest = 0;
    }

    /// Sends everything to the manager that the subnet goes to, unless it holds it.
    pub(crate) fn flush(&mut self, now: Instant, own: Own, to: Guid) {
        let state = self.peers.get(&to).map(|peer| peer.state);
        match state {
            Some(PeerState::Holds(_) | PeerState::Silent) | None => {}
            // What is on its way may not arrive, or may begin from another state.
            Some(_) => self.send(now, own, to, None),
        }
    }

    /// The manager whose updates are taken: after a handover its last one may come when this manager is the master
    /// already.
    pub(crate) const fn last_master(&self) -> Option<Guid> {
        self.last_master
    }

    /// What the last master told before this manager took over; none if it told nothing.
    pub(crate) fn take_replica(&mut self, now: Instant) -> Option<Registrations> {
        self.last_master = None;
        let replica = self.replica.take()?;
        Some(entry::registrations(replica.entries.values(), now))
    }

    /// Drops what another master told.
    pub(crate) fn stand_by_for(&mut self, master: Guid) {
        self.last_master = Some(master);
        if self
            .replica
            .as_ref()
            .is_some_and(|held| held.master != master)
        {
            self.replica = None;
        }
    }

    /// Takes in a datagram of the class. `master` is whom this manager stands by for; `None` if it does not.
    pub(crate) fn handle_mad(&mut self, now: Instant, own: Own, master: Option<Guid>, mad: &Mad) {
        if !self.rmpp.handle_mad(now, mad) {
            match self.window.handle_mad(now, mad) {
                Received::Answer(answer) => self.on_state(now, own, answer.context, mad),
                Received::Unsolicited => self.answer(own, master, mad),
                Received::Pending | Received::Stale => {}
            }
        }
        self.on_transfers(now, own, master);
        self.on_failures(now);
    }

    /// Takes in that a datagram was not sent or not delivered.
    pub(crate) fn handle_send_failed(&mut self, now: Instant, mad: &Mad) {
        if !self.rmpp.handle_undelivered(mad) {
            self.window.handle_send_failed(mad);
            self.on_failures(now);
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant, own: Own, master: Option<Guid>) {
        self.window.handle_timeout(now);
        self.rmpp.handle_timeout(now);
        self.on_transfers(now, own, master);
        self.on_failures(now);
        let due: Vec<Guid> = self
            .peers
            .iter()
            .filter(|(_, peer)| matches!(peer.state, PeerState::Due(at) if at <= now))
            .map(|(&guid, _)| guid)
            .collect();
        for guid in due {
            self.ask(own, guid);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let asks = self.peers.values().filter_map(|peer| match peer.state {
            PeerState::Due(at) => Some(at),
            _ => None,
        });
        let timers = [
            self.window.poll_timeout(),
            self.rmpp.poll_timeout(),
            self.due,
        ];
        asks.chain(timers.into_iter().flatten()).min()
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        let answer = self.answers.pop_front();
        answer
            .or_else(|| self.window.poll_transmit(now))
            .or_else(|| self.rmpp.poll_transmit(now))
    }

    /// Asks a standby what it holds.
    fn ask(&mut self, own: Own, guid: Guid) {
        let Some(peer) = self.peers.get_mut(&guid) else {
            return;
        };
        peer.state = PeerState::Asked;
        let mut header = ReplicaHeader::of(own.sm_key, own.guid, self.epoch);
        header.set_sequence(self.sequence);
        let none = TransactionId(0);
        let mad = message::datagram(
            Method::GET,
            message::STATE,
            peer.address,
            none,
            Some(&header),
        );
        // A full window means as many managers as a subnet has ports.
        let _ = self.window.request(&mad, guid);
    }

    /// A standby said what it holds.
    fn on_state(&mut self, now: Instant, own: Own, guid: Guid, mad: &Mad) {
        let (epoch, sequence) = (self.epoch, self.sequence);
        let Some(peer) = self.peers.get_mut(&guid) else {
            return;
        };
        let header = message::header_of(mad).filter(|_| mad.header().status().is_ok());
        let Some(header) = header.filter(|header| header.sm_key() == own.sm_key) else {
            peer.state = PeerState::Silent;
            return;
        };
        peer.answers = true;
        if header.master() != own.guid {
            // It does not stand by for this manager yet.
            peer.state = PeerState::Due(now.saturating_add(PAUSE));
            return;
        }
        let held = (header.epoch() == epoch).then(|| header.sequence());
        if held == Some(sequence) {
            peer.state = PeerState::Holds(sequence);
            peer.failures = 0;
        } else {
            self.send(now, own, guid, held);
        }
    }

    /// Sends a standby what has changed since the state that it holds, or everything.
    fn send(&mut self, now: Instant, own: Own, guid: Guid, held: Option<u64>) {
        let Some(peer) = self.peers.get_mut(&guid) else {
            return;
        };
        let base = held.filter(|held| (self.oldest..=self.sequence).contains(held));
        let mut header = ReplicaHeader::of(own.sm_key, own.guid, self.epoch);
        header
            .set_is_whole(u16::from(base.is_none()))
            .set_base(base.unwrap_or(0))
            .set_sequence(self.sequence);
        let slots = self.slots.iter();
        let changed = slots.filter(|(_, slot)| match base {
            Some(base) => slot.sequence > base,
            None => slot.entry.is_some(),
        });
        let changes = changed.map(|(key, slot)| (key, slot.entry.as_ref()));
        let data = message::write(&header, changes, now);
        self.transfers = self.transfers.wrapping_add(1);
        let id = TransactionId(u64::from(self.transfers));
        let first = message::datagram(Method::SET, message::UPDATE, peer.address, id, None);
        peer.state = match self.rmpp.send(now, &first, data) {
            Ok(key) => PeerState::Sending(key),
            Err(_) => PeerState::Due(now.saturating_add(PAUSE)),
        };
    }

    /// Answers a manager that asks what this one holds.
    fn answer(&mut self, own: Own, master: Option<Guid>, mad: &Mad) {
        const MAX_ANSWERS: usize = 64;
        let header = mad.header();
        let is_question = header.method() == Method::GET && header.attribute_id() == message::STATE;
        let Some(asked) = message::header_of(mad).filter(|_| is_question) else {
            return;
        };
        if asked.sm_key() != own.sm_key || self.answers.len() >= MAX_ANSWERS {
            return;
        }
        let mut held = ReplicaHeader::of(own.sm_key, master.unwrap_or(Guid::NONE), 0);
        if let Some(replica) = self
            .replica
            .as_ref()
            .filter(|replica| Some(replica.master) == master)
        {
            held.set_epoch(replica.epoch).set_sequence(replica.sequence);
        }
        self.answers.push_back(message::datagram(
            Method::GET_RESP,
            message::STATE,
            MadAddress {
                qkey: ib_wire::QKey::GSI,
                ..mad.address
            },
            header.transaction_id(),
            Some(&held),
        ));
    }

    fn on_transfers(&mut self, now: Instant, own: Own, master: Option<Guid>) {
        while let Some(event) = self.rmpp.poll_event() {
            match event {
                RmppEvent::Received(message) => {
                    let header = message.first.header();
                    let is_update =
                        header.method() == Method::SET && header.attribute_id() == message::UPDATE;
                    if let Some(master) = master.filter(|_| is_update) {
                        self.take_in(now, own, master, &message.data);
                    }
                }
                RmppEvent::Sent(key) => {
                    if let Some(guid) = self.receiver_of(key) {
                        self.ask(own, guid);
                    }
                }
                RmppEvent::SendFailed { key, .. } => {
                    if let Some(guid) = self.receiver_of(key) {
                        self.note_failure(now, guid);
                    }
                }
                RmppEvent::ReceiveFailed { .. } => {}
            }
        }
    }

    fn receiver_of(&self, key: RmppKey) -> Option<Guid> {
        let mut peers = self.peers.iter();
        let found = peers.find(|(_, peer)| peer.state == PeerState::Sending(key));
        found.map(|(&guid, _)| guid)
    }

    fn on_failures(&mut self, now: Instant) {
        while let Some(failure) = self.window.poll_failure() {
            self.note_failure(now, failure.context);
        }
    }

    /// A standby did not answer. One that never did, or does not any more, is left alone.
    fn note_failure(&mut self, now: Instant, guid: Guid) {
        let Some(peer) = self.peers.get_mut(&guid) else {
            return;
        };
        peer.failures = peer.failures.saturating_add(1);
        peer.state = match peer.answers && peer.failures < MAX_FAILURES {
            true => PeerState::Due(now.saturating_add(PAUSE)),
            false => PeerState::Silent,
        };
    }

    /// Takes over what the master sent, all of it or nothing.
    fn take_in(&mut self, now: Instant, own: Own, master: Guid, data: &[u8]) {
        let Ok((header, changes)) = message::read(data, now) else {
            return;
        };
        if header.sm_key() != own.sm_key || header.master() != master {
            return;
        }
        let mut replica = match self.replica.take() {
            _ if header.is_whole() != 0 => Replica {
                master,
                epoch: header.epoch(),
                ..Replica::default()
            },
            Some(held)
                if (held.master, held.epoch, held.sequence)
                    == (master, header.epoch(), header.base()) =>
            {
                held
            }
            held => {
                self.replica = held;
                return;
            }
        };
        replica.sequence = header.sequence();
        for change in changes {
            match change {
                Change::Put(key, entry) => replica.entries.insert(key, entry),
                Change::Remove(key) => replica.entries.remove(&key),
            };
        }
        // Too much to hold is not held at all: half of it would be taken for all.
        self.replica = (replica.entries.len() <= MAX_ENTRIES).then_some(replica);
    }
}

/// Whether two entries say the same, leases renewed by little included.
fn is_same(a: &Entry, b: &Entry) -> bool {
    let same_lease = match (a.until, b.until) {
        (Some(a), Some(b)) => a.since(b).max(b.since(a)) < SAME_LEASE,
        (a, b) => a == b,
    };
    a.body == b.body && same_lease
}

#[cfg(test)]
mod tests;
