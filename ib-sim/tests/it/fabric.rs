//! A fabric besides answering: it forwards by tables, counts, loses packets, breaks and reports faults.

use std::time::Duration;

use ib_mad::{
    Attribute, Mad, MadAddress, Method, MgmtClass, NoticeSm, PerformanceMad, PortCounters,
};
use ib_sim::{Behaviour, Corruption, FaultRates, Sim, SimOptions};
use ib_smp::{NodeInfo, PortInfo, PortState, SmpLidRouted};
use ib_transport::Clock;
use ib_wire::{Guid, Lid, PortNum, Sl};

use ib_testkit::worked_traces::{H, Host, S1, S2, T, at, fabric};

fn guid_of(host: &mut Host, lid: u16) -> Option<Guid> {
    let answer = host.get_by_lid(lid, NodeInfo::ID, 0)?;
    let info = NodeInfo::from_bytes(*answer.smp_data().first_chunk().unwrap());
    Some(info.node_guid())
}

fn without_traps() -> SimOptions {
    SimOptions {
        traps: false,
        ..SimOptions::default()
    }
}

fn port_counters(host: &mut Host, lid: u16, port: u8) -> Option<PortCounters> {
    let mut mad = Mad::new(MadAddress::gsi(Lid(lid), Sl::ZERO));
    let (perf, _) = PerformanceMad::parse_mut(&mut mad.bytes, 0).unwrap();
    perf.set_base_version(1)
        .set_mgmt_class(MgmtClass::PERF)
        .set_class_version(1)
        .set_method(Method::GET)
        .set_attribute_id(PortCounters::ID);
    let mut data = [0; 192];
    data[1] = port;
    perf.set_data(&data);
    let answer = host.exchange(&mad)?;
    let (perf, _) = PerformanceMad::parse(&answer.bytes, 0).unwrap();
    Some(PortCounters::from_bytes(
        *perf.data().first_chunk().unwrap(),
    ))
}

#[test]
fn switches_forward_by_their_tables_and_no_lid_means_no_way() {
    let mut host = Host::new(SimOptions::default());
    assert_eq!(guid_of(&mut host, 9), None, "nothing is written yet");
    host.bring_up();
    for (lid, guid) in [(1, 0x100), (2, 0x200), (3, 0x300), (9, 0x400)] {
        assert_eq!(guid_of(&mut host, lid), Some(Guid(guid)), "LID {lid}");
    }
    assert_eq!(guid_of(&mut host, 8), None, "no entry for LID 8");
}

#[test]
fn a_packet_in_a_loop_ends() {
    let mut host = Host::new(SimOptions::default());
    host.bring_up();
    // S2 sends LID 9 back to S1, which sends it to S2 again.
    let mut table = ib_smp::LinearForwardingTable::from_bytes([255; 64]);
    table.set_port_block(9, PortNum(2)).unwrap();
    table.set_port_block(1, PortNum(2)).unwrap();
    host.set(
        &[1, 7],
        ib_smp::LinearForwardingTable::ID,
        0,
        table.as_bytes(),
    )
    .unwrap();
    assert_eq!(guid_of(&mut host, 9), None);
    assert_eq!(host.sim.with(|sim| sim.in_flight()), 0);
}

#[test]
fn every_hop_is_counted_at_both_ends_of_the_link() {
    let mut host = Host::new(SimOptions::default());
    host.bring_up();
    let before = port_counters(&mut host, 3, 2).unwrap();
    let after = port_counters(&mut host, 3, 2).unwrap();
    // The answer to the first question went out, the second question came in.
    assert_eq!(after.port_xmit_pkts() - before.port_xmit_pkts(), 1);
    assert_eq!(after.port_rcv_pkts() - before.port_rcv_pkts(), 1);
    assert_eq!(after.port_rcv_data() - before.port_rcv_data(), 72);
    let (near, far) = host.sim.with(|sim| {
        let count = |port| sim.port(port).unwrap().counters().clone();
        (count(at(S1, 7)), count(at(S2, 2)))
    });
    assert_eq!(
        (near.xmit_pkts, near.rcv_pkts),
        (far.rcv_pkts, far.xmit_pkts)
    );
}

#[test]
fn only_smps_pass_before_a_port_is_active() {
    let mut host = Host::new(without_traps());
    host.bring_up();
    assert!(port_counters(&mut host, 9, 1).is_some());
    host.sim.with(|sim| sim.unlink(at(S2, 5)).unwrap());
    host.sim.with(|sim| sim.relink(at(S2, 5)).unwrap());
    let later = host.sim.now() + Duration::from_secs(1);
    host.sim.advance(later);
    assert_eq!(
        host.port_info(&[1, 7], 5).port_state(),
        PortState::INITIALIZE
    );
    assert_eq!(port_counters(&mut host, 9, 1), None, "a GMP");
    assert_eq!(guid_of(&mut host, 9), Some(Guid(0x400)), "an SMP");
}

#[test]
fn an_unplugged_cable_downs_both_ends_and_the_switch_tells_the_manager_until_repressed() {
    let mut host = Host::new(SimOptions::default());
    host.bring_up();
    host.sim.with(|sim| sim.unlink(at(S2, 5)).unwrap());
    for port in [at(S2, 5), at(T, 1)] {
        let state = host.sim.with(|sim| sim.port(port).unwrap().state());
        assert_eq!(state, PortState::DOWN, "{port:?}");
    }
    let trap = host.receive().unwrap();
    let smp = SmpLidRouted::from_bytes(trap.bytes);
    let notice = NoticeSm::from_bytes(*smp.smp_data());
    assert_eq!(smp.method(), Method::TRAP);
    assert_eq!((notice.trap_number(), notice.issuer_lid()), (128, Lid(3)));
    let again = (0..3).find_map(|_| host.receive()).unwrap();
    assert_eq!(again.bytes, trap.bytes, "nobody has repressed it");

    let mut repress = smp;
    repress.set_method(Method::TRAP_REPRESS);
    let mut mad = Mad::new(MadAddress::smi(trap.address.lid));
    mad.bytes = *repress.as_bytes();
    assert_eq!(host.exchange(&mad), None, "TrapRepress has no answer");
    assert!((0..10).all(|_| host.receive().is_none()));
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let run = |seed| {
        let mut options = SimOptions::default();
        options.faults.seed = seed;
        options.faults.rates = FaultRates {
            loss: 0.2,
            duplicate: 0.1,
            delay: 0.2,
            corrupt: 0.1,
            ..FaultRates::NONE
        };
        let mut host = Host::new(options);
        let answers: Vec<_> = (0..200)
            .map(|_| {
                let answer = host.get(&[1, 7, 5], NodeInfo::ID, 0);
                (answer.map(|smp| *smp.as_bytes()), host.sim.now())
            })
            .collect();
        let lost = answers
            .iter()
            .filter(|(answer, _)| answer.is_none())
            .count();
        (answers, lost)
    };
    let ((first, lost), (second, _), (other, _)) = (run(7), run(7), run(8));
    assert!(first == second);
    assert!(first != other);
    assert!(
        (100..190).contains(&lost),
        "{lost} of 200 over 6 links with 20 % loss"
    );
}

#[test]
fn silent_slow_and_lying_nodes_do_as_they_are_told() {
    let mut host = Host::new(SimOptions::default());
    let ask = |host: &mut Host| host.get(&[1, 7, 5], NodeInfo::ID, 0);
    let behave = |host: &Host, how| host.sim.with(|sim| sim.set_behaviour(T, how));
    behave(&host, Behaviour::Silent);
    assert_eq!(ask(&mut host), None);
    behave(&host, Behaviour::Slow(Duration::from_millis(300)));
    let asked = host.sim.now();
    assert!(ask(&mut host).is_some());
    assert!(host.sim.now().since(asked) >= Duration::from_millis(300));
    behave(&host, Behaviour::Byzantine(Corruption::Guid(Guid(0x200))));
    let answer = ask(&mut host).unwrap();
    let info = NodeInfo::from_bytes(*answer.smp_data().first_chunk().unwrap());
    assert_eq!(info.node_guid(), Guid(0x200));
    behave(&host, Behaviour::Honest);
    let answer = ask(&mut host).unwrap();
    let info = NodeInfo::from_bytes(*answer.smp_data().first_chunk().unwrap());
    assert_eq!(info.node_guid(), Guid(0x400));
}

#[test]
fn a_node_that_was_off_has_forgotten_its_lid() {
    let mut host = Host::new(without_traps());
    host.bring_up();
    host.sim.with(|sim| sim.power_off(T));
    assert_eq!(host.get(&[1, 7, 5], NodeInfo::ID, 0), None);
    host.sim.with(|sim| sim.power_on(T));
    let later = host.sim.now() + Duration::from_secs(1);
    host.sim.advance(later);
    while host.receive().is_some() {}
    let info = host.port_info(&[1, 7, 5], 1);
    assert_eq!(
        (info.lid(), info.port_state()),
        (Lid::NONE, PortState::INITIALIZE)
    );
}

#[test]
fn a_wrong_m_key_gets_no_answer_and_counts() {
    let mut host = Host::new(without_traps());
    host.bring_up();
    host.change_port(&[1, 7, 5], 1, |info| {
        info.set_m_key(ib_wire::MKey(0x1234))
            .set_m_key_protect_bits(ib_smp::MKeyProtect::GET_CLOSED);
    });
    assert_eq!(host.get(&[1, 7, 5], PortInfo::ID, 1), None);
    let violations = host
        .sim
        .with(|sim| sim.port(at(T, 1)).unwrap().info().m_key_violations());
    assert_eq!(violations, 1);
}

#[test]
fn two_hosts_hear_each_other_but_not_each_others_answers() {
    let sim = Sim::new(&fabric(), SimOptions::default()).share();
    let mut first = Host::at(sim.clone(), at(H, 1));
    let mut second = Host::at(sim, at(T, 1));
    first.bring_up();
    assert!(second.receive().is_none());
    let mut question = Mad::new(MadAddress::gsi(Lid(1), Sl::ZERO));
    question.bytes[..4].copy_from_slice(&[1, MgmtClass::SUBN_ADM.0, 2, Method::GET.0]);
    assert_eq!(second.exchange(&question), None, "nobody answers by itself");
    let heard = first.receive().unwrap();
    assert_eq!((heard.bytes, heard.address.lid), (question.bytes, Lid(9)));
}
