//! Several managers on one fabric: which one configures it, and which one takes over.

use std::time::Duration;

use ib_mad::{
    Attribute as _, Engine as _, Input, Instant, MadAddress, Method, SmKey, TransactionId,
};
use ib_routing::PortRef;
use ib_sa::{ComponentMask, NodeRecord, SaMad};
use ib_sm::{Event, SmConfig, SubnetManager};
use ib_smp::{SmInfo, SmState, SmpLidRouted};
use ib_testkit::lab::{Lab, client::Client, managers::Managers};
use ib_transport::{Clock as _, MadTransport as _, Received, receive};
use ib_wire::{Lid, Sl};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn of_three_managers_that_start_together_the_highest_wins() {
    let (mut managers, ports) = Managers::new("gen-ft-48-broken10");
    for (port, priority) in [(3, 1), (10, 5), (20, 2)] {
        managers.start(ports[port], priority);
    }
    managers.run_for(40 * SECOND);
    let (standby, master) = (SmState::STANDBY, SmState::MASTER);
    assert_eq!(managers.states(), [standby, master, standby]);
    assert!(managers.hosts[1].sm.is_up());
    assert_eq!(managers.hosts[1].sm.status().others.len(), 2);
}

#[test]
fn a_late_lower_manager_stands_by_and_sends_only_polls_and_registrations() {
    let (mut managers, ports) = Managers::new("gen-ring-5");
    let first = managers.start(ports[0], 3);
    managers.run_for(5 * SECOND);
    let late = managers.start(ports[1], 3);
    managers.run_for(5 * SECOND);
    // With equal priorities the lower GUID wins, but it does not take the subnet from a running master.
    assert_eq!(managers.states(), [SmState::MASTER, SmState::STANDBY]);
    let before = managers.hosts[late].sent;
    managers.run_for(100 * SECOND);
    // At each of ten polls: Get(SMInfo) of the master, Get(PortInfo) of the own port, and Set(ServiceRecord).
    assert_eq!(managers.hosts[late].sent - before, 3 * 10);
    assert!(managers.hosts[first].sm.is_up());
}

#[test]
fn when_the_master_dies_the_standby_takes_over() {
    let (mut managers, ports) = Managers::new("gen-ring-5");
    managers.start(ports[0], 3);
    managers.start(ports[1], 2);
    managers.run_for(20 * SECOND);
    assert_eq!(managers.states(), [SmState::MASTER, SmState::STANDBY]);
    managers.hosts[0].alive = false;
    managers.sim.with(|sim| {
        sim.set_is_sm(ports[0], false).unwrap();
        sim.detach(ports[0]);
    });
    managers.run_for(120 * SECOND);
    assert_eq!(managers.hosts[1].sm.state(), SmState::MASTER);
    assert!(managers.hosts[1].sm.is_up());
    let lid = managers
        .sim
        .with(|sim| sim.port(ports[1]).unwrap().info().lid());
    let all = managers.sim.with(|sim| {
        let ports: Vec<_> = ports
            .iter()
            .map(|&port| sim.port(port).unwrap().info().master_sm_lid())
            .collect();
        ports
    });
    assert!(all.iter().all(|&master| master == lid), "{lid:?}: {all:?}");
}

#[test]
fn the_master_hands_the_subnet_to_a_higher_manager() {
    let (mut managers, ports) = Managers::new("gen-ring-5");
    managers.start(ports[0], 1);
    managers.run_for(5 * SECOND);
    managers.start(ports[1], 9);
    managers.run_for(5 * SECOND);
    // The master finds the other manager at its next sweep.
    let now: Instant = managers.sim.with(|sim| sim.now());
    managers.hosts[0].sm.resweep(now);
    managers.run_for(30 * SECOND);
    assert_eq!(managers.states(), [SmState::STANDBY, SmState::MASTER]);
    assert!(managers.hosts[1].sm.is_up());
    let refused = |event: &Event| matches!(event, Event::HandoverRefused { .. });
    assert!(!managers.hosts[0].events.iter().any(refused));
}

/// The new master assigns LIDs, so those that the old one remembers may belong to others by the time it is master again.
#[test]
fn a_manager_that_hands_over_forgets_the_lids_unless_it_is_to_honour_them() {
    for honours in [false, true] {
        let (mut managers, ports) = Managers::new("gen-ring-5");
        managers.start_as(ports[0], |config| {
            config.sm_priority = 1;
            config.honor_guid2lid = honours;
        });
        managers.run_for(5 * SECOND);
        let lids = managers.hosts[0].sm.guid2lid().len();
        assert_eq!(lids, managers.hosts[0].sm.lids().num_lids());
        managers.start(ports[1], 9);
        managers.run_for(30 * SECOND);
        assert_eq!(managers.states(), [SmState::STANDBY, SmState::MASTER]);
        let kept = managers.hosts[0].sm.guid2lid().len();
        assert_eq!(kept, if honours { lids } else { 0 });
    }
}

/// The registrations of a manager that finds another master are those from before: hosts have registered with that one.
#[test]
fn a_manager_that_stands_by_keeps_no_registrations_of_its_own_and_answers_no_query() {
    let (mut managers, ports) = Managers::new("gen-ring-5");
    managers.start(ports[0], 9);
    managers.run_for(5 * SECOND);
    let kept = {
        let client = Client::new("gen-ring-5");
        client.running.sm.registrations(client.running.sim.now())
    };
    assert_eq!(kept.groups.len(), 1, "the group of IPoIB");
    let standby = managers.start_as(ports[1], |config| {
        config.sm_priority = 2;
        config.registrations = kept;
    });
    let now = managers.sim.now();
    assert_eq!(
        managers.hosts[standby].sm.registrations(now).groups.len(),
        1
    );
    managers.run_for(5 * SECOND);
    assert_eq!(managers.states(), [SmState::MASTER, SmState::STANDBY]);
    let now = managers.sim.now();
    assert_eq!(managers.hosts[standby].sm.registrations(now).groups, []);
    let query = SaMad::query(Method::GET_TABLE, &NodeRecord::default(), ComponentMask(0));
    for (host, answers) in [(0, true), (standby, false)] {
        let sm = &mut managers.hosts[host].sm;
        let mad = query.to(MadAddress::gsi(Lid(2), Sl::ZERO));
        sm.handle_input(now, Input::Mad(&mad));
        let sent: Vec<_> = std::iter::from_fn(|| sm.poll_transmit(now)).collect();
        assert_eq!(!sent.is_empty(), answers, "manager {host}");
    }
}

#[test]
fn who_has_taken_over_polls_no_master() {
    let (mut managers, ports) = Managers::new("gen-ring-5");
    managers.start(ports[0], 3);
    managers.run_for(5 * SECOND);
    let standby = managers.start_as(ports[1], |config| {
        config.sm_priority = 2;
        config.sweep_interval = None;
    });
    managers.run_for(15 * SECOND);
    managers.die(0, ports[0]);
    managers.run_for(120 * SECOND);
    assert_eq!(managers.hosts[standby].sm.state(), SmState::MASTER);
    let before = managers.hosts[standby].sent;
    managers.run_for(100 * SECOND);
    assert_eq!(managers.hosts[standby].sent, before);
}

#[test]
fn a_manager_that_stands_by_does_not_sweep_when_its_host_asks_for_it() {
    let (mut managers, ports) = Managers::new("gen-ring-5");
    managers.start(ports[0], 3);
    managers.run_for(5 * SECOND);
    let standby = managers.start(ports[1], 2);
    managers.run_for(5 * SECOND);
    let before = managers.hosts[standby].sent;
    let now = managers.sim.with(|sim| sim.now());
    managers.hosts[standby].sm.resweep(now);
    managers.run_for(4 * SECOND);
    assert_eq!(managers.hosts[standby].sent, before);
    // It still polls the right manager, and takes over when that one is gone.
    managers.hosts[0].alive = false;
    managers.sim.with(|sim| sim.detach(ports[0]));
    managers.run_for(120 * SECOND);
    assert_eq!(managers.hosts[standby].sm.state(), SmState::MASTER);
}

#[test]
fn a_standby_whose_priority_is_raised_becomes_the_master() {
    let (mut managers, ports) = Managers::new("gen-ring-5");
    let first = managers.start(ports[0], 3);
    managers.run_for(5 * SECOND);
    let second = managers.start(ports[1], 2);
    managers.run_for(5 * SECOND);
    let now = managers.sim.with(|sim| sim.now());
    managers.hosts[second].sm.set_priority(now, 9);
    managers.run_for(60 * SECOND);
    assert_eq!(managers.hosts[first].sm.state(), SmState::STANDBY);
    assert_eq!(managers.hosts[second].sm.state(), SmState::MASTER);
    assert!(managers.hosts[second].sm.is_up());
}

#[test]
fn the_master_of_two_subnets_that_are_joined_is_one_and_no_lid_is_in_two_places() {
    let fabric = Lab::new("gen-ring-5").fabric;
    let (mut managers, ports) = Managers::new("gen-ring-5");
    let cut: Vec<PortRef> = managers.sim.with(|sim| {
        // Two halves of the ring: every cable between a switch of one half and one of the other is pulled.
        let switches: Vec<_> = sim
            .nodes()
            .iter_enumerated()
            .filter(|(_, node)| node.is_switch())
            .map(|(index, _)| index)
            .collect();
        let half = &switches[..2];
        let ports: Vec<_> = half.iter().flat_map(|&node| sim.ports_of(node)).collect();
        let cut = ports.iter().filter_map(|port| {
            let peer = sim.peer(port.at())?;
            let other = switches.contains(&peer.node) && !half.contains(&peer.node);
            other.then_some(port.at())
        });
        let cut: Vec<_> = cut.collect();
        for &port in &cut {
            sim.unlink(port).unwrap();
        }
        cut
    });
    assert_eq!(cut.len(), 2, "a ring is cut in two places");
    managers.start(ports[0], 1);
    managers.start(*ports.last().unwrap(), 5);
    managers.run_for(20 * SECOND);
    assert_eq!(managers.states(), [SmState::MASTER, SmState::MASTER]);
    managers.sim.with(|sim| {
        for &port in &cut {
            sim.relink(port).unwrap();
        }
    });
    managers.run_for(120 * SECOND);
    assert_eq!(managers.states(), [SmState::STANDBY, SmState::MASTER]);
    assert!(managers.hosts[1].sm.is_up());
    let summary = managers.hosts[1].sm.summary();
    assert_eq!(
        summary.fabric.switches + summary.fabric.cas,
        fabric.nodes().len()
    );
    assert_eq!(summary.ports.not_active, 0);
    let mut lids: Vec<_> = managers.sim.with(|sim| {
        let nodes = sim.nodes().iter_enumerated().map(|(index, _)| index);
        let ends = nodes.flat_map(|node| sim.end_ports(node));
        let up = ends.filter(|port| port.info().lid() != ib_wire::Lid::NONE);
        up.map(|port| port.info().lid()).collect()
    });
    let count = lids.len();
    lids.sort_unstable();
    lids.dedup();
    assert_eq!(lids.len(), count);
}

#[test]
fn a_handover_needs_no_poll_as_its_sender_is_the_master_until_it_is_answered() {
    let (mut managers, ports) = Managers::new("gen-ring-5");
    managers.start(ports[0], 3);
    managers.run_for(5 * SECOND);
    managers.start(ports[1], 9);
    managers.run_for(2 * SECOND);
    // The master decides on the handover at its next sweep.
    let now: Instant = managers.sim.with(|sim| sim.now());
    managers.hosts[0].sm.resweep(now);
    // The standby polls every 10 s, so only the order itself can have made it the master so soon.
    managers.run_for(2 * SECOND);
    assert_eq!(managers.states(), [SmState::STANDBY, SmState::MASTER]);
    assert!(managers.hosts[1].sm.is_up());
}

#[test]
fn two_keys_are_two_masters_and_both_say_so() {
    let (mut managers, ports) = Managers::new("gen-ring-5");
    let first = managers.start_with(ports[0], 3, SmKey(1));
    managers.run_for(5 * SECOND);
    let second = managers.start_with(ports[1], 9, SmKey(2));
    managers.run_for(30 * SECOND);
    for host in [first, second] {
        let events = &managers.hosts[host].events;
        let is_said = |event: &Event| matches!(event, Event::SmKeyMismatch { .. });
        assert!(events.iter().any(is_said), "manager {host}");
    }
}

#[test]
fn a_request_for_the_sm_info_before_the_own_port_is_known_is_answered_as_soon_as_it_is() {
    let (managers, ports) = Managers::new("gen-ring-5");
    let mut transport = managers.sim.attach(ports[0]).unwrap();
    let now = managers.sim.with(|sim| sim.now());
    let mut sm = SubnetManager::new(SmConfig::default(), now);
    let mut get = SmpLidRouted::new(Method::GET, SmInfo::ID, 0);
    get.set_transaction_id(TransactionId(77));
    sm.handle_input(now, Input::Mad(&get.to(MadAddress::smi(Lid(9)))));
    let mut answers = Vec::new();
    let time = || managers.sim.with(|sim| sim.now());
    sm.handle_timeout(now);
    while answers.is_empty() && time() < Instant::ZERO + SECOND {
        let now = time();
        while let Some(mad) = sm.poll_transmit(now) {
            match mad.header().transaction_id() {
                TransactionId(77) => answers.push(mad),
                _ => transport.send(now, &mad).unwrap(),
            }
        }
        let soon = now + Duration::from_millis(1);
        let (now, received) = receive(&mut transport, &managers.sim, Some(soon)).unwrap();
        if let Some(Received::Mad(mad)) = received {
            sm.handle_input(now, Input::Mad(&mad));
        }
    }
    let [answer] = &answers[..] else {
        panic!("{} answers", answers.len());
    };
    let (smp, _) = SmpLidRouted::parse(&answer.bytes, 0).unwrap();
    let (info, _) = SmInfo::parse(smp.smp_data(), 0).unwrap();
    let own = managers.sim.with(|sim| sim.port(ports[0]).unwrap().guid());
    assert_eq!((smp.method(), info.guid()), (Method::GET_RESP, own));
}

/// A master that is cut off for a moment does not see the manager that took over: the switches show no change any more,
/// as the other one has taken note of it. Its own port tells: it serves another master.
#[test]
fn a_master_that_was_cut_off_finds_the_one_that_took_over() {
    let script = [
        0, 0, 0, 0, 126, 0, 0, 27, 12, 185, 41, 167, 88, 209, 81, 149, 39, 183, 85, 43, 0, 77, 213,
    ];
    ib_testkit::lab::properties::any_managers_agree_on_one_master(&script);
}

/// The standby polls a silent master `polling_retry_number` times more before it takes over.
#[test]
fn a_standby_takes_over_after_the_configured_number_of_failed_polls() {
    const POLL: Duration = Duration::from_secs(10);
    for retries in [1, 4] {
        let (mut managers, ports) = Managers::new("gen-ring-5");
        managers.start(ports[0], 3);
        managers.run_for(5 * SECOND);
        let standby = managers.start_as(ports[1], |config| {
            config.sminfo_polling_timeout = POLL;
            config.polling_retry_number = retries;
        });
        managers.run_for(5 * SECOND);
        assert_eq!(managers.hosts[standby].sm.state(), SmState::STANDBY);
        // The master's host dies just after a poll.
        let sent = managers.hosts[standby].sent;
        while managers.hosts[standby].sent == sent {
            managers.run_for(Duration::from_millis(100));
        }
        managers.run_for(Duration::from_millis(100));
        managers.hosts[0].alive = false;
        managers.sim.with(|sim| sim.power_off(ports[0].node));
        let mut waited = Duration::ZERO;
        while managers.hosts[standby].sm.state() == SmState::STANDBY {
            managers.run_for(SECOND);
            waited += SECOND;
            assert!(waited < 100 * SECOND, "never");
        }
        let polls = u32::from(retries) + 1;
        assert!(waited > POLL * polls - 5 * SECOND, "{retries}: {waited:?}");
        assert!(waited < POLL * polls + 6 * SECOND, "{retries}: {waited:?}");
    }
}
