//! The receiver of one message: puts its segments together and acknowledges them.

use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;

use super::{
    CLASS_HEADER_AT, PAYLOAD, RmppAck, RmppConfig, RmppData, RmppError, RmppHeader, RmppMessage,
    RmppStatus, RmppType,
    segment::{bare, ending, ending_mad, is_of_another_version},
};
use crate::{Instant, Mad, Method};

/// Bits of the window ahead of the first missing segment.
const MAX_WINDOW: u32 = 128;

/// Puts one message together from its segments.
///
/// The calls are those of an [`Engine`](crate::Engine). Memory grows with what has arrived, never
/// with what a length field claims, and not beyond `max_message`.
#[derive(Clone)]
pub struct RmppReceiver {
    config: RmppConfig,
    /// The first segment: its headers are the message's.
    first: Option<Mad>,
    /// Headers of the answers: the headers of the latest segment, its method inverted.
    reply: Mad,
    class_header: usize,
    data: Vec<u8>,
    /// The lowest segment that is missing.
    expected: u32,
    /// Bit i: segment `expected + 1 + i` is here.
    ahead: u128,
    /// Number of the last segment, and data bytes in it.
    last: Option<(u32, usize)>,
    acknowledged: u32,
    window_last: u32,
    /// Time at which the whole transfer has taken too long.
    end: Option<Instant>,
    deadline: Option<Instant>,
    state: State,
    answer: Option<Reply>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Receiving,
    /// The message was handed over or waits to be.
    Complete,
    Ended(RmppError),
    /// Nothing is left to be done.
    Forgotten,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    Ack,
    End(RmppStatus),
}

impl RmppReceiver {
    /// A receiver for the message whose first segment is `mad`; hand that to
    /// [`handle_mad`](Self::handle_mad) as all others.
    ///
    /// # Errors
    /// [`NoRmpp`](RmppError::NoRmpp) if the class has none.
    pub fn new(config: RmppConfig, mad: &Mad) -> Result<Self, RmppError> {
        let class = mad.header().mgmt_class();
        let Some(class_header) = class.rmpp_class_header_len() else {
            return Err(RmppError::NoRmpp { class });
        };
        Ok(Self {
            config: RmppConfig {
                window: config.window.clamp(1, MAX_WINDOW),
                ..config
            },
            first: None,
            reply: against(mad),
            class_header,
            data: Vec::new(),
            expected: 1,
            ahead: 0,
            last: None,
            acknowledged: 0,
            window_last: 1,
            end: None,
            deadline: None,
            state: State::Receiving,
            answer: None,
        })
    }

    /// Takes in a segment, or a STOP or ABORT of this transfer. Returns the message once it is whole.
    #[must_use]
    pub fn handle_mad(&mut self, now: Instant, mad: &Mad) -> Option<RmppMessage> {
        let header = mad.rmpp().copied()?;
        if matches!(self.state, State::Ended(_) | State::Forgotten) {
            return None;
        }
        if is_of_another_version(&header) {
            self.refuse(RmppStatus::UNSUPPORTED_VERSION);
            return None;
        }
        match header.rmpp_type() {
            RmppType::DATA => return self.take(now, mad, &header),
            RmppType::STOP | RmppType::ABORT => match ending(&header) {
                Ok(status) => self.end(RmppError::EndedByPeer { status }),
                Err(status) => self.refuse(status),
            },
            // The sender of data acknowledges nothing, but for the turn, which is not ours.
            RmppType::ACK => {}
            _ => self.refuse(RmppStatus::BAD_RMPP_TYPE),
        }
        None
    }

    /// Ends a transfer that takes too long, or forgets one that is complete.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return;
        }
        match self.state {
            State::Receiving => self.refuse(RmppStatus::TOTAL_TIME_TOO_LONG),
            State::Complete => self.state = State::Forgotten,
            State::Ended(_) | State::Forgotten => {}
        }
        self.deadline = None;
    }

    /// The next acknowledgement, STOP or ABORT.
    #[must_use]
    pub fn poll_transmit(&mut self) -> Option<Mad> {
        Some(match self.answer.take()? {
            Reply::Ack => {
                self.acknowledged = self.expected.saturating_sub(1);
                let mut ack = RmppAck::default();
                ack.set_rmpp_version(1)
                    .set_rmpp_type(RmppType::ACK)
                    .set_r_resp_time(self.config.resp_time)
                    .set_active(true)
                    .set_segment_number(self.acknowledged)
                    .set_new_window_last(self.window_last.max(self.acknowledged));
                bare(&self.reply, &RmppHeader::from_bytes(*ack.as_bytes()))
            }
            Reply::End(status) => ending_mad(&self.reply, status, self.config.resp_time),
        })
    }

    /// Time at which [`handle_timeout`](Self::handle_timeout) is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    /// Why the transfer ended without its message.
    #[must_use]
    pub fn error(&self) -> Option<RmppError> {
        match self.state {
            State::Ended(error) => Some(error),
            _ => None,
        }
    }

    /// Returns true if the message is whole.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.state == State::Complete
    }

    /// Returns true if nothing is left to be done, so that the receiver may go.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.answer.is_none() && matches!(self.state, State::Ended(_) | State::Forgotten)
    }

    /// Bytes of the message that are kept.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.data.capacity()
    }

    /// Ends the transfer because there is no room for it.
    pub fn stop(&mut self) {
        self.refuse(RmppStatus::RESOURCES_EXHAUSTED);
    }

    fn take(&mut self, now: Instant, mad: &Mad, header: &RmppHeader) -> Option<RmppMessage> {
        let header = RmppData::from_bytes(*header.as_bytes());
        let number = header.segment_number();
        let length = header.payload_length() as usize;
        if header.rmpp_status() != RmppStatus::NORMAL {
            self.refuse(RmppStatus::ILLEGAL_STATUS);
            return None;
        }
        if header.first() != (number == 1) {
            self.refuse(RmppStatus::INCONSISTENT_FIRST_AND_SEGMENT_NUMBER);
            return None;
        }
        if header.last() && !(self.class_header..=PAYLOAD).contains(&length) {
            self.refuse(RmppStatus::INCONSISTENT_LAST_AND_PAYLOAD_LENGTH);
            return None;
        }
        if self.state == State::Complete || number <= self.acknowledged {
            self.answer = Some(Reply::Ack);
            return None;
        }
        // Above the window, already here, or after the end: dropped.
        let ahead = number
            .checked_sub(self.expected)
            .filter(|_| number <= self.window_last)?;
        // The window has at most `MAX_WINDOW` segments: the shift stays below 128.
        let bit = 1u128.wrapping_shl(ahead) >> 1;
        if self.ahead & bit != 0 || self.last.is_some_and(|(last, _)| number > last) {
            return None;
        }
        let used = match header.last() {
            true => length.saturating_sub(self.class_header),
            false => PAYLOAD.saturating_sub(self.class_header),
        };
        if !self.store(number, mad, used) {
            self.refuse(RmppStatus::RESOURCES_EXHAUSTED);
            return None;
        }
        let end = now.saturating_add(self.config.total_time);
        let end = *self.end.get_or_insert(end);
        self.deadline = Some(now.saturating_add(self.config.idle_time).min(end));
        if number == 1 {
            self.first = Some(*mad);
            self.reply = against(mad);
        }
        if header.last() {
            self.last = Some((number, used));
        }
        self.ahead |= bit;
        if ahead == 0 {
            let more = self.ahead.trailing_ones();
            self.expected = self.expected.saturating_add(more).saturating_add(1);
            let passed = more.saturating_add(1);
            self.ahead = self.ahead.checked_shr(passed).unwrap_or(0);
        }
        self.progress(now)
    }

    /// Acknowledges at the end of a window and of the message.
    fn progress(&mut self, now: Instant) -> Option<RmppMessage> {
        let in_order = self.expected.saturating_sub(1);
        if let Some((last, used)) = self.last
            && in_order >= last
        {
            self.expected = last.saturating_add(1);
            self.answer = Some(Reply::Ack);
            self.state = State::Complete;
            self.deadline = Some(now.saturating_add(self.config.keep_time));
            let mut data = core::mem::take(&mut self.data);
            data.truncate(self.place(last).saturating_add(used));
            return Some(RmppMessage {
                first: self.first?,
                data: Bytes::from(data),
            });
        }
        if in_order >= self.window_last {
            self.window_last = in_order.saturating_add(self.config.window);
            self.answer = Some(Reply::Ack);
        }
        None
    }

    /// Keeps the data of a segment; `false` if there is no room.
    fn store(&mut self, number: u32, mad: &Mad, used: usize) -> bool {
        let at = self.place(number);
        let end = at.saturating_add(used);
        if end > self.config.max_message {
            return false;
        }
        if end > self.data.len() {
            self.data.resize(end, 0);
        }
        let from = CLASS_HEADER_AT.saturating_add(self.class_header);
        let from = mad.bytes.get(from..from.saturating_add(used));
        if let (Some(to), Some(from)) = (self.data.get_mut(at..end), from) {
            to.copy_from_slice(from);
        }
        true
    }

    /// First byte of a segment's data in the message.
    fn place(&self, number: u32) -> usize {
        let room = PAYLOAD.saturating_sub(self.class_header);
        (number.saturating_sub(1) as usize).saturating_mul(room)
    }

    fn refuse(&mut self, status: RmppStatus) {
        self.answer = Some(Reply::End(status));
        self.end(RmppError::Ended { status });
    }

    fn end(&mut self, error: RmppError) {
        self.state = State::Ended(error);
        self.deadline = None;
        self.data = Vec::new();
    }
}

/// Not the data: a table may hold keys.
impl fmt::Debug for RmppReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RmppReceiver")
            .field("reply", &self.reply)
            .field("expected", &self.expected)
            .field("last", &self.last)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// The headers of what goes against the stream of `mad`.
pub(super) fn against(mad: &Mad) -> Mad {
    let mut reply = Mad::new(mad.address);
    *reply.header_mut() = mad.header();
    let method = Method(mad.header().method().bits() ^ 0x80);
    reply.header_mut().set_method(method);
    reply
}
