//! Identities, and the values that both ends of a cable show (IBA vol. 1, 14.2.5.3 and 14.2.5.6).

use alloc::{collections::BTreeMap, format, vec::Vec};

use ib_routing::PortRef;
use ib_smp::{NodeInfo, PortInfo, PortPhysicalState, PortState};
use ib_wire::{Guid, PortNum};

use crate::conform::{
    Case,
    bench::{Bench, Outcome, ensure, fail, listed, skip},
    case,
};

const NODE_INFO: &str = "IBA vol. 1, 14.2.5.3";
const PORT_INFO: &str = "IBA vol. 1, 14.2.5.6";

pub(super) const CASES: &[Case] = &[
    case(
        "sim-101",
        "No two devices have one node GUID",
        NODE_INFO,
        |bench| {
            let twice = bench.subnet.duplicates.iter().map(|twice| twice.node_guid);
            let twice = listed(twice);
            ensure!(twice.is_empty(), "twice: {twice}");
            Ok(())
        },
    ),
    case(
        "sim-102",
        "No two end ports have one port GUID",
        NODE_INFO,
        |bench| {
            let mut seen: BTreeMap<Guid, PortRef> = BTreeMap::new();
            for (at, node, port) in bench.subnet.ports() {
                let external = node.is_switch() && at.port != PortNum::MANAGEMENT;
                if external || port.guid == Guid::NONE {
                    continue;
                }
                if let Some(other) = seen.insert(port.guid, at) {
                    return fail(format!("{} is at {other:?} and at {at:?}", port.guid));
                }
            }
            Ok(())
        },
    ),
    case("sim-103", "Every device answers", NODE_INFO, |bench| {
        let silent = listed(bench.subnet.silent.iter().map(|silent| silent.path));
        ensure!(silent.is_empty(), "no answer at {silent}");
        Ok(())
    }),
    case(
        "sim-104",
        "A cable is the same seen from both ends",
        NODE_INFO,
        |bench| {
            let cables: Vec<_> = bench.subnet.cables().collect();
            for (a, b) in cables {
                for (from, to) in [(a, b), (b, a)] {
                    leads(bench, from, to)?;
                }
            }
            Ok(())
        },
    ),
    case(
        "sim-105",
        "A node is the same over every route",
        NODE_INFO,
        |bench| {
            let between = bench.subnet.cables().find(|(a, b)| {
                let is_switch = |at: &PortRef| {
                    bench
                        .subnet
                        .node(at.node)
                        .is_some_and(|node| node.is_switch())
                };
                a.node != b.node && is_switch(a) && is_switch(b)
            });
            let Some((a, b)) = between else {
                return skip("no cable between two switches");
            };
            let path = bench
                .subnet
                .node(a.node)
                .map(|node| node.path)
                .unwrap_or_default();
            let there = path.then(a.port);
            let again = there
                .and_then(|path| path.then(b.port))
                .and_then(|path| path.then(a.port));
            let (Some(there), Some(again)) = (there, again) else {
                return skip("the routes are longer than 63 hops");
            };
            let first: NodeInfo = bench.get(&there, 0)?;
            let second: NodeInfo = bench.get(&again, 0)?;
            ensure!(first == second, "two different NodeInfo");
            Ok(())
        },
    ),
    case(
        "sim-106",
        "Both ends of a cable are LinkUp",
        PORT_INFO,
        |bench| {
            both_ends(bench, |a, b| {
                [a, b]
                    .iter()
                    .all(|info| info.port_physical_state() == PortPhysicalState::LINK_UP)
            })
        },
    ),
    case(
        "sim-107",
        "Both ends of a cable use one width",
        PORT_INFO,
        |bench| both_ends(bench, |a, b| a.link_width_active() == b.link_width_active()),
    ),
    case(
        "sim-108",
        "Both ends of a cable use one speed",
        PORT_INFO,
        |bench| {
            both_ends(bench, |a, b| {
                (a.link_speed_active(), a.link_speed_ext_active())
                    == (b.link_speed_active(), b.link_speed_ext_active())
            })
        },
    ),
    case(
        "sim-109",
        "A port without a cable is Down",
        PORT_INFO,
        |bench| {
            let up = bench.subnet.ports().filter(|(at, node, port)| {
                let management = node.is_switch() && at.port == PortNum::MANAGEMENT;
                let up = port
                    .info
                    .is_some_and(|info| info.port_state() != PortState::DOWN);
                !management && port.peer.is_none() && up
            });
            let up = listed(up.map(|(at, node, _)| format!("port {} of {}", at.port, node.guid())));
            ensure!(up.is_empty(), "not Down: {up}");
            Ok(())
        },
    ),
    case(
        "sim-110",
        "Port 0 of a switch is Active",
        PORT_INFO,
        |bench| {
            let at = bench.port_0()?;
            let state = bench.port_info(at)?.port_state();
            ensure!(state == PortState::ACTIVE, "port 0 is {state}");
            Ok(())
        },
    ),
];

/// Judges whether a directed route over the port at one end reaches the port at the other end.
fn leads(bench: &mut Bench<'_>, from: PortRef, to: PortRef) -> Outcome {
    let node = bench.subnet.node(from.node);
    let Some((path, true)) = node.map(|node| (node.path, node.is_switch())) else {
        return Ok(());
    };
    let expected = bench.subnet.node(to.node).map(|node| node.guid());
    let Some(path) = path.then(from.port) else {
        return Ok(());
    };
    let info: NodeInfo = bench.get(&path, 0)?;
    ensure!(
        Some(info.node_guid()) == expected && info.local_port_num() == to.port,
        "{path} leads to port {} of {}",
        info.local_port_num(),
        info.node_guid()
    );
    Ok(())
}

fn both_ends(bench: &mut Bench<'_>, agree: fn(&PortInfo, &PortInfo) -> bool) -> Outcome {
    let info = |at: PortRef| bench.subnet.port(at).and_then(|port| port.info);
    let ends = bench
        .subnet
        .cables()
        .filter_map(|(a, b)| Some((a, info(a)?, info(b)?)));
    let wrong = ends.filter(|(_, a, b)| !agree(a, b));
    let wrong = listed(wrong.map(|(at, _, _)| format!("{:?}", at)));
    ensure!(wrong.is_empty(), "not at the cables of {wrong}");
    Ok(())
}
