//! Devices with false answers, and fabrics where all faults occur at once: the sweep ends, the other devices
//! work, the faulty device is named, and the run can be repeated exactly.

use std::time::Duration;

use ib_mad::Method;
use ib_routing::{NodeIdx, generate::FabricSpec};
use ib_sim::{Behaviour, Corruption, FaultRates};
use ib_sm::{Event, PortAt};
use ib_smp::NodeInfo;
use ib_testkit::lab::{Lab, Running};
use ib_wire::Guid;

/// Five switches in a ring, each with hosts. There are few retries because nothing is lost.
fn ring() -> Lab {
    Lab::new("gen-ring-5").config(|config| config.transaction_retries = 1)
}

/// The last node of a type that is not the manager's.
fn last(running: &Running, is_switch: bool) -> NodeIdx {
    running.sim.with(|sim| {
        let nodes = sim.nodes().iter_enumerated();
        let mut kind = nodes.filter(|(_, node)| node.is_switch() == is_switch);
        kind.next_back().unwrap().0
    })
}

/// The ports at the other ends of a node's cables.
fn in_front_of(running: &Running, node: NodeIdx) -> Vec<PortAt> {
    running.sim.with(|sim| {
        let peers = sim.ports_of(node).filter_map(|port| sim.peer(port.at()));
        peers
            .map(|peer| PortAt {
                node_guid: sim.node(peer.node).unwrap().guid(),
                port_num: peer.port,
            })
            .collect()
    })
}

fn guid(running: &Running, node: NodeIdx) -> Guid {
    running.node(node, |node| node.guid())
}

/// A ring in which the last host is byzantine, after the first sweep and all retries.
fn with_byzantine_host(corruption: Corruption) -> (Running, NodeIdx) {
    let mut running = ring().start();
    let host = last(&running, false);
    running
        .sim
        .with(|sim| sim.set_behaviour(host, Behaviour::Byzantine(corruption)));
    running.run_for(Duration::from_secs(30));
    assert!(running.has_swept(), "{corruption:?}");
    let fabric = running.sm.summary().fabric;
    assert_eq!(fabric.switches, 5, "{corruption:?}");
    (running, host)
}

/// Checks that every port that the manager has found, except those of the last host, is active.
fn others_work(running: &Running, host: NodeIdx) {
    let behind = in_front_of(running, host);
    running.sim.with(|sim| {
        for node in sim.nodes().indices().filter(|&node| node != host) {
            for port in sim.ports_of(node).filter(|port| port.is_link_up()) {
                let at = PortAt {
                    node_guid: sim.node(node).unwrap().guid(),
                    port_num: port.at().port,
                };
                let active = port.state() == ib_smp::PortState::ACTIVE;
                assert!(active || behind.contains(&at), "{at}: {:?}", port.state());
            }
        }
    });
}

#[test]
fn impossible_node_info_names_the_port_in_front_and_the_field() {
    let cases = [
        (Corruption::NumPorts(0), "num_ports"),
        (Corruption::Garbage, "local_port_num"),
        (Corruption::Guid(Guid::NONE), "node_guid"),
    ];
    for (corruption, expected) in cases {
        let (running, host) = with_byzantine_host(corruption);
        let behind = in_front_of(&running, host);
        let named = running.events.iter().any(|event| match event {
            Event::InvalidNodeInfo {
                found_via: Some(at),
                field,
                ..
            } => behind.contains(at) && *field == expected,
            _ => false,
        });
        // All ones mean 255 ports, and port 255 is one of them.
        assert!(
            named || corruption == Corruption::Garbage,
            "{corruption:?}: {:?}",
            running.events
        );
        others_work(&running, host);
    }
}

#[test]
fn a_refusal_names_who_refused() {
    let (running, host) = with_byzantine_host(Corruption::Status);
    let behind = in_front_of(&running, host);
    let named = running
        .events
        .iter()
        .any(|event| matches!(event, Event::Refused { at: Some(at), .. } if behind.contains(at)));
    assert!(named, "{:?}", running.events);
    others_work(&running, host);
}

#[test]
fn other_lies_of_a_host_stop_nobody() {
    let corruptions = [
        Corruption::NodeType,
        Corruption::NumPorts(255),
        Corruption::ChangingGuid,
    ];
    for corruption in corruptions {
        let (running, host) = with_byzantine_host(corruption);
        others_work(&running, host);
    }
}

#[test]
fn a_guid_that_somebody_else_has_is_named_with_the_port_in_front() {
    for steal_from_switch in [true, false] {
        let running = ring().start();
        let victim = match steal_from_switch {
            true => last(&running, true),
            false => running.sim.with(|sim| {
                let mut nodes = sim.nodes().iter_enumerated();
                nodes.find(|(_, node)| !node.is_switch()).unwrap().0
            }),
        };
        let stolen = guid(&running, victim);
        let (running, host) = with_byzantine_host(Corruption::Guid(stolen));
        let behind = in_front_of(&running, host);
        let named = running.events.iter().any(|event| match event {
            Event::DuplicateGuid {
                node_guid,
                found_via: Some(at),
            } => *node_guid == stolen && behind.contains(at),
            _ => false,
        });
        assert!(named, "{:?}", running.events);
    }
}

#[test]
fn switches_that_change_their_guid_end_the_discovery_all_the_same() {
    // Seen from each of the two, the other one looks like a new switch every time.
    let mut running = Lab::new("gen-torus-5x5")
        .config(|config| config.transaction_retries = 1)
        .start();
    let first = last(&running, true);
    let second = running.sim.with(|sim| {
        let peers = sim.ports_of(first).filter_map(|port| sim.peer(port.at()));
        let mut switches = peers.filter(|peer| sim.node(peer.node).unwrap().is_switch());
        switches.next().unwrap().node
    });
    for liar in [first, second] {
        running
            .sim
            .with(|sim| sim.set_behaviour(liar, Behaviour::Byzantine(Corruption::ChangingGuid)));
    }
    running.run_for(Duration::from_secs(1));
    assert!(running.has_swept());
    let sent = running.transport.sent.len();
    assert!(sent < 20_000, "{sent} datagrams");
    // All switches around the two are correct, so a node that is reached through them is one of the two.
    let suspects: Vec<_> = [first, second]
        .iter()
        .flat_map(|&liar| in_front_of(&running, liar))
        .collect();
    let named = running.events.iter().any(|event| match event {
        Event::GuidChanged {
            found_via: Some(at),
            before,
            now,
        } => {
            assert_ne!(before, now);
            suspects.contains(at) || running.sm.subnet().find(at.node_guid).is_some()
        }
        _ => false,
    });
    assert!(named, "{:?}", running.events);
}

#[test]
fn a_cable_that_leads_back_to_its_own_port_or_node_stops_nobody() {
    let spec: FabricSpec = "ring:switches=5,hosts=3".parse().unwrap();
    let mut running = Lab::of(spec.build().unwrap()).start();
    let switch = last(&running, true);
    running.sim.with(|sim| {
        let hosts: Vec<_> = sim
            .ports_of(switch)
            .map(|port| port.at())
            .filter(|&at| {
                let peer = sim.peer(at);
                peer.is_some_and(|peer| !sim.node(peer.node).unwrap().is_switch())
            })
            .collect();
        for &host in &hosts {
            sim.unlink(host).unwrap();
        }
        // A loopback plug, and a cable between two ports of one switch.
        sim.link(hosts[0], hosts[0]).unwrap();
        sim.link(hosts[1], hosts[2]).unwrap();
    });
    running.run_for(Duration::from_secs(5));
    running.resweep();
    let report = running.sm.report().unwrap();
    assert_eq!((report.unreachable, report.loops), (0, 0));
    let fabric = running.sm.summary().fabric;
    assert_eq!((fabric.switches, fabric.cas), (5, 12));
}

/// All faults at once, by a seeded schedule.
fn storm(seed: u64) -> Running {
    let mut running = Lab::new("gen-irregular-20-shuffled")
        .options(|options| {
            options.faults.seed = seed;
            options.faults.rates = FaultRates {
                loss: 0.01,
                duplicate: 0.02,
                delay: 0.05,
                reorder: 0.02,
                corrupt: 0.002,
                bit_error: 0.005,
                ..FaultRates::NONE
            };
        })
        .config(|config| config.sweep_interval = Some(Duration::from_secs(2)))
        .start();
    let host = last(&running, false);
    let slow = Behaviour::Slow(Duration::from_millis(500));
    running.sim.with(|sim| sim.set_behaviour(host, slow));
    running.run_for(Duration::from_secs(20));
    running
}

#[test]
fn a_storm_of_all_faults_ends_with_the_fabric_up_once_it_is_over() {
    for seed in 0..4 {
        let mut running = storm(seed);
        assert!(running.has_swept(), "seed {seed}");
        // A corrupted answer may have left wrong values anywhere, so a new manager reads everything.
        let calm = |sim: &mut ib_sim::Sim| {
            sim.set_fault_rates(FaultRates::NONE);
            let nodes: Vec<_> = sim.nodes().indices().collect();
            for node in nodes {
                sim.set_behaviour(node, Behaviour::Honest);
            }
        };
        running.sim.with(calm);
        running.events.clear();
        running.sm.resweep(ib_transport::Clock::now(&running.sim));
        running.run_for(Duration::from_secs(60));
        assert!(running.sm.is_up(), "seed {seed}");
        let summary = running.sm.summary();
        assert_eq!(summary.ports.not_active, 0, "seed {seed}");
        assert_eq!(summary.unresponsive, [], "seed {seed}");
    }
}

#[test]
fn the_same_storm_gives_the_same_events_and_the_same_bytes() {
    let first = storm(3).log();
    assert!(first == storm(3).log());
    assert!(first != storm(4).log());
    let asked = |log: &(Vec<String>, Vec<[u8; 256]>)| log.1.len();
    assert!(asked(&first) > 1000);
}

#[test]
fn an_answer_that_nobody_asked_for_changes_nothing() {
    let mut running = ring().up();
    let before = running.sm.mads();
    let subnet = format!("{:?}", running.sm.subnet());
    let mut forged = *running
        .transport
        .sent
        .iter()
        .rfind(|mad| mad.header().attribute_id() == <NodeInfo as ib_mad::Attribute>::ID)
        .unwrap();
    let mut header = forged.header();
    header.set_method(Method::GET_RESP);
    forged.bytes[..header.as_bytes().len()].copy_from_slice(header.as_bytes());
    let now = ib_transport::Clock::now(&running.sim);
    ib_mad::Engine::handle_input(&mut running.sm, now, ib_mad::Input::Mad(&forged));
    assert_eq!(running.sm.mads().received, before.received + 1);
    assert_eq!(format!("{:?}", running.sm.subnet()), subnet);
    assert!(running.sm.is_up());
}
