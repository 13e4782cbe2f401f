//! Partial sweeps: after any change, the manager's observed state and the switches' tables equal those of a
//! manager that starts then; and a change never takes a path from a pair that has one.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use ib_mad::{Attribute, Engine, Input, Instant, Mad, MadAddress, MadStatus, Method};
use ib_routing::{
    Fabric, LidMap, LidOptions, LidPolicy, LowestFree, NodeIdx, PortRef, RouteError,
    fabric::{Channel, Node},
    index::IdxVec,
};
use ib_sa::{PathComponents, PathRecord, SaMad};
use ib_sim::Sim;
use ib_sm::{Event, SmConfig, SweepKind};
use ib_smp::{LinearForwardingTable, MlnxExtPortInfo, PortInfo, PortState, SwitchInfo};
use ib_testkit::{
    data::fabric_files,
    fabrics::generated,
    lab::{Lab, Running},
};
use ib_transport::{Clock, MadTransport, Received, receive};
use ib_wire::{Guid, Lid, PortNum, Sl};
use proptest::prelude::*;

/// A port by its node's GUID and its number.
type Name = (Guid, u8);

/// Cables between (node GUID, port), and the states of the ports, in the manager's observed state.
fn known(running: &Running) -> BTreeMap<Name, (Option<Name>, PortState)> {
    let subnet = running.sm.subnet();
    let name = |port| {
        let at = subnet.port_at(port);
        (at.node_guid, at.port_num.0)
    };
    let ports = subnet.ports().filter(|(_, _, port)| port.info().is_some());
    ports
        .map(|(id, _, port)| (name(id), (port.peer().map(name), port.state())))
        .collect()
}

/// The ports of cables between switches, one end each.
fn switch_cables(sim: &Sim) -> Vec<PortRef> {
    let switches = sim.nodes().iter_enumerated();
    let switches = switches.filter(|(_, node)| node.is_switch());
    let ports = switches.flat_map(|(switch, _)| sim.ports_of(switch));
    let ports = ports.map(|port| port.at());
    let to_switch = |at: &PortRef| {
        let peer = sim.peer(*at);
        peer.is_some_and(|peer| peer > *at && sim.node(peer.node).unwrap().is_switch())
    };
    ports.filter(to_switch).collect()
}

/// (switch, LID) pairs that are connected by cables but whose packets do not arrive by the switches' present
/// tables.
fn without_a_path(sim: &Sim) -> usize {
    Unreached::new(sim).count()
}

/// For each LID the number of switches that are connected to its port by cables but whose packets to it do not arrive.
struct Unreached {
    switches: Vec<NodeIdx>,
    part: BTreeMap<NodeIdx, NodeIdx>,
    /// The LIDs of ports with a cable, with their nodes and the numbers of switches.
    lids: Vec<(NodeIdx, Lid, usize)>,
}

impl Unreached {
    fn new(sim: &Sim) -> Self {
        let mut lids = Vec::new();
        for (node, record) in sim.nodes().iter_enumerated() {
            for port in sim.ports_of(node) {
                let is_end_port = record.is_switch() == (port.at().port.0 == 0);
                let lid = port.info().lid();
                let is_cabled = record.is_switch() || sim.peer(port.at()).is_some();
                if is_end_port && is_cabled && lid != Lid::NONE {
                    lids.push((node, lid, 0));
                }
            }
        }
        let switches = sim.nodes().iter_enumerated();
        let switches = switches.filter(|(_, node)| node.is_switch());
        let mut unreached = Self {
            switches: switches.map(|(index, _)| index).collect(),
            part: parts(sim),
            lids,
        };
        unreached.update(sim, |_| true);
        unreached
    }

    /// Follows the packets to these LIDs again: tables have changed, but no cable has.
    fn update(&mut self, sim: &Sim, is_changed: impl Fn(Lid) -> bool) {
        let Self {
            switches,
            part,
            lids,
        } = self;
        for (owner, lid, count) in lids.iter_mut().filter(|(_, lid, _)| is_changed(*lid)) {
            let connected = switches.iter().filter(|start| part[start] == part[owner]);
            // Whether packets from a node arrive.
            let mut known = IdxVec::filled(sim.nodes().len(), None);
            known[*owner] = Some(true);
            *count = connected
                .filter(|&&start| !arrives(sim, *lid, start, &mut known))
                .count();
        }
    }

    fn count(&self) -> usize {
        self.lids.iter().map(|(_, _, count)| count).sum()
    }
}

/// Follows packets to this LID from a node, and returns whether they arrive. `known` holds the nodes of which that is known,
/// and those on the way are added to it.
fn arrives(sim: &Sim, lid: Lid, start: NodeIdx, known: &mut IdxVec<NodeIdx, Option<bool>>) -> bool {
    let (mut here, mut path) = (start, Vec::new());
    let arrives = loop {
        if let Some(arrives) = known[here] {
            break arrives;
        }
        // A node that is visited again is on a loop.
        known[here] = Some(false);
        path.push(here);
        let Some(switch) = sim.node(here).filter(|node| node.is_switch()) else {
            break false;
        };
        let port = switch.lft_port(lid).unwrap_or(PortNum::UNREACHABLE);
        match sim.peer(PortRef { node: here, port }) {
            Some(peer) => here = peer.node,
            None => break false,
        }
    };
    for node in path {
        known[node] = Some(arrives);
    }
    arrives
}

/// The connected part of the fabric that each node is in, named by the part's first node.
fn parts(sim: &Sim) -> BTreeMap<NodeIdx, NodeIdx> {
    let mut part = BTreeMap::new();
    for (start, _) in sim.nodes().iter_enumerated() {
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            if part.contains_key(&node) {
                continue;
            }
            part.insert(node, start);
            let ports = sim.ports_of(node).map(|port| port.at());
            open.extend(ports.filter_map(|at| sim.peer(at)).map(|peer| peer.node));
        }
    }
    part
}

/// Lets the manager run for this long, and checks the LIDs of a forwarding block after each answer to its Set.
fn watch(running: &mut Running, time: Duration) -> usize {
    let end = running.sim.now() + time;
    let mut unreached = running.sim.with(|sim| Unreached::new(sim));
    loop {
        let now = running.sim.now();
        while let Some(mad) = running.sm.poll_transmit(now) {
            running.transport.send(now, &mad).unwrap();
        }
        while let Some(event) = running.sm.poll_event() {
            running.events.push(event);
        }
        if now >= end {
            return running.sim.with(|sim| without_a_path(sim));
        }
        let wake = running.sm.poll_timeout().map_or(end, |at| at.min(end));
        let (_, received) = receive(&mut running.transport, &running.sim, Some(wake)).unwrap();
        match received {
            Some(Received::Mad(mad)) => {
                if mad.header().attribute_id() == LinearForwardingTable::ID {
                    let block = mad.header().attribute_modifier();
                    let in_block = |lid| u32::from(LinearForwardingTable::block_of(lid).0) == block;
                    let before = unreached.count();
                    running.sim.with(|sim| unreached.update(sim, in_block));
                    let now = unreached.count();
                    assert!(
                        now <= before,
                        "{now} pairs have no way, {before} had none before"
                    );
                }
                let now = running.sim.now();
                running.sm.handle_input(now, Input::Mad(&mad));
            }
            Some(Received::Returned(mad)) => {
                let now = running.sim.now();
                running.sm.handle_input(now, Input::Returned(&mad));
            }
            None => running.sm.handle_timeout(running.sim.now()),
        }
    }
}

fn heavy_sweeps(running: &Running) -> usize {
    let is_heavy = |event: &&Event| {
        matches!(
            event,
            Event::SweepStarted {
                kind: SweepKind::Heavy,
                ..
            }
        )
    };
    running.events.iter().filter(is_heavy).count()
}

fn sent(running: &Running, method: Method) -> usize {
    let sent = running.transport.sent.iter().map(Mad::header);
    sent.filter(|header| header.method() == method).count()
}

#[test]
fn a_pulled_cable_is_healed_within_its_first_packet_lifetime_and_read_by_itself() {
    let mut running = Lab::new("gen-torus-4x4x4").up();
    let everything = running.transport.sent.len();
    let cable = running.sim.with(|sim| switch_cables(sim)[5]);
    running.transport.sent.clear();
    running.sim.with(|sim| sim.unlink(cable).unwrap());
    let left = watch(&mut running, Duration::from_millis(200));
    assert_eq!(
        left,
        0,
        "pairs without a way: {:?}",
        running.events.iter().rev().take(25).collect::<Vec<_>>()
    );
    assert_eq!(heavy_sweeps(&running), 1, "that of the start");
    let reads = sent(&running, Method::GET);
    assert!(reads * 10 < everything, "{reads} Gets of {everything} SMPs");
}

/// The first failure after the start examines all ports, because all have been configured since they were examined. Each later
/// one examines those of the nodes that changed. So beside a small fabric, a large one costs less for each node more.
#[test]
fn a_later_failure_examines_only_the_ports_of_nodes_that_changed() {
    let [small, large] = ["fat-tree:radix=4,levels=3", "fat-tree:radix=4,levels=5"].map(|spec| {
        let mut running = Lab::of(generated(spec)).up();
        let cables = running.sim.with(|sim| switch_cables(sim));
        [cables[5], cables[12]].map(|cable| {
            running.sim.with(|sim| sim.unlink(cable).unwrap());
            let before = running.sm.subnet().looks();
            running.run_until_up();
            running.sm.subnet().looks() - before
        })
    });
    let [first, later] = [0, 1].map(|failure| large[failure] - small[failure]);
    assert!(later * 5 < first * 3, "{later} looks, {first} at first");
}

/// The rule that is built in, with the number of times that it was asked.
#[derive(Debug, Default)]
struct Counting(AtomicUsize);

impl LidPolicy for Counting {
    fn assign(&self, fabric: &Fabric, options: &LidOptions) -> Result<LidMap, RouteError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        LowestFree.assign(fabric, options)
    }
}

#[test]
fn lids_are_not_chosen_again_if_only_cables_between_switches_went_and_the_fabric_is_as_if_read_anew()
 {
    let mut running = Lab::new("gen-torus-4x4x4").up();
    let policy = Arc::new(Counting::default());
    running.sm = running.sm.with_lid_policy(policy.clone());
    let cables = running.sim.with(|sim| switch_cables(sim));
    let mut asked = Vec::new();
    for cable in [cables[5], cables[40], cables[41]] {
        running.sim.with(|sim| sim.unlink(cable).unwrap());
        running.run_for(Duration::from_secs(20));
        assert!(running.sm.is_up());
        asked.push(policy.0.load(Ordering::Relaxed));
    }
    assert_eq!(asked, [0, 0, 0]);
    let facts = |running: &Running| {
        let fabric = running.sm.installed().unwrap().fabric();
        let nodes: Vec<Node> = fabric
            .nodes()
            .iter()
            .map(|node| Node::clone(node))
            .collect();
        let channels: Vec<Channel> = fabric.channels().iter().copied().collect();
        (nodes, channels)
    };
    let kept = facts(&running);
    running.sm.resweep(running.sim.now());
    running.run_for(Duration::from_secs(20));
    assert_eq!(policy.0.load(Ordering::Relaxed), 1, "everything was read");
    assert!(facts(&running) == kept);
}

#[test]
fn healing_waits_for_no_answer_to_another_set() {
    let mut running = Lab::new("gen-torus-4x4x4").up();
    let cable = running.sim.with(|sim| switch_cables(sim)[5]);
    running.transport.sent.clear();
    running.sim.with(|sim| sim.unlink(cable).unwrap());
    running.run_for(Duration::from_secs(20));
    let sets = running.transport.sent_with(Method::SET);
    let broken = running.events.iter().rev().find_map(|event| match event {
        Event::TablesHealed { entries } => Some(*entries),
        _ => None,
    });
    assert!(broken > Some(0), "{broken:?}");
    assert_eq!(sets[0].attribute_id(), LinearForwardingTable::ID);
    // The bits that announced the change are cleared all the same, once at each end of the cable.
    let cleared = sets
        .iter()
        .filter(|set| set.attribute_id() == SwitchInfo::ID);
    assert_eq!(cleared.count(), 2);
}

#[test]
fn the_bits_that_announced_a_change_are_cleared_before_new_ports_are_set_up() {
    let mut running = Lab::new("gen-torus-4x4x4").up();
    let cable = running.sim.with(|sim| switch_cables(sim)[5]);
    running.sim.with(|sim| sim.unlink(cable).unwrap());
    running.run_for(Duration::from_secs(20));
    running.transport.sent.clear();
    running.sim.with(|sim| assert!(sim.relink(cable).unwrap()));
    running.run_for(Duration::from_secs(20));
    assert!(running.sm.is_up());
    let sets = running.transport.sent_with(Method::SET);
    let first = |id| {
        sets.iter()
            .position(|set| set.attribute_id() == id)
            .unwrap()
    };
    assert!(first(SwitchInfo::ID) < first(PortInfo::ID));
    // Nothing is announced that does not happen.
    let empty = |event: &Event| {
        matches!(
            event,
            Event::TablesHealed { entries: 0 } | Event::TablesChange { entries: 0, .. }
        )
    };
    assert!(!running.events.iter().any(empty));
}

/// The order of the first events that say that broken entries were written, and that routes were verified, after a cable
/// went: `true` if the entries were first.
fn leads_round_before_routing(from: usize, change: impl FnOnce(&mut Running)) -> bool {
    let mut running = Lab::of(generated("torus:4x4,hosts=1")).start();
    running.sm.hand_out_work();
    running.sm = running.sm.with_detours_from(from);
    running.run_for_with_work(Duration::from_secs(1));
    assert!(running.sm.is_up());
    change(&mut running);
    let cable = running.sim.with(|sim| switch_cables(sim)[5]);
    running.events.clear();
    running.sim.with(|sim| sim.unlink(cable).unwrap());
    running.run_for_with_work(Duration::from_secs(1));
    let place = |is: fn(&Event) -> bool| running.events.iter().position(is).unwrap();
    let healed = place(|event| matches!(event, Event::TablesHealed { .. }));
    let verified = place(|event| matches!(event, Event::RoutesVerified { .. }));
    assert!(running.sm.is_up());
    healed < verified
}

/// The host has counted the paths of the routes in force, so a repair is as quick as the detours.
#[test]
fn detours_are_left_out_where_a_repair_is_as_quick() {
    let change = |running: &mut Running, change: fn(&mut SmConfig)| {
        let mut config = running.sm.config().clone();
        change(&mut config);
        running.sm.reconfigure(running.sim.now(), config);
        running.run_for_with_work(Duration::from_secs(1));
    };
    assert!(!leads_round_before_routing(1, |_| {}));
    assert!(
        leads_round_before_routing(0, |_| {}),
        "they are always written"
    );
    assert!(leads_round_before_routing(1, |running| {
        change(running, |config| config.use_ucast_cache = false);
    }));
    assert!(!leads_round_before_routing(usize::MAX, |running| {
        change(running, |config| config.use_ucast_cache = false);
    }));
}

#[test]
fn detours_come_first_where_paths_are_not_counted() {
    let mut running = Lab::new("gen-torus-4x4x4").up();
    running.sm = running.sm.with_detours_from(1);
    let cable = running.sim.with(|sim| switch_cables(sim)[5]);
    running.events.clear();
    running.sim.with(|sim| sim.unlink(cable).unwrap());
    running.run_for(Duration::from_secs(1));
    let place = |is: fn(&Event) -> bool| running.events.iter().position(is).unwrap();
    let healed = place(|event| matches!(event, Event::TablesHealed { .. }));
    assert!(healed < place(|event| matches!(event, Event::RoutesVerified { .. })));
}

#[test]
fn only_new_links_are_asked_for_the_speed_of_the_vendor() {
    let mut running = Lab::new("gen-pgft-6x6-par3").up();
    let asked = |running: &Running| {
        let gets = running.transport.sent_with(Method::GET).into_iter();
        gets.filter(|get| get.attribute_id() == MlnxExtPortInfo::ID)
            .count()
    };
    assert!(asked(&running) > 0, "the links are QDR or FDR10");
    let cable = running.sim.with(|sim| switch_cables(sim)[5]);
    for (back, expected) in [(false, 0), (true, 2)] {
        running.transport.sent.clear();
        running.sim.with(|sim| match back {
            false => sim.unlink(cable).unwrap(),
            true => assert!(sim.relink(cable).unwrap()),
        });
        running.run_for(Duration::from_secs(20));
        assert!(running.sm.is_up());
        assert_eq!(asked(&running), expected, "put back: {back}");
    }
}

#[test]
fn detours_need_no_new_routes() {
    // The host takes the work but never runs it.
    let mut running = Lab::new("gen-torus-4x4x4").up();
    running.sm.hand_out_work();
    running.sm = running.sm.with_detours_from(0);
    let cable = running.sim.with(|sim| switch_cables(sim)[5]);
    running.sim.with(|sim| sim.unlink(cable).unwrap());
    assert!(running.sim.with(|sim| without_a_path(sim)) > 0);
    let left = watch(&mut running, Duration::from_millis(200));
    assert_eq!(left, 0);
    assert!(running.sm.poll_work().is_some(), "routes are waited for");
}

/// The status of the administrator's answer to a query for a path. The query reaches it at once, and nothing else does.
fn status_of_path(running: &mut Running, now: Instant, from: Lid, to: Lid) -> MadStatus {
    let mut template = PathRecord::default();
    template.set_slid(from).set_dlid(to).set_numb_path(1);
    let mask = PathComponents::SLID | PathComponents::DLID | PathComponents::NUMB_PATH;
    let mut request = Mad::new(MadAddress::gsi(from, Sl::ZERO));
    request.bytes = *SaMad::query(Method::GET, &template, mask).as_bytes();
    running.sm.handle_input(now, Input::Mad(&request));
    let sent = core::iter::from_fn(|| running.sm.poll_transmit(now));
    let mut answers = sent.filter(|mad| {
        mad.header().method() == Method::GET_RESP && !mad.header().mgmt_class().is_smp()
    });
    answers.next().expect("an answer").header().status()
}

#[test]
fn every_path_is_answered_while_a_failure_is_repaired() {
    for is_switch in [false, true] {
        // The host takes the work but never runs it, so the repair does not end.
        let mut running = Lab::new("gen-torus-4x4x4").up();
        running.sm.hand_out_work();
        let cable = running.sim.with(|sim| {
            let cable = switch_cables(sim)[90];
            match is_switch {
                false => sim.unlink(cable).unwrap(),
                true => sim.power_off(cable.node),
            }
            cable
        });
        running.run_for(Duration::from_millis(100));
        assert!(running.sm.poll_work().is_some(), "routes are needed");
        let hosts: Vec<Lid> = running.sim.with(|sim| {
            let ends = running.sm.lids().destinations().iter();
            let hosts = ends.filter(|end| !end.is_switch());
            let is_off = |lid| {
                let mut nodes = sim.nodes().iter_enumerated();
                nodes.any(|(node, _)| {
                    let mut ports = sim.ports_of(node);
                    ports.any(|port| port.info().lid() == lid && !port.is_link_up())
                })
            };
            hosts
                .map(|end| end.range.base())
                .filter(|&lid| !is_off(lid))
                .collect()
        });
        assert!(hosts.len() > 60, "{cable:?}");
        let mut now = running.sim.now();
        for &from in &hosts {
            for &to in hosts.iter().step_by(7) {
                // A requester has a bounded share of the administrator's time.
                now = now + Duration::from_millis(1);
                let status = status_of_path(&mut running, now, from, to);
                assert!(
                    status.is_ok(),
                    "{from} to {to}, switch: {is_switch}: {status:?}"
                );
            }
        }
    }
}

#[test]
fn no_change_of_any_fabric_takes_a_way_from_a_pair() {
    for file in fabric_files() {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut running = Lab::new(&name).up();
        for detours_from in [0, usize::MAX] {
            running.sm = running.sm.with_detours_from(detours_from);
            let cables = running.sim.with(|sim| switch_cables(sim));
            let Some(&cable) = cables.get(cables.len() / 2) else {
                continue;
            };
            let cables_of = running.sim.with(|sim| {
                let ports = sim.ports_of(cable.node).map(|port| port.at());
                let ports = ports.filter(|&at| sim.peer(at).is_some());
                ports.collect::<Vec<_>>()
            });
            let own = running.sim.with(|sim| {
                let own = running.sm.subnet().own_port().unwrap();
                let own = running.sm.subnet().port_at(own).node_guid;
                let mut nodes = sim.nodes().iter_enumerated();
                nodes.find(|(_, node)| node.guid() == own).unwrap().0
            });
            let is_own = running.sim.with(|sim| {
                let mut peers = cables_of.iter().filter_map(|&at| sim.peer(at));
                peers.any(|peer| peer.node == own)
            });
            // A cable, then the whole switch, fails and comes back.
            let scripts = [vec![cable], if is_own { vec![] } else { cables_of }];
            for ports in scripts {
                for back in [false, true] {
                    running.sim.with(|sim| {
                        for &port in &ports {
                            if back {
                                sim.relink(port).unwrap();
                            } else {
                                sim.unlink(port).unwrap();
                            }
                        }
                    });
                    let left = watch(&mut running, Duration::from_secs(30));
                    assert_eq!(left, 0, "{name}, {ports:?} back: {back}, {detours_from}");
                }
            }
        }
    }
}

#[test]
fn a_switch_that_is_off_costs_no_time_out() {
    let mut running = Lab::new("gen-torus-4x4x4").up();
    let (switch, guid) = running.sim.with(|sim| {
        let switches = sim.nodes().iter_enumerated();
        let mut switches = switches.filter(|(_, node)| node.is_switch());
        let (index, node) = switches.nth(40).unwrap();
        (index, node.guid())
    });
    running.sim.with(|sim| sim.power_off(switch));
    running.run_for(Duration::from_millis(100));
    assert!(running.sm.subnet().find(guid).is_none(), "it is gone");
    assert_eq!(heavy_sweeps(&running), 1, "that of the start");
}

#[test]
fn a_cable_that_is_put_back_takes_no_way_from_a_pair() {
    let mut running = Lab::new("gen-torus-4x4x4").up();
    let cable = running.sim.with(|sim| switch_cables(sim)[5]);
    running.sim.with(|sim| sim.unlink(cable).unwrap());
    watch(&mut running, Duration::from_secs(20));
    running.sim.with(|sim| sim.relink(cable).unwrap());
    let left = watch(&mut running, Duration::from_secs(20));
    assert_eq!(left, 0);
    assert_eq!(heavy_sweeps(&running), 1, "that of the start");
    assert!(running.sm.is_up());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    /// Cables are pulled and put back at any time: in the end the manager's state equals that of one that starts
    /// then, and its routes reach every port.
    #[test]
    fn what_is_known_after_changes_is_what_a_whole_sweep_finds(
        script in proptest::collection::vec((any::<prop::sample::Index>(), 0..400u64), 1..8),
    ) {
        let mut running = Lab::new("gen-torus-3x3x3-par2").up();
        let cables = running.sim.with(|sim| switch_cables(sim));
        let mut pulled = std::collections::BTreeSet::new();
        for (cable, pause) in script {
            let cable = *cable.get(&cables);
            running.sim.with(|sim| {
                if pulled.remove(&cable) {
                    sim.relink(cable).unwrap();
                } else {
                    sim.unlink(cable).unwrap();
                    pulled.insert(cable);
                }
            });
            running.run_for(Duration::from_millis(pause));
        }
        running.run_for(Duration::from_secs(60));
        prop_assert!(running.sm.is_up());
        let partial = known(&running);
        running.transport.sent.clear();
        running.resweep();
        prop_assert_eq!(partial, known(&running));
        prop_assert_eq!(sent(&running, Method::SET), 0, "the whole sweep finds nothing to write");
        prop_assert_eq!(running.sim.with(|sim| without_a_path(sim)), 0);
    }
}
