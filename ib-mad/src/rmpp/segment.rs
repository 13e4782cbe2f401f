//! The sender of one message: cuts it into segments, keeps to the window, repeats what is lost.

use core::{fmt, time::Duration};

use bytes::Bytes;

use super::{
    CLASS_HEADER_AT, HEADER_AT, PAYLOAD, RmppAck, RmppConfig, RmppData, RmppError, RmppHeader,
    RmppStatus, RmppType,
};
use crate::{Instant, Mad, RespTime, attribute::fill_with};

/// Longest message: the payload length of the first segment has 32 bits and counts class headers.
const MAX_MESSAGE: usize = u32::MAX as usize / 2;

/// Sends one message as segments.
///
/// The calls are those of an [`Engine`](crate::Engine); what ends the transfer is
/// [`outcome`](Self::outcome).
#[derive(Clone)]
pub struct RmppSender {
    /// Headers of every segment.
    template: Mad,
    class_header: usize,
    data: Bytes,
    config: RmppConfig,
    segments: u32,
    /// The next segment to send.
    next: u32,
    acknowledged: u32,
    window_last: u32,
    retries_left: u32,
    peer_resp_time: RespTime,
    deadline: Option<Instant>,
    abort: Option<RmppStatus>,
    outcome: Option<Result<(), RmppError>>,
}

impl RmppSender {
    /// Starts to send `data` after the headers of `template`: its address, common header and class header.
    ///
    /// # Errors
    /// [`NoRmpp`](RmppError::NoRmpp) if the class has none, [`TooLong`](RmppError::TooLong) for more
    /// data than lengths reach.
    pub fn new(config: RmppConfig, template: &Mad, data: Bytes) -> Result<Self, RmppError> {
        let class = template.header().mgmt_class();
        let Some(class_header) = class.rmpp_class_header_len() else {
            return Err(RmppError::NoRmpp { class });
        };
        let len = data.len();
        let segments = len.div_ceil(PAYLOAD.saturating_sub(class_header)).max(1);
        let segments = match u32::try_from(segments) {
            Ok(segments) if len <= MAX_MESSAGE => segments,
            _ => return Err(RmppError::TooLong { len }),
        };
        Ok(Self {
            template: *template,
            class_header,
            data,
            segments,
            next: 1,
            acknowledged: 0,
            window_last: 1,
            retries_left: config.retries,
            peer_resp_time: config.resp_time,
            deadline: None,
            abort: None,
            outcome: None,
            config,
        })
    }

    /// As [`new`](Self::new), for the answer to a message of many segments: the requester opens the
    /// window with an acknowledgement of segment 0. If none comes in time, segment 1 goes anyway.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn awaiting_turn(
        config: RmppConfig,
        template: &Mad,
        data: Bytes,
        now: Instant,
    ) -> Result<Self, RmppError> {
        let mut sender = Self::new(config, template, data)?;
        sender.window_last = 0;
        sender.deadline = Some(now.saturating_add(sender.wait()));
        Ok(sender)
    }

    /// The result of the transfer; `None` while it goes on.
    #[must_use]
    pub fn outcome(&self) -> Option<Result<(), RmppError>> {
        self.outcome
    }

    /// Segments of the message.
    #[must_use]
    pub fn segments(&self) -> u32 {
        self.segments
    }

    /// Returns true if the peer has acknowledged anything, or opened the window.
    #[must_use]
    pub fn is_acknowledged(&self) -> bool {
        self.acknowledged > 0 || self.window_last > 1
    }

    /// Bytes of the message.
    pub(super) fn memory(&self) -> usize {
        self.data.len()
    }

    /// Takes in an ACK, STOP or ABORT of this transfer.
    pub fn handle_mad(&mut self, now: Instant, mad: &Mad) {
        let Some(header) = mad.rmpp().copied().filter(|_| self.outcome.is_none()) else {
            return;
        };
        if is_of_another_version(&header) {
            return self.end(RmppStatus::UNSUPPORTED_VERSION);
        }
        match header.rmpp_type() {
            RmppType::ACK => {
                self.acknowledge(now, &RmppAck::from_bytes(*header.as_bytes()));
            }
            RmppType::STOP | RmppType::ABORT => match ending(&header) {
                Ok(status) => self.outcome = Some(Err(RmppError::EndedByPeer { status })),
                Err(status) => self.end(status),
            },
            // The receiver sends no data.
            RmppType::DATA => {}
            _ => self.end(RmppStatus::BAD_RMPP_TYPE),
        }
    }

    /// Repeats or gives up what was not acknowledged in time.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.outcome.is_some() || self.deadline.is_none_or(|deadline| deadline > now) {
            return;
        }
        self.deadline = None;
        if !(self.config.peers_acknowledge || self.is_acknowledged()) {
            // The peer does not acknowledge, or is gone: what else is sent may reach another.
            let status = RmppStatus::TOO_MANY_RETRIES;
            self.outcome = Some(Err(RmppError::Ended { status }));
            return;
        }
        match self.retries_left.checked_sub(1) {
            Some(left) => {
                self.retries_left = left;
                self.window_last = self.window_last.max(1);
                self.next = self.acknowledged.saturating_add(1);
                if self.next > self.window_last {
                    // The receiver has closed its window: nothing goes out that would set the time.
                    self.deadline = Some(now.saturating_add(self.wait()));
                }
            }
            None => self.end(RmppStatus::TOO_MANY_RETRIES),
        }
    }

    /// The next segment, or the ABORT that ends the transfer.
    #[must_use]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        if let Some(status) = self.abort.take() {
            return Some(ending_mad(&self.template, status, self.config.resp_time));
        }
        let last = self.window_last.min(self.segments);
        if self.outcome.is_some() || self.next > last {
            return None;
        }
        let mad = self.segment(self.next);
        self.next = self.next.saturating_add(1);
        if self.next > last {
            self.deadline = Some(now.saturating_add(self.wait()));
        }
        if self.segments == 1 && !self.config.peers_acknowledge {
            self.deadline = None;
            self.outcome = Some(Ok(()));
        }
        Some(mad)
    }

    /// Time at which the acknowledgement is overdue.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadline.filter(|_| self.outcome.is_none())
    }

    fn acknowledge(&mut self, now: Instant, ack: &RmppAck) {
        let (segment, window_last) = (ack.segment_number(), ack.new_window_last());
        if ack.rmpp_status() != RmppStatus::NORMAL {
            return self.end(RmppStatus::ILLEGAL_STATUS);
        }
        if window_last < segment {
            return self.end(RmppStatus::NEW_WINDOW_LAST_TOO_SMALL);
        }
        if segment > self.segments || segment > self.window_last {
            return self.end(RmppStatus::SEGMENT_NUMBER_TOO_BIG);
        }
        if segment < self.acknowledged || window_last < self.window_last {
            // It was overtaken by a later one.
            return;
        }
        self.peer_resp_time = ack.r_resp_time();
        if segment > self.acknowledged || window_last > self.window_last {
            self.acknowledged = segment;
            self.window_last = window_last;
            self.retries_left = self.config.retries;
            self.next = self.next.max(segment.saturating_add(1));
            self.deadline = Some(now.saturating_add(self.wait()));
        }
        if segment == self.segments {
            self.deadline = None;
            self.outcome = Some(Ok(()));
        } else if self.next <= self.window_last.min(self.segments) {
            // Its time starts when the window is sent.
            self.deadline = None;
        }
    }

    fn end(&mut self, status: RmppStatus) {
        self.deadline = None;
        self.abort = Some(status);
        self.outcome = Some(Err(RmppError::Ended { status }));
    }

    /// Time to wait for an acknowledgement.
    fn wait(&self) -> Duration {
        let peer = match self.peer_resp_time {
            RespTime::NONE => self.config.resp_time,
            given => given,
        };
        let wait = self.config.path_time.saturating_add(peer.duration());
        wait.min(self.config.max_wait)
    }

    /// Segment `number`, sent or not.
    #[cfg(test)]
    pub(super) fn segment_for_test(&self, number: u32) -> Mad {
        self.segment(number)
    }

    fn segment(&self, number: u32) -> Mad {
        let room = PAYLOAD.saturating_sub(self.class_header);
        let before = (number.saturating_sub(1) as usize).saturating_mul(room);
        let rest = self.data.get(before..).unwrap_or_default();
        let part = rest.get(..room).unwrap_or(rest);
        let (first, last) = (number == 1, number == self.segments);
        // Class headers of all segments and the data: `MAX_MESSAGE` keeps it in 32 bits.
        let headers = (self.segments as usize).saturating_mul(self.class_header);
        let payload_length = match (first, last) {
            (true, false) => self.data.len().saturating_add(headers),
            (_, true) => part.len().saturating_add(self.class_header),
            (false, false) => 0,
        };
        let mut header = RmppData::default();
        header
            .set_rmpp_version(1)
            .set_rmpp_type(RmppType::DATA)
            .set_r_resp_time(self.config.resp_time)
            .set_active(true)
            .set_first(first)
            .set_last(last)
            .set_segment_number(number)
            .set_payload_length(payload_length as u32);
        let mut mad = self.template;
        write(&mut mad, HEADER_AT, header.as_bytes());
        let data_at = CLASS_HEADER_AT.saturating_add(self.class_header);
        fill_with(mad.bytes.get_mut(data_at..).unwrap_or_default(), part);
        mad
    }
}

/// Not the data: a table may hold keys.
impl fmt::Debug for RmppSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RmppSender")
            .field("template", &self.template)
            .field("segments", &self.segments)
            .field("next", &self.next)
            .field("acknowledged", &self.acknowledged)
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}

/// Writes `bytes` at byte `at` of a datagram, as far as it has room.
pub(super) fn write(mad: &mut Mad, at: usize, bytes: &[u8]) {
    let room = mad.bytes.get_mut(at..).unwrap_or_default();
    let len = bytes.len().min(room.len());
    if let (Some(to), Some(from)) = (room.get_mut(..len), bytes.get(..len)) {
        to.copy_from_slice(from);
    }
}

/// Returns true if the packet is to be answered with an ABORT for its version. An ABORT of any version is none:
/// it is never answered.
pub(super) fn is_of_another_version(header: &RmppHeader) -> bool {
    header.rmpp_version() != 1 && header.rmpp_type() != RmppType::ABORT
}

/// The status of a STOP or ABORT that may end a transfer; `Err` with the status to answer with if it
/// may not. An ABORT is never answered.
pub(super) fn ending(header: &RmppHeader) -> Result<RmppStatus, RmppStatus> {
    let status = header.rmpp_status();
    match header.rmpp_type() {
        RmppType::STOP if status == RmppStatus::RESOURCES_EXHAUSTED => Ok(status),
        RmppType::STOP => Err(RmppStatus::ILLEGAL_STATUS),
        _ if matches!(status.bits(), 118..=127) => Ok(status),
        _ => Ok(RmppStatus::ILLEGAL_STATUS),
    }
}

/// A STOP or ABORT with this status and the headers of `template`.
pub(super) fn ending_mad(template: &Mad, status: RmppStatus, resp_time: RespTime) -> Mad {
    let mut header = RmppHeader::default();
    header
        .set_rmpp_version(1)
        .set_rmpp_type(match status {
            RmppStatus::RESOURCES_EXHAUSTED => RmppType::STOP,
            _ => RmppType::ABORT,
        })
        .set_r_resp_time(resp_time)
        .set_active(true)
        .set_rmpp_status(status);
    bare(template, &header)
}

/// A datagram with the common header of `template`, this RMPP header and nothing else.
pub(super) fn bare(template: &Mad, header: &RmppHeader) -> Mad {
    let mut mad = Mad::new(template.address);
    *mad.header_mut() = template.header();
    write(&mut mad, HEADER_AT, header.as_bytes());
    mad
}
