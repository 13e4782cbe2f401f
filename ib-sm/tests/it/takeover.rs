//! A manager that finds a subnet configured by another one keeps what is valid, and reports changes before it
//! makes them.

use ib_mad::{Attribute, Method};
use ib_routing::{NodeIdx, PortRef, SharedEngine, engine, verify::Defect};
use ib_sm::{Event, NotKept, SmConfig};
use ib_smp::LinearForwardingTable;
use ib_testkit::lab::{Lab, Running};
use ib_wire::{Lid, Lmc, PortNum};

/// A fat tree that a manager has brought up from its first host, with routes that the default engine does not choose: all
/// CAs at a switch have the same tree, so some links bear more than they must.
fn left_behind() -> Running {
    let lab = Lab::new("gen-ft-48-broken10").routing(&engine::LASH);
    let mut running = lab.up();
    running.events.clear();
    running
}

fn last_host(running: &Running) -> PortRef {
    running.sim.with(|sim| {
        let hosts = sim.nodes().iter_enumerated();
        let hosts = hosts.filter(|(_, node)| !node.is_switch());
        let ports = hosts.flat_map(|(host, _)| sim.end_ports(host));
        let linked = ports.filter(|port| port.is_link_up());
        linked.last().unwrap().at()
    })
}

fn config(takeover: bool) -> SmConfig {
    SmConfig {
        sweep_interval: None,
        takeover,
        ..SmConfig::default()
    }
}

fn table_sets(running: &Running) -> usize {
    let sets = running.transport.sent_with(Method::SET).into_iter();
    sets.filter(|set| set.attribute_id() == LinearForwardingTable::ID)
        .count()
}

fn lids(running: &Running) -> Vec<(NodeIdx, PortNum, Lid)> {
    running.sim.with(|sim| {
        let nodes = sim.nodes().iter_enumerated();
        let ports = nodes.flat_map(|(node, _)| sim.end_ports(node));
        ports
            .map(|port| (port.at().node, port.at().port, port.info().lid()))
            .collect()
    })
}

#[test]
fn routes_and_lids_that_hold_stay() {
    let mut running = left_behind();
    let before = lids(&running);
    let port = last_host(&running);
    running.restart_at(port, config(false));
    running.run_until_up();
    assert_eq!(table_sets(&running), 0);
    assert_eq!(lids(&running), before);
    assert_eq!(running.sm.engine(), Some("kept"));
    let kept = |event: &Event| matches!(event, Event::RoutesKept { entries } if *entries > 0);
    assert!(running.events.iter().any(kept), "{:?}", running.events);
}

#[test]
fn a_takeover_installs_own_routes_and_keeps_the_lids() {
    let mut running = left_behind();
    let before = lids(&running);
    let port = last_host(&running);
    running.restart_at(port, config(true));
    running.run_until_up();
    assert!(table_sets(&running) > 0);
    assert_eq!(lids(&running), before);
    assert_ne!(running.sm.engine(), Some("kept"));
    let said = |event: &Event| matches!(event, Event::TakeOver { .. } | Event::RoutesKept { .. });
    assert!(!running.events.iter().any(said));
}

#[test]
fn only_what_does_not_hold_is_changed_and_it_is_said_before() {
    // A cable is pulled while there is no manager.
    let mut running = left_behind();
    let cable = running.sim.with(|sim| {
        let switches = sim.nodes().iter_enumerated();
        let switches = switches.filter(|(_, node)| node.is_switch());
        let mut ports = switches.flat_map(|(switch, _)| sim.ports_of(switch));
        let between = |at: PortRef| {
            let peer = sim.peer(at);
            peer.is_some_and(|peer| sim.node(peer.node).unwrap().is_switch())
        };
        ports.find(|port| between(port.at())).unwrap().at()
    });
    let mut sets = Vec::new();
    for takeover in [false, true] {
        if !takeover {
            running.sim.with(|sim| sim.unlink(cable).unwrap());
        }
        let port = last_host(&running);
        running.restart_at(port, config(takeover));
        running.run_until_up();
        sets.push(table_sets(&running));
        if !takeover {
            let said = |event: &Event| matches!(event, Event::TakeOver { attribute_id, .. } if *attribute_id == LinearForwardingTable::ID);
            let at = running.events.iter().position(said);
            let healed = |event: &Event| matches!(event, Event::TablesHealed { .. });
            let written = running.events.iter().position(healed);
            assert!(at.is_some() && at < written, "{:?}", running.events);
        }
    }
    assert!(sets[0] > 0 && sets[0] < sets[1], "{sets:?}");
}

#[test]
fn a_reroute_installs_own_routes_after_all() {
    let mut running = left_behind();
    let port = last_host(&running);
    running.restart_at(port, config(false));
    running.run_until_up();
    running.sm.reroute(ib_transport::Clock::now(&running.sim));
    running.run_until_up();
    assert_ne!(running.sm.engine(), Some("kept"));
}

/// Brings a fabric up with an engine and LMC 2, and lets a manager with the default engine take over. Returns the events
/// and the number of Sets of forwarding blocks.
fn taken_over(before: &SharedEngine, allow_deadlock: bool) -> (Running, usize) {
    let lmc = Lmc::try_new(2).unwrap();
    let lab = Lab::new("gen-irregular-20").routing(before);
    let mut running = lab.config(|config| config.lmc = lmc).up();
    let port = last_host(&running);
    let config = SmConfig {
        lmc,
        allow_deadlock,
        ..config(false)
    };
    running.restart_at(port, config);
    running.run_until_up();
    let sets = table_sets(&running);
    (running, sets)
}

#[test]
fn several_lids_for_a_port_are_no_reason_to_replace_routes() {
    let (running, sets) = taken_over(&engine::UPDN, false);
    assert_eq!((running.sm.engine(), sets), (Some("kept"), 0));
}

#[test]
fn routes_that_can_deadlock_are_replaced_and_it_is_said_why() {
    let (running, sets) = taken_over(&engine::MINHOP, false);
    assert!(sets > 0);
    let deadlock = NotKept::Defect(Defect::Deadlock);
    let said =
        |event: &Event| matches!(event, Event::RoutesReplaced { reason } if *reason == deadlock);
    assert!(running.events.iter().any(said), "{:?}", running.events);
}

#[test]
fn routes_that_can_deadlock_stay_where_that_is_permitted() {
    let (running, sets) = taken_over(&engine::MINHOP, true);
    assert_eq!((running.sm.engine(), sets), (Some("kept"), 0));
}
