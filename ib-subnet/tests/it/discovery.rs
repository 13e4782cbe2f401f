//! Discovery without management, in virtual time.

use std::{ops::ControlFlow, thread, time::Duration};

use ib_mad::{Attribute, Instant, Mad, MadStatus, Method};
use ib_routing::{Fabric, LinkSpeed, NodeIdx, NodeType, PortRef, format::ibnetdiscover};
use ib_sim::{Behaviour, Corruption, SharedSim, Sim, SimOptions, SimTransport};
use ib_smp::{DrDirection, LinkSpeedsExt, NodeInfo, PortInfo, SmpDirected};
use ib_subnet::{Discovered, Discovery, DiscoveryConfig, DiscoveryEvent};
use ib_testkit::{data::fabric_files, fabrics::fabric};
use ib_transport::{Clock, MadTransport, MonotonicClock, Received, TransportError, drive};
use ib_wire::{Guid, Lid, PortNum};

fn discover(sim: &SharedSim, from: PortRef) -> (Discovered, Vec<DiscoveryEvent>) {
    let mut transport = sim.attach(from).unwrap();
    discover_by(DiscoveryConfig::default(), &mut transport, sim)
}

fn discover_by(
    config: DiscoveryConfig,
    transport: &mut impl MadTransport<Error = ib_transport::TransportError>,
    clock: &impl Clock,
) -> (Discovered, Vec<DiscoveryEvent>) {
    let mut discovery = Discovery::new(config);
    let mut events = Vec::new();
    let done = drive(&mut discovery, transport, clock, |_, event| {
        let done = event == DiscoveryEvent::Done;
        events.push(event);
        match done {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    assert_eq!(done.unwrap(), Some(()));
    (discovery.finish(), events)
}

#[test]
fn every_file_is_found_as_far_as_cables_lead() {
    for file in fabric_files() {
        let text = std::fs::read_to_string(&file).unwrap();
        let fabric = ibnetdiscover::read(&text).unwrap().fabric;
        let sim = Sim::new(&fabric, SimOptions::default()).share();
        let (found, _) = discover(&sim, fabric.first_host().unwrap());
        let name = file.display();
        assert_eq!(found.silent, [], "{name}");
        // Nodes that no cable joins to the host are not found.
        let reached = found.breadth_first().len();
        assert_eq!(found.fabric.nodes().len(), reached, "{name}");
        for node in found.fabric.nodes().iter() {
            let index = fabric.node_by_guid(node.guid).expect("a node of the file");
            let original = fabric.node(index);
            assert_eq!(node.type_, original.type_, "{name}");
            for (number, port) in node.ports() {
                let Some(peer) = port.peer else { continue };
                let there = original.port(number).and_then(|port| port.peer).unwrap();
                let ends = (fabric.node(there.node).guid, there.port);
                assert_eq!(
                    (found.fabric.node(peer.node).guid, peer.port),
                    ends,
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn one_end_of_a_cable_tells_the_same_fabric_by_fewer_datagrams() {
    for file in fabric_files() {
        let text = std::fs::read_to_string(&file).unwrap();
        let fabric = ibnetdiscover::read(&text).unwrap().fabric;
        let sim = Sim::new(&fabric, SimOptions::default()).share();
        let from = fabric.first_host().unwrap();
        let found_with = |one_end| {
            let mut config = DiscoveryConfig::default();
            config.walk.one_end = one_end;
            let mut transport = sim.attach(from).unwrap();
            discover_by(config, &mut transport, &sim).0
        };
        let (both, one) = (found_with(false), found_with(true));
        let name = file.display();
        // The list has the nodes in an order that depends on the cables alone, and width and speed of each port.
        let printed = |found: &Discovered| {
            ibnetdiscover::write_nodes(&found.fabric, found.from, found.listed())
        };
        assert!(printed(&both) == printed(&one), "{name}");
        let left_out = both.counters.sent - one.counters.sent;
        let between_switches = both.fabric.num_links() - hosts_with_links(&both.fabric);
        // Both ends are read of some cables: each was asked before the cable was known. The cable of the own host is known
        // before its switch is read.
        assert!(left_out <= between_switches as u64 + 1, "{name}");
        if between_switches > 100 {
            assert!(left_out > 0, "{name}");
        }
    }
}

/// The number of ports of CAs and routers with a cable.
fn hosts_with_links(fabric: &Fabric) -> usize {
    let hosts = fabric.nodes().iter().filter(|node| !node.type_.is_switch());
    hosts
        .flat_map(|node| node.ports())
        .filter(|(_, port)| port.peer.is_some())
        .count()
}

#[test]
fn a_silent_node_is_listed_with_the_way_to_it() {
    let fabric = fabric("gen-ring-5");
    let sim = Sim::new(&fabric, SimOptions::default()).share();
    let from = fabric.first_host().unwrap();
    let mut nodes = fabric.nodes().iter_enumerated();
    let (last, _) = nodes.rfind(|(_, node)| node.type_ == NodeType::CA).unwrap();
    sim.with(|sim| sim.set_behaviour(last, Behaviour::Silent));
    let (found, _) = discover(&sim, from);
    assert_eq!(found.fabric.nodes().len(), fabric.nodes().len() - 1);
    let [silent] = &found.silent[..] else {
        panic!("{:?}", found.silent);
    };
    assert_eq!(silent.node_guid, None);
    assert!(silent.path.hop_count() >= 2);
}

/// A fabric whose last CA, which is not the asker, does not as it should; `from` asks.
fn with_odd_host(file: &str, odd: impl FnOnce(&mut Sim, NodeIdx)) -> (Fabric, SharedSim, NodeIdx) {
    let fabric = fabric(file);
    let sim = Sim::new(&fabric, SimOptions::default()).share();
    let cas = fabric.nodes().iter_enumerated();
    let cas = cas.filter(|(_, node)| node.type_ == NodeType::CA);
    let last = cas.map(|(node, _)| node).max().unwrap();
    assert_ne!(last, fabric.first_host().unwrap().node);
    sim.with(|sim| odd(sim, last));
    (fabric, sim, last)
}

#[test]
fn a_host_that_lies_hides_nobody_else() {
    let corruptions = [
        Corruption::NodeType,
        Corruption::NumPorts(0),
        Corruption::NumPorts(255),
        Corruption::ChangingGuid,
        Corruption::Guid(Guid::NONE),
        Corruption::Status,
        Corruption::Garbage,
    ];
    for corruption in corruptions {
        let (fabric, sim, liar) = with_odd_host("gen-ring-5", |sim, node| {
            sim.set_behaviour(node, Behaviour::Byzantine(corruption));
        });
        let (found, _) = discover(&sim, fabric.first_host().unwrap());
        assert!(
            found.counters.sent < 2_000,
            "{corruption:?}: {:?}",
            found.counters
        );
        for (index, node) in fabric.nodes().iter_enumerated() {
            let is_there = found.fabric.node_by_guid(node.guid).is_some();
            assert!(is_there || index == liar, "{corruption:?}: {}", node.name);
        }
    }
}

#[test]
fn a_guid_that_two_nodes_have_hides_nobody_else() {
    let fabric = fabric("gen-ring-5");
    let stolen = fabric.first_host().unwrap().node;
    let guid = fabric.node(stolen).guid;
    let (fabric, sim, thief) = with_odd_host("gen-ring-5", |sim, node| {
        sim.set_guid(node, guid).unwrap();
    });
    let (found, events) = discover(&sim, fabric.first_host().unwrap());
    for (index, node) in fabric.nodes().iter_enumerated() {
        let is_there = found.fabric.node_by_guid(node.guid).is_some();
        assert!(is_there || index == thief, "{}", node.name);
    }
    assert_eq!(found.duplicate_guids, [guid]);
    assert!(events.contains(&DiscoveryEvent::DuplicateGuid { node_guid: guid }));
}

#[test]
fn a_loopback_plug_is_a_link_to_oneself() {
    let mut plug = None;
    let (fabric, sim, _) = with_odd_host("gen-ring-5", |sim, node| {
        let ports: Vec<_> = sim.ports_of(node).map(|port| port.at()).collect();
        let there = ports.into_iter().find_map(|port| sim.peer(port)).unwrap();
        // The plug takes the host's place.
        sim.unlink(there).unwrap();
        sim.link(there, there).unwrap();
        sim.advance(Instant::ZERO + Duration::from_secs(1));
        plug = Some(there);
    });
    let plug = plug.unwrap();
    let (found, _) = discover(&sim, fabric.first_host().unwrap());
    assert_eq!(found.fabric.nodes().len(), fabric.nodes().len() - 1);
    let node = found.fabric.node_by_guid(fabric.node(plug.node).guid);
    let node = node.unwrap();
    let port = found.fabric.node(node).port(plug.port).unwrap();
    let own = PortRef {
        node,
        port: plug.port,
    };
    assert_eq!(port.peer, Some(own));
}

#[test]
fn time_outs_of_silent_nodes_overlap() {
    let fabric = fabric("gen-torus-4x4x4");
    let from = fabric.first_host().unwrap();
    let hosts = fabric.nodes().iter_enumerated();
    let hosts = hosts.filter(|(node, entry)| entry.type_ == NodeType::CA && *node != from.node);
    let hosts: Vec<_> = hosts.map(|(node, _)| node).collect();
    // How long a walk takes when so many hosts are silent.
    let takes = |silent: usize| {
        let sim = Sim::new(&fabric, SimOptions::default()).share();
        sim.with(|sim| {
            for &node in hosts.iter().take(silent) {
                sim.set_behaviour(node, Behaviour::Silent);
            }
        });
        let (found, _) = discover(&sim, from);
        assert_eq!(found.silent.len(), silent);
        sim.now().since(Instant::ZERO)
    };
    let (none, one, twenty) = (takes(0), takes(1), takes(20));
    assert!(one > Duration::from_millis(100), "{one:?}");
    assert!(twenty < one + none * 2, "{twenty:?}, {one:?}, {none:?}");
}

#[test]
fn two_switches_that_change_their_guids_are_named_and_the_walk_ends() {
    let fabric = fabric("gen-torus-5x5");
    let sim = Sim::new(&fabric, SimOptions::default()).share();
    let from = fabric.first_host().unwrap();
    let liars = sim.with(|sim| {
        let is_switch = |node| sim.node(node).is_some_and(ib_sim::SimNode::is_switch);
        let first = sim
            .nodes()
            .indices()
            .rfind(|&node| is_switch(node))
            .unwrap();
        let peers = sim.ports_of(first).filter_map(|port| sim.peer(port.at()));
        let second = peers.map(|peer| peer.node).find(|&node| is_switch(node));
        let second = second.unwrap();
        for liar in [first, second] {
            sim.set_behaviour(liar, Behaviour::Byzantine(Corruption::ChangingGuid));
        }
        [first, second]
    });
    let (found, events) = discover(&sim, from);
    assert!(found.counters.sent < 20_000, "{:?}", found.counters);
    let named = events.iter().filter_map(|event| match event {
        DiscoveryEvent::GuidChanged { path, before, now } => {
            assert_ne!(before, now);
            Some(path)
        }
        _ => None,
    });
    assert!(named.count() > 0);
    // The honest ones are all there.
    for (index, node) in fabric.nodes().iter_enumerated() {
        let is_there = found.fabric.node_by_guid(node.guid).is_some();
        assert!(is_there || liars.contains(&index), "{}", node.name);
    }
}

/// The simulated fabric by the wall clock: who waits, sleeps.
struct RealTime {
    sim: SharedSim,
    transport: SimTransport,
}

impl MadTransport for RealTime {
    type Error = TransportError;

    fn send(&mut self, now: Instant, mad: &Mad) -> Result<(), TransportError> {
        self.transport.send(now, mad)
    }

    fn recv(&mut self, now: Instant) -> Result<Option<Received>, TransportError> {
        self.transport.recv(now)
    }

    fn wait(&mut self, now: Instant, until: Option<Instant>) -> Result<bool, TransportError> {
        let next = [self.sim.next_at(), until].into_iter().flatten().min();
        if let Some(next) = next {
            thread::sleep(next.since(now));
        }
        Ok(next.is_some())
    }
}

#[test]
fn time_outs_of_silent_nodes_overlap_by_the_wall_clock() {
    let fabric = fabric("gen-torus-4x4x4");
    let sim = Sim::new(&fabric, SimOptions::default()).share();
    let from = fabric.first_host().unwrap();
    let hosts = fabric.nodes().iter_enumerated().skip(1);
    let hosts = hosts.filter(|(node, entry)| entry.type_ == NodeType::CA && *node != from.node);
    let silent: Vec<_> = hosts.map(|(node, _)| node).take(20).collect();
    sim.with(|sim| {
        for &node in &silent {
            sim.set_behaviour(node, Behaviour::Silent);
        }
    });
    let mut config = DiscoveryConfig::default();
    config.window.timeout = Duration::from_millis(100);
    config.window.retries = 3;
    let patience = config.window.timeout * (1 + config.window.retries);
    let clock = MonotonicClock::start();
    let mut transport = RealTime {
        transport: sim.attach(from).unwrap(),
        sim,
    };
    let (found, _) = discover_by(config.clone(), &mut transport, &clock);
    assert_eq!(found.silent.len(), silent.len());
    let took = clock.now().since(Instant::ZERO);
    // One after the other they cost 8 s; together little more than one of them. The last attempt waits for its time-out.
    assert!(took >= config.window.timeout, "{took:?}");
    assert!(took < patience * 10, "{took:?}");
}

#[test]
fn speeds_that_only_a_manager_that_knows_them_is_shown_are_found() {
    let cases = [
        (LinkSpeed::Xdr, true),
        (LinkSpeed::Ndr, true),
        (LinkSpeed::Ndr, false),
        (LinkSpeed::Hdr, true),
    ];
    for (speed, hidden) in cases {
        let original = fabric("gen-ring-5");
        let mut builder = original.to_builder();
        for (a, b) in original.links() {
            for end in [a, b] {
                builder.port_mut(end).unwrap().speed = Some(speed);
            }
        }
        let fabric = builder.build();
        let options = SimOptions {
            hidden_extended_speeds: hidden,
            ..SimOptions::default()
        };
        let sim = Sim::new(&fabric, options).share();
        let (found, _) = discover(&sim, fabric.first_host().unwrap());
        assert_eq!(found.silent, []);
        let mut links = 0;
        for (a, b) in found.fabric.links() {
            for end in [a, b] {
                let found = found.fabric.port(end).unwrap().speed;
                assert_eq!(found, Some(speed), "{end:?}, hidden: {hidden}");
            }
            links += 1;
        }
        assert!(links > 5);
    }
}

/// An adapter alone that says that it knows NDR and refuses to be asked for it.
struct Stubborn {
    answers: Vec<Mad>,
    asked_for_all: usize,
}

impl MadTransport for Stubborn {
    type Error = TransportError;

    fn send(&mut self, _: Instant, mad: &Mad) -> Result<(), TransportError> {
        let mut answer = *mad;
        let (smp, _) = SmpDirected::parse_mut(&mut answer.bytes, 0).unwrap();
        smp.set_method(Method::GET_RESP)
            .set_d(DrDirection::RETURNING);
        let mut data = [0; 64];
        match smp.attribute_id() {
            NodeInfo::ID => {
                let mut info = NodeInfo::default();
                info.set_node_type(ib_smp::NodeType::CA)
                    .set_num_ports(1)
                    .set_node_guid(Guid(7))
                    .set_port_guid(Guid(8))
                    .set_local_port_num(PortNum(1));
                data[..NodeInfo::LEN].copy_from_slice(info.as_bytes());
            }
            PortInfo::ID if smp.attribute_modifier() >> 31 == 1 => {
                self.asked_for_all += 1;
                smp.set_status(MadStatus::INVALID_FIELD_VALUE);
            }
            PortInfo::ID => {
                let mut info = PortInfo::default();
                info.set_lid(Lid(5))
                    .set_link_speed_ext_supported(LinkSpeedsExt::NDR);
                data.copy_from_slice(info.as_bytes());
            }
            _ => {}
        }
        smp.set_smp_data(&data);
        self.answers.push(answer);
        Ok(())
    }

    fn recv(&mut self, _: Instant) -> Result<Option<Received>, TransportError> {
        Ok(self.answers.pop().map(Received::Mad))
    }

    fn wait(&mut self, _: Instant, _: Option<Instant>) -> Result<bool, TransportError> {
        Ok(!self.answers.is_empty())
    }
}

#[test]
fn a_device_that_refuses_to_show_all_its_speeds_is_asked_for_the_others() {
    let mut stubborn = Stubborn {
        answers: Vec::new(),
        asked_for_all: 0,
    };
    let config = DiscoveryConfig::default();
    let (found, _) = discover_by(config, &mut stubborn, &MonotonicClock::start());
    assert_eq!(found.silent, []);
    let node = found.fabric.node_by_guid(Guid(7)).unwrap();
    let (_, port) = found
        .fabric
        .node(node)
        .ports()
        .find(|(number, _)| number.0 == 1)
        .unwrap();
    assert_eq!(port.lid, Lid(5));
    assert_eq!(stubborn.asked_for_all, 1);
}
