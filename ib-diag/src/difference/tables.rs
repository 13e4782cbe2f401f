//! Tables that differ between two snapshots of one subnet.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use ib_smp::{LinearForwardingTable, MulticastForwardingTable};
use ib_wire::{Lid, PortNum};

use super::NodeName;
use crate::snapshot::{Snapshot, SnapshotNode};

/// A table of a node that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableChange {
    /// The node that holds the table.
    pub node: NodeName,
    /// The table: `lft`, `mft`, `sl_to_vl`, `vl_arbitration` or `p_keys`.
    pub table: &'static str,
    /// Number of entries that differ.
    pub entries: usize,
    /// The first entry that differs, with both values.
    pub first: String,
}

/// The tables that differ between two snapshots. A table that either snapshot lacks does not count as a difference.
#[must_use]
pub fn table_changes(before: &Snapshot, after: &Snapshot) -> Vec<TableChange> {
    let mut changes = Vec::new();
    for new in after.nodes.iter() {
        let old = before
            .node_by_guid(new.guid())
            .and_then(|index| before.node(index));
        let Some(old) = old else { continue };
        let tables = [
            ("lft", entries(old, new, lft)),
            ("mft", entries(old, new, mft)),
            ("sl_to_vl", entries(old, new, sl_to_vl)),
            ("vl_arbitration", entries(old, new, vl_arbitration)),
            ("p_keys", entries(old, new, p_keys)),
        ];
        for (table, differing) in tables {
            if let Some(first) = differing.first() {
                changes.push(TableChange {
                    node: NodeName {
                        guid: new.guid(),
                        name: new.name(),
                    },
                    table,
                    entries: differing.len(),
                    first: first.clone(),
                });
            }
        }
    }
    changes
}

type Entries = BTreeMap<String, String>;

/// The entries that both tables have and that differ.
fn entries(
    old: &SnapshotNode,
    new: &SnapshotNode,
    table: impl Fn(&SnapshotNode) -> Entries,
) -> Vec<String> {
    let (old, new) = (table(old), table(new));
    let differing = old.iter().filter_map(|(key, before)| {
        let after = new.get(key).filter(|after| *after != before)?;
        Some(format!("{key}: {before} -> {after}"))
    });
    differing.collect()
}

fn lft(node: &SnapshotNode) -> Entries {
    let mut entries = Entries::new();
    for &block in node.lft.keys() {
        let first = block.saturating_mul(LinearForwardingTable::ENTRIES);
        for entry in 0..LinearForwardingTable::ENTRIES {
            let lid = Lid(first.saturating_add(entry));
            let port = match node.lft_port(lid) {
                Some(PortNum::UNREACHABLE) | None => "none".into(),
                Some(port) => format!("port {port}"),
            };
            entries.insert(format!("LID {:5}", lid.0), port);
        }
    }
    entries
}

fn mft(node: &SnapshotNode) -> Entries {
    let mut entries = Entries::new();
    for (modifier, block) in &node.mft {
        for entry in 0..MulticastForwardingTable::ENTRIES {
            let mask = block.port_mask_block(usize::from(entry)).unwrap_or(0);
            let above = modifier
                .block
                .saturating_mul(MulticastForwardingTable::ENTRIES);
            let mlid = Lid::MULTICAST_MIN.0 | above.saturating_add(entry);
            let key = format!(
                "MLID {mlid:#06x} ports from {}",
                u16::from(modifier.position).saturating_mul(16)
            );
            entries.insert(key, format!("{mask:#06x}"));
        }
    }
    entries
}

fn sl_to_vl(node: &SnapshotNode) -> Entries {
    let tables = node.sl_to_vl.iter().map(|((input, output), table)| {
        let lanes: Vec<String> = (0..16)
            .filter_map(|sl| table.sl_to_vl(sl))
            .map(|lane| lane.bits().to_string())
            .collect();
        (format!("in {input} out {output}"), lanes.join(" "))
    });
    tables.collect()
}

fn vl_arbitration(node: &SnapshotNode) -> Entries {
    let mut entries = Entries::new();
    for (number, port) in node.ports() {
        for (half, table) in &port.vl_arbitration {
            let bytes: Vec<String> = table
                .as_bytes()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            entries.insert(format!("port {number} {half:?}"), bytes.concat());
        }
    }
    entries
}

fn p_keys(node: &SnapshotNode) -> Entries {
    let ports = node.ports().filter(|(_, port)| !port.p_keys.is_empty());
    let tables = ports.map(|(number, port)| {
        let keys: Vec<String> = port.p_keys().map(|key| key.to_string()).collect();
        (format!("port {number}"), keys.join(" "))
    });
    tables.collect()
}
