//! The collector on simulated fabrics, in virtual time.

use std::{collections::BTreeSet, time::Duration, vec::Vec};

use ib_routing::PortRef;
use ib_sim::{Behaviour, DeviceProfile};
use ib_smp::NodeType;
use ib_testkit::lab::Lab;
use ib_wire::{PortNum, Sl};

use super::{Collector, CollectorConfig, CounterScope, LaneTables};
use crate::{
    counters::UnreadReason,
    snapshot::{Contents, Snapshot},
    testing::{brought_up, collect, fabric, first_host, run, simulated},
};

#[test]
fn a_snapshot_holds_what_the_devices_hold() {
    let fabric = fabric("gen-ft-oversub2-144");
    let sim = simulated(&fabric, true);
    let (snapshot, _) = collect(&sim, first_host(&fabric), CollectorConfig::default());
    assert_eq!(snapshot.nodes.len(), fabric.nodes().len());
    assert_eq!(snapshot.cables().count(), fabric.num_links());
    assert_eq!((snapshot.silent.len(), snapshot.duplicates.len()), (0, 0));
    sim.with(|sim| {
        for node in snapshot.nodes.iter() {
            let at = sim.find_guid(node.guid()).unwrap();
            let device = sim.node(at).unwrap();
            if let Some(info) = device.switch_info() {
                assert_eq!(node.switch_info.as_ref().unwrap(), info);
                for (&block, entries) in &node.lft {
                    for entry in 0..64 {
                        let lid = ib_wire::Lid(block * 64 + entry as u16);
                        let read = entries.port_block(entry);
                        let read = read.filter(|port| *port != PortNum::UNREACHABLE);
                        assert_eq!(read, device.lft_port(lid), "{} {lid}", node.name());
                    }
                }
                assert_eq!(
                    node.lft.len(),
                    usize::from(info.linear_fdb_top().0) / 64 + 1
                );
            }
            for (number, port) in node.ports() {
                let there = sim
                    .port(PortRef {
                        node: at,
                        port: number,
                    })
                    .unwrap();
                let read = port.info.expect("every port is read");
                assert_eq!(read.lid(), there.info().lid());
                assert_eq!(read.port_state(), there.info().port_state());
                if number != PortNum(0) {
                    let values = port.counters.values(port.perf_class_port_info.as_ref());
                    assert_eq!(values.missing(), [""; 0]);
                    assert_eq!(port.counters.unread, None);
                }
            }
        }
    });
}

#[test]
fn without_a_manager_counters_are_missing_and_the_rest_is_there() {
    let fabric = fabric("gen-ring-5");
    let sim = simulated(&fabric, false);
    let (snapshot, took) = collect(&sim, first_host(&fabric), CollectorConfig::default());
    assert_eq!(snapshot.nodes.len(), fabric.nodes().len());
    let without_lid = snapshot.ports().filter(|(_, node, port)| {
        let is_external = node.info.node_type() != NodeType::SWITCH || !port.guid.eq(&node.guid());
        is_external && port.counters.unread == Some(UnreadReason::NoLid)
    });
    assert!(without_lid.count() > 0);
    assert!(
        snapshot
            .ports()
            .all(|(_, _, port)| port.counters.is_empty())
    );
    // Nothing timed out.
    assert!(took < Duration::from_millis(100), "{took:?}");
}

#[test]
fn silent_devices_together_cost_little_more_than_one_time_out() {
    let fabric = fabric("gen-ft-oversub2-144");
    let sim = simulated(&fabric, true);
    let at = first_host(&fabric);
    let hosts: Vec<_> = fabric
        .nodes()
        .iter_enumerated()
        .filter(|(index, node)| !node.type_.is_switch() && *index != at.node)
        .map(|(index, _)| index)
        .step_by(7)
        .collect();
    assert!(hosts.len() > 15);
    for &host in &hosts {
        sim.with(|sim| sim.set_behaviour(host, Behaviour::Silent));
    }
    let config = CollectorConfig::default();
    // The attempts before the last one are repeated early.
    let early = config.window.early_repeat.unwrap().min * config.window.retries;
    let one = config.window.timeout + early;
    let (snapshot, took) = collect(&sim, at, config);
    assert_eq!(snapshot.silent.len(), hosts.len());
    assert!(
        took < one * 3 / 2,
        "{took:?} for {} silent hosts",
        hosts.len()
    );
}

/// A switch that is not the one in front of a port.
fn other_switch(snapshot: &Snapshot, at: PortRef) -> PortRef {
    let leaf = snapshot.port(at).unwrap().peer.unwrap().node;
    let mut switches = snapshot.nodes.iter_enumerated();
    let other = switches.rfind(|(index, node)| node.is_switch() && *index != leaf);
    PortRef {
        node: other.unwrap().0,
        port: PortNum(1),
    }
}

#[test]
fn what_was_found_is_read_while_the_walk_waits_for_silent_devices() {
    let fabric = fabric("gen-ft-oversub2-144");
    let sim = simulated(&fabric, true);
    let at = first_host(&fabric);
    let (snapshot, _) = collect(&sim, at, CollectorConfig::default());
    let own = snapshot.own_port.unwrap();
    let slow = snapshot.node(other_switch(&snapshot, own).node).unwrap();
    let silent = snapshot.cables().find_map(|(a, b)| {
        let host = [a, b].into_iter().find(|end| {
            let node = snapshot.node(end.node).unwrap();
            !node.is_switch() && end.node != own.node
        });
        host.map(|host| snapshot.node(host.node).unwrap().guid())
    });
    let slow_for = Duration::from_millis(5);
    sim.with(|sim| {
        let slow = sim.find_guid(slow.guid()).unwrap();
        sim.set_behaviour(slow, Behaviour::Slow(slow_for));
    });
    let (_, all_answer) = collect(&sim, at, CollectorConfig::default());
    sim.with(|sim| {
        let silent = sim.find_guid(silent.unwrap()).unwrap();
        sim.set_behaviour(silent, Behaviour::Silent);
    });
    let config = CollectorConfig::default();
    let one = config.window.timeout;
    let (snapshot, took) = collect(&sim, at, config);
    assert_eq!(snapshot.silent.len(), 1);
    assert_eq!(snapshot.nodes.len(), fabric.nodes().len() - 1);
    for (at, _, port) in snapshot.ports() {
        let is_read = port.counters.unread.is_none();
        assert!(
            is_read || port.info.unwrap().lid() == ib_wire::Lid::NONE,
            "{at:?}"
        );
    }
    // The whole time-out of the silent device passes while the tables of the slow one are read.
    assert!(took < all_answer + one / 2, "{took:?}, {all_answer:?}");
}

#[test]
fn devices_that_answer_after_reading_ahead_began_are_read_like_the_others() {
    let fabric = fabric("gen-ft-oversub2-144");
    let sim = simulated(&fabric, true);
    let at = first_host(&fabric);
    // The reading itself changes counters.
    let config = CollectorConfig {
        contents: Contents::all() - Contents::COUNTERS,
        ..CollectorConfig::default()
    };
    let (before, _) = collect(&sim, at, config.clone());
    let slow = other_switch(&before, before.own_port.unwrap());
    let slow = before.node(slow.node).unwrap().guid();
    sim.with(|sim| {
        let slow = sim.find_guid(slow).unwrap();
        sim.set_behaviour(slow, Behaviour::Slow(Duration::from_millis(90)));
    });
    let (after, _) = collect(&sim, at, config);
    let all = |snapshot: &Snapshot| -> Vec<_> {
        let nodes = snapshot.nodes.iter();
        // Another route to a node may be the first to be known.
        nodes
            .map(|node| {
                (
                    node.info.node_guid(),
                    node.lft.clone(),
                    node.mft.clone(),
                    node.sl_to_vl.clone(),
                    node.ports.clone(),
                )
            })
            .collect()
    };
    assert_eq!(all(&after), all(&before));
    assert_eq!(
        (after.silent, after.duplicates),
        (before.silent, before.duplicates)
    );
}

#[test]
fn ports_with_errors_are_found_by_two_requests_a_switch_and_one_a_host() {
    let fabric = fabric("gen-ft-oversub2-144");
    for profile in [DeviceProfile::Specified, DeviceProfile::Ibsim] {
        let mut lab = Lab::of(fabric.clone());
        lab.options.profile = profile;
        let sim = lab.up().sim;
        let at = first_host(&fabric);
        let far = |wanted: NodeType| {
            let mut nodes = fabric.nodes().iter_enumerated();
            let found = nodes.rfind(|(_, node)| node.type_ == wanted);
            let (node, _) = found.expect("one of each type");
            PortRef {
                node,
                port: PortNum(1),
            }
        };
        let broken = [far(NodeType::SWITCH), far(NodeType::CA)];
        sim.with(|sim| {
            for port in broken {
                let set = sim.set_counter(port, "PortCounters", "SymbolErrorCounter", 7);
                assert_eq!(set, Some(7));
            }
        });
        let read = |contents, counters| {
            let config = CollectorConfig {
                contents,
                counters,
                one_end: true,
                ..CollectorConfig::default()
            };
            let before = sim.with(|sim| sim.stats().sent);
            let (snapshot, _) = collect(&sim, at, config);
            let sent = sim.with(|sim| sim.stats().sent) - before;
            (snapshot, sent)
        };
        let errors = |snapshot: &Snapshot| {
            let with_errors = snapshot.ports().filter_map(|(_, node, port)| {
                let errors = port.counters.values(port.perf_class_port_info.as_ref());
                (errors.errors() > 0).then(|| (node.guid(), errors))
            });
            with_errors
                .map(|(guid, errors)| (guid, errors.get("symbol_error_counter")))
                .collect::<Vec<_>>()
        };
        let (_, walked) = read(Contents::empty(), CounterScope::All);
        let (all, _) = read(Contents::COUNTERS, CounterScope::All);
        let (found, sent) = read(Contents::COUNTERS, CounterScope::Errors);
        assert_eq!(errors(&found).len(), broken.len(), "{profile:?}");
        assert_eq!(errors(&found), errors(&all), "{profile:?}");
        let switches = fabric.num_switches();
        let hosts = fabric.nodes().len() - switches;
        let ports = usize::from(fabric.node(broken[0].node).num_ports());
        // The broken host is asked for its abilities and counters, the broken switch for those of all its ports.
        let most = 2 * switches + hosts + 3 + 2 * ports;
        assert!(sent - walked <= most as u64, "{sent} {walked} {most}");
    }
}

#[test]
fn counters_alone_are_read_of_the_ports_that_are_named() {
    let fabric = fabric("gen-ft-oversub2-144");
    let sim = simulated(&fabric, true);
    let at = first_host(&fabric);
    let config = CollectorConfig::default;
    let walk = CollectorConfig {
        contents: Contents::empty(),
        ..config()
    };
    let (walked, _) = collect(&sim, at, walk);
    let read = |snapshot: &Snapshot, ports: Option<&[PortRef]>| {
        let ports = ports.map(|ports| ports.iter().copied().collect::<BTreeSet<_>>());
        let sent = || sim.with(|sim| sim.stats().sent);
        let before = sent();
        let collector = Collector::of_counters(config(), snapshot.clone(), ports);
        let (snapshot, _) = run(&sim, at, collector);
        (snapshot, sent() - before)
    };
    let mut ports = walked.ports().map(|(at, node, _)| (at, node.is_switch()));
    let (of_host, _) = ports.find(|(_, is_switch)| !is_switch).unwrap();
    let (of_switch, _) = ports
        .find(|(at, is_switch)| *is_switch && at.port == PortNum(3))
        .unwrap();
    let named = [of_host, of_switch];
    // ClassPortInfo and PortCountersExtended of each.
    let (read_once, sent) = read(&walked, Some(&named));
    assert_eq!(sent, 4);
    let with_counters = |snapshot: &Snapshot| -> Vec<PortRef> {
        let ports = snapshot.ports();
        let read = ports.filter(|(_, _, port)| !port.counters.is_empty());
        read.map(|(at, ..)| at).collect()
    };
    let mut expected = named.to_vec();
    expected.sort_unstable();
    assert_eq!(with_counters(&read_once), expected);
    assert!(read_once.contents.contains(Contents::COUNTERS));
    // What is known of the agents is not read again.
    let (_, sent) = read(&read_once, Some(&named));
    assert_eq!(sent, 2);
    // All counters a second time: one request a port and none of subnet management.
    let (all, _) = collect(&sim, at, config());
    sim.with(|sim| sim.set_counter(at, "PortCounters", "SymbolErrorCounter", 9));
    let (later, sent) = read(&all, None);
    assert_eq!(sent, with_counters(&all).len() as u64);
    assert_eq!(with_counters(&later), with_counters(&all));
    assert_eq!(later.nodes.as_slice()[0].lft, all.nodes.as_slice()[0].lft);
    let own = later.port(later.own_port.unwrap()).unwrap();
    let values = own.counters.values(own.perf_class_port_info.as_ref());
    assert_eq!(values.get("symbol_error_counter").unwrap().value, 9);
}

#[test]
fn a_device_that_fell_silent_has_no_counters_in_the_second_reading() {
    let fabric = fabric("gen-ring-5");
    let sim = simulated(&fabric, true);
    let at = first_host(&fabric);
    let (first, _) = collect(&sim, at, CollectorConfig::default());
    let (gone, node) = first
        .nodes
        .iter_enumerated()
        .find(|(index, node)| !node.is_switch() && first.own_port.unwrap().node != *index)
        .unwrap();
    sim.with(|sim| {
        let device = sim.find_guid(node.guid()).unwrap();
        sim.set_behaviour(device, Behaviour::Silent);
    });
    let config = CollectorConfig::default();
    let collector = Collector::of_counters(config, first.clone(), None);
    let (second, _) = run(&sim, at, collector);
    let (_, port) = second.node(gone).unwrap().ports().next().unwrap();
    assert!(port.counters.is_empty());
    assert_eq!(port.counters.unread, Some(UnreadReason::NoAnswer));
}

#[test]
fn what_is_not_asked_for_is_not_read() {
    let fabric = fabric("gen-ring-5");
    let sim = simulated(&fabric, true);
    let config = CollectorConfig {
        contents: Contents::COUNTERS,
        ..CollectorConfig::default()
    };
    let (snapshot, _) = collect(&sim, first_host(&fabric), config);
    assert!(
        snapshot
            .nodes
            .iter()
            .all(|node| node.lft.is_empty() && node.sl_to_vl.is_empty())
    );
    assert!(snapshot.ports().all(|(_, _, port)| port.p_keys.is_empty()));
    assert!(
        snapshot
            .ports()
            .any(|(_, _, port)| port.counters.extended.is_some())
    );
}

#[test]
fn tables_of_the_pairs_that_packets_pass_are_enough_to_follow_them() {
    for name in ["gen-ft-48-broken10", "gen-torus-5x5"] {
        let fabric = fabric(name);
        let sim = simulated(&fabric, true);
        let read = |lanes| {
            let contents = Contents::FORWARDING | Contents::QOS;
            let config = CollectorConfig {
                contents,
                lanes,
                ..CollectorConfig::default()
            };
            collect(&sim, first_host(&fabric), config).0
        };
        let (all, routed) = (read(LaneTables::All), read(LaneTables::Routed));
        let tables = |snapshot: &Snapshot| -> usize {
            let switches = snapshot.nodes.iter().filter(|node| node.is_switch());
            switches.map(|node| node.sl_to_vl.len()).sum()
        };
        assert!(tables(&routed) < tables(&all), "{name}");
        let hosts: Vec<_> = all.nodes.iter_enumerated().collect();
        let hosts = hosts.into_iter().filter(|(_, node)| !node.is_switch());
        let hosts: Vec<_> = hosts
            .flat_map(|(index, node)| {
                let ports = node.ports().filter(|(_, port)| port.lid().is_unicast());
                ports.map(move |(port, found)| (PortRef { node: index, port }, found.lid()))
            })
            .collect();
        for &(from, _) in &hosts {
            for &(_, lid) in &hosts {
                let [path, known] = [&routed, &all].map(|read| read.path(from, lid, Sl::ZERO));
                assert_eq!(path.hops, known.hops, "{name}: {from:?} to {lid}");
            }
        }
    }
}

#[test]
fn port_counters_is_read_where_the_extended_attribute_lacks_errors() {
    for (profile, has_all) in [
        (DeviceProfile::Specified, true),
        (DeviceProfile::Ibsim, false),
    ] {
        let fabric = fabric("gen-ring-5");
        let lab = Lab::of(fabric.clone()).options(|options| options.profile = profile);
        let sim = lab.up().sim;
        let at = first_host(&fabric);
        sim.with(|sim| sim.set_counter(at, "PortCounters", "SymbolErrorCounter", 9));
        let (snapshot, _) = collect(&sim, at, CollectorConfig::default());
        let (_, _, port) = snapshot
            .ports()
            .find(|(port, ..)| Some(*port) == snapshot.own_port)
            .unwrap();
        assert_eq!(port.counters.classic.is_none(), has_all, "{profile:?}");
        assert!(port.counters.extended.is_some(), "{profile:?}");
        let values = port.counters.values(port.perf_class_port_info.as_ref());
        assert_eq!(
            values.get("symbol_error_counter").unwrap().value,
            9,
            "{profile:?}"
        );
        // Whatever was read, both attributes of the device are cleared.
        let cleared = snapshot.reset_requests(snapshot.own_port.unwrap());
        assert_eq!(cleared.len(), 2, "{profile:?}");
    }
}

#[test]
fn the_same_subnet_gives_the_same_snapshot() {
    assert_eq!(
        brought_up("gen-irregular-20").to_bytes(),
        brought_up("gen-irregular-20").to_bytes()
    );
}
