//! Partitions in the devices: P_Key tables, and where switches enforce them (IBA vol. 1, 10.9 and
//! 14.2.5.7).
//!
//! A key that a port already has keeps its index: hosts remember indices. What a switch port enforces
//! are the partitions of the host behind it; ports between switches pass everything. A table too short for
//! the keys enforces nothing.

use alloc::vec::Vec;

use ib_smp::{PKeyModifier, PartitionKeyTable, PortInfo};
use ib_wire::{PKey, PortNum};

use super::{Sweep, lids::node_type};
use crate::{
    SmConfig,
    event::Event,
    partition::{Candidate, Enforcement},
    request::Request,
    subnet::{KnownTable, PortRef},
};

/// Keys in a block.
const BLOCK: usize = PartitionKeyTable::ENTRIES as usize;

impl Sweep {
    /// Takes in a block of a port's table. Tables are filled from the front: where a block ends with a
    /// free entry, nothing stands behind it.
    pub(super) fn on_p_key_table(&mut self, at: PortRef, block: u16, table: [u8; 64], read: bool) {
        if let Some(port) = self.subnet.port_mut(at) {
            port.p_key_table.set(block, table);
        }
        let next = block.saturating_add(1);
        if read && !table.ends_with(&[0, 0]) && next < blocks(self.p_key_capacity(at)) {
            self.queue.push_back(Request::GetPKeyTable(at, next));
        }
    }

    /// Works out the tables that differ from what the ports hold, and queues their blocks.
    pub(super) fn queue_p_key_tables(&mut self, config: &SmConfig) {
        let mut plans = Vec::new();
        for (node, record) in self.subnet.nodes() {
            for (port, entry) in record.ports() {
                let at = PortRef { node, port };
                let keys = self.keys_at(config, at);
                let room = usize::from(self.p_key_capacity(at));
                if keys.is_empty() || entry.info.is_none() {
                    continue;
                }
                let wanted = arrange(&entry.p_key_table, &keys, room, config.keep_pkey_indexes);
                let Some(wanted) = wanted else {
                    if self.is_end_port(at) {
                        plans.push((at, None));
                    }
                    continue;
                };
                if differs(&entry.p_key_table, &wanted, self.is_end_port(at)) {
                    plans.push((at, Some(wanted)));
                }
            }
        }
        self.plan.p_keys.clear();
        for (at, wanted) in plans {
            let Some(wanted) = wanted else {
                self.errors = self.errors.saturating_add(1);
                let at = self.subnet.port_at(at);
                self.events.push_back(Event::PKeyTableFull { at });
                continue;
            };
            for block in 0..blocks(u16::try_from(wanted.len()).unwrap_or(u16::MAX)) {
                let port = self.subnet.port(at);
                let wanted = encode(&wanted, block);
                if port.is_some_and(|port| {
                    !holds(&port.p_key_table, block, &wanted, self.is_end_port(at))
                }) {
                    self.queue.push_back(Request::SetPKeyTable(at, block));
                }
            }
            self.plan.p_keys.insert(at, wanted);
        }
    }

    /// A block of a port's table as it should be.
    pub(crate) fn p_key_block(&self, at: PortRef, block: u16) -> Option<[u8; 64]> {
        Some(encode(self.plan.p_keys.get(&at)?, block))
    }

    /// The modifier by which a port's table is addressed.
    pub(crate) fn p_key_modifier(&self, at: PortRef, block: u16) -> PKeyModifier {
        let is_switch = self
            .subnet
            .node(at.node)
            .is_some_and(|node| node.is_switch());
        let port = if is_switch { at.port } else { PortNum(0) };
        PKeyModifier { port, block }
    }

    /// Sets whether a switch port drops what is not in the partitions of the host behind it.
    pub(super) fn set_enforcement(&self, config: &SmConfig, at: PortRef, info: &mut PortInfo) {
        let caps = self
            .subnet
            .node(at.node)
            .and_then(|node| node.switch.as_ref()?.info);
        let Some(caps) = caps else {
            return;
        };
        let keys = self.keys_at(config, at);
        let held = self.subnet.port(at).is_some_and(|port| {
            let holds = |key: &PKey| port.p_key_table.blocks().any(|(_, block)| has(block, *key));
            !keys.is_empty() && keys.iter().all(holds)
        });
        let inbound = matches!(
            config.part_enforce,
            Enforcement::Both | Enforcement::Inbound
        );
        let outbound = matches!(
            config.part_enforce,
            Enforcement::Both | Enforcement::Outbound
        );
        info.set_partition_enforcement_inbound(held && inbound && caps.inbound_enforcement_cap())
            .set_partition_enforcement_outbound(
                held && outbound && caps.outbound_enforcement_cap(),
            );
    }

    /// The keys that a port's table shall hold, the one for index 0 first: an end port's own, at a
    /// switch port those of the host behind it if partitions are enforced.
    fn keys_at(&self, config: &SmConfig, at: PortRef) -> Vec<PKey> {
        let host = match self.is_end_port(at) {
            true => Some(at),
            false if config.partitions.are_plain() || config.part_enforce == Enforcement::Off => {
                None
            }
            false => self
                .subnet
                .port(at)
                .and_then(|port| port.peer.filter(|&peer| self.is_end_port(peer))),
        };
        let Some((host, node, port)) = host.and_then(|host| {
            let node = self.subnet.node(host.node)?;
            Some((host, node, node.port(host.port)?))
        }) else {
            return Vec::new();
        };
        let candidate = Candidate {
            guid: port.guid,
            type_: node_type(&node.info),
            is_own: host == self.own_port,
        };
        let mut keys = config.partitions.keys(candidate, config.allow_both_pkeys);
        if host != at {
            // A limited member sends its limited key, which only a full one lets pass.
            for key in &mut keys {
                key.0 |= 0x8000;
            }
            keys.dedup();
        }
        keys
    }

    /// Entries of a port's table.
    fn p_key_capacity(&self, at: PortRef) -> u16 {
        let Some(node) = self.subnet.node(at.node) else {
            return 0;
        };
        match &node.switch {
            Some(switch) if at.port != PortNum(0) => switch
                .info
                .map_or(0, |info| info.partition_enforcement_cap()),
            _ => node.info.partition_cap(),
        }
    }
}

/// Blocks of a table of so many entries.
fn blocks(entries: u16) -> u16 {
    entries.div_ceil(PartitionKeyTable::ENTRIES)
}

/// A whole table with these keys: known ones where they are, the first at index 0, the others at the
/// lowest free index. `None` if there is no room.
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
        let index = match keep {
            true => index_of(known, key).filter(|&index| index > 0 && index < room),
            false => None,
        };
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
        let at = bytes
            .as_chunks()
            .0
            .iter()
            .position(|&entry| entry == key.0.to_be_bytes())?;
        Some(usize::from(block).saturating_mul(BLOCK).saturating_add(at))
    })
}

fn has(block: &[u8; 64], key: PKey) -> bool {
    block.as_chunks().0.contains(&key.0.to_be_bytes())
}

/// Whether a port lacks a block of a table.
fn differs(known: &KnownTable, wanted: &[PKey], was_read: bool) -> bool {
    let blocks = blocks(u16::try_from(wanted.len()).unwrap_or(u16::MAX));
    (0..blocks).any(|block| !holds(known, block, &encode(wanted, block), was_read))
}

/// Whether a port holds a block already. In a table that was read, blocks that were not are empty.
fn holds(known: &KnownTable, block: u16, wanted: &[u8; 64], was_read: bool) -> bool {
    match known.block(block) {
        Some(known) => known == wanted,
        None => was_read && !known.is_empty() && *wanted == [0; 64],
    }
}

fn encode(table: &[PKey], block: u16) -> [u8; 64] {
    let start = usize::from(block).saturating_mul(BLOCK);
    let mut bytes = [0; 64];
    let (entries, _) = bytes.as_chunks_mut::<2>();
    for (entry, key) in entries.iter_mut().zip(table.iter().skip(start)) {
        *entry = key.0.to_be_bytes();
    }
    bytes
}
