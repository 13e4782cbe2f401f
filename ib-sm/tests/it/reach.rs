//! Nodes that are further away than directed routes reach: a manager goes on from switches that it has set up.

use std::time::Duration;

use ib_routing::{Fabric, PortRef, engine, verify::Permission};
use ib_sm::{Conduct, Event};
use ib_smp::PortState;
use ib_testkit::{
    fabrics::generated,
    lab::{Lab, Running},
};

fn ring(switches: u32) -> Fabric {
    generated(&format!("ring:switches={switches},hosts=1"))
}

fn named(running: &Running) -> usize {
    let named = |event: &&Event| matches!(event, Event::OutOfReach { .. });
    running.events.iter().filter(named).count()
}

/// Checks that every port with a cable is Active, and that tables lead from each port to each other one.
#[track_caller]
fn assert_whole(running: &Running, fabric: &Fabric) {
    running.sim.with(|sim| {
        for node in sim.nodes().indices() {
            for port in sim
                .ports_of(node)
                .filter(|port| sim.peer(port.at()).is_some())
            {
                let state = port.info().port_state();
                assert_eq!(
                    state,
                    PortState::ACTIVE,
                    "{:?} {:#?}",
                    port.at(),
                    running
                        .events
                        .iter()
                        .rev()
                        .take(30)
                        .map(|e| e.to_string())
                        .collect::<Vec<_>>()
                );
            }
        }
    });
    let (lids, routes) = running.sim.with(|sim| sim.installed(fabric));
    let report = ib_routing::verify(fabric, &lids, &routes);
    let verdict = report.verdict(Permission {
        deadlock: true,
        ..Permission::default()
    });
    assert!(verdict.may_install(), "{verdict:?}");
    let ends = fabric.num_switches() + fabric.count(ib_routing::NodeType::CA);
    assert_eq!(lids.destinations().len(), ends);
}

#[test]
fn directed_routes_reach_63_hops() {
    // The manager's switch is one hop away, the host of the 61st after it 63 hops.
    let running = Lab::of(ring(123)).up();
    let routed = |running: &Running| {
        let mut sent = running.transport.sent.iter();
        sent.any(|mad| mad.address.lid.is_unicast())
    };
    assert!(!routed(&running), "all requests are directed");
    assert_eq!(running.sm.summary().fabric.switches, 123);
}

#[test]
fn nodes_beyond_63_hops_are_managed() {
    // A line of switches from the manager on: one stage, two, three.
    for (switches, stages) in [(61, 1), (70, 2), (140, 3)] {
        let fabric = generated(&format!("mesh:{switches}x1,hosts=1"));
        let running = Lab::of(fabric.clone()).up();
        assert_eq!(running.sm.summary().fabric.switches, switches);
        assert_eq!(named(&running), 0);
        let sweeps = running.events.iter();
        let sweeps = sweeps.filter(|event| matches!(event, Event::SweepStarted { .. }));
        assert_eq!(sweeps.count(), stages, "{switches} switches");
        assert_whole(&running, &fabric);
    }
}

#[test]
fn who_sets_nothing_names_what_is_beyond() {
    let mut running = Lab::of(ring(140)).start();
    running.sm = running.sm.with_conduct(Conduct::Observe);
    running.run_until_up();
    assert_eq!(running.sm.summary().fabric.switches, 125);
    // On each side the cable onward, and that to the switch's host.
    assert_eq!(named(&running), 4);
}

#[test]
fn a_ring_that_is_cut_beside_the_manager_is_whole_again() {
    // All routes lead the other way then, and the last switches are 126 hops away.
    let fabric = ring(126);
    let lab = Lab::of(fabric.clone()).routing(&engine::MINHOP);
    let lab = lab.config(|config| config.sweep_interval = Some(Duration::from_secs(10)));
    let mut running = lab.up();
    let own = fabric.first_host().and_then(|own| fabric.attachment(own));
    let (beside, _) = own.unwrap();
    let (_, channel) = fabric.channels_from(beside).next().unwrap();
    let cable = PortRef {
        node: fabric.switches()[beside],
        port: channel.port,
    };
    let mut cut = fabric.to_builder();
    cut.remove_link(cable);
    running.sim.with(|sim| sim.unlink(cable).unwrap());
    running.run_for(Duration::from_secs(60));
    assert!(running.sm.is_up());
    assert_whole(&running, &cut.build());
    running.sim.with(|sim| assert!(sim.relink(cable).unwrap()));
    running.run_for(Duration::from_secs(60));
    assert!(running.sm.is_up());
    assert_whole(&running, &fabric);
}
