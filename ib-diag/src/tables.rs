//! The installed tables as text that can be read back, in the formats of OpenSM and of the diagnostics.

use alloc::{collections::BTreeMap, format, string::String};

use ib_routing::{
    LidMap,
    format::{
        lfts,
        mcfdbs::{self, MulticastTables},
        sl2vl,
    },
    mcast::PortSet,
};
use ib_wire::{Guid, Lid, Sl};

use crate::snapshot::Snapshot;

impl Snapshot {
    /// The linear forwarding tables, in the format of OpenSM's `opensm-lfts.dump`.
    #[must_use]
    pub fn lfts_text(&self) -> String {
        let fabric = self.fabric();
        let lids = LidMap::of_fabric(&fabric);
        lfts::write(&fabric, &lids, &self.routes(&fabric, &lids, Sl::ZERO))
    }

    /// The SLtoVL tables, in the format of OpenSM's `opensm-sl2vl.dump`.
    #[must_use]
    pub fn sl2vl_text(&self) -> String {
        let fabric = self.fabric();
        let lids = LidMap::of_fabric(&fabric);
        sl2vl::write(&fabric, &lids, &self.routes(&fabric, &lids, Sl::ZERO))
    }

    /// The multicast forwarding tables, in the format of OpenSM's `opensm.mcfdbs`.
    #[must_use]
    pub fn mcfdbs_text(&self) -> String {
        let fabric = self.fabric();
        let mut groups: MulticastTables = BTreeMap::new();
        for (mlid, tree) in self.multicast_trees(&fabric) {
            let switches: BTreeMap<Guid, PortSet> = tree
                .ports
                .iter()
                .map(|(&switch, &ports)| (fabric.switch_guid(switch), ports))
                .collect();
            groups.insert(mlid, switches);
        }
        mcfdbs::write(&groups)
    }

    /// The VL arbitration and P_Key tables of all ports, one table per line.
    #[must_use]
    pub fn port_tables_text(&self) -> String {
        let mut text = String::new();
        for (at, node, port) in self.ports() {
            let place = format!("{} ({}) port {}", node.name(), node.guid(), at.port);
            let keys: alloc::vec::Vec<String> = port.p_keys().map(|key| format!("{key}")).collect();
            if !keys.is_empty() {
                text.push_str(&format!("{place} P_Keys: {}\n", keys.join(" ")));
            }
            for (half, table) in &port.vl_arbitration {
                let entries = (0..32).filter_map(|entry| {
                    let entry = table.vl_weight_block(entry)?;
                    (entry.weight() > 0)
                        .then(|| format!("{}:{}", entry.vl().bits(), entry.weight()))
                });
                let entries: alloc::vec::Vec<String> = entries.collect();
                text.push_str(&format!("{place} VLArb {half:?}: {}\n", entries.join(" ")));
            }
        }
        text
    }

    /// Linear forwarding table of a switch: the output port by LID. Entries without a port are left out.
    #[must_use]
    pub fn lft_entries(&self, node: ib_routing::NodeIdx) -> BTreeMap<Lid, ib_wire::PortNum> {
        let mut entries = BTreeMap::new();
        let Some(node) = self.node(node) else {
            return entries;
        };
        for &block in node.lft.keys() {
            let first = block.saturating_mul(ib_smp::LinearForwardingTable::ENTRIES);
            for entry in 0..ib_smp::LinearForwardingTable::ENTRIES {
                let lid = Lid(first.saturating_add(entry));
                let port = node.lft_port(lid);
                let port = port.filter(|port| *port != ib_wire::PortNum::UNREACHABLE);
                entries.extend(port.map(|port| (lid, port)));
            }
        }
        entries
    }
}
