//! From power-on to active ports, on every test fabric.

use std::ops::ControlFlow;

use ib_mad::{Attribute as _, Method};
use ib_routing::{PortRef, engine};
use ib_sm::{Event, Phase};
use ib_smp::{LinearForwardingTable, PortState, SmState};
use ib_testkit::{
    data::fabric_files,
    lab::{Lab, Running},
};
use ib_transport::Clock as _;
use ib_wire::{Lid, PortNum};

fn name(path: &std::path::Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

/// Every node with a cable path to the manager is configured as the manager reports.
fn assert_configured(name: &str, running: &Running) {
    let fabric = running.sm.fabric();
    let routes = running.sm.routes().expect(name);
    let lids = running.sm.lids();
    running.sim.with(|sim| {
        for (_, node) in fabric.nodes().iter_enumerated() {
            let at = sim.find_guid(node.guid).unwrap();
            for (num, port) in node.ports().filter(|(_, port)| port.peer.is_some()) {
                let info = *sim
                    .port(PortRef {
                        node: at,
                        port: num,
                    })
                    .unwrap()
                    .info();
                assert_eq!(
                    info.port_state(),
                    PortState::ACTIVE,
                    "{name}: {} {num}",
                    node.name
                );
                let peer = fabric.port(port.peer.unwrap()).unwrap();
                assert_eq!(peer.peer.map(|back| back.port), Some(num), "{name}");
            }
        }
        for destination in lids.destinations().iter() {
            let guid = fabric.node(destination.end.node).guid;
            let port = PortRef {
                node: sim.find_guid(guid).unwrap(),
                port: destination.end.port,
            };
            let info = *sim.port(port).unwrap().info();
            assert_eq!(info.lid(), destination.range.base(), "{name}");
            assert_eq!(info.lmc(), destination.range.lmc(), "{name}");
            assert!(info.master_sm_lid().is_unicast(), "{name}");
        }
        for (switch, &node) in fabric.switches().iter_enumerated() {
            let at = sim.find_guid(fabric.node(node).guid).unwrap();
            let top = sim
                .node(at)
                .unwrap()
                .switch_info()
                .unwrap()
                .linear_fdb_top();
            assert_eq!(top, lids.max_lid(), "{name}");
            for lid in (1..=top.0).map(Lid) {
                let found = sim.node(at).unwrap().lft_port(lid);
                let found = found.unwrap_or(PortNum::UNREACHABLE);
                assert_eq!(found, routes.port(switch, lid), "{name}: {lid}");
            }
        }
    });
}

#[test]
fn every_fabric_comes_up() {
    for path in fabric_files() {
        let name = name(&path);
        let mut running = Lab::new(&name).start();
        let summary = running.run_until_up();
        assert_configured(&name, &running);
        let report = running.sm.report().unwrap();
        assert_eq!((report.unreachable, report.loops), (0, 0), "{name}");
        assert_eq!(summary.ports.not_active, 0, "{name}");
        assert_eq!(
            (summary.mads.retried, summary.mads.timed_out),
            (0, 0),
            "{name}"
        );
        assert_eq!(summary.mads.sent, summary.mads.received, "{name}");
        println!("{name}: {:?} {:?}", summary.fabric, summary.mads);
    }
}

#[test]
fn a_second_sweep_sets_nothing() {
    for path in fabric_files() {
        let name = name(&path);
        let mut running = Lab::new(&name).up();
        running.resweep();
        let sets = running.transport.sent_with(Method::SET);
        assert!(
            sets.is_empty(),
            "{name}: {} Sets, first {:?}",
            sets.len(),
            sets[0]
        );
        assert_configured(&name, &running);
    }
}

#[test]
fn tables_are_written_block_by_block_to_as_many_switches_as_may_be_asked_at_once() {
    // 18 switches with tables of two blocks.
    let lab = Lab::of(ib_testkit::fabrics::generated("fat-tree:radix=12,levels=2"));
    let running = lab.config(|config| config.max_wire_smps = 4).up();
    let sets = running.transport.sent_with(Method::SET);
    let tables = sets
        .iter()
        .filter(|set| set.attribute_id() == LinearForwardingTable::ID);
    let blocks: Vec<u32> = tables.map(|set| set.attribute_modifier()).collect();
    let mut expected = [0, 0, 0, 0, 1, 1, 1, 1].repeat(4);
    expected.extend([0, 0, 1, 1]);
    assert_eq!(blocks, expected);
}

#[test]
fn the_last_engine_that_fails_promises_no_other() {
    let mut running = Lab::new("gen-torus-4x4x4")
        .routing(&engine::FTREE)
        .config(|config| config.no_fallback = true)
        .start();
    let said = running.run(|event| match event {
        Event::RoutingFallback { is_last, .. } => ControlFlow::Break((*is_last, event.to_string())),
        _ => ControlFlow::Continue(()),
    });
    let (is_last, text) = said.unwrap();
    assert!(is_last && text.contains("no engine is left"), "{text}");
    // If another engine follows, the text says that it is tried.
    let mut running = Lab::new("gen-torus-4x4x4")
        .config(|config| config.routing_engines = vec![engine::FTREE.clone(), engine::UPDN.clone()])
        .start();
    let said = running.run(|event| match event {
        Event::RoutingFallback { .. } => ControlFlow::Break(event.to_string()),
        _ => ControlFlow::Continue(()),
    });
    assert!(said.unwrap().contains("the next engine is tried"));
}

fn count(running: &Running, is: impl Fn(&Event) -> bool) -> usize {
    running.events.iter().filter(|event| is(event)).count()
}

#[test]
fn the_events_of_a_bring_up_name_each_phase_each_node_and_each_lid_once() {
    use Phase::{Discover, Lids, Program, Route, Verify};
    let fabric = Lab::new("gen-ring-5").fabric;
    let mut running = Lab::new("gen-ring-5").up();
    let phases = |running: &Running| -> Vec<Phase> {
        let started = running.events.iter().filter_map(|event| match event {
            Event::PhaseStarted(phase) => Some(*phase),
            _ => None,
        });
        started.collect()
    };
    assert_eq!(phases(&running), [Discover, Lids, Route, Verify, Program]);
    let appeared = |event: &Event| matches!(event, Event::NodeAppeared { .. });
    assert_eq!(count(&running, appeared), fabric.nodes().len());
    let assigned = |event: &Event| matches!(event, Event::LidAssigned { .. });
    let lids = running.sm.lids().destinations().len();
    assert_eq!(count(&running, assigned), lids);
    let (from, to) = (SmState::DISCOVERING, SmState::MASTER);
    let elected = |event: &Event| matches!(event, Event::SmStateChanged { from: a, to: b } if (*a, *b) == (from, to));
    let any_state = |event: &Event| matches!(event, Event::SmStateChanged { .. });
    assert_eq!(
        (count(&running, elected), count(&running, any_state)),
        (1, 1)
    );
    // A second sweep does not report again what has not changed.
    running.events.clear();
    running.resweep();
    assert_eq!(phases(&running), [Discover, Lids, Route, Verify, Program]);
    let named = |event: &Event| {
        appeared(event)
            || assigned(event)
            || any_state(event)
            || matches!(
                event,
                Event::NodesUnreachable { .. }
                    | Event::TablesChange { .. }
                    | Event::TablesHealed { .. }
            )
    };
    assert_eq!(count(&running, named), 0, "{:?}", running.events);
}

#[test]
fn the_phases_of_a_sweep_add_up_to_its_time() {
    let mut running = Lab::new("gen-ring-5").start();
    let started = running.sim.now();
    let summary = running.run_until_up();
    assert_eq!(summary.phases.total(), running.sim.now().since(started));
}

#[test]
fn the_status_counts_the_requests_that_are_not_sent_yet() {
    const WINDOW: usize = 4;
    let lab = Lab::new("gen-torus-4x4x4").config(|config| config.max_wire_smps = WINDOW);
    let mut running = lab.start();
    let verified = running.run(|event| match event {
        Event::RoutesVerified { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    assert!(verified.is_some());
    let mut most = 0;
    while !running.has_swept() {
        running.run_for_at_most(std::time::Duration::from_secs(1), 20);
        most = most.max(running.sm.status().requests);
    }
    // Each of the 64 switches gets its forwarding table and has ports to be armed.
    assert!(most > 2 * 64, "{most}");
    assert_eq!(running.sm.status().requests, 0);
}
