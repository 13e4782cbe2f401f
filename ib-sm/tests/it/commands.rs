//! Commands from the host to a running manager: sweeps, new options, a new priority.

use std::time::Duration;

use ib_mad::{Attribute as _, Method, MgmtClass};
use ib_routing::engine;
use ib_sa::{ComponentMask, McMemberRecord};
use ib_sm::{Event, Partitions, Phase, SmConfig, SweepCause, SweepKind};
use ib_smp::{LinearForwardingTable, NodeType, PartitionKeyTable, PortState};
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
    let now = client.running.sim.now();
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
fn a_partition_of_a_running_manager_takes_effect_without_a_walk_and_is_taken_back() {
    // Switches enforce partitions from the first one on that not every port is a full member of.
    let first = Partitions::default().with_rules("lab=0x10 : ALL=full ;");
    let lab = Lab::new("gen-ring-5").config(|config| config.partitions = first.unwrap());
    let mut client = Client::of(lab.up());
    let guid = client
        .running
        .sim
        .with(|sim| sim.port(client.port).unwrap().guid());
    let key = PKey(0x8012);
    let held = |client: &Client| -> Vec<PKey> {
        let port = client.port;
        client.running.sim.with(|sim| {
            let keys = sim.port(port).unwrap().p_keys();
            keys.filter(|key| key.base() != 0).collect()
        })
    };
    let before = client.running.sm.config().partitions.clone();
    let rule = format!("storage=0x12, ipoib : {guid}=full ;");
    let after = before.with_rules(&rule).unwrap();
    for (partitions, has_it) in [(after.clone(), true), (before, false)] {
        client.running.transport.sent.clear();
        let now = client.running.sim.now();
        client.running.sm.set_partitions(now, partitions);
        client.running.run_until_up();
        assert_eq!(held(&client).contains(&key), has_it, "{:?}", held(&client));
        assert_eq!(group_keys(&mut client).contains(&key), has_it);
        // Nothing is read, and one port's table is written alone.
        let sent = &client.running.transport;
        let reads = sent.sent_with(Method::GET);
        let reads = reads
            .iter()
            .filter(|mad| mad.mgmt_class() != MgmtClass::SUBN_ADM);
        assert_eq!(reads.count(), 0);
        let sets = sent.sent_with(Method::SET);
        let attributes: Vec<_> = sets.iter().map(|mad| mad.attribute_id()).collect();
        let tables = attributes.iter().filter(|id| **id == PartitionKeyTable::ID);
        // The port of the host, and the port of the switch that enforces its partitions.
        assert!((1..=2).contains(&tables.count()), "{attributes:?}");
        assert!(client.running.sim.now().since(now) < Duration::from_millis(50));
    }
    assert!(after.without(0x12).is_some() && after.without(0x7fff).is_none());
    assert!(after.without_member(0x12, guid).is_some());
    assert!(after.without_member(0x12, ib_wire::Guid(1)).is_none());
}

#[test]
fn sweeps_are_switched_off_and_on_without_a_sweep() {
    let mut running = Lab::new("gen-ring-5").up();
    let sweeps = |running: &Running| {
        let started = |event: &&Event| matches!(event, Event::SweepStarted { .. });
        running.events.iter().filter(started).count()
    };
    let before = sweeps(&running);
    let now = running.sim.now();
    running.sm.set_sweeping(now, None, false);
    running.run_for(Duration::from_secs(60));
    assert_eq!(sweeps(&running), before);
    let now = running.sim.now();
    running
        .sm
        .set_sweeping(now, Some(Duration::from_secs(5)), true);
    running.run_for(Duration::from_secs(11));
    assert_eq!(sweeps(&running), before + 2);
}

#[test]
fn another_engine_that_is_read_again_routes_anew() {
    let mut running = Lab::new("gen-torus-4x4x4").routing(&engine::MINHOP).up();
    let mut config = running.sm.config().clone();
    config.routing_engines = vec![engine::SSSP.clone()];
    let now = running.sim.now();
    let version = |running: &Running| running.sm.installed().unwrap().version();
    let before = version(&running);
    running.sm.reconfigure(now, config);
    running.run_until_up();
    assert_eq!(running.sm.engine(), Some("sssp"));
    assert!(version(&running) > before, "a host draws them again");
    assert_eq!(running.sm.report().unwrap().unreachable, 0);
}

#[test]
fn what_needs_a_restart_is_named_and_stays() {
    let mut running = Lab::new("gen-ring-5").up();
    let mut config = running.sm.config().clone();
    config.subnet_prefix = GidPrefix(0xfec0_0000_0000_0001);
    config.lmc = ib_wire::Lmc::try_new(1).unwrap();
    let now = running.sim.now();
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
    let now = running.sim.now();
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
    let now = running.sim.now();
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

#[test]
fn during_a_heavy_sweep_the_summary_is_that_of_the_last_complete_one() {
    let mut running = Lab::new("gen-ring-5").up();
    let complete = running.sm.summary().clone();
    assert_ne!(complete.fabric.links, 0);
    let now = running.sim.now();
    running.sm.resweep(now);
    let mut phases = Vec::new();
    for _ in 0..10_000 {
        running.run_for_at_most(Duration::from_secs(1), 1);
        let Some(phase) = running.sm.status().phase else {
            break;
        };
        let shown = running.sm.summary();
        assert_eq!(shown.fabric, complete.fabric, "{phase:?}");
        assert_eq!(shown.ports, complete.ports, "{phase:?}");
        assert!(running.sm.status().up, "{phase:?}");
        if phases.last() != Some(&phase) {
            phases.push(phase);
        }
    }
    assert!(phases.contains(&Phase::Discover), "{phases:?}");
    assert_eq!(running.sm.status().phase, None);
}

fn light_sweeps(running: &Running) -> usize {
    let done = |event: &&Event| matches!(event, Event::LightSweepDone { .. });
    running.events.iter().filter(done).count()
}

#[test]
fn a_light_sweep_that_is_ordered_looks_for_changes_and_finds_none() {
    let mut running = Lab::new("gen-ring-5").up();
    let before = full_or_partial_sweeps(&running).len();
    let now = running.sim.now();
    running.sm.light_sweep(now);
    running.run_for(Duration::from_secs(1));
    assert_eq!(light_sweeps(&running), 1);
    let unchanged = |event: &Event| matches!(event, Event::LightSweepDone { changed: false });
    assert!(running.events.iter().any(unchanged));
    assert_eq!(full_or_partial_sweeps(&running).len(), before);
}

#[test]
fn a_light_sweep_is_not_begun_during_another_sweep_or_before_the_first() {
    let mut running = Lab::new("gen-ring-5").start();
    let now = running.sim.now();
    running.sm.light_sweep(now);
    running.run_until_up();
    assert_eq!(light_sweeps(&running), 0);
    let now = running.sim.now();
    running.sm.resweep(now);
    running.run_for_at_most(Duration::from_secs(1), 3);
    assert!(running.sm.status().phase.is_some());
    let now = running.sim.now();
    running.sm.light_sweep(now);
    running.run_for(Duration::from_secs(5));
    assert_eq!(light_sweeps(&running), 0);
    assert!(running.sm.is_up());
}

#[test]
fn the_status_during_a_sweep_counts_its_requests_from_its_start() {
    let mut running = Lab::new("gen-torus-4x4x4").up();
    running.run_for(Duration::from_secs(3));
    let began = running.sim.now();
    running.sm.resweep(began);
    let mut most = 0;
    for _ in 0..200 {
        running.run_for_at_most(Duration::from_secs(1), 1);
        let status = running.sm.status();
        if status.phase.is_some() {
            assert_eq!(status.sweep_started, began);
            most = most.max(status.requests);
        }
    }
    assert!(most > 1, "{most}");
}

/// A change of the configuration that a test makes.
type OptionSetter = fn(&mut SmConfig);

/// Number of entries of forwarding tables that are written after a cable was lost and the configuration changed then.
fn entries_moved_by(change: OptionSetter) -> usize {
    let lab = Lab::new("gen-torus-4x4x4").routing(&engine::MINHOP);
    let (cable, _) = lab.fabric.switch_links().next().unwrap();
    let mut running = lab.up();
    running.sim.with(|sim| sim.unlink(cable).unwrap());
    running.resweep();
    running.transport.sent.clear();
    let mut config = running.sm.config().clone();
    change(&mut config);
    let now = running.sim.now();
    assert!(running.sm.reconfigure(now, config).is_empty());
    running.run_until_up();
    let sets = running.transport.sent_with(Method::SET).into_iter();
    sets.filter(|set| set.attribute_id() == LinearForwardingTable::ID)
        .count()
}

#[test]
fn options_of_the_routes_replace_repaired_routes_and_others_leave_them() {
    let others: [OptionSetter; 2] = [|_| {}, |config| config.sminfo_polling_timeout *= 2];
    for change in others {
        assert_eq!(entries_moved_by(change), 0);
    }
    let of_routes: [OptionSetter; 4] = [
        |config| config.routing_engines = vec![engine::SSSP.clone()],
        |config| config.no_fallback = true,
        |config| config.route_options.lash_start_vl = 1,
        |config| config.route_tables.lfts = Some(String::new()),
    ];
    for (number, change) in of_routes.into_iter().enumerate() {
        assert!(entries_moved_by(change) > 0, "option {number}");
    }
}

#[test]
fn the_status_counts_the_writes_that_wait() {
    // With few requests in flight nearly all wait.
    let lab = Lab::new("gen-torus-4x4x4").config(|config| config.max_wire_smps = 1);
    let switches = lab.fabric.num_switches();
    let mut running = lab.start();
    let mut most = 0;
    while !running.has_swept() {
        running.run_for_at_most(Duration::from_secs(1), 1);
        let status = running.sm.status();
        if status.phase == Some(Phase::Program) {
            most = most.max(status.requests);
        }
    }
    assert!(most > switches, "{most} requests for {switches} switches");
}
