use ib_mad::{Attribute, Method};
use ib_wire::{Lid, PortNum, Qpn, Vl};

use super::*;
use crate::{NodeInfo, SmpDirected};

/// A node of the traces: H.1 - S1.4, S1.7 - S2.2, S2.5 - T.1.
#[derive(Clone, Copy)]
struct TraceNode {
    name: &'static str,
    smi: Smi,
    /// (own port, node at the other end, its port)
    links: &'static [(u8, usize, u8)],
}

const fn place(
    name: &'static str,
    node_type: NodeType,
    num_ports: u8,
    lid: u16,
    links: &'static [(u8, usize, u8)],
) -> TraceNode {
    let port = match node_type {
        NodeType::SWITCH => PortNum::MANAGEMENT,
        _ => PortNum(1),
    };
    TraceNode {
        name,
        smi: Smi {
            node_type,
            num_ports,
            port,
            lid: Lid(lid),
        },
        links,
    }
}

const FABRIC: [TraceNode; 4] = [
    place("H", NodeType::CA, 1, 1, &[(1, 1, 4)]),
    place("S1", NodeType::SWITCH, 8, 2, &[(4, 0, 1), (7, 2, 2)]),
    place("S2", NodeType::SWITCH, 8, 3, &[(2, 1, 7), (5, 3, 1)]),
    place("T", NodeType::CA, 1, 9, &[(1, 2, 5)]),
];
const H: usize = 0;
const T: usize = 3;

fn lft(at: usize, lid: Lid) -> PortNum {
    let target = FABRIC.iter().position(|place| place.smi.lid == lid);
    let towards_t = target.unwrap() > at;
    PortNum(match (at, towards_t) {
        (0 | 3, _) => 1,
        (1, false) => 4,
        (1, true) => 7,
        (2, false) => 2,
        (2, true) => 5,
        _ => unreachable!(),
    })
}

fn row(at: &str, action: &str, smp: &SmpDirected, lids: Option<(Lid, Lid)>) -> String {
    let path = |path: &[u8; 64]| format!("{:02x} {:02x} {:02x}", path[1], path[2], path[3]);
    let (slid, dlid) = match lids {
        Some((slid, dlid)) => (format!("{:04X}", slid.0), format!("{:04X}", dlid.0)),
        None => ("-".into(), "-".into()),
    };
    format!(
        "| {at} | {action} | {:02x} | {:02x} | {:02x} | {slid} | {dlid} | {} | {} |",
        smp.as_bytes()[4],
        smp.hop_pointer(),
        smp.hop_count(),
        path(smp.initial_path()),
        path(smp.return_path()),
    )
}

/// Sends an SMP from H, answers it where it arrives, and writes a row at every node.
fn trace(mut smp: SmpDirected, first_switch: Lid) -> Vec<String> {
    let mut rows = vec![row("H, made by the SM", "-", &smp, None)];
    let mut at = H;
    let mut came = None;
    let mut request_slid = Lid::PERMISSIVE;
    let mut step = FABRIC[H].smi.start(&mut smp, first_switch).unwrap();
    loop {
        let label = match came {
            None => FABRIC[at].name.to_owned(),
            Some(PortNum(port)) => format!("{} (in port {port})", FABRIC[at].name),
        };
        let (port, lids) = match step {
            SmiAction::Deliver if smp.d() == DrDirection::RETURNING => {
                rows.push(row(&label, "to the SM", &smp, None));
                assert_eq!(at, H);
                return rows;
            }
            SmiAction::Deliver => {
                rows.push(row(&label, "to the SMA", &smp, None));
                assert_eq!(at, T);
                smp.set_d(DrDirection::RETURNING);
                step = FABRIC[at].smi.respond(&mut smp, request_slid).unwrap();
                came = None;
                continue;
            }
            SmiAction::Send(port) => {
                rows.push(row(
                    &label,
                    &format!("out port {port}"),
                    &smp,
                    Some((Lid::PERMISSIVE, Lid::PERMISSIVE)),
                ));
                (port, (Lid::PERMISSIVE, Lid::PERMISSIVE))
            }
            SmiAction::LidRouted { slid, dlid } => {
                let action = match came {
                    None => format!("sent LID routed to LID {dlid}"),
                    Some(_) => format!("DR part ends; LID routed to LID {dlid}"),
                };
                rows.push(row(&label, &action, &smp, Some((slid, dlid))));
                (lft(at, dlid), (slid, dlid))
            }
        };
        let (slid, dlid) = lids;
        let mut out = port;
        loop {
            let link = FABRIC[at].links.iter().find(|link| link.0 == out.0);
            let &(_, next, arrival) = link.unwrap();
            at = next;
            came = Some(PortNum(arrival));
            if dlid.is_permissive() || FABRIC[at].smi.lid == dlid {
                break;
            }
            out = lft(at, dlid);
        }
        request_slid = slid;
        let source = Source::Port(came.unwrap());
        step = FABRIC[at].smi.handle(&mut smp, source).unwrap();
    }
}

/// The rows of the specification's trace with this number.
fn expected(number: u8) -> Vec<&'static str> {
    include_str!("../../testdata/directed-route.md")
        .lines()
        .skip_while(|line| !line.starts_with(&format!("### {number}.")))
        .skip(1)
        .take_while(|line| !line.starts_with("###"))
        .filter(|line| line.starts_with("| ") && !line.starts_with("| at "))
        .collect()
}

fn request(ports: &[u8], dr_slid: Lid, dr_dlid: Lid) -> SmpDirected {
    let ports: Vec<PortNum> = ports.iter().map(|&port| PortNum(port)).collect();
    let path = DrPath::try_new(&ports).unwrap();
    let mut smp = SmpDirected::new(Method::GET, NodeInfo::ID, 0, &path);
    smp.set_dr_slid(dr_slid).set_dr_dlid(dr_dlid);
    smp
}

#[test]
fn a_route_directed_all_the_way_leaves_the_specified_trace() {
    let smp = request(&[1, 7, 5], Lid::PERMISSIVE, Lid::PERMISSIVE);
    let rows = trace(smp, Lid::NONE);
    assert_eq!(rows.len(), 9);
    assert_eq!(rows, expected(1));
}

#[test]
fn a_route_lid_routed_then_directed_leaves_the_specified_trace() {
    let rows = trace(request(&[7, 5], Lid(1), Lid::PERMISSIVE), Lid(2));
    assert_eq!(rows, expected(2));
}

#[test]
fn a_route_directed_then_lid_routed_leaves_the_specified_trace() {
    let rows = trace(request(&[1, 7], Lid::PERMISSIVE, Lid(9)), Lid::NONE);
    assert_eq!(rows, expected(3));
}

#[test]
fn a_route_lid_routed_at_both_ends_leaves_the_specified_trace() {
    let rows = trace(request(&[7], Lid(1), Lid(9)), Lid(2));
    assert_eq!(rows, expected(4));
}

#[test]
fn a_route_of_no_hops_reaches_the_own_agent_and_comes_back() {
    for place in FABRIC {
        let smi = place.smi;
        let mut smp = request(&[], Lid::PERMISSIVE, Lid::PERMISSIVE);
        assert_eq!(smi.start(&mut smp, Lid::NONE), Ok(SmiAction::Deliver));
        assert_eq!((smp.hop_pointer(), smp.return_path()), (1, &[0; 64]));
        smp.set_d(DrDirection::RETURNING);
        assert_eq!(smi.respond(&mut smp, Lid::NONE), Ok(SmiAction::Deliver));
        assert_eq!(smp.hop_pointer(), 0);
    }
}

/// All of them; one in 23 where an interpreter runs.
fn thinned(all: impl Iterator<Item = u8>) -> impl Iterator<Item = u8> {
    all.step_by(if cfg!(miri) { 23 } else { 1 })
}

const SWITCH: Smi = FABRIC[1].smi;
const CA: Smi = FABRIC[0].smi;

/// An SMP at a place of its path, all entries of which are port 3.
fn at(d: DrDirection, pointer: u8, count: u8) -> SmpDirected {
    let mut smp = request(&[], Lid::PERMISSIVE, Lid::PERMISSIVE);
    smp.set_d(d)
        .set_hop_pointer(pointer)
        .set_hop_count(count)
        .set_initial_path(&[3; 64])
        .set_return_path(&[3; 64]);
    smp
}

const BOTH: [DrDirection; 2] = [DrDirection::OUTGOING, DrDirection::RETURNING];

#[test]
fn a_discarded_smp_is_left_as_it_was() {
    for d in BOTH {
        for smi in [CA, SWITCH] {
            for (pointer, count) in
                thinned(0..=255).flat_map(|p| [0, 1, 2, 62, 63, 64, 255].map(|c| (p, c)))
            {
                let mut smp = at(d, pointer, count);
                smp.set_dr_slid(Lid(7)).set_dr_dlid(Lid(7));
                let before = smp;
                if smi.handle(&mut smp, Source::Port(PortNum(1))).is_err() {
                    assert_eq!(smp, before);
                }
            }
        }
    }
}

#[test]
fn hop_count_above_63_is_dropped() {
    for d in BOTH {
        for found in thinned(64..=255) {
            let step = SWITCH.handle(&mut at(d, 1, found), Source::Port(PortNum(4)));
            assert_eq!(step, Err(Discard::HopCount { found }));
        }
    }
}

#[test]
fn hop_pointer_past_the_path_is_dropped() {
    for d in BOTH {
        for hop_count in thinned(0..=63) {
            for found in thinned(hop_count + 2..=255) {
                let step = SWITCH.handle(&mut at(d, found, hop_count), Source::Port(PortNum(4)));
                assert_eq!(step, Err(Discard::HopPointer { found, hop_count }));
            }
        }
    }
}

#[test]
fn nobody_but_a_switch_passes_an_smp_on() {
    for d in BOTH {
        let step = CA.handle(&mut at(d, 2, 3), Source::Port(PortNum(1)));
        assert_eq!(step, Err(Discard::NotASwitch));
    }
    let mut router = CA;
    router.node_type = NodeType::ROUTER;
    let step = router.handle(
        &mut at(DrDirection::OUTGOING, 2, 3),
        Source::Port(PortNum(1)),
    );
    assert_eq!(step, Err(Discard::NotASwitch));
}

#[test]
fn a_ca_does_not_start_a_route_for_others() {
    let mut smp = at(DrDirection::OUTGOING, 0, 3);
    smp.set_initial_path(&[1; 64]);
    let step = CA.handle(&mut smp, Source::Port(PortNum(1)));
    assert_eq!(step, Err(Discard::NotASwitch));
    assert_eq!(
        CA.handle(&mut smp, Source::Own),
        Ok(SmiAction::Send(PortNum(1)))
    );
}

#[test]
fn a_lid_routed_part_starts_at_a_switch_only() {
    let mut out = at(DrDirection::OUTGOING, 3, 3);
    out.set_dr_dlid(Lid(9));
    let mut back = at(DrDirection::RETURNING, 1, 3);
    back.set_dr_slid(Lid(9));
    for mut smp in [out, back] {
        assert_eq!(
            CA.handle(&mut smp, Source::Port(PortNum(1))),
            Err(Discard::LidPartNotASwitch { lid: Lid(9) })
        );
        let routed = SmiAction::LidRouted {
            slid: SWITCH.lid,
            dlid: Lid(9),
        };
        assert_eq!(
            SWITCH.handle(&mut smp, Source::Port(PortNum(4))),
            Ok(routed)
        );
    }
}

#[test]
fn ports_that_the_node_lacks_are_dropped() {
    for (entry, legal) in [(0, false), (1, true), (8, true), (9, false), (255, false)] {
        let found = PortNum(entry);
        let cases = [
            (DrDirection::OUTGOING, 0, 1),
            (DrDirection::OUTGOING, 2, 3),
            (DrDirection::RETURNING, 4, 3),
            (DrDirection::RETURNING, 2, 1),
        ];
        for (d, pointer, hop) in cases {
            let mut smp = at(d, pointer, 3);
            smp.set_initial_path(&[entry; 64])
                .set_return_path(&[entry; 64]);
            let step = SWITCH.handle(&mut smp, Source::Port(PortNum(4)));
            if legal {
                assert_eq!(step, Ok(SmiAction::Send(found)));
                assert_eq!(smp.hop_pointer(), hop);
            } else {
                assert_eq!(step, Err(Discard::NoSuchPort { found, hop }));
            }
        }
    }
}

#[test]
fn a_ca_sends_by_the_port_of_its_smi_only() {
    let second = Smi {
        num_ports: 2,
        port: PortNum(2),
        ..CA
    };
    for (entry, legal) in [(1, false), (2, true), (3, false)] {
        let mut out = at(DrDirection::OUTGOING, 0, 3);
        out.set_initial_path(&[entry; 64]);
        let mut back = at(DrDirection::RETURNING, 4, 3);
        back.set_return_path(&[entry; 64]);
        for mut smp in [out, back] {
            let step = second.handle(&mut smp, Source::Own);
            assert_eq!(step.is_ok(), legal, "port {entry}: {step:?}");
        }
    }
}

#[test]
fn an_smp_that_came_by_the_last_lid_routed_part_is_delivered() {
    let source = Source::Port(PortNum(1));
    for mut smp in [
        at(DrDirection::OUTGOING, 4, 3),
        at(DrDirection::RETURNING, 0, 3),
    ] {
        let before = smp;
        for smi in [CA, SWITCH] {
            assert_eq!(smi.handle(&mut smp, source), Ok(SmiAction::Deliver));
            assert_eq!(smp, before);
        }
    }
}

#[test]
fn paths_of_every_length_are_retraced_on_the_way_back() {
    // Switches of 8 ports in a chain: each is entered by port i % 4 + 1 and left by i % 4 + 5.
    let entered = |hop: usize| PortNum((hop % 4) as u8 + 1);
    let left = |hop: usize| PortNum((hop % 4) as u8 + 5);
    let lengths = match cfg!(miri) {
        true => vec![1, 2, 31, 62, 63],
        false => (1..=63).collect(),
    };
    for hops in lengths {
        let ports: Vec<u8> = (0..hops).map(|hop| left(hop).0).collect();
        let mut smp = request(&ports, Lid::PERMISSIVE, Lid::PERMISSIVE);
        assert_eq!(
            SWITCH.start(&mut smp, Lid::NONE),
            Ok(SmiAction::Send(left(0)))
        );
        for hop in 1..hops {
            let step = SWITCH.handle(&mut smp, Source::Port(entered(hop)));
            assert_eq!(step, Ok(SmiAction::Send(left(hop))));
        }
        let step = SWITCH.handle(&mut smp, Source::Port(entered(hops)));
        assert_eq!(step, Ok(SmiAction::Deliver));
        smp.set_d(DrDirection::RETURNING);
        let step = SWITCH.respond(&mut smp, Lid::PERMISSIVE);
        assert_eq!(step, Ok(SmiAction::Send(entered(hops))));
        for hop in (1..hops).rev() {
            let step = SWITCH.handle(&mut smp, Source::Port(left(hop)));
            assert_eq!(step, Ok(SmiAction::Send(entered(hop))));
        }
        let step = SWITCH.handle(&mut smp, Source::Port(left(0)));
        assert_eq!((step, smp.hop_pointer()), (Ok(SmiAction::Deliver), 0));
    }
}

#[test]
fn packets_that_may_not_carry_an_smp_are_dropped() {
    let good = Envelope {
        vl: Vl::MANAGEMENT,
        dest_qp: Qpn::SMI,
        has_grh: false,
        payload_len: 256,
    };
    assert_eq!(good.check(), Ok(()));
    let vl = Vl::ZERO;
    assert_eq!(
        Envelope { vl, ..good }.check(),
        Err(Discard::DataVl { found: vl })
    );
    let dest_qp = Qpn::GSI;
    assert_eq!(
        Envelope { dest_qp, ..good }.check(),
        Err(Discard::NotQp0 { found: dest_qp })
    );
    let has_grh = true;
    assert_eq!(Envelope { has_grh, ..good }.check(), Err(Discard::Grh));
    let payload_len = 255;
    assert_eq!(
        Envelope {
            payload_len,
            ..good
        }
        .check(),
        Err(Discard::Short { found: 255 })
    );
}
