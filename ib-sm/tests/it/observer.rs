//! A manager that only observes: it names the changes that another one makes, and makes none.

use std::collections::BTreeSet;

use ib_mad::{Attribute as _, Method};
use ib_sm::{Change, Conduct, Event, Partitions, SubnetManager, SweepCause, SweepKind};
use ib_smp::{LinearForwardingTable, PortInfo, SmState};
use ib_testkit::lab::{Lab, Running};
use ib_transport::Clock as _;
use ib_wire::{Guid, Lid, PortNum};

/// A manager on this fabric that observes and has not done anything yet.
fn observer(lab: Lab) -> Running {
    let mut running = lab.start();
    running.sm = running.sm.with_conduct(Conduct::Observe);
    running
}

fn planned(running: &Running) -> impl Iterator<Item = &Change> {
    running.events.iter().filter_map(|event| match event {
        Event::ChangePlanned(change) => Some(&**change),
        _ => None,
    })
}

fn sets(running: &Running) -> usize {
    running.transport.sent_with(Method::SET).len()
}

fn sorted(modifiers: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut modifiers: Vec<u32> = modifiers.collect();
    modifiers.sort_unstable();
    modifiers
}

#[test]
fn an_observer_plans_what_a_manager_writes_and_sets_nothing() {
    let mut observed = observer(Lab::new("gen-ring-5"));
    observed.run_until_up();
    assert_eq!(sets(&observed), 0);
    let table = LinearForwardingTable::ID;
    let tables = planned(&observed).filter(|change| change.attribute_id == table);
    let tables = sorted(tables.map(|change| change.attribute_modifier));
    let manager = Lab::new("gen-ring-5").up();
    let written = manager.transport.sent_with(Method::SET).into_iter();
    let written = written.filter(|set| set.attribute_id() == table);
    assert_eq!(tables, sorted(written.map(|set| set.attribute_modifier())));
    // Each end port is to have its LID.
    let ports = planned(&observed).filter(|change| change.attribute_id == PortInfo::ID);
    let with_lid = ports.filter(|change| PortInfo::from_bytes(change.to).lid() != Lid::NONE);
    let named: BTreeSet<(Guid, PortNum)> = with_lid
        .map(|change| (change.at.node_guid, change.at.port_num))
        .collect();
    assert_eq!(named.len(), observed.sm.lids().destinations().len());
    assert_eq!(observed.sm.state(), SmState::DISCOVERING);
}

#[test]
fn an_observer_of_a_failure_leads_nothing_round_it() {
    let lab = Lab::new("gen-torus-4x4x4");
    let (cable, _) = lab.fabric.switch_links().next().unwrap();
    let mut running = lab.up();
    let config = running.sm.config().clone();
    let sm = SubnetManager::new(config, running.sim.now()).with_conduct(Conduct::Observe);
    running.sm = sm.with_detours_from(0);
    running.run_until_up();
    running.events.clear();
    running.sim.with(|sim| sim.unlink(cable).unwrap());
    running.resweep();
    assert_eq!(sets(&running), 0);
    let healed = |event: &Event| matches!(event, Event::TablesHealed { .. });
    assert!(!running.events.iter().any(healed));
    let table = LinearForwardingTable::ID;
    let tables = planned(&running).filter(|change| change.attribute_id == table);
    assert!(tables.count() > 0, "broken entries are to be changed");
}

#[test]
fn partitions_that_an_observer_gets_have_everything_read_and_nothing_written() {
    let mut running = observer(Lab::new("gen-ring-5"));
    running.run_until_up();
    running.events.clear();
    let partitions = Partitions::default()
        .with_rules("lab=0x10 : ALL=full ;")
        .unwrap();
    running.sm.set_partitions(running.sim.now(), partitions);
    running.run_until_up();
    let begun = |event: &Event| {
        let (kind, cause) = (SweepKind::Heavy, SweepCause::Command);
        matches!(event, Event::SweepStarted { kind: a, cause: b } if (*a, *b) == (kind, cause))
    };
    assert!(running.events.iter().any(begun), "{:?}", running.events);
    assert_eq!(sets(&running), 0);
}

#[test]
fn an_observer_takes_no_part_in_the_election() {
    let mut running = observer(Lab::new("gen-ring-5").config(|config| config.sm_priority = 15));
    running.run_until_up();
    let changes = |event: &&Event| matches!(event, Event::SmStateChanged { .. });
    assert_eq!(running.events.iter().filter(changes).count(), 0);
}
