//! Directed routes while cables are lost and come back.

use std::collections::{BTreeMap, VecDeque};

use ib_routing::{PortRef, generate::FabricSpec};
use ib_sim::SimOptions;
use ib_smp::DrPath;
use ib_subnet::{NodeId, PortId, Subnet};
use ib_wire::random::SplitMix64;

use crate::lab::Lab;

/// The first of the shortest routes to every end port and switch, found breadth-first from the own port.
fn searched(subnet: &Subnet) -> BTreeMap<PortId, DrPath> {
    let own = subnet.own_port().unwrap();
    let mut routes = BTreeMap::from([(own, DrPath::OWN_NODE)]);
    let mut queue = VecDeque::from([(own.node, DrPath::OWN_NODE)]);
    while let Some((id, path)) = queue.pop_front() {
        for (port, record) in subnet.node(id).unwrap().ports() {
            let Some(peer) = record.peer() else { continue };
            let is_switch = subnet.node(peer.node).unwrap().is_switch();
            let end = if is_switch {
                PortId::management(peer.node)
            } else {
                peer
            };
            if routes.contains_key(&end) {
                continue;
            }
            let path = path.then(port).unwrap();
            routes.insert(end, path);
            if is_switch {
                queue.push_back((peer.node, path));
            }
        }
    }
    routes
}

fn check_routes(lab: &Lab) {
    for (port, path) in searched(&lab.subnet) {
        let route = lab.subnet.route(port).unwrap();
        assert_eq!(route.path(), &path, "{port:?}");
    }
}

fn real(lab: &Lab, port: PortId) -> PortRef {
    let guid = lab.subnet.node(port.node).unwrap().info().node_guid();
    let node = lab.sim.with(|sim| sim.find_guid(guid)).unwrap();
    PortRef {
        node,
        port: port.port,
    }
}

/// Walks around the ends of a cable.
fn walk(lab: &mut Lab, ends: [NodeId; 2]) {
    lab.settle();
    lab.ports(&ends.map(PortId::management));
}

#[test]
fn routes_over_lost_cables_are_replaced_by_those_of_a_search() {
    for spec in [
        "torus:4x4,hosts=1",
        "jellyfish:switches=20,degree=4,hosts=1",
        "fat-tree:radix=4,levels=3",
    ] {
        let fabric = spec.parse::<FabricSpec>().unwrap().build().unwrap();
        let mut lab = Lab::new(&fabric, SimOptions::default());
        lab.everything();
        check_routes(&lab);
        let mut random = SplitMix64::new(1);
        let mut lost: VecDeque<(PortRef, [NodeId; 2])> = VecDeque::new();
        for _ in 0..40 {
            let switches: Vec<NodeId> = lab.subnet.switches().map(|(id, _)| id).collect();
            let far = switches[random.below(switches.len())];
            let via = lab.subnet.node(far).unwrap().found_via().unwrap();
            // The own host has no other cable.
            if Some(via) != lab.subnet.own_port() {
                let ends = [via.node, far];
                let cable = real(&lab, via);
                lab.sim.with(|sim| sim.unlink(cable)).unwrap();
                lost.push_back((cable, ends));
                walk(&mut lab, ends);
                check_routes(&lab);
            }
            if lost.len() > 3
                && let Some((cable, ends)) = lost.pop_front()
            {
                lab.sim.with(|sim| sim.relink(cable)).unwrap();
                walk(&mut lab, ends);
            }
        }
    }
}
