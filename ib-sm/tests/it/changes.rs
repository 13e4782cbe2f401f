//! Sweeps over time: changes are detected, and an unchanged subnet costs few datagrams.

use std::time::Duration;

use ib_mad::{
    Attribute, Engine, Input, Mad, MadAddress, Method, MgmtClass, NoticeDetails129, NoticeSm,
    TrapNumber,
};
use ib_routing::PortRef;
use ib_sim::Behaviour;
use ib_sm::{Event, SweepCause, SweepKind};
use ib_smp::{NodeInfo, PortInfo, PortPhysicalState, SmState, SmpLidRouted, SwitchInfo};
use ib_testkit::lab::{Lab, Running};
use ib_transport::Clock;
use ib_wire::PortNum;

fn full_or_partial_sweeps(running: &Running) -> Vec<SweepCause> {
    let events = running.events.iter();
    let sweeps = events.filter_map(|event| match event {
        Event::SweepStarted { kind, cause } => (*kind != SweepKind::Light).then_some(*cause),
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
fn a_light_sweep_asks_each_switch_and_the_own_port_once_and_sets_nothing() {
    let lab = Lab::new("gen-torus-4x4x4");
    let mut running = lab
        .config(|config| config.sweep_interval = Some(Duration::from_secs(10)))
        .up();
    running.transport.sent.clear();
    // The first one reads the ports of switches too: a change before PortStateChange was cleared has left no mark.
    running.run_for(Duration::from_secs(15));
    let first = running.transport.sent_with(Method::GET);
    let ports = first
        .iter()
        .filter(|get| get.attribute_id() == PortInfo::ID);
    let switches = running.sm.subnet().switches();
    let external = switches.map(|(id, _)| running.sm.subnet().node(id).unwrap().info().num_ports());
    // With port 0, which shows whether the switch was restarted.
    let of_switches: usize = external.map(|number| usize::from(number) + 1).sum();
    assert_eq!(ports.count(), of_switches + 1);
    running.transport.sent.clear();
    running.run_for(Duration::from_secs(30));
    assert_eq!(full_or_partial_sweeps(&running), [SweepCause::Start]);
    assert!(running.transport.sent_with(Method::SET).is_empty());
    let gets = running.transport.sent_with(Method::GET);
    let of = |id| gets.iter().filter(|get| get.attribute_id() == id).count();
    assert_eq!(of(SwitchInfo::ID), 3 * running.sm.summary().fabric.switches);
    // The own port is read too: no switch can report that the manager is cut off.
    assert_eq!(of(PortInfo::ID), 3);
    assert_eq!(gets.len(), of(SwitchInfo::ID) + of(PortInfo::ID));
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
    assert!(full_or_partial_sweeps(&running).len() >= 2);
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
    assert_eq!(summary.unresponsive.len(), 1);
    assert_eq!(summary.unresponsive[0].attribute_id, NodeInfo::ID);
    let cas = summary.fabric.cas;
    running
        .sim
        .with(|sim| sim.set_behaviour(host, Behaviour::Honest));
    running.run_for(Duration::from_secs(12));
    assert_eq!(running.sm.summary().fabric.cas, cas + 1);
    assert!(running.sm.is_up());
}

/// A trap of a switch about one of its ports, as the manager receives it.
fn trap_of(running: &Running, port: PortRef, number: TrapNumber) -> Mad {
    let lid = running.sim.with(|sim| {
        let management = PortRef {
            port: PortNum(0),
            ..port
        };
        sim.port(management).unwrap().info().lid()
    });
    let mut details = NoticeDetails129::default();
    details.set_lidaddr(lid).set_port_num(port.port);
    let mut notice = NoticeSm::default();
    notice
        .set_is_generic(true)
        .set_trap_number(number.0)
        .set_issuer_lid(lid)
        .set_data_details(details.as_bytes());
    let mut mad = Mad::new(MadAddress::smi(lid));
    let (smp, _) = SmpLidRouted::parse_mut(&mut mad.bytes, 0).unwrap();
    smp.set_base_version(1)
        .set_mgmt_class(MgmtClass::SUBN_LID)
        .set_class_version(1)
        .set_method(Method::TRAP)
        .set_attribute_id(NoticeSm::ID);
    let mut data = [0; 64];
    for (to, &from) in data.iter_mut().zip(notice.as_bytes()) {
        *to = from;
    }
    smp.set_smp_data(&data);
    mad
}

#[test]
fn a_port_that_babbles_is_disabled_if_that_is_wanted() {
    for (wanted, number, disabled) in [
        (true, TrapNumber::LOCAL_LINK_INTEGRITY, true),
        (true, TrapNumber::EXCESSIVE_BUFFER_OVERRUN, true),
        (true, TrapNumber::BAD_P_KEY, false),
        (false, TrapNumber::LOCAL_LINK_INTEGRITY, false),
    ] {
        let lab = Lab::new("gen-ring-5").config(|config| config.babbling_port_policy = wanted);
        let mut running = lab.up();
        let port = cable(&running);
        let trap = trap_of(&running, port, number);
        let state = |running: &Running| {
            let physical =
                |sim: &mut ib_sim::Sim| sim.port(port).unwrap().info().port_physical_state();
            running.sim.with(physical)
        };
        for count in 1..=300 {
            let now = running.sim.now();
            running.sm.handle_input(now, Input::Mad(&trap));
            running.run_for(Duration::from_millis(10));
            let expected = disabled && count >= 250;
            let is_off = state(&running) == PortPhysicalState::DISABLED;
            assert_eq!(is_off, expected, "{number:?} after {count}");
        }
        let named =
            |event: &&Event| matches!(event, Event::PortShutOff { at } if at.port_num == port.port);
        assert_eq!(
            running.events.iter().filter(named).count(),
            usize::from(disabled)
        );
    }
}

#[test]
fn a_manager_that_stands_aside_sets_nothing() {
    let lab = Lab::new("gen-ring-5").config(|config| config.sm_inactive = true);
    let mut running = lab.start();
    running.run_for(Duration::from_secs(60));
    assert_eq!(running.sm.state(), SmState::NOT_ACTIVE);
    assert!(running.transport.sent_with(Method::SET).is_empty());
    assert!(!running.sm.is_up());
}
