//! The worked traces of directed routes, run through the simulated nodes, and what must be discarded.

use ib_mad::{Attribute, MadAddress, Method};
use ib_sim::SimOptions;
use ib_smp::{DrDirection, NodeInfo, SmpDirected};
use ib_wire::{Guid, Lid};

use ib_testkit::worked_traces::{H, Host, S1, S2, at, path};

fn node_info(smp: &SmpDirected) -> NodeInfo {
    NodeInfo::from_bytes(*smp.smp_data().first_chunk().unwrap())
}

fn request(ports: &[u8]) -> SmpDirected {
    SmpDirected::new(Method::GET, NodeInfo::ID, 0, &path(ports))
}

#[test]
fn a_pure_directed_route_leads_there_and_back() {
    let mut host = Host::new(SimOptions::default());
    for (route, guid, back) in [
        (&[][..], 0x100, &[][..]),
        (&[1], 0x200, &[4]),
        (&[1, 7], 0x300, &[4, 2]),
        (&[1, 7, 5], 0x400, &[4, 2, 1]),
    ] {
        let answer = host
            .directed(&request(route), MadAddress::DIRECTED)
            .unwrap();
        assert_eq!(node_info(&answer).node_guid(), Guid(guid), "{route:?}");
        assert_eq!(answer.method(), Method::GET_RESP);
        assert_eq!(
            (answer.d(), answer.hop_pointer()),
            (DrDirection::RETURNING, 0)
        );
        assert_eq!(&answer.return_path()[1..=route.len()], back, "{route:?}");
        assert_eq!(answer.initial_path(), path(route).initial_path());
    }
}

#[test]
fn smps_are_counted_by_their_sender_and_by_the_ports_they_leave_by() {
    let mut host = Host::new(SimOptions::default());
    let counts = |host: &Host| {
        host.sim.with(|sim| {
            let through = [at(S1, 4), at(S1, 7), at(S2, 5)].map(|port| sim.smps_through(port));
            (sim.smps_sent(at(H, 1)), through)
        })
    };
    let ask = |host: &mut Host, route: &[u8]| {
        let answer = host.directed(&request(route), MadAddress::DIRECTED);
        assert!(answer.is_some(), "{route:?}");
    };
    ask(&mut host, &[1]);
    assert_eq!(counts(&host), (0, [0, 0, 0]), "nobody watches yet");
    host.sim.with(ib_sim::Sim::watch_smps);
    ask(&mut host, &[1]);
    assert_eq!(counts(&host), (1, [1, 0, 0]));
    ask(&mut host, &[1, 7]);
    // The answer leaves S1 by port 4 as well.
    assert_eq!(counts(&host), (2, [2, 1, 0]));
    host.sim.with(|sim| sim.unlink(at(S2, 2)).unwrap());
    assert!(
        host.directed(&request(&[1, 7]), MadAddress::DIRECTED)
            .is_none()
    );
    assert_eq!(counts(&host), (3, [2, 2, 0]), "a dead link is tried too");
}

#[test]
fn a_lid_routed_part_may_come_before_and_after_the_directed_part() {
    let mut host = Host::new(SimOptions::default());
    host.bring_up();
    for (name, ports, dr_slid, dr_dlid, first, back) in [
        ("LID, then directed", &[7, 5][..], 1, 0xffff, 2, &[2, 1][..]),
        ("directed, then LID", &[1, 7], 0xffff, 9, 0xffff, &[4, 2]),
        ("LID, directed, LID", &[7], 1, 9, 2, &[2]),
    ] {
        let mut smp = request(ports);
        smp.set_dr_slid(Lid(dr_slid)).set_dr_dlid(Lid(dr_dlid));
        let answer = host.directed(&smp, MadAddress::smi(Lid(first)));
        let answer = answer.unwrap_or_else(|| panic!("{name}: no answer"));
        assert_eq!(node_info(&answer).node_guid(), Guid(0x400), "{name}");
        assert_eq!(answer.hop_pointer(), 0, "{name}");
        assert_eq!(&answer.return_path()[1..=ports.len()], back, "{name}");
        assert_eq!(
            (answer.dr_slid(), answer.dr_dlid()),
            (Lid(dr_slid), Lid(dr_dlid))
        );
    }
}

#[test]
fn a_route_that_leads_nowhere_is_dropped_in_silence() {
    let mut host = Host::new(SimOptions::default());
    for (name, route) in [
        ("a port without a cable", &[1, 3][..]),
        ("a port that the switch does not have", &[1, 9]),
        ("through a CA", &[1, 7, 5, 1]),
        ("a port that the own CA does not have", &[2]),
        ("port 0 on the way", &[1, 0]),
    ] {
        let answer = host.directed(&request(route), MadAddress::DIRECTED);
        assert_eq!(answer, None, "{name}");
    }
    let mut past_the_end = request(&[1, 7]);
    past_the_end.set_hop_pointer(9);
    assert_eq!(host.directed(&past_the_end, MadAddress::DIRECTED), None);
    let mut too_long = request(&[1]);
    too_long.set_hop_count(64);
    assert_eq!(host.directed(&too_long, MadAddress::DIRECTED), None);
    assert_eq!(
        host.sim.with(|sim| sim.in_flight()),
        0,
        "every drop gives its place free"
    );
}

#[test]
fn node_info_names_the_port_of_arrival() {
    let mut host = Host::new(SimOptions::default());
    for (route, port) in [(&[][..], 1), (&[1], 4), (&[1, 7], 2), (&[1, 7, 5], 1)] {
        let answer = host
            .directed(&request(route), MadAddress::DIRECTED)
            .unwrap();
        assert_eq!(node_info(&answer).local_port_num().0, port, "{route:?}");
    }
    let ca = host
        .directed(&request(&[1, 7, 5]), MadAddress::DIRECTED)
        .unwrap();
    assert_eq!(node_info(&ca).port_guid(), Guid(0x401));
}
