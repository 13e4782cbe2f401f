//! Virtual lanes as the routes need them.

mod lab;

use ib_mad::{Attribute, Method};
use ib_routing::RoutingEngine;
use ib_smp::{SlToVlMappingTable, VlArbitrationTable};
use ib_wire::{PortNum, Sl};
use lab::Lab;

#[test]
fn switches_map_service_levels_to_the_lanes_that_keep_deadlocks_off() {
    let mut running = Lab::new("gen-torus-4x4x4")
        .routing(RoutingEngine::Dfsssp)
        .up();
    let routes = running.sm.routes().unwrap().clone();
    assert_eq!(routes.engine(), RoutingEngine::Dfsssp);
    assert!(routes.vls() > 1);
    assert!(running.sm.report().unwrap().deadlock_free);
    let fabric = running.sm.fabric();
    running.sim.with(|sim| {
        for (switch, &node) in fabric.switches().iter_enumerated() {
            let node = fabric.node(node);
            let at = sim.find_guid(node.guid).unwrap();
            let linked: Vec<PortNum> = node
                .ports()
                .filter_map(|(port, end)| end.peer.map(|_| port))
                .collect();
            for &input in &linked {
                for &output in linked.iter().filter(|&&output| output != input) {
                    for sl in (0..routes.vls()).map(|sl| Sl::try_new(sl).unwrap()) {
                        let found = sim.node(at).unwrap().vl(input, output, sl);
                        let wanted = routes.vl_map().vl(switch, input, output, sl);
                        assert_eq!(found, wanted, "{} {input} {output} {sl}", node.name);
                    }
                }
            }
        }
    });
    running.resweep();
    let sets = running.transport.sent_with(Method::SET);
    assert!(sets.is_empty(), "{} Sets", sets.len());
}

#[test]
fn routes_on_one_lane_need_no_lane_tables() {
    let running = Lab::new("gen-torus-4x4x4")
        .routing(RoutingEngine::MinHop)
        .up();
    let sets = running.transport.sent_with(Method::SET);
    let tables = [SlToVlMappingTable::ID, VlArbitrationTable::ID];
    assert!(!sets.iter().any(|set| tables.contains(&set.attribute_id())));
}
