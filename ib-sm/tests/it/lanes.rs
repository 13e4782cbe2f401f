//! Virtual lanes for routes that need them.

use std::{collections::BTreeMap, ops::ControlFlow, time::Duration};

use ib_mad::{Attribute, Instant, Mad, Method};
use ib_routing::{Fabric, NodeIdx, PortPairs, PortRef, engine};
use ib_sa::{JoinState, McMemberComponents as C, McMemberRecord};
use ib_sim::{SharedSim, Sim};
use ib_sm::Event;
use ib_smp::{LinearForwardingTable, SlToVlMappingTable, VlArbitrationHalf, VlArbitrationTable};
use ib_testkit::{
    data::torus_2qos_config,
    fabrics::{generated, without},
    lab::{Lab, Recorder, Running, client::Client},
};
use ib_transport::{Clock as _, MadTransport, Received, TransportError, drive};
use ib_wire::{Gid, GidPrefix, PKey, PortNum, Sl, Vl};

/// A lab whose switches drop packets of every service level until their SLtoVL tables are written.
fn without_lanes(name: &str) -> Lab {
    Lab::new(name).routing(&engine::DFSSSP).options(|options| {
        options.initial_sl_to_vl = Some(SlToVlMappingTable::from_bytes([0xff; 8]))
    })
}

/// The first pair of ports that packets may pass by the forwarding tables in the switches, and whose SLtoVL table is
/// not that of the routes.
fn wrong_pair(sim: &Sim, fabric: &Fabric, lanes: u8) -> Option<String> {
    let (_, tables) = sim.installed(fabric);
    let pairs = PortPairs::of_routes(fabric, &tables);
    let mut wrong = pairs.iter().filter(|&(switch, input, output)| {
        let levels = (0..lanes).map(|sl| Sl::try_new(sl).unwrap());
        let mut levels = levels.map(|sl| (sl, tables.vl_map().vl(switch, input, output, sl)));
        levels.any(|(sl, vl)| vl.bits() != sl.bits())
    });
    let (switch, input, output) = wrong.next()?;
    Some(format!(
        "{}: {input} to {output}",
        fabric.switch(switch).name
    ))
}

/// Forwards every call. Looks at the tables of all switches before each write of a forwarding table, when all
/// earlier ones have been answered or are on their way.
struct Watched<'a> {
    inner: &'a mut Recorder,
    sim: SharedSim,
    fabric: &'a Fabric,
    lanes: u8,
    looks: usize,
}

impl MadTransport for Watched<'_> {
    type Error = TransportError;

    fn send(&mut self, now: Instant, mad: &Mad) -> Result<(), TransportError> {
        let header = mad.header();
        if header.method() == Method::SET && header.attribute_id() == LinearForwardingTable::ID {
            let wrong = self
                .sim
                .with(|sim| wrong_pair(sim, self.fabric, self.lanes));
            assert_eq!(
                wrong, None,
                "{} writes earlier the tables were right",
                self.looks
            );
            self.looks += 1;
        }
        self.inner.send(now, mad)
    }

    fn recv(&mut self, now: Instant) -> Result<Option<Received>, TransportError> {
        self.inner.recv(now)
    }

    fn wait(&mut self, now: Instant, until: Option<Instant>) -> Result<bool, TransportError> {
        self.inner.wait(now, until)
    }
}

/// Changes the fabric and runs the manager until the subnet is up again. Returns the number of looks at the tables.
fn change(running: &mut Running, fabric: &Fabric, change: impl FnOnce(&mut Sim)) -> usize {
    running.sim.with(change);
    let sim = running.sim.clone();
    let lanes = running.sm.routes().unwrap().vls();
    let mut transport = Watched {
        inner: &mut running.transport,
        sim,
        fabric,
        lanes,
        looks: 0,
    };
    let events = &mut running.events;
    let clock = &running.sim;
    let up = drive(&mut running.sm, &mut transport, clock, |_, event| {
        let flow = match &event {
            Event::SubnetUp(_) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        events.push(event);
        flow
    });
    up.unwrap().expect("an event");
    let looks = transport.looks;
    let wrong = running
        .sim
        .with(|sim| wrong_pair(sim, fabric, running.sm.routes().unwrap().vls()));
    assert_eq!(wrong, None);
    looks
}

/// The cables between switches, by the end that comes first.
fn cables(fabric: &Fabric) -> Vec<PortRef> {
    fabric.switch_links().map(|(end, _)| end).collect()
}

#[test]
fn every_pair_of_ports_that_routes_join_has_their_lanes_at_every_moment() {
    for from in [usize::MAX, 0] {
        let lab = without_lanes("gen-torus-4x4x4");
        let whole = lab.fabric.clone();
        let mut running = lab.start();
        running.sm = running.sm.with_detours_from(from);
        running.run_until_up();
        assert!(running.sm.routes().unwrap().vls() > 1);
        let wrong = running
            .sim
            .with(|sim| wrong_pair(sim, &whole, running.sm.routes().unwrap().vls()));
        assert_eq!(wrong, None);
        let mut fabric = whole;
        for cable in [3, 41] {
            let end = cables(&fabric)[cable];
            fabric = without(&fabric, &[end]);
            let looks = change(&mut running, &fabric, |sim| sim.unlink(end).unwrap());
            assert!(looks > 0, "no entry changed");
            running.run_for(Duration::from_secs(1));
        }
        running.resweep();
        let sets = running.transport.sent_with(Method::SET);
        let mut sets = sets.iter();
        assert!(!sets.any(|set| set.attribute_id() == SlToVlMappingTable::ID));
    }
}

#[test]
fn tables_of_pairs_that_no_route_joins_are_not_written() {
    let fabric = generated("jellyfish:switches=16,degree=9,hosts=3,seed=1");
    let lab = Lab::of(fabric).routing(&engine::MINHOP);
    let running = lab.config(|config| config.qos.enabled = true).up();
    let fabric = running.sm.fabric();
    let joined = PortPairs::of_routes(fabric, running.sm.routes().unwrap());
    // Packets that the switch itself sends pass from port 0.
    let joined = joined
        .iter()
        .filter(|(_, input, _)| *input != PortNum(0))
        .count();
    let sets = running.transport.sent_with(Method::SET);
    let tables = sets
        .iter()
        .filter(|set| set.attribute_id() == SlToVlMappingTable::ID);
    let linked = |node: NodeIdx| {
        fabric
            .node(node)
            .ports()
            .filter(|(_, port)| port.peer.is_some())
            .count()
    };
    let (from_port_0, all) = fabric
        .switches()
        .iter()
        .fold((0, 0), |(ports, pairs), &node| {
            (ports + linked(node), pairs + linked(node).pow(2))
        });
    let (written, cas) = (tables.count(), fabric.nodes().len() - fabric.num_switches());
    // The trees of groups join pairs that no route joins.
    let of_trees = written - cas - from_port_0 - joined;
    assert!(of_trees < joined / 10, "{of_trees} of {joined}");
    assert!(written * 3 < all * 2, "{written} of {all}");
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
    // One table for each of 64 switches, and one for each CA.
    assert_eq!(sets(true, 3), 128);
    assert!(each > 64 * 30, "{each}");
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

/// The low and the high arbitration table of every linked port of a switch.
fn arbitration_tables(running: &Running) -> Vec<[VlArbitrationTable; 2]> {
    running.sim.with(|sim| {
        let switches = sim.nodes().iter_enumerated();
        let switches = switches.filter(|(_, node)| node.is_switch());
        let ports = switches.flat_map(|(node, _)| sim.ports_of(node));
        let linked = ports.filter(|port| port.is_link_up() && port.at().port != PortNum(0));
        let tables = linked.map(|port| {
            let halves = [VlArbitrationHalf::LowFirst, VlArbitrationHalf::HighFirst];
            halves.map(|half| port.sma().vl_arbitration(half))
        });
        tables.collect()
    })
}

#[test]
fn each_lane_of_the_routes_has_the_same_share_of_a_link() {
    let running = Lab::new("gen-torus-4x4x4").routing(&engine::DFSSSP).up();
    let lanes = running.sm.routes().unwrap().vls();
    assert!(lanes > 1);
    for [low, high] in arbitration_tables(&running) {
        let entries = (0..8).map(|at| low.vl_weight_block(at).unwrap());
        let used: Vec<_> = entries.filter(|entry| entry.weight() != 0).collect();
        let numbers: Vec<u8> = used.iter().map(|entry| entry.vl().bits()).collect();
        assert_eq!(numbers, (0..lanes).collect::<Vec<_>>());
        assert!(used.iter().all(|entry| entry.weight() == used[0].weight()));
        assert!((0..8).all(|at| high.vl_weight_block(at).unwrap().weight() == 0));
    }
}

#[test]
fn lanes_that_routes_need_come_before_those_that_the_operator_wishes() {
    let text = "qos TRUE\nqos_sl2vl 0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n";
    let (wished, _) = ib_sm::SmConfig::parse(text).unwrap();
    let lab = without_lanes("gen-torus-4x4x4").config(|config| config.qos = wished.qos.clone());
    let fabric = lab.fabric.clone();
    let running = lab.up();
    let lanes = running.sm.routes().unwrap().vls();
    assert!(lanes > 1);
    let wrong = running.sim.with(|sim| wrong_pair(sim, &fabric, lanes));
    assert_eq!(wrong, None);
}

#[test]
fn arbitration_tables_that_the_operator_changes_are_written_anew() {
    let wished = |weight: u8| {
        let text = format!("qos TRUE\nqos_vlarb_low 0:{weight}\n");
        ib_sm::SmConfig::parse(&text).unwrap().0.qos
    };
    let lab = Lab::new("gen-ring-5").config(|config| config.qos = wished(7));
    let mut running = lab.up();
    let mut config = running.sm.config().clone();
    config.qos = wished(9);
    let now = running.sim.now();
    assert!(running.sm.reconfigure(now, config).is_empty());
    running.run_until_up();
    for [low, _] in arbitration_tables(&running) {
        assert_eq!(low.vl_weight_block(0).unwrap().weight(), 9);
    }
}

/// The lanes of all service levels in the switches, for the pairs of ports that routes join.
fn lanes_of_routes(running: &Running) -> BTreeMap<(String, PortNum, PortNum), Vec<Vl>> {
    let (fabric, routes) = (running.sm.fabric(), running.sm.routes().unwrap());
    let pairs = PortPairs::of_routes(fabric, routes);
    let lanes = pairs.iter().map(|(switch, input, output)| {
        let guid = fabric.switch_guid(switch);
        let node = running.sim.with(|sim| sim.find_guid(guid).unwrap());
        let levels = (0..16).map(|sl| Sl::try_new(sl).unwrap());
        let lanes = running.node(node, |node| {
            levels.map(|sl| node.vl(input, output, sl)).collect()
        });
        ((fabric.switch(switch).name.clone(), input, output), lanes)
    });
    lanes.collect()
}

/// Where a switch takes one table for all inputs of a port, the table of a pair that a tree or a repair joins is not
/// written over those of other pairs, which are to be different: at every moment the lanes are those of a fabric whose
/// switches take a table for one pair at a time.
#[test]
fn lanes_of_trees_leave_those_of_routes_where_one_write_reaches_all_inputs() {
    let mut clients = [0, 3].map(|optimized| {
        let lab = Lab::new("gen-torus-4x4x4").routing(&engine::TORUS_2QOS);
        let lab =
            lab.config(|config| config.route_options.torus_config = Some(torus_2qos_config()));
        let lab = lab.options(|options| {
            options.optimized_sl_to_vl = optimized;
            options.initial_sl_to_vl = Some(SlToVlMappingTable::from_bytes([0xff; 8]));
        });
        Client::of(lab.up())
    });
    assert_eq!(clients[0].running.sm.engine(), Some("torus-2QoS"));
    let assert_alike = |clients: &[Client; 2], when: &str| {
        let [each, all] = [0, 1].map(|number| lanes_of_routes(&clients[number].running));
        assert_eq!(each.len(), all.len());
        let wrong = each.iter().zip(&all).filter(|(each, all)| each != all);
        assert_eq!(wrong.collect::<Vec<_>>(), [], "{when}");
    };
    assert_alike(&clients, "at first");
    let ends = clients[0].running.sm.lids().destinations().iter();
    let hosts = ends.filter(|end| !end.is_switch());
    let guids: Vec<_> = hosts.map(|end| end.guid).collect();
    for group in 0..24_usize {
        for number in 0..4 {
            let mut record = McMemberRecord::default();
            record
                .set_mgid(Gid((0xff15_a01c_fe80 << 80 | group as u128).to_be_bytes()))
                .set_port_gid(Gid::new(
                    GidPrefix::DEFAULT,
                    guids[(group * 11 + number * 23) % 64],
                ))
                .set_p_key(PKey::DEFAULT_FULL)
                .set_join_state(JoinState::FULL_MEMBER);
            let mask = C::MGID | C::PORT_GID | C::JOIN_STATE;
            let mask = mask | C::Q_KEY | C::P_KEY | C::SL | C::FLOW_LABEL | C::TCLASS;
            for client in &mut clients {
                client.set(&record, mask.into()).unwrap();
                client.running.run_for(Duration::from_millis(10));
            }
        }
        assert_alike(&clients, "after joins");
    }
    let cable = cables(clients[0].running.sm.fabric())[3];
    for client in &mut clients {
        client.running.sim.with(|sim| sim.unlink(cable).unwrap());
        client.running.run_for(Duration::from_secs(2));
    }
    assert_alike(&clients, "without a cable");
}
