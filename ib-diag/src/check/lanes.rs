//! Service levels that an SLtoVL table maps to a lane that drops their packets.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use ib_routing::PortRef;
use ib_wire::{PortNum, Vl};

use crate::snapshot::Contents;

use super::{Check, Checker, Finding, Severity};

/// Looks at the tables of the pairs of ports that packets pass by the forwarding tables; at all tables if the
/// forwarding tables were not read.
pub(super) fn check(checker: &mut Checker<'_>) {
    let snapshot = checker.snapshot;
    let fabric = snapshot.fabric();
    let has_routes = snapshot.contents.contains(Contents::FORWARDING);
    let pairs = has_routes.then(|| snapshot.port_pairs(&fabric));
    let is_passed = |node, input, output| match (&pairs, fabric.switch_of(node)) {
        (Some(pairs), Some(switch)) => pairs.contains(switch, input, output),
        _ => true,
    };
    for (index, node) in snapshot.nodes.iter_enumerated() {
        // The service levels that some table drops, as a bit mask by output port.
        let mut dropped: BTreeMap<PortNum, u16> = BTreeMap::new();
        let passed = node.sl_to_vl.iter();
        let passed = passed.filter(|&(&(input, output), _)| is_passed(index, input, output));
        for (&(_, output), table) in passed {
            let lanes = node.port(output).and_then(|port| port.info);
            let Some(lanes) = lanes.and_then(|info| info.operational_vls().count()) else {
                continue;
            };
            checker.looked_at(Check::Sl2VlHole, 1);
            for sl in 0..16u8 {
                let lane = table.sl_to_vl(usize::from(sl)).unwrap_or(Vl::MANAGEMENT);
                // A lane that the port does not use drops packets too. Tables that were never written map unused
                // service levels to such a lane. For a service level without traffic only VL15 therefore counts, which
                // a manager did write.
                let is_dropped =
                    lane == Vl::MANAGEMENT || lane.bits() >= lanes && checker.has_traffic(sl);
                if is_dropped {
                    let bit = 1u16.checked_shl(u32::from(sl)).unwrap_or(0);
                    *dropped.entry(output).or_default() |= bit;
                }
            }
        }
        for (port, mask) in dropped {
            let levels: Vec<u8> = (0..16u8)
                .filter(|sl| {
                    mask.checked_shr(u32::from(*sl))
                        .is_some_and(|mask| mask & 1 == 1)
                })
                .collect();
            // Nearly all traffic has service level 0.
            let severity = match levels.first() {
                Some(0) => Severity::Error,
                _ => Severity::Warning,
            };
            let list: Vec<String> = levels.iter().map(|sl| format!("{sl}")).collect();
            let list = list.join(", ");
            let message = format!(
                "packets with service level {list} are mapped to a lane that the port does not use, and are dropped"
            );
            let action = "map them to a lane in use (qos_sl2vl of the subnet manager), or see that no application uses them";
            let place = checker.place(PortRef { node: index, port });
            let finding = Finding::new(Check::Sl2VlHole, severity, place, message, action);
            checker.add(finding.value(list));
        }
    }
}
