//! Faulty fabrics: loss, silence, restarts, garbage.

use std::{collections::BTreeMap, time::Duration};

use ib_mad::{Attribute, Method};
use ib_routing::{FabricBuilder, NewNode, NodeIdx, PortRef, engine, generate::FabricSpec};
use ib_sim::Behaviour;
use ib_sm::{Event, NotActive, Phase, Unresponsive};
use ib_smp::{LinearForwardingTable, PortState, SlToVlMappingTable, SlToVlModifier};
use ib_testkit::lab::{Lab, Running};
use ib_wire::{Guid, Lmc, PortNum};

fn nodes_up(running: &Running) -> usize {
    let summary = running.sm.summary();
    summary.fabric.switches + summary.fabric.cas + summary.fabric.routers
}

#[test]
fn a_lossy_fabric_comes_up() {
    for seed in 0..5 {
        let lab = Lab::new("gen-ft-oversub2-144").options(|options| {
            options.faults.rates.loss = 0.01;
            options.faults.seed = seed;
        });
        let expected = lab.fabric.nodes().len();
        let running = lab.up();
        assert_eq!(nodes_up(&running), expected, "seed {seed}");
        let summary = running.sm.summary();
        assert_eq!(summary.ports.not_active, 0, "seed {seed}");
        assert!(running.sm.mads().retried > 0, "seed {seed}");
    }
}

#[test]
fn duplicated_delayed_and_corrupt_answers_do_no_harm() {
    let lab = Lab::new("gen-torus-4x4x4").options(|options| {
        options.faults.rates.duplicate = 0.05;
        options.faults.rates.reorder = 0.05;
        options.faults.seed = 7;
    });
    let expected = lab.fabric.nodes().len();
    let running = lab.up();
    assert_eq!(nodes_up(&running), expected);
}

/// A CA, selected by its name, that answers nothing.
fn silence(running: &Running, name: &str) -> NodeIdx {
    running.sim.with(|sim| {
        let node = sim.find(name).expect(name);
        sim.set_behaviour(node, Behaviour::Silent);
        node
    })
}

#[test]
fn a_silent_node_is_listed_and_the_rest_comes_up() {
    let lab = Lab::new("gen-ft-oversub2-144");
    let total = lab.fabric.nodes().len();
    let hosts: Vec<_> = lab
        .fabric
        .nodes()
        .iter()
        .filter(|node| !node.type_.is_switch())
        .map(|node| node.name.clone())
        .collect();
    let mut running = lab.start();
    let silent: Vec<_> = [5, 50, 100]
        .map(|index: usize| silence(&running, &hosts[index]))
        .into();
    let summary = running.run_until_up();
    assert_eq!(nodes_up(&running), total - 3);
    assert_eq!(summary.unresponsive.len(), 3, "{:?}", summary.unresponsive);
    running.sim.with(|sim| {
        for node in silent {
            let port = sim.ports_of(node).find_map(|port| sim.peer(port.at()));
            let peer = port.unwrap();
            let at = Unresponsive {
                at: Some(ib_sm::PortAt {
                    node_guid: sim.node(peer.node).unwrap().guid(),
                    port_num: peer.port,
                }),
                neighbor: true,
                attribute_id: ib_smp::NodeInfo::ID,
            };
            assert!(summary.unresponsive.contains(&at), "{at:?}");
        }
    });
    // The time-outs overlap: 4 attempts of 200 ms altogether, not for each node.
    let time = summary.phases.total();
    assert!(time.as_millis() < 1000, "{time:?}");
    // The port of the switch is not armed, and the manager says once why.
    let left_out = |running: &Running| {
        let events = running.events.iter();
        let unknown = events.filter(|event| {
            let reason = NotActive::OtherEndUnknown;
            matches!(event, Event::PortNotActive { reason: found, .. } if *found == reason)
        });
        unknown.count()
    };
    assert_eq!((left_out(&running), summary.ports.not_active), (3, 3));
    running.resweep();
    assert_eq!(left_out(&running), 3);
}

/// The forwarding tables by switch.
fn tables(running: &Running) -> BTreeMap<Guid, Vec<u8>> {
    let (fabric, routes) = (running.sm.fabric(), running.sm.routes().unwrap());
    let switches = fabric.switches().indices();
    switches
        .map(|switch| (fabric.switch_guid(switch), routes.lft(switch).to_vec()))
        .collect()
}

#[test]
fn only_blocks_that_differ_are_written_after_a_link_is_lost() {
    let mut running = Lab::new("gen-torus-4x4x4").up();
    let all = running.transport.sent_with(Method::SET);
    let blocks = |headers: &[ib_mad::MadHeader]| {
        let lft = headers.iter();
        lft.filter(|header| header.attribute_id() == LinearForwardingTable::ID)
            .count()
    };
    let all = blocks(&all);
    let cable = running.sim.with(|sim| {
        let switch = sim
            .nodes()
            .iter_enumerated()
            .find(|(_, node)| node.is_switch());
        let (switch, _) = switch.unwrap();
        let port = sim.ports_of(switch).find(|port| {
            sim.peer(port.at())
                .is_some_and(|peer| sim.node(peer.node).unwrap().is_switch())
        });
        let at = port.unwrap().at();
        sim.unlink(at).unwrap();
        at
    });
    let before = tables(&running);
    running.resweep();
    let after = tables(&running);
    let changes: usize = before
        .iter()
        .map(|(switch, row)| {
            row.iter()
                .zip(&after[switch])
                .filter(|(was, is)| was != is)
                .count()
        })
        .sum();
    let repaired = running.events.iter().find_map(|event| match event {
        Event::RoutesRepaired { broken, moved } => Some((*broken, *moved)),
        _ => None,
    });
    let (broken, moved) = repaired.expect("a repair");
    assert!(broken > 0 && broken <= moved, "{broken} of {moved}");
    assert_eq!(changes as u64, moved);
    let some = blocks(&running.transport.sent_with(Method::SET));
    assert!(some > 0 && some < all, "{some} of {all}");
    let report = running.sm.report().unwrap();
    assert_eq!((report.unreachable, report.loops), (0, 0));
    assert!(running.sm.fabric().links().all(|(a, b)| {
        let guid = |end: PortRef| (running.sm.fabric().node(end.node).guid, end.port);
        let lost = running.node(cable.node, |node| node.guid());
        guid(a) != (lost, cable.port) && guid(b) != (lost, cable.port)
    }));
}

#[test]
fn entries_that_broke_are_led_over_neighbours_before_all_routes_are_computed_anew() {
    let spec: FabricSpec = "random:switches=16,links=40,hosts=2,seed=3"
        .parse()
        .unwrap();
    let fabric = spec.build().unwrap();
    let first = fabric.switches().indices().next().unwrap();
    let (_, channel) = fabric.channels_from(first).last().unwrap();
    let cable = PortRef {
        node: fabric.switches()[first],
        port: channel.port,
    };
    let mut running = Lab::of(fabric).up();
    running.events.clear();
    running.sim.with(|sim| sim.unlink(cable).unwrap());
    running.run_until_up();
    let refusals = running.events.iter();
    let refusals = refusals.filter(|event| matches!(event, Event::RepairFailed(_)));
    assert_eq!(
        refusals.count(),
        1,
        "a repair that failed is not tried again"
    );
    let place = |is: fn(&Event) -> bool| running.events.iter().position(is);
    let failed = place(|event| matches!(event, Event::RepairFailed(_))).unwrap();
    let healed = place(|event| matches!(event, Event::TablesHealed { .. })).unwrap();
    let verified = place(|event| matches!(event, Event::RoutesVerified { .. })).unwrap();
    assert!(failed < healed && healed < verified, "{:?}", running.events);
    let report = running.sm.report().unwrap();
    assert_eq!((report.unreachable, report.loops), (0, 0));
    assert!(report.deadlock_free);
}

#[test]
fn a_restarted_manager_rewrites_no_table_and_keeps_every_lid() {
    let mut running = Lab::new("gen-irregular-20").up();
    let lids = |running: &Running| -> Vec<_> {
        let lids = running.sm.lids().destinations().iter();
        lids.map(|destination| (destination.guid, destination.range))
            .collect()
    };
    let before = lids(&running);
    let config = ib_sm::SmConfig {
        sweep_interval: None,
        first_transaction_id: ib_mad::TransactionId(0x10_0000),
        ..ib_sm::SmConfig::default()
    };
    running.transport.sent.clear();
    let now = ib_transport::Clock::now(&running.sim);
    running.sm = ib_sm::SubnetManager::new(config, now);
    running.run_until_up();
    assert_eq!(lids(&running), before);
    let sets = running.transport.sent_with(Method::SET);
    let tables = sets
        .iter()
        .filter(|set| set.attribute_id() == LinearForwardingTable::ID);
    assert_eq!(tables.count(), 0);
}

#[test]
fn two_hosts_on_one_cable_come_up() {
    let mut builder = FabricBuilder::new();
    let [a, b] = [0x10, 0x20].map(|guid| {
        let host = NewNode {
            guid: Guid(guid),
            num_ports: 2,
            ..NewNode::default()
        };
        let node = builder.add_node(host).unwrap();
        PortRef {
            node,
            port: PortNum(1),
        }
    });
    builder.add_link(a, b).unwrap();
    let running = Lab::of(builder.build()).up();
    let summary = running.sm.summary();
    assert_eq!((summary.fabric.cas, summary.fabric.lids), (2, 2));
    assert_eq!((summary.ports.active, summary.ports.not_active), (2, 0));
}

#[test]
fn the_manager_may_sit_on_a_switch() {
    let lab = Lab::new("gen-torus-4x4x4");
    let (switch, _) = lab
        .fabric
        .nodes()
        .iter_enumerated()
        .find(|(_, node)| node.type_.is_switch())
        .unwrap();
    let running = lab.sm_at(switch, 0).up();
    let lid = running.sim.with(|sim| {
        let port = sim
            .port(PortRef {
                node: switch,
                port: PortNum(0),
            })
            .unwrap();
        assert_eq!(port.state(), PortState::ACTIVE);
        port.info().lid()
    });
    running.sim.with(|sim| {
        for (_, node) in running.sm.fabric().nodes().iter_enumerated() {
            let node = sim.find_guid(node.guid).unwrap();
            assert!(
                sim.end_ports(node)
                    .any(|port| port.info().master_sm_lid() == lid)
            );
        }
    });
}

/// Each further request would cost the time of all its attempts.
#[test]
fn a_switch_that_falls_silent_during_the_writes_is_asked_no_more_in_that_sweep() {
    // Tables of many blocks, so that many requests to each switch wait.
    let lab = Lab::new("gen-ring-5").config(|config| {
        config.lmc = Lmc::try_new(6).unwrap();
        config.max_wire_smps = 4;
        config.transaction_retries = 0;
    });
    let switch = *lab.fabric.switches().iter().last().unwrap();
    let mut running = lab.start();
    let writes = |running: &Running| {
        let sets = running.transport.sent_with(Method::SET).into_iter();
        sets.map(|set| set.attribute_id())
            .any(|id| id == LinearForwardingTable::ID)
    };
    while !writes(&running) {
        running.run_for_at_most(Duration::from_secs(1), 1);
    }
    let silent = |running: &Running, behaviour| {
        running.sim.with(|sim| sim.set_behaviour(switch, behaviour));
    };
    silent(&running, Behaviour::Silent);
    while !running.has_swept() {
        running.run_for_at_most(Duration::from_secs(1), 1);
    }
    let summary = running.sm.summary();
    assert!(summary.errors > 0);
    // Those that are in flight, and a few that were chosen already.
    let given_up = summary.mads.timed_out;
    assert!((1..=8).contains(&given_up), "{given_up}");
    assert_eq!(summary.unresponsive.len(), 1, "{:?}", summary.unresponsive);
    let guid = running.node(switch, |node| node.guid());
    let named = running.events.iter().filter(|event| {
        matches!(event, Event::Unresponsive(device) if device.at.is_some_and(|at| at.node_guid == guid))
    });
    assert_eq!(named.count(), 1);
    silent(&running, Behaviour::Honest);
    running.run_until_up();
    assert_eq!(running.sm.report().unwrap().unreachable, 0);
}

/// The time that the manager spends writing tables if each answer about an SLtoVL table that `is_lost` chooses is lost.
fn programming_time(optimized_sl_to_vl: u8, is_lost: fn(SlToVlModifier) -> bool) -> Duration {
    let lab = Lab::new("gen-ring-5").routing(&engine::MINHOP);
    let lab = lab.options(|options| options.optimized_sl_to_vl = optimized_sl_to_vl);
    let lab = lab.config(|config| {
        config.qos.enabled = true;
        config.use_optimized_slvl = true;
        config.transaction_retries = 0;
        config.transaction_timeout = Duration::from_millis(100);
        config.long_transaction_timeout = Duration::from_millis(5000);
    });
    let mut running = lab.start();
    running.transport.alter = Some(Box::new(move |mad| {
        let header = mad.header();
        let pairs = SlToVlModifier::from_bits(header.attribute_modifier());
        header.attribute_id() != SlToVlMappingTable::ID || !pairs.is_some_and(is_lost)
    }));
    while !running.has_swept() {
        running.run_for_at_most(Duration::from_secs(30), 1);
    }
    running.sm.summary().phases.of(Phase::Program)
}

/// A switch copies such a table to each of its ports, which takes longer than any other answer.
#[test]
fn a_table_for_many_pairs_of_ports_has_the_long_time_out() {
    fn is_pair(modifier: SlToVlModifier) -> bool {
        matches!(modifier, SlToVlModifier::Pair { .. })
    }
    let long = Duration::from_millis(5000);
    assert!(programming_time(3, |modifier| !is_pair(modifier)) >= long);
    assert!(programming_time(0, is_pair) < long);
}
