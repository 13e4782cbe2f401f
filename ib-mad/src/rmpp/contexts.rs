//! All transfers of a port: which datagram belongs to which, and how much room they take.

mod senders;

use alloc::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use ib_wire::Gid;

use self::senders::{PortKey, Sender};
use super::{
    RmppAck, RmppConfig, RmppError, RmppHeader, RmppMessage, RmppReceiver, RmppSender, RmppStatus,
    RmppType,
    reassemble::against,
    segment::{bare, ending_mad},
};
use crate::{Engine, FairQueue, Input, Instant, Mad, Method, MgmtClass};

/// Key that distinguishes transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RmppKey {
    /// LID of the other end.
    pub lid: u16,
    /// GID of the other end, where the address has one: many ports share a router's LID.
    pub gid: Option<Gid>,
    /// Queue pair of the other end.
    pub qpn: u32,
    /// Low half of the transaction ID.
    pub transaction: u32,
    /// Management class.
    pub class: MgmtClass,
    /// Version of the class.
    pub class_version: u8,
    /// Method of the data.
    pub method: Method,
}

impl RmppKey {
    /// The transfer that this segment belongs to, or that a message with these headers will be.
    #[must_use]
    pub fn of_data(mad: &Mad) -> Self {
        let header = mad.header();
        Self {
            lid: mad.address.lid.0,
            gid: mad.address.grh.map(|grh| grh.gid),
            qpn: mad.address.qpn.bits(),
            transaction: header.transaction_id().low(),
            class: header.mgmt_class(),
            class_version: header.class_version(),
            method: header.method(),
        }
    }

    /// The transfer in the other direction: the one whose data this acknowledges.
    #[must_use]
    pub fn inverted(self) -> Self {
        Self {
            method: Method(self.method.bits() ^ 0x80),
            ..self
        }
    }

    /// Returns true if both request and answer are messages of many segments.
    fn is_double_sided(self) -> bool {
        matches!(self.method, Method::GET_MULTI | Method::GET_MULTI_RESP)
    }
}

/// An event of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "an event lives until it is polled; a box would cost an allocation for each message"
)]
pub enum RmppEvent {
    /// A message is whole.
    Received(RmppMessage),
    /// A message was sent and acknowledged to its end.
    Sent(RmppKey),
    /// A message could not be sent.
    SendFailed {
        /// Key of the transfer that ended.
        key: RmppKey,
        /// The reason.
        error: RmppError,
    },
    /// A message that was arriving will not.
    ReceiveFailed {
        /// Key of the transfer that ended.
        key: RmppKey,
        /// The reason.
        error: RmppError,
    },
}

/// The transfers of a port in both directions.
///
/// Hand every datagram to [`handle_mad`](Self::handle_mad): it says whether it was one of a transfer.
/// Memory and the number of transfers are bounded by the [`RmppConfig`], whatever peers send.
#[derive(Debug)]
pub struct Rmpp {
    config: RmppConfig,
    senders: BTreeMap<RmppKey, Sender>,
    /// Keys of the senders by their port and their number, oldest first.
    by_port: BTreeMap<PortKey, BTreeMap<u64, RmppKey>>,
    receivers: BTreeMap<RmppKey, RmppReceiver>,
    /// Bytes that all receivers keep.
    memory: usize,
    /// Bytes that all senders keep.
    send_memory: usize,
    /// Senders that may have a segment to send, by their port.
    ready: FairQueue<PortKey, RmppKey>,
    /// Number of the next sender.
    next_sender: u64,
    /// Window that a requester opened for the answer, by the request.
    turns: BTreeMap<RmppKey, u32>,
    /// Packets that belong to no transfer.
    replies: VecDeque<Mad>,
    events: VecDeque<RmppEvent>,
}

/// Replies without a transfer that wait to be sent; more are not worth an answer.
const MAX_REPLIES: usize = 64;

impl Rmpp {
    /// No transfers yet.
    #[must_use]
    pub fn new(config: RmppConfig) -> Self {
        Self {
            config,
            senders: BTreeMap::new(),
            by_port: BTreeMap::new(),
            receivers: BTreeMap::new(),
            memory: 0,
            send_memory: 0,
            ready: FairQueue::new(usize::MAX, usize::MAX),
            next_sender: 0,
            turns: BTreeMap::new(),
            replies: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Starts to send `data` after the headers of `template`.
    ///
    /// A transfer that is not acknowledged gives its place up where there is none for this one.
    ///
    /// # Errors
    /// [`Duplicate`](RmppError::Duplicate) while a transfer of the same transaction is in progress,
    /// [`Busy`](RmppError::Busy) while there is no place, and those of [`RmppSender::new`].
    pub fn send(
        &mut self,
        now: Instant,
        template: &Mad,
        data: Bytes,
    ) -> Result<RmppKey, RmppError> {
        let key = RmppKey::of_data(template);
        if let Some(sender) = self.senders.get(&key) {
            // Without acknowledgements the request may be that of another client in the same place.
            let may_replace = sender.done_until.is_some()
                || !(self.config.peers_acknowledge || sender.machine.is_acknowledged());
            if !may_replace {
                return Err(RmppError::Duplicate);
            }
            self.remove_sender(key);
        }
        self.make_room(key, data.len())?;
        let answers_many = key.method.is_response()
            && key.is_double_sided()
            && self.receivers.contains_key(&key.inverted());
        let mut machine = match answers_many {
            true => RmppSender::awaiting_turn(self.config, template, data, now)?,
            false => RmppSender::new(self.config, template, data)?,
        };
        if let Some(window) = self.turns.remove(&key.inverted()) {
            machine.handle_mad(
                now,
                &window_open_ack(&against(template), self.config, window),
            );
        }
        let sender = Sender {
            machine,
            template: *template,
            number: self.next_sender,
            is_ready: false,
            done_until: None,
        };
        self.next_sender = self.next_sender.wrapping_add(1);
        self.insert_sender(key, sender);
        self.make_ready(key);
        Ok(key)
    }

    /// Takes in a datagram. Returns whether it was one of a transfer; others are the caller's.
    pub fn handle_mad(&mut self, now: Instant, mad: &Mad) -> bool {
        let Some(header) = mad.rmpp().copied() else {
            return false;
        };
        let key = RmppKey::of_data(mad);
        let against = key.inverted();
        match header.rmpp_type() {
            RmppType::DATA => self.take_data(now, mad, key),
            RmppType::ACK if self.senders.contains_key(&against) => {
                self.take_answer(now, mad, &header, against);
            }
            RmppType::ACK => self.take_turn(&header, key),
            RmppType::STOP | RmppType::ABORT if self.senders.contains_key(&against) => {
                self.take_answer(now, mad, &header, against);
            }
            RmppType::STOP | RmppType::ABORT => self.take_ending(now, mad, key),
            // The packet fits neither side of the transaction: both end.
            _ => {
                if self.senders.contains_key(&against) {
                    self.take_answer(now, mad, &header, against);
                } else if self.receivers.contains_key(&key) {
                    self.take_ending(now, mad, key);
                } else {
                    self.refuse(mad, RmppStatus::BAD_RMPP_TYPE);
                }
            }
        }
        true
    }

    /// Returns true if this message is being received, or was and is remembered.
    pub(crate) fn receives(&self, key: RmppKey) -> bool {
        self.receivers.contains_key(&key)
    }

    /// Returns true if a datagram belongs to a transfer that goes on or is remembered.
    #[must_use]
    pub fn knows(&self, mad: &Mad) -> bool {
        let key = RmppKey::of_data(mad);
        self.receivers.contains_key(&key) || self.senders.contains_key(&key.inverted())
    }

    /// Forgets a transfer in either direction without a word to the peer or an event.
    pub fn forget(&mut self, key: RmppKey) {
        self.remove_sender(key);
        self.turns.remove(&key);
        if let Some(receiver) = self.receivers.remove(&key) {
            self.memory = self.memory.saturating_sub(receiver.memory());
        }
    }

    /// Messages that are being sent.
    #[must_use]
    pub fn sending(&self) -> usize {
        self.senders.len()
    }

    /// Bytes of the messages that are being received.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Messages that are being received, or were and are remembered.
    #[must_use]
    pub fn receiving(&self) -> usize {
        self.receivers.len()
    }

    fn take_data(&mut self, now: Instant, mad: &Mad, key: RmppKey) {
        let Some(header) = mad.rmpp().copied() else {
            return;
        };
        if !self.receivers.contains_key(&key) {
            if header.rmpp_version() != 1 {
                return self.refuse(mad, RmppStatus::UNSUPPORTED_VERSION);
            }
            // Of a transfer that is not known only the first segment means anything.
            if header.data1() != 1 {
                return;
            }
            if self.receivers.len() >= self.config.max_receivers {
                self.forget_oldest();
            }
            if self.receivers.len() >= self.config.max_receivers {
                return self.refuse(mad, RmppStatus::RESOURCES_EXHAUSTED);
            }
            let Ok(receiver) = RmppReceiver::new(self.config, mad) else {
                return;
            };
            self.receivers.insert(key, receiver);
        }
        if let Some(receiver) = self.receivers.get_mut(&key) {
            let before = receiver.memory();
            if self.memory > self.config.max_memory && !receiver.is_complete() {
                receiver.stop();
            } else if let Some(message) = receiver.handle_mad(now, mad) {
                self.events.push_back(RmppEvent::Received(message));
            }
            let after = receiver.memory();
            self.memory = self.memory.saturating_add(after).saturating_sub(before);
        }
        // The answer to a message of many segments acknowledges all of it, and the turn.
        if key.is_double_sided()
            && key.method.is_response()
            && let Some(sender) = self.remove_sender(key.inverted())
            && sender.done_until.is_none()
        {
            self.events.push_back(RmppEvent::Sent(key.inverted()));
        }
        self.report_receiver(key);
    }

    fn take_ending(&mut self, now: Instant, mad: &Mad, key: RmppKey) {
        if let Some(receiver) = self.receivers.get_mut(&key) {
            let before = receiver.memory();
            let _ = receiver.handle_mad(now, mad);
            self.memory = self
                .memory
                .saturating_sub(before.saturating_sub(receiver.memory()));
        }
        self.report_receiver(key);
    }

    fn take_answer(&mut self, now: Instant, mad: &Mad, header: &RmppHeader, key: RmppKey) {
        let Some(sender) = self.senders.get_mut(&key) else {
            return;
        };
        let was_done = sender.done_until.is_some();
        sender.machine.handle_mad(now, mad);
        let segments = sender.machine.segments();
        let outcome = sender.machine.outcome();
        self.make_ready(key);
        let is_last_ack = header.rmpp_type() == RmppType::ACK
            && header.data1() == segments
            && outcome == Some(Ok(()));
        let opens = is_last_ack && key.is_double_sided() && !key.method.is_response();
        if let Some(sender) = self.senders.get_mut(&key).filter(|_| opens) {
            let mad = window_open_ack(&sender.template, self.config, 1);
            sender.done_until = Some(now.saturating_add(self.config.keep_time));
            self.reply(mad);
            if !was_done {
                self.events.push_back(RmppEvent::Sent(key));
            }
        } else if was_done {
            self.take_ending_of_turn(header, key);
        } else {
            self.report_sender(key);
        }
    }

    /// A message that was acknowledged to its end has no answer if the responder's packet says so; packets
    /// that were repeated or overtaken do not count.
    fn take_ending_of_turn(&mut self, header: &RmppHeader, key: RmppKey) {
        if matches!(header.rmpp_type(), RmppType::STOP | RmppType::ABORT) {
            self.remove_sender(key);
            let status = header.rmpp_status();
            self.events.push_back(RmppEvent::ReceiveFailed {
                key: key.inverted(),
                error: RmppError::EndedByPeer { status },
            });
        }
    }

    /// The requester of a double-sided transfer opens the window of the answer.
    fn take_turn(&mut self, header: &RmppHeader, key: RmppKey) {
        let ack = RmppAck::from_bytes(*header.as_bytes());
        let is_turn = ack.segment_number() == 0
            && ack.new_window_last() >= 1
            && ack.rmpp_version() == 1
            && ack.rmpp_status() == RmppStatus::NORMAL;
        let complete = self
            .receivers
            .get(&key)
            .is_some_and(RmppReceiver::is_complete);
        if is_turn && complete && key.is_double_sided() {
            self.turns.insert(key, ack.new_window_last());
        }
    }

    /// Makes room for a transfer: of those that are only remembered the oldest goes.
    fn forget_oldest(&mut self) {
        let complete = self.receivers.iter().filter(|(_, it)| it.is_complete());
        let oldest = complete.min_by_key(|(_, it)| it.poll_timeout());
        if let Some(key) = oldest.map(|(key, _)| *key) {
            self.forget(key);
        }
    }

    /// Answers a datagram of no transfer.
    fn refuse(&mut self, mad: &Mad, status: RmppStatus) {
        self.reply(ending_mad(&against(mad), status, self.config.resp_time));
    }

    fn reply(&mut self, mad: Mad) {
        if self.replies.len() < MAX_REPLIES {
            self.replies.push_back(mad);
        }
    }

    /// Reports a receiver that failed, once its last words are sent.
    fn report_receiver(&mut self, key: RmppKey) {
        let Some(error) = self.receivers.get(&key).and_then(RmppReceiver::error) else {
            return;
        };
        if let Some(mut receiver) = self.receivers.remove(&key)
            && let Some(end) = receiver.poll_transmit()
        {
            self.reply(end);
        }
        self.turns.remove(&key);
        self.events
            .push_back(RmppEvent::ReceiveFailed { key, error });
    }
}

/// The acknowledgement of segment 0 that opens the window of the answer.
fn window_open_ack(template: &Mad, config: RmppConfig, window: u32) -> Mad {
    let mut ack = RmppAck::default();
    ack.set_rmpp_version(1)
        .set_rmpp_type(RmppType::ACK)
        .set_r_resp_time(config.resp_time)
        .set_active(true)
        .set_new_window_last(window);
    bare(template, &RmppHeader::from_bytes(*ack.as_bytes()))
}

impl Engine for Rmpp {
    type Input<'a> = Input<'a>;
    type Transmit = Mad;
    type Event = RmppEvent;

    /// A datagram that could not be sent counts as lost.
    fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        if let Input::Mad(mad) = input {
            self.handle_mad(now, mad);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let mut next = self.senders.first_key_value().map(|(key, _)| *key);
        while let Some(key) = next {
            next = after(&self.senders, key);
            let Some(sender) = self.senders.get_mut(&key) else {
                continue;
            };
            if due(sender.done_until) {
                self.remove_sender(key);
            } else if sender.done_until.is_none() && due(sender.machine.poll_timeout()) {
                sender.machine.handle_timeout(now);
                self.make_ready(key);
                self.report_sender(key);
            }
        }
        let mut next = self.receivers.first_key_value().map(|(key, _)| *key);
        while let Some(key) = next {
            next = after(&self.receivers, key);
            let Some(receiver) = self.receivers.get_mut(&key) else {
                continue;
            };
            let before = receiver.memory();
            receiver.handle_timeout(now);
            self.memory = self
                .memory
                .saturating_sub(before.saturating_sub(receiver.memory()));
            self.report_receiver(key);
            if self.receivers.get(&key).is_some_and(RmppReceiver::is_over) {
                self.receivers.remove(&key);
                self.turns.remove(&key);
            }
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        if let Some(mad) = self.replies.pop_front() {
            return Some(mad);
        }
        let mut receivers = self.receivers.values_mut();
        if let Some(mad) = receivers.find_map(RmppReceiver::poll_transmit) {
            return Some(mad);
        }
        while let Some((_, key)) = self.ready.pop() {
            let Some(sender) = self.senders.get_mut(&key) else {
                continue;
            };
            sender.is_ready = false;
            if let Some(segment) = sender.machine.poll_transmit(now) {
                self.make_ready(key);
                self.report_sender(key);
                return Some(segment);
            }
        }
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let senders = self
            .senders
            .values()
            .filter_map(|sender| sender.done_until.or_else(|| sender.machine.poll_timeout()));
        let receivers = self
            .receivers
            .values()
            .filter_map(RmppReceiver::poll_timeout);
        senders.chain(receivers).min()
    }

    fn poll_event(&mut self) -> Option<RmppEvent> {
        self.events.pop_front()
    }
}

/// The key that follows `key`.
fn after<T>(map: &BTreeMap<RmppKey, T>, key: RmppKey) -> Option<RmppKey> {
    use core::ops::Bound::{Excluded, Unbounded};
    map.range((Excluded(key), Unbounded))
        .next()
        .map(|(key, _)| *key)
}
