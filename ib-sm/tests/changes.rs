//! Sweeps over time: what changes is seen, and what does not costs little.

mod lab;

use std::time::Duration;

use ib_mad::{Attribute, Method};
use ib_routing::PortRef;
use ib_sim::Behaviour;
use ib_sm::{Event, SweepCause};
use ib_smp::{NodeInfo, SwitchInfo};
use lab::{Lab, Running};

fn heavy_sweeps(running: &Running) -> Vec<SweepCause> {
    let events = running.events.iter();
    let sweeps = events.filter_map(|event| match event {
        Event::SweepStarted { heavy: true, cause } => Some(*cause),
        _ => None,
    });
    sweeps.collect()
}

/// A cable between two switches.
fn cable(running: &Running) -> PortRef {
    running.sim.with(|sim| {
        let switches = sim
            .nodes()
            .iter_enumerated()
            .filter(|(_, node)| node.is_switch());
        let mut ports = switches.flat_map(|(switch, _)| sim.ports_of(switch));
        let port = ports.find(|port| {
            let peer = sim.peer(port.at()).and_then(|peer| sim.node(peer.node));
            peer.is_some_and(|peer| peer.is_switch())
        });
        port.unwrap().at()
    })
}

#[test]
fn a_light_sweep_asks_each_switch_once_and_sets_nothing() {
    let lab = Lab::new("gen-torus-4x4x4");
    let mut running = lab
        .config(|config| config.sweep_interval = Some(Duration::from_secs(10)))
        .up();
    running.transport.sent.clear();
    running.run_for(Duration::from_secs(35));
    assert_eq!(heavy_sweeps(&running), [SweepCause::Start]);
    assert!(running.transport.sent_with(Method::SET).is_empty());
    let gets = running.transport.sent_with(Method::GET);
    assert!(gets.iter().all(|get| get.attribute_id() == SwitchInfo::ID));
    assert_eq!(gets.len(), 3 * running.sm.summary().fabric.switches);
}

#[test]
fn without_a_sweep_interval_nothing_is_sent() {
    let mut running = Lab::new("gen-ring-5").up();
    running.transport.sent.clear();
    running.run_for(Duration::from_secs(1000));
    assert!(running.transport.sent.is_empty());
}

#[test]
fn a_lost_link_is_seen_and_routed_around() {
    let lab = Lab::new("gen-torus-4x4x4");
    let mut running = lab
        .config(|config| config.sweep_interval = Some(Duration::from_secs(10)))
        .up();
    let links = running.sm.summary().fabric.links;
    let port = cable(&running);
    running.sim.with(|sim| sim.unlink(port).unwrap());
    running.run_for(Duration::from_secs(11));
    assert!(heavy_sweeps(&running).len() >= 2);
    assert!(running.sm.is_up());
    assert_eq!(running.sm.summary().fabric.links, links - 1);
    running.sim.with(|sim| sim.relink(port).unwrap());
    running.run_for(Duration::from_secs(11));
    assert_eq!(running.sm.summary().fabric.links, links);
    assert_eq!(running.sm.summary().ports.not_active, 0);
}

#[test]
fn a_node_that_wakes_up_is_found_by_the_next_light_sweep() {
    let lab = Lab::new("gen-ring-5");
    let mut running = lab
        .config(|config| config.sweep_interval = Some(Duration::from_secs(10)))
        .start();
    let host = running.sim.with(|sim| {
        let hosts = sim
            .nodes()
            .iter_enumerated()
            .filter(|(_, node)| !node.is_switch());
        let (host, _) = hosts.max_by_key(|(index, _)| *index).unwrap();
        sim.set_behaviour(host, Behaviour::Silent);
        host
    });
    let summary = running.run_until_up();
    assert_eq!(summary.silent.len(), 1);
    assert_eq!(summary.silent[0].attribute_id, NodeInfo::ID);
    let cas = summary.fabric.cas;
    running
        .sim
        .with(|sim| sim.set_behaviour(host, Behaviour::Honest));
    running.run_for(Duration::from_secs(12));
    assert_eq!(running.sm.summary().fabric.cas, cas + 1);
    assert!(running.sm.is_up());
}
