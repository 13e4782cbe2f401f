//! Each fault of the schedule, each behaviour and each lie: what it does, and that it does nothing else.

use std::time::Duration;

use ib_mad::{Attribute, Mad, MadAddress, MadStatus, Method, TransactionId};
use ib_sim::{Behaviour, Corruption, FaultRates, Sim, SimOptions};
use ib_smp::{
    LinkSpeedExtActive, NodeInfo, NodeType, PortInfo, PortInfoModifier, SmInfo, SmpDirected,
    SmpLidRouted,
};
use ib_transport::Clock as _;
use ib_wire::{Guid, Lid, PortNum};

use ib_testkit::worked_traces::{H, Host, S1, S2, T, at, fabric, path};

fn with(rates: FaultRates) -> Host {
    let mut options = SimOptions {
        traps: false,
        ..SimOptions::default()
    };
    options.faults.rates = rates;
    Host::new(options)
}

/// Get(NodeInfo) of the neighbour, with this transaction ID.
fn question(id: u64) -> Mad {
    let mut smp = SmpDirected::new(Method::GET, NodeInfo::ID, 0, &path(&[1]));
    smp.set_transaction_id(TransactionId(id));
    let mut mad = Mad::new(MadAddress::DIRECTED);
    mad.bytes = *smp.as_bytes();
    mad
}

/// The transaction IDs of all answers to `count` questions asked at once.
fn answers(host: &mut Host, count: u64) -> Vec<u64> {
    for id in 0..count {
        host.send(&question(id));
    }
    let answers = std::iter::from_fn(|| host.receive());
    answers.map(|mad| mad.header().transaction_id().0).collect()
}

fn node_info(host: &mut Host, route: &[u8]) -> NodeInfo {
    let answer = host.get(route, NodeInfo::ID, 0).unwrap();
    NodeInfo::from_bytes(*answer.smp_data().first_chunk().unwrap())
}

#[test]
fn without_faults_every_question_has_its_answer_in_order() {
    let mut host = with(FaultRates::NONE);
    assert_eq!(answers(&mut host, 100), (0..100).collect::<Vec<_>>());
}

#[test]
fn lost_packets_are_gone() {
    let mut host = with(FaultRates {
        loss: 0.5,
        ..FaultRates::NONE
    });
    let answers = answers(&mut host, 400);
    // There and back: a quarter is left.
    assert!((70..130).contains(&answers.len()), "{}", answers.len());
    assert!(answers.is_sorted() && answers.windows(2).all(|pair| pair[0] != pair[1]));
    assert_eq!(host.sim.with(|sim| sim.in_flight()), 0);
}

#[test]
fn duplicated_packets_come_twice_on_each_link() {
    let mut host = with(FaultRates {
        duplicate: 1.0,
        ..FaultRates::NONE
    });
    let answers = answers(&mut host, 10);
    assert_eq!(answers.len(), 40, "doubled there, doubled back");
    assert!((0..10).all(|id| answers.iter().filter(|&&found| found == id).count() == 4));
}

/// Copies are copied again: without a bound one packet over 20 links would become a million.
#[test]
fn a_packet_over_many_links_is_doubled_a_few_times_only() {
    let ring = "ring:switches=21,hosts=1";
    let spec: ib_routing::generate::FabricSpec = ring.parse().unwrap();
    let mut options = SimOptions {
        traps: false,
        ..SimOptions::default()
    };
    options.faults.rates.duplicate = 1.0;
    let sim = Sim::new(&spec.build().unwrap(), options).share();
    let ca = sim.with(|sim| {
        let mut nodes = sim.nodes().iter_enumerated();
        nodes.find(|(_, node)| !node.is_switch()).unwrap().0
    });
    let mut host = Host::at(sim, at(ca, 1));
    let route = [&[1][..], &[1; 20]].concat();
    let smp = SmpDirected::new(Method::GET, NodeInfo::ID, 0, &path(&route));
    let mut mad = Mad::new(MadAddress::DIRECTED);
    mad.bytes = *smp.as_bytes();
    host.send(&mad);
    assert_eq!(std::iter::from_fn(|| host.receive()).count(), 16);
}

#[test]
fn delayed_packets_come_within_the_longest_delay() {
    let delay = Duration::from_millis(20);
    let mut host = with(FaultRates {
        delay: 1.0,
        max_delay: delay,
        ..FaultRates::NONE
    });
    let mut waits = Vec::new();
    for id in 0..50 {
        let asked = host.sim.now();
        host.exchange(&question(id)).unwrap();
        waits.push(host.sim.now().since(asked));
    }
    let longest = waits.iter().max().unwrap();
    assert!(
        *longest < 2 * delay + Duration::from_millis(1),
        "{longest:?}"
    );
    assert!(*longest > delay, "{longest:?}");
    assert!(waits.iter().any(|wait| *wait < delay));
}

#[test]
fn reordered_packets_are_overtaken_but_not_lost() {
    let mut host = with(FaultRates {
        reorder: 0.3,
        ..FaultRates::NONE
    });
    let mut answers = answers(&mut host, 100);
    assert!(!answers.is_sorted());
    answers.sort_unstable();
    assert_eq!(answers, (0..100).collect::<Vec<_>>());
}

#[test]
fn corrupted_packets_arrive_with_a_bit_that_nobody_noticed() {
    let mut host = with(FaultRates::NONE);
    let good = host.exchange(&question(7)).unwrap();
    let mut host = with(FaultRates {
        corrupt: 1.0,
        ..FaultRates::NONE
    });
    let mut changed = 0;
    for _ in 0..200 {
        if let Some(answer) = host.exchange(&question(7)) {
            changed += u32::from(answer.bytes != good.bytes);
        }
    }
    assert!(changed > 20, "{changed}");
}

#[test]
fn bit_errors_are_found_and_counted_by_the_receiver() {
    let mut host = with(FaultRates {
        bit_error: 1.0,
        ..FaultRates::NONE
    });
    assert_eq!(host.exchange(&question(1)), None);
    let count = |name| {
        host.sim
            .with(|sim| sim.port(at(S1, 4)).unwrap().counters().get(name, 0))
    };
    for name in [
        "symbol_error_counter",
        "port_rcv_errors",
        "port_local_physical_errors",
    ] {
        assert_eq!(count(name), 1, "{name}");
    }
}

#[test]
fn agents_that_have_no_buffer_left_count_what_they_drop() {
    let mut host = Host::new(SimOptions {
        vl15_buffers: 4,
        ..SimOptions::default()
    });
    assert_eq!(answers(&mut host, 10), [0, 1, 2, 3]);
    let dropped = host.sim.with(|sim| {
        sim.port(at(S1, 4))
            .unwrap()
            .counters()
            .get("vl15_dropped", 0)
    });
    assert_eq!(dropped, 6);
    assert_eq!(answers(&mut host, 2), [0, 1], "the buffers are free again");
}

#[test]
fn a_silent_switch_still_forwards() {
    let mut host = with(FaultRates::NONE);
    host.sim
        .with(|sim| sim.set_behaviour(S1, Behaviour::Silent));
    assert_eq!(host.get(&[1], NodeInfo::ID, 0), None);
    assert_eq!(node_info(&mut host, &[1, 7]).node_guid(), Guid(0x300));
}

#[test]
fn each_lie_is_told_and_nothing_else() {
    let mut host = with(FaultRates::NONE);
    let honest = node_info(&mut host, &[1]);
    let corrupted = |host: &mut Host, corruption| {
        host.sim
            .with(|sim| sim.set_behaviour(S1, Behaviour::Byzantine(corruption)));
        host.get(&[1], NodeInfo::ID, 0).unwrap()
    };
    let info = |smp: SmpDirected| NodeInfo::from_bytes(*smp.smp_data().first_chunk().unwrap());

    let mut expected = honest;
    expected.set_node_type(NodeType(9));
    assert_eq!(info(corrupted(&mut host, Corruption::NodeType)), expected);

    let mut expected = honest;
    expected.set_num_ports(255);
    assert_eq!(
        info(corrupted(&mut host, Corruption::NumPorts(255))),
        expected
    );

    let first = info(corrupted(&mut host, Corruption::ChangingGuid)).node_guid();
    assert_ne!(
        first,
        info(corrupted(&mut host, Corruption::ChangingGuid)).node_guid()
    );

    let mut expected = honest;
    expected
        .set_node_guid(Guid(0x400))
        .set_port_guid(Guid(0x400));
    assert_eq!(
        info(corrupted(&mut host, Corruption::Guid(Guid(0x400)))),
        expected
    );

    let answer = corrupted(&mut host, Corruption::Status);
    assert_eq!(answer.status(), MadStatus::INVALID_FIELD_VALUE);
    assert_eq!(
        *corrupted(&mut host, Corruption::Garbage).smp_data(),
        [0xff; 64]
    );
}

#[test]
fn two_nodes_may_have_one_guid_and_a_port_may_loop_back_to_itself() {
    let mut host = with(FaultRates::NONE);
    host.sim.with(|sim| sim.set_guid(S2, Guid(0x200)).unwrap());
    assert_eq!(node_info(&mut host, &[1]).node_guid(), Guid(0x200));
    assert_eq!(node_info(&mut host, &[1, 7]).node_guid(), Guid(0x200));

    host.sim.with(|sim| sim.link(at(S2, 8), at(S2, 8)).unwrap());
    let later = host.sim.now() + Duration::from_secs(1);
    host.sim.advance(later);
    let looped = node_info(&mut host, &[1, 7, 8]);
    assert_eq!(
        (looped.node_guid(), looped.local_port_num()),
        (Guid(0x200), PortNum(8))
    );
}

#[test]
fn an_ndr_switch_shows_its_speed_to_those_who_know_it() {
    let text = ib_testkit::data::fabric_text("gen-line-2");
    let ndr = text.replace("4xEDR", "4xNDR").replace("4xQDR", "4xNDR");
    assert!(ndr.contains("4xNDR"));
    let fabric = ib_testkit::fabrics::parse(&ndr);
    for hidden in [false, true] {
        let options = SimOptions {
            hidden_extended_speeds: hidden,
            ..SimOptions::default()
        };
        let sim = Sim::new(&fabric, options).share();
        let (ca, switch_port) = sim.with(|sim| {
            let mut nodes = sim.nodes().iter_enumerated();
            let ca = nodes.find(|(_, node)| !node.is_switch()).unwrap().0;
            (ca, sim.peer(at(ca, 1)).unwrap().port)
        });
        let mut host = Host::at(sim, at(ca, 1));
        let speed = |host: &mut Host, extended_speeds| {
            let modifier = PortInfoModifier {
                port: switch_port,
                extended_speeds,
            };
            let answer = host.get(&[1], PortInfo::ID, modifier.bits()).unwrap();
            PortInfo::from_bytes(*answer.smp_data()).link_speed_ext_active()
        };
        assert_eq!(speed(&mut host, true), LinkSpeedExtActive::NDR);
        let without = if hidden {
            LinkSpeedExtActive::NONE
        } else {
            LinkSpeedExtActive::NDR
        };
        assert_eq!(speed(&mut host, false), without);
    }
}

#[test]
fn sm_info_is_for_the_managers_and_there_may_be_several() {
    let sim = Sim::new(
        &fabric(),
        SimOptions {
            traps: false,
            ..SimOptions::default()
        },
    )
    .share();
    let mut asker = Host::at(sim.clone(), at(H, 1));
    asker.bring_up();
    let get = |host: &mut Host| host.get_by_lid(9, SmInfo::ID, 0);
    let answer = get(&mut asker).unwrap();
    assert_eq!(
        answer.status(),
        MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE,
        "no manager at T: its agent answers"
    );
    // Two managers: each gets the other's question, and answers it.
    let mut other = Host::at(sim, at(T, 1));
    assert_eq!(get(&mut asker), None, "nobody has answered yet");
    let heard = other.receive().unwrap();
    let mut smp = SmpLidRouted::from_bytes(heard.bytes);
    assert_eq!(
        (smp.attribute_id(), heard.address.lid),
        (SmInfo::ID, Lid(1))
    );
    let mut info = SmInfo::default();
    info.set_guid(Guid(0x401));
    let mut data = [0; 64];
    data[..SmInfo::LEN].copy_from_slice(info.as_bytes());
    smp.set_method(Method::GET_RESP).set_smp_data(&data);
    let mut answer = Mad::new(heard.address);
    answer.bytes = *smp.as_bytes();
    other.send(&answer);
    let got = asker.receive().unwrap();
    assert_eq!((got.bytes, got.address.lid), (answer.bytes, Lid(9)));
}
