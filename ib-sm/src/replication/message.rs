//! The messages between managers: class 0x3E of vendor range 2, with RMPP for long messages.
//!
//! | attribute | method | data |
//! |---|---|---|
//! | 0x0010 ReplicaState | Get, GetResp | [`ReplicaHeader`]: what the sender has (Get), what the standby holds (GetResp) |
//! | 0x0011 ReplicaUpdate | Set, by RMPP | [`ReplicaHeader`], then entries |
//!
//! An entry begins with one byte (1: put, 0: remove) and two bytes with the length of the rest. A put continues
//! with four bytes, the remaining seconds of a lease (all ones: for ever), then the body. A remove continues with
//! the key of the entry. Numbers are big-endian. The OUI 02-49-42 is locally administered.

use alloc::vec::Vec;
use core::time::Duration;

use bytes::Bytes;
use ib_mad::{
    AttributeId, Instant, Mad, MadAddress, Method, MgmtClass, Oui, SmKey, TransactionId,
    VendorRange2Mad,
};
use ib_wire::{Guid, wire_struct};

use super::entry::{self, Entry, Key};

/// Management class of the messages between managers that replicate the registrations of hosts: vendor range 2,
/// with [`OUI`].
pub const CLASS: MgmtClass = MgmtClass::VENDOR2_3E;
/// Version of that class.
pub const CLASS_VERSION: u8 = 1;
/// The organisation (OUI) of that class: 02-49-42, which is locally administered.
pub const OUI: Oui = Oui(0x02_4942);

/// Attribute: the state that a manager has or holds.
pub(super) const STATE: AttributeId = AttributeId(0x0010);
/// Attribute: changes of the state.
pub(super) const UPDATE: AttributeId = AttributeId(0x0011);

/// The layout of messages and entries.
const FORMAT: u16 = 1;
/// A lease with this number of seconds never ends.
const FOR_EVER: u32 = u32::MAX;
const PUT: u8 = 1;
const REMOVE: u8 = 0;

wire_struct! {
    /// The header of a message.
    pub struct ReplicaHeader("ReplicaHeader", 48 bytes) {
        /// Version of the layout of the message: 1.
        format, set_format: u16 = 0, 16;
        /// 1: the entries are the whole state and replace what was held before; 0: they are changes.
        is_whole, set_is_whole: u16 = 16, 16;
        /// CRC-32 (ISO 3309) of the whole message, computed with this field set to 0.
        checksum, set_checksum: u32 = 32, 32;
        /// SM_Key that the managers share.
        sm_key, set_sm_key: SmKey = 64, 64;
        /// Port GUID of the master.
        master, set_master: Guid = 128, 64;
        /// Distinguishes the masterships of one manager.
        epoch, set_epoch: u64 = 192, 64;
        /// Number of the state at which the changes begin.
        base, set_base: u64 = 256, 64;
        /// Number of the state to which they lead; in GetResp the state that the standby holds.
        sequence, set_sequence: u64 = 320, 64;
    }
}

impl ReplicaHeader {
    /// A header of this layout.
    pub(super) fn of(sm_key: SmKey, master: Guid, epoch: u64) -> Self {
        let mut header = Self::default();
        header
            .set_format(FORMAT)
            .set_sm_key(sm_key)
            .set_master(master)
            .set_epoch(epoch);
        header
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EntryChange {
    Put(Key, Entry),
    Remove(Key),
}

/// The reason why a message was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadMessage;

/// A datagram of the class.
pub(super) fn datagram(
    method: Method,
    attribute: AttributeId,
    to: MadAddress,
    transaction_id: TransactionId,
    header: Option<&ReplicaHeader>,
) -> Mad {
    let mut mad = VendorRange2Mad::default();
    mad.set_base_version(1)
        .set_mgmt_class(CLASS)
        .set_class_version(CLASS_VERSION)
        .set_method(method)
        .set_attribute_id(attribute)
        .set_transaction_id(transaction_id)
        .set_oui(OUI);
    if let Some(header) = header {
        let mut data = [0; 216];
        for (to, &from) in data.iter_mut().zip(header.as_bytes()) {
            *to = from;
        }
        mad.set_data(&data);
    }
    mad.to(to)
}

/// The header of a datagram of the class; `None` if the organisation or the layout is another one.
pub(super) fn header_of(mad: &Mad) -> Option<ReplicaHeader> {
    let (message, _) = VendorRange2Mad::parse(&mad.bytes, 0).ok()?;
    let data = message.data();
    let (header, _) = ReplicaHeader::parse(&data[..], 0).ok()?;
    (message.oui() == OUI && header.format() == FORMAT).then_some(*header)
}

/// The data of an update.
pub(super) fn write<'a>(
    header: &ReplicaHeader,
    changes: impl Iterator<Item = (&'a Key, Option<&'a Entry>)>,
    now: Instant,
) -> Bytes {
    let mut header = *header;
    header.set_checksum(0);
    let mut out = Vec::from(&header.as_bytes()[..]);
    for (key, entry) in changes {
        let (kind, bytes) = match entry {
            Some(entry) => (PUT, &entry.body),
            None => (REMOVE, key),
        };
        out.push(kind);
        // A body has about 200 bytes.
        out.extend(u16::try_from(bytes.len()).unwrap_or(0).to_be_bytes());
        if let Some(entry) = entry {
            let left = entry.until.map(|until| until.since(now).as_secs());
            let left = left.and_then(|left| u32::try_from(left).ok());
            out.extend(left.unwrap_or(FOR_EVER).to_be_bytes());
        }
        out.extend(bytes);
    }
    let sum = crc32fast::hash(&out).to_be_bytes();
    for (to, from) in out.iter_mut().skip(4).zip(sum) {
        *to = from;
    }
    Bytes::from(out)
}

/// Reads the data of an update.
///
/// # Errors
/// [`BadMessage`] if the checksum, the layout or an entry is wrong; then no entry is used.
pub(super) fn read(
    data: &[u8],
    now: Instant,
) -> Result<(ReplicaHeader, Vec<EntryChange>), BadMessage> {
    let (header, mut rest) = ReplicaHeader::parse(data, 0).map_err(|_| BadMessage)?;
    let header = *header;
    let mut plain = Vec::from(data);
    for byte in plain.iter_mut().skip(4).take(4) {
        *byte = 0;
    }
    if header.format() != FORMAT || crc32fast::hash(&plain) != header.checksum() {
        return Err(BadMessage);
    }
    let mut changes = Vec::new();
    while let Some((&kind, after)) = rest.split_first() {
        let (length, after) = after.split_first_chunk().ok_or(BadMessage)?;
        let length = usize::from(u16::from_be_bytes(*length));
        let (lease, after) = match kind {
            PUT => {
                let (lease, after) = after.split_first_chunk().ok_or(BadMessage)?;
                (u32::from_be_bytes(*lease), after)
            }
            REMOVE => (FOR_EVER, after),
            _ => return Err(BadMessage),
        };
        let (body, after) = after.split_at_checked(length).ok_or(BadMessage)?;
        changes.push(match kind {
            PUT => {
                let key = entry::key_of(body).map_err(|_| BadMessage)?;
                let left = Duration::from_secs(lease.into());
                let until = (lease != FOR_EVER).then(|| now.saturating_add(left));
                let body = Vec::from(body);
                EntryChange::Put(key, Entry { body, until })
            }
            _ => EntryChange::Remove(Vec::from(body)),
        });
        rest = after;
    }
    Ok((header, changes))
}
