//! Partitions in the devices: P_Key tables, and where switches enforce them (IBA vol. 1, 10.9 and 14.2.5.7).
//!
//! A key that a port already has keeps its index, because hosts remember indices. A switch port enforces the
//! partitions of the host at the other end of its cable; ports between switches pass every key. A switch port
//! whose table is too short for the keys enforces nothing.

use alloc::vec::Vec;

use ib_smp::{PKeyModifier, PartitionKeyTable, PortInfo};
use ib_subnet::{KnownTable, PortId, node_type};
use ib_wire::{PKey, PortNum};

use super::Situation;
use crate::partition::{Candidate, Enforcement};

/// Keys in a block.
const BLOCK: usize = PartitionKeyTable::ENTRIES as usize;

/// A port's P_Key table has fewer entries than the port has partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableFull;

/// The whole desired table of a port; `None` if the table is to stay as it is.
///
/// # Errors
/// The table of an end port has too few entries. A switch port with too few entries then enforces nothing.
pub(crate) fn table(at: Situation<'_>, port: PortId) -> Result<Option<Vec<PKey>>, TableFull> {
    let record = at.subnet().port(port);
    let Some(record) = record.filter(|record| record.info().is_some()) else {
        return Ok(None);
    };
    let keys = keys(at, port);
    if keys.is_empty() {
        return Ok(None);
    }
    let room = usize::from(capacity(at, port));
    let arranged = arrange(
        record.p_key_table(),
        &keys,
        room,
        at.config().keep_pkey_indexes,
    );
    match arranged {
        None if at.subnet().is_end_port(port) => Err(TableFull),
        arranged => Ok(arranged),
    }
}

/// Number of blocks of a table.
pub(crate) fn num_blocks(table: &[PKey]) -> u16 {
    let entries = u16::try_from(table.len()).unwrap_or(u16::MAX);
    entries.div_ceil(PartitionKeyTable::ENTRIES)
}

/// One block of a table, as it is sent.
pub(crate) fn block(table: &[PKey], block: u16) -> [u8; 64] {
    let start = usize::from(block).saturating_mul(BLOCK);
    let mut bytes = [0; 64];
    let (entries, _) = bytes.as_chunks_mut::<2>();
    for (entry, key) in entries.iter_mut().zip(table.iter().skip(start)) {
        *entry = key.0.to_be_bytes();
    }
    bytes
}

/// Returns true if a port already holds a block. If part of a table was read, the unread blocks after that part are
/// empty.
pub(crate) fn holds(at: Situation<'_>, port: PortId, number: u16, wanted: &[u8; 64]) -> bool {
    let Some(record) = at.subnet().port(port) else {
        return false;
    };
    let known = record.p_key_table();
    match known.block(number) {
        Some(known) => known == wanted,
        None => at.subnet().is_end_port(port) && !known.is_empty() && *wanted == [0; 64],
    }
}

/// The modifier that addresses a block of a port's table.
pub(crate) fn modifier(at: Situation<'_>, port: PortId, block: u16) -> PKeyModifier {
    let is_switch = at.subnet().switch(port.node).is_some();
    PKeyModifier {
        port: match is_switch {
            true => port.port,
            false => PortNum(0),
        },
        block,
    }
}

/// Sets whether a switch port drops packets outside the partitions of the host at the other end of its cable.
pub(crate) fn set_enforcement(at: Situation<'_>, port: PortId, info: &mut PortInfo) {
    let caps = at
        .subnet()
        .switch(port.node)
        .and_then(|switch| switch.info());
    let Some(caps) = caps else { return };
    let keys = keys(at, port);
    let held = at.subnet().port(port).is_some_and(|record| {
        let blocks = || record.p_key_table().blocks();
        let holds = |key: &PKey| blocks().any(|(_, block)| has(block, *key));
        !keys.is_empty() && keys.iter().all(holds)
    });
    let enforce = at.config().part_enforce;
    let inbound = matches!(enforce, Enforcement::Both | Enforcement::Inbound);
    let outbound = matches!(enforce, Enforcement::Both | Enforcement::Outbound);
    info.set_partition_enforcement_inbound(held && inbound && caps.inbound_enforcement_cap())
        .set_partition_enforcement_outbound(held && outbound && caps.outbound_enforcement_cap());
}

/// The keys of a port's table, the key for index 0 first. An end port gets its own keys. If partitions are
/// enforced, a switch port gets those of the host at the other end of its cable.
fn keys(at: Situation<'_>, port: PortId) -> Vec<PKey> {
    let (config, subnet) = (at.config(), at.subnet());
    let enforces = !config.partitions.are_plain() && config.part_enforce != Enforcement::Off;
    let host = match subnet.is_end_port(port) {
        true => Some(port),
        false if enforces => {
            let peer = subnet.port(port).and_then(|port| port.peer());
            peer.filter(|&peer| subnet.is_end_port(peer))
        }
        false => None,
    };
    let host = host.and_then(|host| Some((host, subnet.node(host.node)?, subnet.port(host)?)));
    let Some((host, node, record)) = host else {
        return Vec::new();
    };
    let candidate = Candidate {
        guid: record.guid(),
        type_: node_type(node.info()),
        is_own: at.is_own(host),
    };
    let mut keys = config.partitions.keys(candidate, config.allow_both_pkeys);
    if host != port {
        // A limited member sends its limited key, which a switch port lets pass only if it holds the full key.
        for key in &mut keys {
            key.0 |= 0x8000;
        }
        keys.dedup();
    }
    keys
}

/// Number of entries of a port's table.
fn capacity(at: Situation<'_>, port: PortId) -> u16 {
    let Some(node) = at.subnet().node(port.node) else {
        return 0;
    };
    match node.switch() {
        Some(switch) if port.port != PortNum::MANAGEMENT => switch
            .info()
            .map_or(0, |info| info.partition_enforcement_cap()),
        _ => node.info().partition_cap(),
    }
}

/// Builds a whole table of these keys. Keys that the port already has keep their index, the first key is at index
/// 0, and the others take the lowest free indices. `None` if there is no room.
fn arrange(known: &KnownTable, keys: &[PKey], room: usize, keep: bool) -> Option<Vec<PKey>> {
    if keys.len() > room {
        return None;
    }
    let mut table: Vec<PKey> = Vec::new();
    table.resize(room, PKey(0));
    let (first, others) = keys.split_first()?;
    *table.first_mut()? = *first;
    let mut unplaced = Vec::new();
    for &key in others {
        let index = keep.then(|| index_of(known, key)).flatten();
        // Index 0 is taken, and an index beyond the room does not exist.
        match index.and_then(|index| table.get_mut(index)) {
            Some(entry) if *entry == PKey(0) => *entry = key,
            _ => unplaced.push(key),
        }
    }
    let mut free = table.iter_mut().filter(|entry| **entry == PKey(0));
    for key in unplaced {
        *free.next()? = key;
    }
    Some(table)
}

fn index_of(known: &KnownTable, key: PKey) -> Option<usize> {
    known.blocks().find_map(|(block, bytes)| {
        let entries = bytes.as_chunks().0;
        let at = entries
            .iter()
            .position(|&entry| entry == key.0.to_be_bytes())?;
        Some(usize::from(block).saturating_mul(BLOCK).saturating_add(at))
    })
}

fn has(block: &[u8; 64], key: PKey) -> bool {
    block.as_chunks().0.contains(&key.0.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(keys: &[u16]) -> [u8; 64] {
        let mut bytes = [0; 64];
        for (entry, key) in bytes.as_chunks_mut().0.iter_mut().zip(keys) {
            *entry = key.to_be_bytes();
        }
        bytes
    }

    #[test]
    fn a_block_has_the_keys_of_its_entries_and_no_others() {
        let block = block(&[0xffff, 0x8001]);
        assert!(has(&block, PKey(0xffff)) && has(&block, PKey(0x8001)));
        assert!(!has(&block, PKey(0x0001)) && !has(&block, PKey(0x8002)));
    }

    /// The first key belongs at index 0, so another key at index 0 moves. Keys at other indices stay.
    #[test]
    fn the_first_key_takes_index_0_and_the_others_keep_their_places() {
        let mut known = KnownTable::new();
        known.set(0, block(&[0x8001, 0, 0x8002]));
        let keys = [PKey(0xffff), PKey(0x8001), PKey(0x8002)];
        let table = arrange(&known, &keys, 4, true).unwrap();
        assert_eq!(table, [0xffff, 0x8001, 0x8002, 0].map(PKey));
        let keys = [PKey(0xffff), PKey(0x8002), PKey(0x8003)];
        let table = arrange(&known, &keys, 4, true).unwrap();
        assert_eq!(table, [0xffff, 0x8003, 0x8002, 0].map(PKey));
        assert_eq!(arrange(&known, &keys, 2, true), None);
    }
}
