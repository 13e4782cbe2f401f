//! Virtual lanes for routes that need them.

use ib_mad::{Attribute, Method};
use ib_routing::engine;
use ib_smp::{SlToVlMappingTable, VlArbitrationHalf, VlArbitrationTable};
use ib_testkit::lab::Lab;
use ib_wire::{PortNum, Sl};

#[test]
fn switches_map_service_levels_to_the_lanes_that_keep_deadlocks_off() {
    let mut running = Lab::new("gen-torus-4x4x4").routing(&engine::DFSSSP).up();
    let routes = running.sm.routes().unwrap().clone();
    assert_eq!(routes.engine(), &engine::DFSSSP);
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
    let running = Lab::new("gen-torus-4x4x4").routing(&engine::MINHOP).up();
    let sets = running.transport.sent_with(Method::SET);
    let tables = [SlToVlMappingTable::ID, VlArbitrationTable::ID];
    assert!(!sets.iter().any(|set| tables.contains(&set.attribute_id())));
}

#[test]
fn one_table_for_all_inputs_is_written_where_switches_can_and_the_option_allows_it() {
    let sets = |use_optimized_slvl, optimized_sl_to_vl| {
        let lab = Lab::new("gen-torus-4x4x4").routing(&engine::MINHOP);
        let lab = lab.config(|config| {
            config.qos.enabled = true;
            config.use_optimized_slvl = use_optimized_slvl;
        });
        let running = lab.options(|options| options.optimized_sl_to_vl = optimized_sl_to_vl);
        let sets = running.up().transport.sent_with(Method::SET);
        let tables = sets.iter();
        tables
            .filter(|set| set.attribute_id() == SlToVlMappingTable::ID)
            .count()
    };
    let each = sets(true, 0);
    assert_eq!(sets(false, 3), each);
    // Seven inputs and port 0 have a table for each output by themselves.
    assert!(sets(true, 3) * 3 < each, "{} of {each}", sets(true, 3));
}

#[test]
fn quality_of_service_writes_what_the_operator_wishes_and_nothing_twice() {
    let text = "qos TRUE\nqos_max_vls 4\nqos_high_limit 9\nqos_ca_high_limit 3\n\
        qos_sl2vl 0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,15\nqos_swe_vlarb_low 0:1,1:2,2:3,3:200\n\
        qos_swe_vlarb_high 3:7\n";
    let (wished, unknown) = ib_sm::SmConfig::parse(text).unwrap();
    assert!(unknown.is_empty());
    let mut running = Lab::new("gen-torus-4x4x4")
        .routing(&engine::MINHOP)
        .config(|config| config.qos = wished.qos.clone())
        .up();
    running.sim.with(|sim| {
        for node in sim.nodes().indices() {
            let entry = sim.node(node).unwrap();
            let linked: Vec<_> = sim
                .ports_of(node)
                .filter(|port| port.is_link_up() && port.at().port != PortNum(0))
                .collect();
            for port in &linked {
                let info = port.info();
                let limit = if entry.is_switch() { 9 } else { 3 };
                assert_eq!(info.vl_high_limit(), limit, "{:?}", port.at());
                let lanes = info.operational_vls().count().unwrap();
                for sl in 0..16u8 {
                    let input = PortNum(0);
                    let found = entry.vl(input, port.at().port, Sl::try_new(sl).unwrap());
                    let wanted = if sl == 15 { 15 } else { sl % 4 % lanes };
                    assert_eq!(found.bits(), wanted, "{:?}, SL {sl}", port.at());
                }
                if entry.is_switch() {
                    let low = port.sma().vl_arbitration(VlArbitrationHalf::LowFirst);
                    let entry = low.vl_weight_block(3).unwrap();
                    assert_eq!((entry.vl().bits(), entry.weight()), (3, 200));
                    let high = port.sma().vl_arbitration(VlArbitrationHalf::HighFirst);
                    let entry = high.vl_weight_block(0).unwrap();
                    assert_eq!((entry.vl().bits(), entry.weight()), (3, 7));
                }
            }
        }
    });
    running.resweep();
    let sets = running.transport.sent_with(Method::SET);
    assert!(sets.is_empty(), "{} Sets", sets.len());
}
