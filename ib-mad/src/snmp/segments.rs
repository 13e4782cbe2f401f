//! SNMP messages that are longer than a datagram (IBA vol. 1, 16.4).
//!
//! A message goes as PduInfo in up to 256 segments of 192 bytes, each with its number and length. There
//! is no acknowledgement and no last-segment mark: SNMP repeats what is lost, and a message is BER, whose
//! first bytes say how long it is. Whether segments count from 0 is said by no source at hand:
//! [`SnmpConfig::first_segment`] decides.

use alloc::{collections::BTreeMap, vec::Vec};
use core::time::Duration;

use ib_wire::{Gid, Lid, Qpn};
use thiserror::Error;
use zerocopy::transmute_ref;

use super::{PduInfo, SnmpMad};
use crate::{Attribute, Instant, Mad, MadAddress, Method, MgmtClass, TransactionId};

/// Bytes of a message in one datagram.
const SEGMENT: usize = 192;
/// BER's tag of a SEQUENCE: every SNMP message is one.
const SEQUENCE: u8 = 0x30;

/// Limits of a [`SnmpReassembler`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnmpConfig {
    /// Number of the first segment.
    pub first_segment: u8,
    /// Longest message.
    pub max_message: usize,
    /// Messages that may be incomplete.
    pub max_messages: usize,
    /// Time to wait for the next segment of a message.
    pub timeout: Duration,
}

impl Default for SnmpConfig {
    /// Ethernet's 1,472 bytes are what most agents keep to; 64 KiB is what SNMP over UDP can have.
    fn default() -> Self {
        Self {
            first_segment: 0,
            max_message: SEGMENT * 256,
            max_messages: 64,
            timeout: Duration::from_secs(5),
        }
    }
}

/// A whole SNMP message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnmpMessage {
    /// Address of the sender.
    pub address: MadAddress,
    /// Transaction ID of its datagrams.
    pub transaction: TransactionId,
    /// The sender's own; an answer carries it back.
    pub r_address: u32,
    /// The message, in BER.
    pub data: Vec<u8>,
}

/// Why a datagram is no segment of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SnmpError {
    /// It is of another class, method or attribute.
    #[error("the datagram is not a Send(PduInfo) of class SNMP")]
    NotASegment,
    /// The segment says that it is longer than a segment can be.
    #[error("segment of {length} bytes, expected at most 192")]
    TooLongSegment {
        /// Length in the header.
        length: u8,
    },
    /// The first segment does not begin as BER does.
    #[error("the first segment begins with {found:#04x}, expected a SEQUENCE of definite length")]
    NotBer {
        /// The first byte; 0 if there is none.
        found: u8,
    },
    /// The message is longer than it may be.
    #[error("message of {length} bytes, expected at most {limit}")]
    TooLong {
        /// Length that the message would have, in bytes.
        length: usize,
        /// Largest length of the message, in bytes.
        limit: usize,
    },
    /// As many messages are incomplete as may be.
    #[error("too many messages are incomplete")]
    TooMany,
}

/// Puts SNMP messages together from their segments, in whatever order they come.
///
/// ```
/// use ib_mad::{Instant, Mad, MadAddress, SnmpConfig, SnmpReassembler, snmp_segments};
/// use ib_wire::{Lid, Sl};
///
/// let mut message = vec![0x30, 0x82, 0x01, 0x00];
/// message.resize(260, 7);
/// let address = MadAddress::gsi(Lid(7), Sl::ZERO);
/// let config = SnmpConfig::default();
/// let segments: Vec<Mad> = snmp_segments(address, 1, config.first_segment, &message).collect();
/// assert_eq!(segments.len(), 2);
///
/// let mut reassembler = SnmpReassembler::new(config);
/// assert_eq!(reassembler.handle_mad(Instant::ZERO, &segments[1])?, None);
/// let whole = reassembler.handle_mad(Instant::ZERO, &segments[0])?.expect("whole");
/// assert_eq!(whole.data, message);
/// # Ok::<(), ib_mad::SnmpError>(())
/// ```
#[derive(Debug)]
pub struct SnmpReassembler {
    config: SnmpConfig,
    open: BTreeMap<Key, Incomplete>,
}

/// Key that distinguishes messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    lid: Lid,
    gid: Option<Gid>,
    qpn: Qpn,
    transaction: u64,
}

#[derive(Debug)]
struct Incomplete {
    segments: BTreeMap<u8, Vec<u8>>,
    until: Instant,
}

impl SnmpReassembler {
    /// A reassembler without messages.
    #[must_use]
    pub const fn new(config: SnmpConfig) -> Self {
        Self {
            config,
            open: BTreeMap::new(),
        }
    }

    /// Takes a segment in; returns the message once it is whole. Of two segments with one number the
    /// first counts.
    ///
    /// # Errors
    /// Every [`SnmpError`]. A segment without which there is no message ends the message.
    pub fn handle_mad(
        &mut self,
        now: Instant,
        mad: &Mad,
    ) -> Result<Option<SnmpMessage>, SnmpError> {
        let segment: &SnmpMad = transmute_ref!(&mad.bytes);
        let what = (
            segment.mgmt_class(),
            segment.method(),
            segment.attribute_id(),
        );
        if what != (MgmtClass::SNMP, Method::SEND, PduInfo::ID) {
            return Err(SnmpError::NotASegment);
        }
        let length = segment.payload_length();
        let data = segment.data().get(..usize::from(length));
        let data = data.ok_or(SnmpError::TooLongSegment { length })?;
        let key = Key {
            lid: mad.address.lid,
            gid: mad.address.grh.map(|grh| grh.gid),
            qpn: mad.address.qpn,
            transaction: segment.transaction_id().0,
        };
        if self.open.len() >= self.config.max_messages && !self.open.contains_key(&key) {
            return Err(SnmpError::TooMany);
        }
        let until = now.saturating_add(self.config.timeout);
        let message = self.open.entry(key).or_insert_with(|| Incomplete {
            segments: BTreeMap::new(),
            until,
        });
        message.until = until;
        let number = segment.segment_number();
        message
            .segments
            .entry(number)
            .or_insert_with(|| data.to_vec());
        let whole = message.whole(&self.config);
        if !matches!(whole, Ok(None)) {
            self.open.remove(&key);
        }
        Ok(whole?.map(|data| SnmpMessage {
            address: mad.address,
            transaction: segment.transaction_id(),
            r_address: segment.r_address(),
            data,
        }))
    }

    /// Forgets the messages whose next segment has not come in time.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.open.retain(|_, message| message.until > now);
    }

    /// Time of the next call of [`handle_timeout`](Self::handle_timeout); `None` if none is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.open.values().map(|message| message.until).min()
    }

    /// Messages that are incomplete.
    #[must_use]
    pub fn incomplete(&self) -> usize {
        self.open.len()
    }
}

impl Incomplete {
    /// The message, if all of it is there.
    fn whole(&self, config: &SnmpConfig) -> Result<Option<Vec<u8>>, SnmpError> {
        let limit = config.max_message;
        let held: usize = self.segments.values().map(Vec::len).sum();
        if held > limit {
            let length = held;
            return Err(SnmpError::TooLong { length, limit });
        }
        let Some(first) = self.segments.get(&config.first_segment) else {
            return Ok(None);
        };
        let found = first.first().copied().unwrap_or(0);
        let length = ber_len(first).ok_or(SnmpError::NotBer { found })?;
        if length > limit {
            return Err(SnmpError::TooLong { length, limit });
        }
        if held < length {
            return Ok(None);
        }
        // No length field makes room: so much has come.
        let mut data = Vec::with_capacity(length);
        for number in config.first_segment..=u8::MAX {
            match self.segments.get(&number) {
                Some(segment) => data.extend_from_slice(segment),
                None => return Ok(None),
            }
            if data.len() >= length {
                data.truncate(length);
                return Ok(Some(data));
            }
        }
        Ok(None)
    }
}

/// Length of a BER SEQUENCE, its tag and length included.
fn ber_len(bytes: &[u8]) -> Option<usize> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    if tag != SEQUENCE {
        return None;
    }
    let (content, header) = match first {
        0..=0x7f => (usize::from(first), 2usize),
        // As many bytes of length follow; four are enough for anything, none is no definite length.
        0x81..=0x84 => {
            let count = usize::from(first & 0x7f);
            let bytes = rest.get(..count)?;
            let length = bytes
                .iter()
                .fold(0u32, |length, &byte| length << 8 | u32::from(byte));
            (usize::try_from(length).ok()?, count.checked_add(2)?)
        }
        _ => return None,
    };
    content.checked_add(header)
}

/// The datagrams that carry an SNMP message: 192 bytes in each, counted from `first_segment`. Bytes without
/// a segment number are left out: of a message from 0 on, those beyond 49,152 bytes.
pub fn snmp_segments(
    address: MadAddress,
    transaction: u64,
    first_segment: u8,
    message: &[u8],
) -> impl Iterator<Item = Mad> {
    let numbers = first_segment..=u8::MAX;
    numbers
        .zip(message.chunks(SEGMENT))
        .map(move |(number, chunk)| {
            let mut data = [0; SEGMENT];
            for (to, from) in data.iter_mut().zip(chunk) {
                *to = *from;
            }
            let mut mad = SnmpMad::default();
            mad.set_base_version(1)
                .set_mgmt_class(MgmtClass::SNMP)
                .set_class_version(1)
                .set_method(Method::SEND)
                .set_transaction_id(TransactionId(transaction))
                .set_attribute_id(PduInfo::ID)
                // A chunk has at most 192 bytes.
                .set_payload_length(chunk.len() as u8)
                .set_segment_number(number)
                .set_data(&data);
            mad.to(address)
        })
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use ib_wire::Sl;

    use super::*;

    const ADDRESS: MadAddress = MadAddress::gsi(Lid(7), Sl::ZERO);

    /// A SEQUENCE with this many bytes of content.
    fn message(content: u16) -> Vec<u8> {
        let mut message = vec![SEQUENCE, 0x82];
        message.extend(content.to_be_bytes());
        message.extend((0..content).map(|at| (at % 251) as u8));
        message
    }

    fn segments(message: &[u8]) -> Vec<Mad> {
        snmp_segments(ADDRESS, 77, 0, message).collect()
    }

    #[test]
    fn segments_in_any_order_and_twice_make_the_message() {
        let message = message(500);
        let segments = segments(&message);
        assert_eq!(segments.len(), 3);
        let mut reassembler = SnmpReassembler::new(SnmpConfig::default());
        for &at in &[2, 0, 2, 0] {
            let handled = reassembler.handle_mad(Instant::ZERO, &segments[at]);
            assert_eq!(handled, Ok(None));
        }
        let whole = reassembler.handle_mad(Instant::ZERO, &segments[1]);
        let whole = whole.unwrap().expect("whole");
        assert_eq!(whole.data, message);
        assert_eq!(whole.transaction, TransactionId(77));
        assert_eq!(reassembler.incomplete(), 0);
    }

    #[test]
    fn one_segment_may_be_the_message() {
        let mut reassembler = SnmpReassembler::new(SnmpConfig::default());
        let message = [SEQUENCE, 3, 2, 1, 0];
        let mad = segments(&message)[0];
        let whole = reassembler.handle_mad(Instant::ZERO, &mad).unwrap();
        assert_eq!(whole.unwrap().data, message);
    }

    #[test]
    fn segments_may_count_from_one() {
        let config = SnmpConfig {
            first_segment: 1,
            ..SnmpConfig::default()
        };
        let message = message(300);
        let mut reassembler = SnmpReassembler::new(config);
        let mut segments = snmp_segments(ADDRESS, 77, 1, &message);
        let first = segments.next().unwrap();
        assert_eq!(reassembler.handle_mad(Instant::ZERO, &first), Ok(None));
        let second = segments.next().unwrap();
        let whole = reassembler.handle_mad(Instant::ZERO, &second).unwrap();
        assert_eq!(whole.unwrap().data, message);
    }

    #[test]
    fn transactions_and_senders_are_kept_apart() {
        let message = message(300);
        let mut reassembler = SnmpReassembler::new(SnmpConfig::default());
        let [first, second] = *segments(&message) else {
            panic!("two segments");
        };
        let mut stranger = second;
        stranger.address.lid = Lid(8);
        let mut later = second;
        later.header_mut().set_transaction_id(TransactionId(78));
        for mad in [first, stranger, later] {
            assert_eq!(reassembler.handle_mad(Instant::ZERO, &mad), Ok(None));
        }
        assert_eq!(reassembler.incomplete(), 3);
        let whole = reassembler.handle_mad(Instant::ZERO, &second).unwrap();
        assert_eq!(whole.unwrap().data, message);
    }

    #[test]
    fn what_does_not_come_in_time_is_forgotten() {
        let mut reassembler = SnmpReassembler::new(SnmpConfig::default());
        let first = segments(&message(300))[0];
        assert_eq!(reassembler.handle_mad(Instant::ZERO, &first), Ok(None));
        let due = reassembler.poll_timeout().unwrap();
        assert_eq!(due.since(Instant::ZERO), SnmpConfig::default().timeout);
        reassembler.handle_timeout(due);
        assert_eq!(
            (reassembler.incomplete(), reassembler.poll_timeout()),
            (0, None)
        );
    }

    #[test]
    fn what_can_be_no_message_is_refused_and_forgotten() {
        let config = SnmpConfig {
            max_message: 1000,
            max_messages: 2,
            ..SnmpConfig::default()
        };
        let mut reassembler = SnmpReassembler::new(config);
        let mut refuse = |mad: &Mad| reassembler.handle_mad(Instant::ZERO, mad).unwrap_err();
        let good = segments(&message(300))[0];
        let mut other = good;
        other.header_mut().set_method(Method::GET);
        assert_eq!(refuse(&other), SnmpError::NotASegment);
        let mut long = good;
        long.bytes[60] = 193;
        assert_eq!(refuse(&long), SnmpError::TooLongSegment { length: 193 });
        for bytes in [
            &[][..],
            &[SEQUENCE],
            &[0x31, 1, 0],
            &[SEQUENCE, 0x80],
            &[SEQUENCE, 0x85],
        ] {
            let mut mad = good;
            mad.bytes[60] = bytes.len() as u8;
            mad.bytes[64..64 + bytes.len()].copy_from_slice(bytes);
            let found = bytes.first().copied().unwrap_or(0);
            assert_eq!(refuse(&mad), SnmpError::NotBer { found });
        }
        let long = segments(&message(997))[0];
        let (length, limit) = (1001, 1000);
        assert_eq!(refuse(&long), SnmpError::TooLong { length, limit });
        assert_eq!(reassembler.incomplete(), 0);
        for transaction in 0..3 {
            let mut mad = good;
            mad.header_mut()
                .set_transaction_id(TransactionId(transaction));
            let expected = match transaction {
                2 => Err(SnmpError::TooMany),
                _ => Ok(None),
            };
            assert_eq!(reassembler.handle_mad(Instant::ZERO, &mad), expected);
        }
    }
}
