//! Commands from the host to a running manager: sweeps, new options, a new priority.

use std::time::Duration;

use ib_mad::Method;
use ib_routing::engine;
use ib_sa::{ComponentMask, McMemberRecord};
use ib_sm::{Event, Partitions, SweepCause, SweepKind};
use ib_smp::{NodeType, PortState};
use ib_subnet::PortSummary;
use ib_testkit::lab::{Lab, Running, client::Client};
use ib_transport::Clock;
use ib_wire::{GidPrefix, PKey};

fn full_or_partial_sweeps(running: &Running) -> Vec<SweepCause> {
    let sweeps = running.events.iter().filter_map(|event| match event {
        Event::SweepStarted { kind, cause } => (*kind != SweepKind::Light).then_some(*cause),
        _ => None,
    });
    sweeps.collect()
}

/// The groups that the administrator returns, by their P_Keys.
fn group_keys(client: &mut Client) -> Vec<PKey> {
    let groups = client.table(&McMemberRecord::default(), ComponentMask(0));
    groups.iter().map(McMemberRecord::p_key).collect()
}

#[test]
fn partitions_that_are_read_again_reach_ports_and_groups() {
    let first = "Default=0x7fff, ipoib : ALL=full;\nlab=0x10, ipoib : ALL=full;";
    let second = "Default=0x7fff, ipoib : ALL=full;\nnew=0x20, ipoib : ALL=full;";
    let lab = Lab::new("gen-ring-5")
        .config(|config| config.partitions = Partitions::parse(first).unwrap());
    let mut client = Client::of(lab.up());
    let key = |base: u16| PKey(base | 0x8000);
    assert_eq!(group_keys(&mut client), [key(0x10), key(0x7fff)]);
    let mut config = client.running.sm.config().clone();
    config.partitions = Partitions::parse(second).unwrap();
    let now = client.running.clock.now();
    assert!(client.running.sm.reconfigure(now, config).is_empty());
    client.running.run_until_up();
    assert_eq!(group_keys(&mut client), [key(0x20), key(0x7fff)]);
    let port = client.port;
    let held: Vec<PKey> = client.running.sim.with(|sim| {
        let keys = sim.port(port).unwrap().p_keys();
        keys.filter(|key| key.base() != 0).collect()
    });
    assert!(
        held.contains(&key(0x20)) && !held.contains(&key(0x10)),
        "{held:?}"
    );
}

#[test]
fn another_engine_that_is_read_again_routes_anew() {
    let mut running = Lab::new("gen-torus-4x4x4").routing(&engine::MINHOP).up();
    let mut config = running.sm.config().clone();
    config.routing_engines = vec![engine::SSSP.clone()];
    let now = running.clock.now();
    running.sm.reconfigure(now, config);
    running.run_until_up();
    assert_eq!(running.sm.engine(), Some("sssp"));
    assert_eq!(running.sm.report().unwrap().unreachable, 0);
}

#[test]
fn what_needs_a_restart_is_named_and_stays() {
    let mut running = Lab::new("gen-ring-5").up();
    let mut config = running.sm.config().clone();
    config.subnet_prefix = GidPrefix(0xfec0_0000_0000_0001);
    config.lmc = ib_wire::Lmc::try_new(1).unwrap();
    let now = running.clock.now();
    let named = running.sm.reconfigure(now, config);
    assert_eq!(named, ["subnet_prefix", "lmc"]);
    running.run_until_up();
    assert_eq!(running.sm.config().subnet_prefix, GidPrefix::DEFAULT);
    assert_eq!(
        full_or_partial_sweeps(&running).last(),
        Some(&SweepCause::Command)
    );
}

#[test]
fn an_order_during_a_sweep_has_another_one_follow() {
    let mut running = Lab::new("gen-torus-4x4x4").start();
    running.run_for(Duration::from_micros(200));
    assert!(!running.has_swept());
    let now = running.clock.now();
    running.sm.resweep(now);
    running.sm.resweep(now);
    running.run_for(Duration::from_secs(5));
    let causes = [SweepCause::Start, SweepCause::Command];
    assert_eq!(full_or_partial_sweeps(&running), causes);
    assert!(running.sm.is_up());
}

#[test]
fn rerouting_an_unchanged_fabric_writes_nothing() {
    let mut running = Lab::new("gen-torus-4x4x4").routing(&engine::MINHOP).up();
    running.transport.sent.clear();
    let now = running.clock.now();
    running.sm.reroute(now);
    running.run_until_up();
    assert!(running.transport.sent_with(Method::SET).is_empty());
}

#[test]
fn the_status_says_what_the_manager_does_and_keeps() {
    let mut running = Lab::new("gen-ring-5").start();
    assert!(!running.sm.status().up);
    running.run_until_up();
    let status = running.sm.status();
    assert!(status.up && status.phase.is_none());
    assert_eq!(status.state, ib_smp::SmState::MASTER);
    assert_eq!(status.mads, running.sm.mads());
    assert_eq!(status.requests, 0);
}

#[test]
fn a_tally_counts_every_port_and_names_those_that_could_do_better() {
    let running = Lab::new("gen-torus-4x4x4").up();
    let (subnet, summary) = (running.sm.subnet(), running.sm.summary());
    let all = PortSummary::of(subnet, None);
    assert_eq!(all.states[&PortState::ACTIVE], summary.ports.active);
    assert_eq!(all.states.values().sum::<usize>(), all.ports);
    assert_eq!(all.widths.values().sum::<usize>(), summary.ports.active);
    let parts = [NodeType::CA, NodeType::SWITCH, NodeType::ROUTER];
    let parts = parts.map(|kind| PortSummary::of(subnet, Some(kind)).ports);
    assert_eq!(parts.iter().sum::<usize>(), all.ports);
    assert!(all.disabled.is_empty() && all.unanswered.is_empty());
}
