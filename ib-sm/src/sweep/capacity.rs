//! How much the switches' forwarding tables hold (IBA vol. 1, 14.2.5.4: LinearFDBCap, MulticastFDBCap).
//!
//! LIDs are dealt below what the smallest table holds, where they are enough; so are multicast LIDs. Where they
//! are not, or a table turns up that is smaller than what was dealt before, the switch is named and what it has
//! no room for is not written to it: a switch refuses that, or worse.

use ib_mad::{Attribute, AttributeId};
use ib_smp::{LinearForwardingTable, MftModifier, MulticastForwardingTable};
use ib_wire::Lid;

use super::Sweep;
use crate::{event::Event, subnet::NodeIdx};

impl Sweep {
    /// The highest LID that every switch of the fabric has room for.
    pub(super) fn last_lid(&self) -> Lid {
        let capacities = self.subnet.switches().filter_map(|(_, switch)| {
            let capacity = switch.info?.linear_fdb_cap();
            switch.routed.map(|_| capacity)
        });
        let smallest = capacities.min().unwrap_or(u16::MAX);
        Lid(smallest.saturating_sub(1).min(Lid::UNICAST_MAX.0))
    }

    /// The highest LID that a switch has room for.
    pub(super) fn last_lid_of(&self, node: NodeIdx) -> Lid {
        let capacity = self.capacities(node).map(|(linear, _)| linear);
        Lid(capacity.map_or(Lid::UNICAST_MAX.0, |capacity| capacity.saturating_sub(1)))
    }

    /// Whether a switch has room for a block of its linear table.
    pub(super) fn holds_lft_block(&self, node: NodeIdx, block: u16) -> bool {
        let first = block.saturating_mul(LinearForwardingTable::ENTRIES);
        self.capacities(node)
            .is_none_or(|(linear, _)| first < linear)
    }

    /// Whether a switch has room for a block of its multicast table.
    pub(super) fn holds_mft_block(&self, node: NodeIdx, at: MftModifier) -> bool {
        let first = at.block.saturating_mul(MulticastForwardingTable::ENTRIES);
        self.capacities(node)
            .is_none_or(|(_, multicast)| first < multicast)
    }

    /// Names the switches whose linear tables end below the highest LID.
    pub(super) fn report_small_linear_tables(&mut self) {
        let needed = self.plan.lids.max_lid().0.saturating_add(1);
        self.report_small_tables(LinearForwardingTable::ID, needed, |(linear, _)| linear);
    }

    /// Names the switches whose multicast tables end below the highest multicast LID. One without any
    /// takes no part in multicast, and who is cut off by that is named elsewhere.
    pub(super) fn report_small_multicast_tables(&mut self) {
        let last = self.plan.trees.keys().next_back();
        let needed = last.map_or(0, |mlid| {
            mlid.0
                .saturating_sub(Lid::MULTICAST_MIN.0)
                .saturating_add(1)
        });
        self.report_small_tables(MulticastForwardingTable::ID, needed, |(_, multicast)| {
            match multicast {
                0 => u16::MAX,
                entries => entries,
            }
        });
    }

    fn report_small_tables(
        &mut self,
        table: AttributeId,
        needed: u16,
        of: impl Fn((u16, u16)) -> u16,
    ) {
        for (_, node) in self.subnet.nodes() {
            let switch = node
                .switch
                .as_ref()
                .filter(|switch| switch.routed.is_some());
            let Some(info) = switch.and_then(|switch| switch.info) else {
                continue;
            };
            let entries = of((info.linear_fdb_cap(), info.multicast_fdb_cap()));
            if entries < needed {
                self.events.push_back(Event::TableTooSmall {
                    node_guid: node.info.node_guid(),
                    table,
                    entries,
                    needed,
                });
            }
        }
    }

    /// Entries of a switch's linear and multicast tables.
    fn capacities(&self, node: NodeIdx) -> Option<(u16, u16)> {
        let info = self.subnet.node(node)?.switch.as_ref()?.info?;
        Some((info.linear_fdb_cap(), info.multicast_fdb_cap()))
    }
}
