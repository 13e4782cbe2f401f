//! Virtual lanes: SLtoVL and VL arbitration tables, for routes that need more than one lane or an operator who
//! wants quality of service (IBA vol. 1, 14.2.5.8, 14.2.5.9 and 7.6.9).
//!
//! An engine that avoids deadlocks by lanes depends on the tables of all switches on a path: each switch selects
//! the packet's next lane by its table for the (input, output) pair. Routes on one lane need no such tables; then
//! the operator's tables are written, or none. A lane that a link does not have is mapped to one that it has.
//!
//! A switch has an SLtoVL table for each pair of ports. Written are those of pairs that packets may pass
//! ([`joined`]) and those of packets that the switch itself sends. A change of routes or trees joins more pairs, so
//! their tables are written in a stage before it.

use alloc::{collections::BTreeSet, vec::Vec};

use ib_routing::{
    PortPairs, SwitchIdx,
    port_pairs::ChangedEntry,
    update::heal::{HealedEntry, Healing},
};
use ib_smp::{
    LinearForwardingTable, PortInfo, SlToVlMappingTable, SlToVlModifier, VlArbitrationEntry,
    VlArbitrationHalf, VlArbitrationTable, VlCap,
};
use ib_subnet::{NodeId, PortId};
use ib_wire::{PortNum, Vl};

use super::{Situation, links};
use crate::{plan::Topology, reconcile::tables};

/// Weight of every lane in use, in units of 64 bytes. All lanes have the same weight and so get the same share.
const WEIGHT: u8 = 4;

/// Returns true if SLtoVL and VL arbitration tables are written at all.
pub(crate) fn are_managed(at: Situation<'_>) -> bool {
    at.plan().lanes() > 1 || at.config().qos.enabled
}

/// Returns true if a port is an enhanced port 0 to which the operator's tables are written. They are written only with
/// quality of service, because routes need no lanes there.
pub(crate) fn is_managed_port_0(at: Situation<'_>, port: PortId) -> bool {
    at.config().qos.enabled && links::is_enhanced_port_0(at, port)
}

/// The pairs of ports that packets may pass: by the entries that switches hold, by the routes in force, by every
/// mixture of them, and by the trees of multicast groups.
pub(crate) fn joined(at: Situation<'_>) -> Option<PortPairs<'_>> {
    let installed = at.plan().installed()?;
    let topology = installed.topology();
    let mut pairs = PortPairs::new(topology.fabric());
    let nodes = tables::nodes(at, topology);
    let (last, _) = LinearForwardingTable::block_of(installed.routes().max_lid());
    pairs.add_routes(usize::from(last).saturating_add(1), |switch, block| {
        let known = nodes
            .get(&switch)
            .and_then(|&node| at.subnet().switch(node));
        [
            known.and_then(|switch| switch.lft().block(block)),
            installed.routes().lft_block(switch, block),
        ]
    });
    let switches = topology.fabric().switches().indices();
    add_trees(at, &mut pairs, switches);
    Some(pairs)
}

/// The pairs of ports of these switches that the trees of multicast groups join.
pub(crate) fn joined_by_trees<'a>(at: Situation<'a>, nodes: &[NodeId]) -> Option<PortPairs<'a>> {
    let fabric = at.plan().installed()?.topology().fabric();
    let switches = nodes.iter().filter_map(|&node| at.plan().switch(node));
    let switches: BTreeSet<SwitchIdx> = switches.collect();
    let mut pairs = PortPairs::of_switches(fabric, &switches);
    add_trees(at, &mut pairs, switches.iter().copied());
    Some(pairs)
}

/// The pairs of ports that entries join which are written after a failure. `topology` is that of the healing.
pub(crate) fn joined_by_healing<'a>(
    at: Situation<'_>,
    topology: &'a Topology,
    healing: &Healing,
) -> PortPairs<'a> {
    let mut pairs = PortPairs::new(topology.fabric());
    let nodes = tables::nodes(at, topology);
    let changed = |healed: &HealedEntry| {
        let (block, entry) = LinearForwardingTable::block_of(healed.lid);
        ChangedEntry {
            switch: healed.switch,
            block,
            entry: u8::try_from(entry).unwrap_or(0),
            port: healed.port,
        }
    };
    let changes: Vec<ChangedEntry> = healing.entries().iter().map(changed).collect();
    pairs.add_changes(&changes, |switch, block| {
        let known = nodes
            .get(&switch)
            .and_then(|&node| at.subnet().switch(node));
        known.and_then(|switch| switch.lft().block(block))
    });
    pairs
}

/// Adds the pairs of these switches that the trees of multicast groups join.
fn add_trees(
    at: Situation<'_>,
    pairs: &mut PortPairs<'_>,
    switches: impl Iterator<Item = SwitchIdx>,
) {
    let fabric = pairs.fabric();
    for switch in switches {
        let guid = fabric.switch_guid(switch);
        let trees = at.plan().trees().values();
        for tree in trees.filter(|tree| tree.contains_key(&guid)) {
            pairs.add_tree_at(switch, |other| {
                tree.get(&fabric.switch_guid(other)).copied()
            });
        }
    }
}

/// The SLtoVL tables for packets that leave by `output`, each with its modifier: for a switch one table for each
/// input port with a link that `pairs` joins to it and one for port 0, for a CA or router one.
pub(crate) fn sl_to_vl_of(
    at: Situation<'_>,
    output: PortId,
    pairs: &PortPairs<'_>,
) -> Vec<(SlToVlModifier, SlToVlMappingTable)> {
    let Some(node) = at.subnet().node(output.node) else {
        return Vec::new();
    };
    let is_joined = |input| match pairs.fabric().switch_by_guid(node.info().node_guid()) {
        Some(switch) => pairs.contains(switch, input, output.port),
        None => false,
    };
    let inputs: Vec<PortNum> = match node.is_switch() {
        // Packets that the switch itself sends; port 0 has no other input.
        true if output.port == PortNum::MANAGEMENT => Vec::from([PortNum(0)]),
        true => {
            let linked = node.ports().map(|(num, _)| num);
            let linked =
                linked.filter(|&port| port.0 != 0 && at.is_linked(PortId { port, ..output }));
            let joined = linked.filter(|&input| is_joined(input));
            core::iter::once(PortNum(0)).chain(joined).collect()
        }
        false => Vec::from([PortNum(0)]),
    };
    let output_port = output.port;
    let tables = inputs.into_iter().filter_map(|input| {
        let modifier = SlToVlModifier::Pair {
            input,
            output: output_port,
        };
        Some((modifier, sl_to_vl(at, output, modifier)?))
    });
    tables.collect()
}

/// Returns true if one SLtoVL table may be written for many pairs of ports of a switch at once.
pub(crate) fn has_optimized_programming(at: Situation<'_>, node: NodeId) -> bool {
    let info = at.subnet().switch(node).and_then(|switch| switch.info());
    at.config().use_optimized_slvl
        && info.is_some_and(|info| info.optimized_sl_to_vl_mapping_programming() != 0)
}

/// Returns true if a table may be written for all pairs of a switch's ports, port 0 included. An enhanced port 0 may
/// have fewer lanes than the links.
pub(crate) fn suits_port_0(at: Situation<'_>, node: NodeId, table: &SlToVlMappingTable) -> bool {
    let port_0 = PortId::management(node);
    let modifier = SlToVlModifier::Pair {
        input: PortNum::MANAGEMENT,
        output: PortNum::MANAGEMENT,
    };
    !links::is_enhanced_port_0(at, port_0) || sl_to_vl(at, port_0, modifier) == Some(*table)
}

/// The SLtoVL table with this modifier, for packets that leave by `output`.
pub(crate) fn sl_to_vl(
    at: Situation<'_>,
    output: PortId,
    modifier: SlToVlModifier,
) -> Option<SlToVlMappingTable> {
    let routes = at.plan().routes()?;
    let input = match modifier {
        SlToVlModifier::Pair { input, .. } => input,
        // All inputs have the same table, and with `All` all outputs too.
        SlToVlModifier::AllInputs { .. } | SlToVlModifier::All => PortNum(0),
        SlToVlModifier::AllOutputs { .. } => return None,
    };
    let of_routes = match at.subnet().switch(output.node) {
        Some(_) if output.port == PortNum::MANAGEMENT => *routes.vl_map().injection(),
        Some(_) => *routes
            .vl_map()
            .table(at.plan().switch(output.node)?, input, output.port),
        None => *routes.vl_map().injection(),
    };
    let table = configured_table(at, output).unwrap_or(of_routes);
    restricted(at, output, &table)
}

/// The halves of the VL arbitration table that fit in a port's capacity.
pub(crate) fn arbitration_halves(at: Situation<'_>, port: PortId) -> Vec<VlArbitrationHalf> {
    let info = at.subnet().port(port).and_then(|port| port.info());
    let Some(info) = info.filter(|info| info.vl_cap() > VlCap::VL0) else {
        return Vec::new();
    };
    // Only long lists need the second half of a table.
    let enabled = at.config().qos.enabled;
    let is_first = |half| {
        matches!(
            half,
            VlArbitrationHalf::LowFirst | VlArbitrationHalf::HighFirst
        )
    };
    let halves = halves_with_room(info);
    halves.filter(|&half| enabled || is_first(half)).collect()
}

/// The halves of the VL arbitration table that a port has entries for.
pub(crate) fn halves_with_room(info: &PortInfo) -> impl Iterator<Item = VlArbitrationHalf> + use<> {
    let (low, high) = (
        info.vl_arbitration_low_cap(),
        info.vl_arbitration_high_cap(),
    );
    let halves = [
        (VlArbitrationHalf::LowFirst, low > 0),
        (VlArbitrationHalf::LowSecond, low > 32),
        (VlArbitrationHalf::HighFirst, high > 0),
        (VlArbitrationHalf::HighSecond, high > 32),
    ];
    let halves = halves.into_iter().filter(|(_, has_room)| *has_room);
    halves.map(|(half, _)| half)
}

/// A half of a port's VL arbitration table: the configured one if there is one. Otherwise the low-priority table
/// lists every lane in use with the same weight, and the high-priority table is empty.
pub(crate) fn arbitration(
    at: Situation<'_>,
    port: PortId,
    half: VlArbitrationHalf,
) -> VlArbitrationTable {
    let config = at.config();
    if config.qos.enabled
        && let Some(kind) = links::kind(at, port)
    {
        return config.qos.arbitration(kind, half);
    }
    let mut table = VlArbitrationTable::default();
    if half == VlArbitrationHalf::LowFirst {
        for lane in 0..at.plan().lanes() {
            let vl = Vl::try_new(lane).unwrap_or_default();
            let entry = VlArbitrationEntry::new(vl, WEIGHT);
            let _ = table.set_vl_weight_block(lane.into(), &entry);
        }
    }
    table
}

/// The configured table for packets that leave by a port; only where the routes need one lane.
fn configured_table(at: Situation<'_>, output: PortId) -> Option<[Vl; 16]> {
    let qos = &at.config().qos;
    if at.plan().lanes() > 1 || !qos.enabled {
        return None;
    }
    let kind = links::kind(at, output)?;
    let table = qos.sl_to_vl(kind);
    let most = qos.max_vls(kind);
    Some(core::array::from_fn(|sl| {
        let lane = table.sl_to_vl(sl).unwrap_or_default();
        match lane.bits() {
            15 => lane,
            lane => Vl::from_low_bits(lane.checked_rem(most).unwrap_or(0)),
        }
    }))
}

/// Maps a table to the lanes that the link at `output` has. VL15, which drops the packet, stays.
fn restricted(at: Situation<'_>, output: PortId, lanes: &[Vl; 16]) -> Option<SlToVlMappingTable> {
    let vls = match output.port {
        PortNum::MANAGEMENT if links::is_enhanced_port_0(at, output) => {
            at.subnet().port(output)?.info()?.vl_cap()
        }
        _ => links::link_limits(at, output)?.vls(),
    };
    let count = vls.count().unwrap_or(1);
    let mut table = SlToVlMappingTable::default();
    for (sl, &vl) in lanes.iter().enumerate() {
        let lane = match vl.bits() {
            15 => 15,
            lane => lane.checked_rem(count).unwrap_or(0),
        };
        let _ = table.set_sl_to_vl(sl, Vl::try_new(lane).unwrap_or_default());
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_has_the_halves_that_its_capacities_reach_into() {
        use VlArbitrationHalf as Half;
        let with_room = |low: u8, high: u8| -> Vec<Half> {
            let mut info = PortInfo::default();
            info.set_vl_arbitration_low_cap(low)
                .set_vl_arbitration_high_cap(high);
            halves_with_room(&info).collect()
        };
        assert_eq!(with_room(0, 0), []);
        assert_eq!(with_room(1, 0), [Half::LowFirst]);
        assert_eq!(with_room(32, 1), [Half::LowFirst, Half::HighFirst]);
        assert_eq!(with_room(33, 0), [Half::LowFirst, Half::LowSecond]);
        assert_eq!(with_room(0, 32), [Half::HighFirst]);
        assert_eq!(with_room(0, 64), [Half::HighFirst, Half::HighSecond]);
        assert_eq!(with_room(64, 64).len(), 4);
    }
}
