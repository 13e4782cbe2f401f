//! LIDs that outlive a manager, and the absence of a port.

use std::{collections::BTreeMap, time::Duration};

use ib_routing::{NodeIdx, format::guid2lid};
use ib_sm::SmConfig;
use ib_testkit::lab::{Lab, Running};
use ib_wire::{Guid, Lid};

/// Base LIDs by port GUID, as the manager assigned them.
fn given(running: &Running) -> BTreeMap<Guid, Lid> {
    let all = running.sm.lids().destinations().iter();
    all.map(|destination| (destination.guid, destination.range.base()))
        .collect()
}

fn hosts(running: &Running) -> Vec<NodeIdx> {
    running.sim.with(|sim| {
        let nodes = sim.nodes().iter_enumerated();
        let hosts = nodes.filter(|(_, node)| !node.is_switch());
        hosts.map(|(index, _)| index).collect()
    })
}

#[test]
fn a_fabric_that_lost_its_power_gets_the_lids_of_the_file_again() {
    let first = Lab::new("gen-mesh-6x4").up();
    let text = guid2lid::write(first.sm.lids(), first.sm.guid2lid());
    // Without the file a manager assigns LIDs in the order of the GUIDs.
    let mut database = guid2lid::read(&text).unwrap();
    let lids: Vec<_> = database.values().rev().copied().collect();
    for (lid, new) in database.values_mut().zip(lids) {
        *lid = new;
    }
    let again = Lab::new("gen-mesh-6x4")
        .config(|config| config.guid2lid.clone_from(&database))
        .up();
    assert_eq!(given(&again), database);
    assert_ne!(given(&first), database);
    assert_eq!(*again.sm.guid2lid(), database);
}

#[test]
fn who_comes_back_finds_its_lid() {
    let mut running = Lab::new("gen-mesh-6x4").up();
    let before = given(&running);
    let away = *hosts(&running).last().unwrap();
    running.sim.with(|sim| sim.power_off(away));
    running.resweep();
    assert_eq!(given(&running).len(), before.len() - 1);
    assert_eq!(*running.sm.guid2lid(), before);
    running.sim.with(|sim| sim.power_on(away));
    running.run_for(Duration::from_secs(1));
    running.resweep();
    assert_eq!(given(&running), before);
}

#[test]
fn lids_that_another_one_gave_are_kept_without_a_file() {
    let mut running = Lab::new("gen-ring-5").up();
    let before = given(&running);
    running.restart(SmConfig {
        sweep_interval: None,
        ..SmConfig::default()
    });
    running.run_until_up();
    assert_eq!(given(&running), before);
}
