//! LIDs that outlive a manager, and the absence of a port.

use std::{collections::BTreeMap, time::Duration};

use ib_routing::{NodeIdx, PortRef, format::guid2lid};
use ib_sim::Sim;
use ib_sm::SmConfig;
use ib_testkit::lab::{Lab, Running};
use ib_wire::{Guid, Lid, Lmc, PortNum};

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

#[test]
fn lids_are_dealt_anew_in_the_first_sweep_alone_if_the_option_says_so() {
    for reassign in [false, true] {
        let lab = Lab::new("gen-ring-5").config(|config| config.reassign_lids = reassign);
        let mut running = lab.start();
        let host = *hosts(&running).last().unwrap();
        let port = running.sim.with(|sim| {
            let port = sim.end_ports(host).next().unwrap().at();
            sim.set_lid(port, Lid(500), Lmc::ZERO).unwrap();
            port
        });
        running.run_until_up();
        let lid = |running: &Running| {
            let lid = |sim: &mut Sim| sim.port(port).unwrap().info().lid();
            running.sim.with(lid)
        };
        assert_eq!(lid(&running) == Lid(500), !reassign);
        let before = given(&running);
        // A new assignment would begin with another LID.
        let other = hosts(&running)[1];
        running.sim.with(|sim| sim.power_off(other));
        running.resweep();
        let mut after = given(&running);
        assert_eq!(after.len(), before.len() - 1);
        after.retain(|guid, lid| before.get(guid) != Some(lid));
        assert_eq!(after, BTreeMap::new(), "{reassign}");
    }
}

#[test]
fn the_port_of_the_manager_gets_the_first_lid() {
    let lab = Lab::new("gen-ring-5");
    let links = lab.fabric.links().flat_map(|(one, other)| [one, other]);
    let hosts = links.filter(|end| lab.fabric.switch_of(end.node).is_none());
    let at = hosts.max_by_key(|end| end.node).unwrap();
    let running = lab.sm_at(at.node, at.port.0).up();
    let own = running.node(at.node, |node| node.guid());
    let lids = running.sm.lids().destinations().iter();
    let first = lids.min_by_key(|end| end.range.base()).unwrap();
    let owner = running.sm.fabric().node(first.end.node).guid;
    assert_eq!((owner, first.range.base()), (own, Lid(1)));
}

#[test]
fn an_enhanced_port_0_gets_several_lids_if_the_option_says_so() {
    let lmc = Lmc::try_new(2).unwrap();
    for (enhanced, allowed) in [(false, true), (true, false), (true, true)] {
        let ring = Lab::new("gen-ring-5").fabric;
        let mut builder = ring.to_builder();
        let switch = *ring.switches().iter().next().unwrap();
        builder.node_mut(switch).unwrap().enhanced_port_0 = enhanced;
        let running = Lab::of(builder.build())
            .config(|config| {
                config.lmc = lmc;
                config.lmc_esp0 = allowed;
            })
            .up();
        let port_0 = PortRef {
            node: switch,
            port: PortNum(0),
        };
        let held = running
            .sim
            .with(|sim| sim.port(port_0).unwrap().info().lmc());
        let expected = if enhanced && allowed { lmc } else { Lmc::ZERO };
        assert_eq!(held, expected, "enhanced {enhanced}, allowed {allowed}");
    }
}

#[test]
fn without_clusters_all_lids_are_the_managers_own() {
    let running = Lab::new("gen-ring-5").up();
    let (own, all) = (running.sm.own_lids(), running.sm.lids());
    assert_eq!(own.num_lids(), all.num_lids());
    assert_eq!(own.max_lid(), Lid(u16::try_from(all.num_lids()).unwrap()));
}
