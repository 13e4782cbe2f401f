//! Replication: the master sends the registrations of hosts to the standby managers, so that a takeover loses no
//! membership, service or subscription.
//!
//! Hosts register with the master alone. Without replication a new master has to ask every host to register again
//! (ClientReregister), and the hosts' traffic is cut off until they have done so. The messages belong to a vendor
//! class that only managers of this crate support ([`message`] has the layout). Such a manager registers a service with
//! its master while it is in STANDBY ([`registration`]). A standby without this service, such as OpenSM, is sent no
//! message. When it takes over, hosts register again as they would without replication.
//!
//! The master numbers its states. It asks each standby for the number of the state that it holds, sends the
//! changes since then or the whole state, and asks again: only the answer counts. A standby accepts an update if
//! the sender is its master, the SM_Key and the checksum are right and the update begins at the state that it
//! holds. Otherwise it keeps its state, and its next answer makes the master send the whole state. Changes are
//! collected for [`DELAY`], and the memory of both sides is bounded.
//!
//! A manager that takes over begins with every registration of the last state that it has acknowledged; after a handover
//! whose update has arrived these are all of them. What the master answered later, 100 ms and a round trip ago at most, is
//! missing until its host has registered again, which a takeover asks of every host. `tests/takeovers.rs` explores this
//! together with the election.

mod entry;
pub(crate) mod message;
pub(crate) mod registration;

use alloc::{
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};
use core::time::Duration;

use ib_mad::{
    Engine as _, Instant, Mad, MadAddress, MadMatch, Method, Rmpp, RmppConfig, RmppEvent, RmppKey,
    SmKey, TransactionId, TransactionWindow, WindowConfig,
};
use ib_wire::Guid;

use self::{
    entry::{Entry, Key},
    message::{EntryChange, ReplicaHeader},
};
use crate::registrations::Registrations;

/// Time from a change to its message: hosts often register many at a time.
const DELAY: Duration = Duration::from_millis(100);
/// Pause before the master asks a standby again that stopped answering or was not ready.
const PAUSE: Duration = Duration::from_secs(2);
/// Time for which a standby keeps the state of the master before its present one. The present one needs a sweep until it
/// replicates; if it dies before, the older state is what is left.
const KEPT_FOR: Duration = Duration::from_secs(60);
/// Number of consecutive failures after which a standby counts as one that does not support the class.
const MAX_FAILURES: u8 = 5;
/// Maximum number of entries that a standby holds; a larger update is discarded.
const MAX_ENTRIES: usize = 1 << 18;
/// Maximum number of removed entries that are remembered in order to send them as changes; beyond it the whole
/// state is sent.
const MAX_REMOVED: usize = 1 << 14;
/// A lease whose end moved by less than this counts as unchanged.
const SAME_LEASE: Duration = Duration::from_secs(2);

/// This manager's identity in the messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Own {
    pub(crate) guid: Guid,
    pub(crate) sm_key: SmKey,
}

/// The master's record of a standby.
#[derive(Clone, Debug)]
struct Peer {
    address: MadAddress,
    state: PeerState,
    /// True if the standby has ever answered.
    answers: bool,
    failures: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PeerState {
    /// Is asked for its state at this time.
    Due(Instant),
    /// Was asked and has not answered yet.
    Asked,
    /// Changes are being sent to it.
    Sending(RmppKey),
    /// Holds the state with this number.
    Holds(u64),
    /// Does not support the class, or does not answer any more.
    Silent,
}

/// An entry of the master's state.
#[derive(Clone, Debug)]
struct Slot {
    /// The entry; `None` if it was removed.
    entry: Option<Entry>,
    /// Number of the state in which it changed last.
    sequence: u64,
}

/// The copy of its master's state that a standby holds.
#[derive(Clone, Debug, Default)]
struct Replica {
    master: Guid,
    epoch: u64,
    sequence: u64,
    entries: BTreeMap<Key, Entry>,
    /// When it is discarded, if another manager is the master now that has sent nothing yet.
    expires: Option<Instant>,
}

/// Replication, both as master and as standby.
#[derive(Debug)]
pub(crate) struct Replication {
    rmpp: Rmpp,
    window: TransactionWindow<Guid>,
    peers: BTreeMap<Guid, Peer>,
    slots: BTreeMap<Key, Slot>,
    removed: usize,
    /// Changes since states before this one are not known any more: a standby that holds such a state is sent
    /// everything.
    oldest: u64,
    epoch: u64,
    sequence: u64,
    /// The version of the registrations from which the state was made.
    version: Option<u64>,
    /// The time at which the state is to be updated.
    due: Option<Instant>,
    transfers: u32,
    replica: Option<Replica>,
    /// The last master for which this manager was in STANDBY, until it takes over the subnet.
    last_master: Option<Guid>,
    answers: VecDeque<Mad>,
}

impl Replication {
    /// No peers and no replica. `window` sets the times of requests; `epoch` must differ from run to run.
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

    /// Returns true if a datagram belongs to the class.
    pub(crate) fn is_ours(mad: &Mad) -> bool {
        let header = mad.header();
        header.mgmt_class() == message::CLASS && header.class_version() == message::CLASS_VERSION
    }

    /// Sets the standby managers that take replicas. Others are forgotten, and are asked again when they come
    /// back.
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

    /// Returns true if any standby takes replicas.
    pub(crate) fn has_peers(&self) -> bool {
        !self.peers.is_empty()
    }

    /// Notes the version of the master's registrations: if it is a new one, the state is due for an update.
    pub(crate) fn note_version(&mut self, now: Instant, version: u64) {
        if self.version != Some(version) && !self.peers.is_empty() {
            self.due.get_or_insert(now.saturating_add(DELAY));
        }
    }

    /// Returns true if the registrations are needed now.
    pub(crate) fn wants_registrations(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// Updates the state from the master's registrations, and sends the changes.
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

    /// This manager is no longer the master: transfers continue, but no new one begins. What it told its standby managers
    /// it keeps itself for a while, in case the next master dies before it has sent anything.
    pub(crate) fn retire(&mut self, now: Instant) {
        self.peers.clear();
        let slots = core::mem::take(&mut self.slots).into_iter();
        let entries: BTreeMap<Key, Entry> = slots
            .filter_map(|(key, slot)| Some((key, slot.entry?)))
            .collect();
        if !entries.is_empty() {
            // Of no master.
            self.replica = Some(Replica {
                entries,
                expires: Some(now.saturating_add(KEPT_FOR)),
                ..Replica::default()
            });
        }
        self.removed = 0;
        self.version = None;
        self.due = None;
        // A standby that holds a state of this mastership must not take it for one of the next.
        self.epoch = self.epoch.wrapping_add(1);
        self.sequence = 0;
        self.oldest = 0;
    }

    /// Sends everything to the manager that takes over the subnet, unless that manager holds a state.
    pub(crate) fn flush(&mut self, now: Instant, own: Own, to: Guid) {
        let state = self.peers.get(&to).map(|peer| peer.state);
        match state {
            Some(PeerState::Holds(_) | PeerState::Silent) | None => {}
            // Updates in flight may be lost, or may begin from another state.
            Some(_) => self.send(now, own, to, None),
        }
    }

    /// The manager whose updates are accepted. After a handover its last update may arrive when this manager is
    /// already the master.
    pub(crate) const fn last_master(&self) -> Option<Guid> {
        self.last_master
    }

    /// The registrations that the last master sent before this manager took over, or the master before it if the last
    /// one had no time to; `None` if there are none.
    pub(crate) fn take_replica(&mut self, now: Instant) -> Option<Registrations> {
        self.last_master = None;
        self.expire(now);
        let replica = self.replica.take()?;
        Some(entry::registrations(replica.entries.values(), now))
    }

    /// Takes updates from this master. The replica of another one is kept for a while.
    pub(crate) fn stand_by_for(&mut self, now: Instant, master: Guid) {
        self.last_master = Some(master);
        if let Some(held) = self.replica.as_mut().filter(|held| held.master != master) {
            held.expires.get_or_insert(now.saturating_add(KEPT_FOR));
        }
        self.expire(now);
    }

    /// Discards a replica that is too old.
    fn expire(&mut self, now: Instant) {
        let expires = self.replica.as_ref().and_then(|held| held.expires);
        if expires.is_some_and(|expires| expires <= now) {
            self.replica = None;
        }
    }

    /// Accepts a datagram of the class. `master` is the manager for which this one is in STANDBY; `None` if there
    /// is none.
    pub(crate) fn handle_mad(&mut self, now: Instant, own: Own, master: Option<Guid>, mad: &Mad) {
        if !self.rmpp.handle_mad(now, mad) {
            match self.window.handle_mad(now, mad) {
                MadMatch::Answer(answer) => self.on_state(now, own, answer.context, mad),
                MadMatch::Unsolicited => self.answer(own, master, mad),
                MadMatch::Pending | MadMatch::Stale => {}
            }
        }
        self.on_transfers(now, own, master);
        self.on_failures(now);
    }

    /// Notes that a datagram was not sent or not delivered.
    pub(crate) fn handle_send_failed(&mut self, now: Instant, mad: &Mad) {
        if !self.rmpp.handle_undelivered(mad) {
            self.window.handle_send_failed(mad);
            self.on_failures(now);
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant, own: Own, master: Option<Guid>) {
        self.expire(now);
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

    /// Asks a standby for the state that it holds.
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
        // The window is full only if there are as many managers as a subnet has ports.
        let _ = self.window.request(&mad, guid);
    }

    /// Handles a standby's answer with the state that it holds.
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
            // It is not in STANDBY for this manager yet.
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

    /// Sends a standby the changes since the state that it holds, or everything.
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

    /// Answers a manager that asks for the state that this one holds.
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

    /// Handles a standby that did not answer. One that has never answered, or has failed too often, is not asked
    /// again.
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

    /// Applies an update from the master, completely or not at all.
    fn take_in(&mut self, now: Instant, own: Own, master: Guid, data: &[u8]) {
        let Ok((header, changes)) = message::read(data, now) else {
            return;
        };
        if header.sm_key() != own.sm_key || header.master() != master {
            return;
        }
        // Before a handover two updates are on their way at once, and the older one may arrive last.
        let is_older = self.replica.as_ref().is_some_and(|held| {
            (held.master, held.epoch) == (master, header.epoch())
                && held.sequence > header.sequence()
        });
        if is_older {
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
                EntryChange::Put(key, entry) => replica.entries.insert(key, entry),
                EntryChange::Remove(key) => replica.entries.remove(&key),
            };
        }
        // A state that is too large is discarded completely: a part of it would be taken for the whole.
        self.replica = (replica.entries.len() <= MAX_ENTRIES).then_some(replica);
    }
}

/// Returns true if two entries are equal; a lease renewed by little counts as equal.
fn is_same(a: &Entry, b: &Entry) -> bool {
    let same_lease = match (a.until, b.until) {
        (Some(a), Some(b)) => a.since(b).max(b.since(a)) < SAME_LEASE,
        (a, b) => a == b,
    };
    a.body == b.body && same_lease
}

#[cfg(test)]
mod tests;
