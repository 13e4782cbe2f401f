use alloc::{collections::BTreeSet, vec::Vec};

use ib_wire::{Lid, PortNum};

use super::*;
use crate::{
    engine,
    fabric::PortRef,
    generate::FabricSpec,
    lid::{LidMap, LidOptions},
    mcast::MulticastTrees,
    options::RouteOptions,
};

fn routed(spec: &str) -> (Fabric, LidMap, Routes) {
    let fabric = spec.parse::<FabricSpec>().unwrap().build().unwrap();
    let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
    let routes = engine::DFSSSP
        .route(&fabric, &lids, &RouteOptions::default())
        .unwrap();
    (fabric, lids, routes)
}

/// The pairs that packets from every end port to every LID pass, one path after the other.
fn passed(
    fabric: &Fabric,
    lids: &LidMap,
    routes: &Routes,
) -> BTreeSet<(SwitchIdx, PortNum, PortNum)> {
    let mut pairs = BTreeSet::new();
    for source in lids.destinations().iter() {
        let start = source.switch.unwrap();
        for lid in lids.destinations().iter().flat_map(|end| end.range.iter()) {
            let mut input = source.exit;
            for (switch, output) in routes.path(fabric, start, lid).collect::<Vec<_>>() {
                if output != PortNum(0) && output != input {
                    pairs.insert((switch, input, output));
                }
                if let Some(channel) = fabric.channel_at(switch, output) {
                    input = fabric.channel(channel).to_port;
                }
            }
        }
    }
    pairs
}

#[test]
fn pairs_are_those_that_the_paths_of_all_ends_pass() {
    for spec in [
        "torus:4x4,hosts=2",
        "fat-tree:radix=4,levels=3",
        "dragonfly:a=4,p=2,h=2",
    ] {
        let (fabric, lids, routes) = routed(spec);
        let found: BTreeSet<_> = PortPairs::of_routes(&fabric, &routes).iter().collect();
        assert_eq!(found, passed(&fabric, &lids, &routes), "{spec}");
        let all: usize = fabric
            .switches()
            .iter()
            .map(|&node| usize::from(fabric.node(node).num_ports()).pow(2))
            .sum();
        assert!(found.len() < all);
    }
}

#[test]
fn changed_entries_join_the_pairs_of_every_mixture_of_old_and_new() {
    let (fabric, _, old) = routed("torus:4x4,hosts=1");
    let mut new = old.clone();
    let mut changes = Vec::new();
    for lid in (1..=old.max_lid().0).map(Lid) {
        // Every third entry moves to the next port that leads to a switch.
        for switch in fabric
            .switches()
            .indices()
            .filter(|at| (at.0 + u32::from(lid.0)) % 3 == 0)
        {
            let ports: Vec<PortNum> = fabric
                .channels_from(switch)
                .map(|(_, channel)| channel.port)
                .collect();
            let Some(at) = ports.iter().position(|&port| port == old.port(switch, lid)) else {
                continue;
            };
            let port = ports[(at + 1) % ports.len()];
            new.set_port(switch, lid, port);
            let (block, entry) = (lid.0 / 64, (lid.0 % 64) as u8);
            changes.push(ChangedEntry {
                switch,
                block,
                entry,
                port,
            });
        }
    }
    let block = |routes: &'static Routes, switch, block: u16| routes.lft_block(switch, block);
    let (old, new): (&'static Routes, &'static Routes) = (
        alloc::boxed::Box::leak(alloc::boxed::Box::new(old)),
        alloc::boxed::Box::leak(alloc::boxed::Box::new(new)),
    );
    let mut whole = PortPairs::new(&fabric);
    whole.add_routes(old.row_len() / 64, |switch, number| {
        [block(old, switch, number), block(new, switch, number)]
    });
    let mut parts = PortPairs::of_routes(&fabric, old);
    let all = |pairs: &PortPairs<'_>| pairs.iter().collect::<Vec<_>>();
    assert_ne!(all(&parts), all(&whole));
    parts.add_changes(&changes, |switch, number| block(old, switch, number));
    assert_eq!(all(&parts), all(&whole));
}

#[test]
fn pairs_of_some_switches_are_the_same_as_among_those_of_all() {
    let (fabric, ..) = routed("torus:4x4,hosts=2");
    let nodes = fabric.nodes().iter_enumerated();
    let hosts = nodes.filter(|(_, node)| !node.type_.is_switch());
    let ends = hosts.step_by(3).map(|(node, _)| PortRef {
        node,
        port: PortNum(1),
    });
    let ends: Vec<PortRef> = ends.collect();
    let tree = MulticastTrees::new(&fabric, BTreeSet::new()).tree(&ends);
    let mut all = PortPairs::new(&fabric);
    all.add_tree(&tree.ports);
    let some: BTreeSet<SwitchIdx> = tree.ports.keys().copied().step_by(2).collect();
    let mut pairs = PortPairs::of_switches(&fabric, &some);
    pairs.add_tree(&tree.ports);
    let expected = all.iter().filter(|(switch, ..)| some.contains(switch));
    let expected: Vec<_> = expected.collect();
    assert!(!expected.is_empty());
    assert_eq!(pairs.iter().collect::<Vec<_>>(), expected);
}
