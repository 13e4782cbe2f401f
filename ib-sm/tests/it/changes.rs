//! Sweeps over time: changes are detected, and an unchanged subnet costs few datagrams.

use std::time::Duration;

use ib_mad::{
    Attribute, Engine, Input, Mad, MadAddress, Method, MgmtClass, NoticeDetails129, NoticeSm,
    TrapNumber,
};
use ib_routing::PortRef;
use ib_sim::{Behaviour, Corruption};
use ib_sm::{Event, Partitions, Phase, SweepCause, SweepKind};
use ib_smp::{NodeInfo, PortInfo, PortPhysicalState, SmInfo, SmState, SmpLidRouted, SwitchInfo};
use ib_testkit::lab::{Lab, Running};
use ib_transport::Clock;
use ib_wire::{Lid, PortNum};

/// Every sweep that was begun, with its cause.
fn begun(running: &Running) -> Vec<(SweepKind, SweepCause)> {
    let events = running.events.iter().filter_map(|event| match event {
        Event::SweepStarted { kind, cause } => Some((*kind, *cause)),
        _ => None,
    });
    events.collect()
}

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

/// A ring whose last host refused everything for a while after a sweep that had succeeded: the last sweep has failed, and
/// the manager waits for an order.
fn failed() -> Running {
    let mut running = Lab::new("gen-ring-5").up();
    let host = running.sim.with(|sim| {
        let nodes = sim.nodes().iter_enumerated();
        let hosts = nodes.filter(|(_, node)| !node.is_switch());
        let host = hosts.map(|(host, _)| host).max().unwrap();
        sim.set_behaviour(host, Behaviour::Byzantine(Corruption::Status));
        host
    });
    running.sm.resweep(running.sim.now());
    running.run_for(Duration::from_secs(60));
    assert!(!running.sm.is_up() && running.sm.status().phase.is_none());
    running
        .sim
        .with(|sim| sim.set_behaviour(host, Behaviour::Honest));
    running.events.clear();
    running
}

/// A cause of a sweep.
type Order = fn(&mut Running);

/// Only what is marked is read after a sweep that succeeded: a failed one leaves more unread.
#[test]
fn after_a_failed_sweep_everything_is_read_whatever_calls_for_it() {
    let orders: [(SweepCause, Order); 3] = [
        (SweepCause::Trap, |running| {
            let trap = trap_of(running, cable(running), TrapNumber::LINK_STATE_CHANGE);
            running
                .sm
                .handle_input(running.sim.now(), Input::Mad(&trap));
        }),
        (SweepCause::Command, |running| {
            let partitions = Partitions::default().with_rules("lab=0x10 : ALL=full ;");
            running
                .sm
                .set_partitions(running.sim.now(), partitions.unwrap());
        }),
        (SweepCause::Command, |running| {
            running.sm.resweep(running.sim.now())
        }),
    ];
    for (cause, order) in orders {
        let mut running = failed();
        order(&mut running);
        running.run_for(Duration::from_secs(1));
        assert_eq!(begun(&running), [(SweepKind::Heavy, cause)]);
        assert!(running.sm.is_up());
    }
}

#[test]
fn a_light_sweep_is_not_begun_after_a_failed_one() {
    let mut running = failed();
    running.sm.light_sweep(running.sim.now());
    running.run_for(Duration::from_secs(1));
    assert_eq!(begun(&running), []);
}

#[test]
fn a_light_sweep_says_whether_it_found_a_change() {
    let lab = Lab::new("gen-ring-5").options(|options| options.traps = false);
    let mut running = lab.up();
    let port = cable(&running);
    for changes in [false, true] {
        running.events.clear();
        if changes {
            running.sim.with(|sim| sim.unlink(port).unwrap());
        }
        running.sm.light_sweep(running.sim.now());
        running.run_for(Duration::from_secs(1));
        let said = running.events.iter().find_map(|event| match event {
            Event::LightSweepDone { changed } => Some(*changed),
            _ => None,
        });
        assert_eq!(said, Some(changes));
        let partial = (SweepKind::Partial, SweepCause::Change);
        assert_eq!(begun(&running).contains(&partial), changes);
    }
}

#[test]
fn a_trap_has_its_ports_read_if_it_tells_of_a_change_and_the_option_allows_it() {
    use TrapNumber as T;
    for (on_trap, number, reads) in [
        (true, T::LINK_STATE_CHANGE, true),
        (true, T::BAD_P_KEY, false),
        (false, T::LINK_STATE_CHANGE, false),
        (false, T::BAD_P_KEY, false),
    ] {
        let mut running = Lab::new("gen-ring-5").up();
        running.sm.set_sweeping(running.sim.now(), None, on_trap);
        running.events.clear();
        let trap = trap_of(&running, cable(&running), number);
        running
            .sm
            .handle_input(running.sim.now(), Input::Mad(&trap));
        running.run_for(Duration::from_secs(1));
        let told = |event: &Event| matches!(event, Event::Trap { .. });
        assert!(running.events.iter().any(told), "{number:?}");
        let expected = (SweepKind::Partial, SweepCause::Trap);
        let sweeps: &[_] = if reads { &[expected] } else { &[] };
        assert_eq!(begun(&running), sweeps, "{number:?}, {on_trap}");
    }
}

/// A host that asks the manager as if it were the agent of the port.
#[test]
fn a_request_for_another_attribute_than_sm_info_is_not_answered_by_the_manager() {
    let mut running = Lab::new("gen-ring-5").up();
    for (attribute, answers) in [(NodeInfo::ID, 0), (SmInfo::ID, 1)] {
        let get = SmpLidRouted::new(Method::GET, attribute, 0);
        let now = running.sim.now();
        let mad = get.to(MadAddress::smi(Lid(2)));
        running.sm.handle_input(now, Input::Mad(&mad));
        let sent = std::iter::from_fn(|| running.sm.poll_transmit(now));
        assert_eq!(sent.count(), answers, "{attribute:?}");
    }
}

#[test]
fn answers_wait_in_a_queue_that_is_bounded() {
    let mut running = Lab::new("gen-ring-5").up();
    let get = SmpLidRouted::new(Method::GET, SmInfo::ID, 0);
    let mad = get.to(MadAddress::smi(Lid(2)));
    let now = running.sim.now();
    for _ in 0..1030 {
        running.sm.handle_input(now, Input::Mad(&mad));
    }
    let sent = std::iter::from_fn(|| running.sm.poll_transmit(now));
    assert_eq!(sent.count(), 1024);
}

/// A failure that is seen while routes are computed makes them outdated: the manager looks again at once, and takes no
/// result that was asked for before.
#[test]
fn a_trap_during_the_computation_of_routes_begins_anew_and_the_old_result_is_ignored() {
    let lab = Lab::new("gen-torus-4x4x4");
    let cables: Vec<PortRef> = lab.fabric.switch_links().map(|(end, _)| end).collect();
    let mut running = lab.up();
    running.sm.hand_out_work();
    running.run_for_with_work(Duration::from_millis(1));
    let mut outdated = Vec::new();
    for (number, &cable) in [cables[5], cables[40]].iter().enumerate() {
        running.sim.with(|sim| sim.unlink(cable).unwrap());
        running.run_for(Duration::from_millis(100));
        let partial = begun(&running).into_iter();
        let partial = partial.filter(|(kind, _)| *kind == SweepKind::Partial);
        assert_eq!(partial.count(), number + 1, "each failure is read at once");
        // The result of the first work comes when the second is ready to be taken.
        for work in outdated.drain(..) {
            running
                .sm
                .handle_done(running.sim.now(), ib_sm::Work::run(work));
            assert_eq!(running.sm.status().phase, Some(Phase::Route));
        }
        outdated.push(running.sm.poll_work().expect("routes are needed"));
    }
    let work = outdated.pop().unwrap();
    running.sm.handle_done(running.sim.now(), work.run());
    running.run_for_with_work(Duration::from_secs(1));
    assert!(running.sm.is_up());
    assert_eq!(running.sm.report().unwrap().unreachable, 0);
}

#[test]
fn partitions_that_are_changed_while_routes_are_computed_wait_for_the_next_sweep() {
    let mut running = Lab::new("gen-ring-5").up();
    running.sm.hand_out_work();
    running.sm.resweep(running.sim.now());
    running.run_for(Duration::from_millis(100));
    let work = running.sm.poll_work().expect("routes are waited for");
    running.events.clear();
    let partitions = Partitions::default().with_rules("lab=0x10 : ALL=full ;");
    let now = running.sim.now();
    running.sm.set_partitions(now, partitions.unwrap());
    running.run_for(Duration::from_millis(100));
    assert_eq!(begun(&running), []);
    running.sm.handle_done(running.sim.now(), work.run());
    running.run_for_with_work(Duration::from_secs(1));
    assert_eq!(begun(&running), [(SweepKind::Heavy, SweepCause::Command)]);
    assert!(running.sm.is_up());
}
