//! Registrations as entries that can be compared, sent and applied one by one.

use alloc::{collections::BTreeMap, vec::Vec};

use ib_mad::{Instant, MadAddress};
use ib_sa::{GuidInfoRecord, InformInfoRecord, McMemberRecord, ServiceRecord};
use ib_wire::{Guid, Lid, Qpn, Sl};

use crate::registrations::{
    GroupRegistration, GuidRegistration, Registrations, SubscriptionRegistration,
};

/// The identity of an entry: its kind, then the fields that name it.
pub(super) type Key = Vec<u8>;

const GROUP: u8 = 1;
const MEMBER: u8 = 2;
const SUBSCRIPTION: u8 = 3;
const SERVICE: u8 = 4;
const GUIDS: u8 = 5;

/// The content of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The record and the data that belong to it, without the lease.
    pub(super) body: Vec<u8>,
    /// The time at which the lease of a service ends; `None` if it does not end.
    pub(super) until: Option<Instant>,
}

/// A body that encodes no registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadEntry;

/// All registrations of hosts, as entries.
pub(super) fn entries(all: &Registrations, now: Instant) -> BTreeMap<Key, Entry> {
    let mut entries = BTreeMap::new();
    let mut add = |body: Vec<u8>, until| {
        if let Ok(key) = key_of(&body) {
            entries.insert(key, Entry { body, until });
        }
    };
    for group in &all.groups {
        let head = [GROUP, u8::from(group.well_known)];
        add([&head[..], group.group.as_bytes()].concat(), None);
        for member in &group.members {
            add([&[MEMBER][..], member.as_bytes()].concat(), None);
        }
    }
    for subscription in &all.subscriptions {
        let address = subscription.address;
        let mut body = [&[SUBSCRIPTION][..], subscription.record.as_bytes()].concat();
        body.extend(address.lid.0.to_be_bytes());
        body.extend(address.qpn.bits().to_be_bytes());
        body.extend([address.sl.bits(), address.path_bits]);
        add(body, None);
    }
    for service in &all.services {
        let mut record = *service;
        record.set_service_lease(0);
        let left = core::time::Duration::from_secs(service.service_lease().into());
        let ends = service.service_lease() != u32::MAX;
        let until = ends.then(|| now.saturating_add(left));
        add([&[SERVICE][..], record.as_bytes()].concat(), until);
    }
    for block in &all.guids {
        let guid = block.port_guid.0.to_be_bytes();
        add(
            [&[GUIDS][..], &guid[..], block.record.as_bytes()].concat(),
            None,
        );
    }
    entries
}

/// The key of a body.
///
/// # Errors
/// [`BadEntry`] if it is too short or too long, or of no kind.
pub(super) fn key_of(body: &[u8]) -> Result<Key, BadEntry> {
    let (&kind, rest) = body.split_first().ok_or(BadEntry)?;
    let mut key = Vec::from([kind]);
    match kind {
        GROUP => key.extend(group(rest)?.group.mgid().0),
        MEMBER => {
            let record = member(rest)?;
            key.extend(record.mgid().0);
            key.extend(record.port_gid().0);
        }
        SUBSCRIPTION => {
            let record = subscription(rest)?.record;
            key.extend(record.subscriber_gid().0);
            key.extend(record.enumeration().to_be_bytes());
        }
        SERVICE => {
            let record = service(rest)?;
            key.extend(record.service_id().to_be_bytes());
            key.extend(record.service_gid().0);
            key.extend(record.service_p_key().0.to_be_bytes());
        }
        GUIDS => {
            let block = guids(rest)?;
            key.extend(block.port_guid.0.to_be_bytes());
            key.push(block.record.block_num());
        }
        _ => return Err(BadEntry),
    }
    Ok(key)
}

/// The registrations that the entries encode. A member without its group is left out, and so is a service whose
/// lease has ended.
pub(super) fn registrations<'a>(
    entries: impl Iterator<Item = &'a Entry>,
    now: Instant,
) -> Registrations {
    let mut all = Registrations::default();
    for Entry { body, until } in entries {
        let Some((&kind, rest)) = body.split_first() else {
            continue;
        };
        match kind {
            GROUP => all.groups.extend(group(rest)),
            // Groups are restored before their members.
            MEMBER => {
                if let Ok(member) = member(rest) {
                    let mgid = member.mgid();
                    let place = all
                        .groups
                        .binary_search_by_key(&mgid, |group| group.group.mgid());
                    let group = place.ok().and_then(|place| all.groups.get_mut(place));
                    if let Some(group) = group {
                        group.members.push(member);
                    }
                }
            }
            SUBSCRIPTION => all.subscriptions.extend(subscription(rest)),
            SERVICE => {
                if let Ok(mut record) = service(rest)
                    && until.is_none_or(|until| until > now)
                {
                    let left = until.map(|until| until.since(now).as_secs());
                    let left = left.and_then(|left| u32::try_from(left).ok());
                    record.set_service_lease(left.unwrap_or(u32::MAX));
                    all.services.push(record);
                }
            }
            GUIDS => all.guids.extend(guids(rest)),
            _ => {}
        }
    }
    all
}

fn group(body: &[u8]) -> Result<GroupRegistration, BadEntry> {
    let (&well_known, record) = body.split_first().ok_or(BadEntry)?;
    Ok(GroupRegistration {
        group: member(record)?,
        well_known: well_known != 0,
        members: Vec::new(),
    })
}

fn member(body: &[u8]) -> Result<McMemberRecord, BadEntry> {
    match McMemberRecord::parse(body, 0) {
        Ok((record, [])) => Ok(*record),
        _ => Err(BadEntry),
    }
}

fn subscription(body: &[u8]) -> Result<SubscriptionRegistration, BadEntry> {
    let (record, rest) = InformInfoRecord::parse(body, 0).map_err(|_| BadEntry)?;
    let (lid, rest) = rest.split_first_chunk().ok_or(BadEntry)?;
    let (qpn, rest) = rest.split_first_chunk().ok_or(BadEntry)?;
    let &[sl, path_bits] = rest else {
        return Err(BadEntry);
    };
    let sl = Sl::try_new(sl).map_err(|_| BadEntry)?;
    Ok(SubscriptionRegistration {
        record: *record,
        address: MadAddress {
            qpn: Qpn::try_new(u32::from_be_bytes(*qpn)).map_err(|_| BadEntry)?,
            path_bits,
            ..MadAddress::gsi(Lid(u16::from_be_bytes(*lid)), sl)
        },
    })
}

fn service(body: &[u8]) -> Result<ServiceRecord, BadEntry> {
    match ServiceRecord::parse(body, 0) {
        Ok((record, [])) => Ok(*record),
        _ => Err(BadEntry),
    }
}

fn guids(body: &[u8]) -> Result<GuidRegistration, BadEntry> {
    let (guid, record) = body.split_first_chunk().ok_or(BadEntry)?;
    match GuidInfoRecord::parse(record, 0) {
        Ok((record, [])) => Ok(GuidRegistration {
            port_guid: Guid(u64::from_be_bytes(*guid)),
            record: *record,
        }),
        _ => Err(BadEntry),
    }
}
