//! Data packets: the tables that they follow, what ends them, what counts them.

use ib_mad::Attribute;
use ib_sim::{DropReason, FaultRates, PacketError, PacketFate, PacketTrace, SimOptions};
use ib_smp::{MulticastForwardingTable, PartitionKeyTable, SlToVlMappingTable};
use ib_wire::{IpoibHeader, Lid, Lrh, Mtu, PKey, Packet, PacketBuilder, Qpn, Rwh, Vl};

use ib_testkit::worked_traces::data::{Ud, activate, count, multicast, trace, write_lft};
use ib_testkit::worked_traces::{H, Host, S1, S2, T, at};

fn host() -> Host {
    let mut host = Host::new(SimOptions {
        traps: false,
        ..SimOptions::default()
    });
    host.bring_up();
    host
}

/// That the packet ended once, there, for this reason.
#[track_caller]
fn ended(trace: &PacketTrace, node: ib_routing::NodeIdx, port: u8, reason: DropReason) {
    let ends: Vec<_> = trace.discarded().collect();
    assert_eq!(ends, [(at(node, port), reason)]);
    assert_eq!(trace.delivered().count(), 0);
}

#[test]
fn a_packet_follows_the_tables_and_arrives_as_it_was_sent() {
    let host = host();
    let sent = Ud::default().bytes();
    let trace = trace(&host, &sent);
    let way: Vec<_> = trace.hops.iter().map(|hop| (hop.from, hop.to)).collect();
    let expected = [
        (at(H, 1), at(S1, 4)),
        (at(S1, 7), at(S2, 2)),
        (at(S2, 5), at(T, 1)),
    ];
    assert_eq!(way, expected);
    assert_eq!(trace.delivered().collect::<Vec<_>>(), [at(T, 1)]);
    let PacketFate::Delivered(bytes) = &trace.ends[0].fate else {
        panic!("{trace:?}");
    };
    assert_eq!(bytes, &sent);
}

#[test]
fn the_lane_and_the_vcrc_change_at_each_hop_and_the_icrc_never() {
    let mut host = host();
    // SL 3: lane 1 out of H, 2 from S1's port 4 to 7, 3 from S2's port 2 to 5.
    for (route, modifier, lane) in [(&[][..], 0u32, 1), (&[1], 0x0407, 2), (&[1, 7], 0x0205, 3)] {
        let mut table = SlToVlMappingTable::default();
        table.set_sl_to_vl(3, Vl::try_new(lane).unwrap()).unwrap();
        let answer = host.set(route, SlToVlMappingTable::ID, modifier, table.as_bytes());
        assert!(answer.unwrap().status().is_ok(), "{route:?}");
    }
    let packet = Ud {
        sl: 3,
        ..Ud::default()
    };
    let sent = packet.bytes();
    let trace = packet.trace(&host);
    let lanes: Vec<_> = trace.hops.iter().map(|hop| hop.vl.bits()).collect();
    assert_eq!(lanes, [1, 2, 3]);
    let PacketFate::Delivered(bytes) = &trace.ends[0].fate else {
        panic!("{trace:?}");
    };
    let (before, after) = (Packet::parse(&sent[..]), Packet::parse(&bytes[..]));
    assert!(after.validate().is_empty());
    assert_eq!(after.lrh().unwrap().vl().bits(), 3);
    assert_eq!(after.icrc().unwrap().found, before.icrc().unwrap().found);
    assert_ne!(after.vcrc().unwrap().found, before.vcrc().unwrap().found);
}

#[test]
fn a_lane_that_the_link_does_not_have_is_a_discard() {
    let mut host = host();
    let mut table = SlToVlMappingTable::default();
    table.set_sl_to_vl(3, Vl::MANAGEMENT).unwrap();
    host.set(&[1], SlToVlMappingTable::ID, 0x0407, table.as_bytes())
        .unwrap();
    let packet = Ud {
        sl: 3,
        ..Ud::default()
    };
    ended(&packet.trace(&host), S1, 4, DropReason::NoLane);
    assert_eq!(count(&host, S1, 4, "port_vl_mapping_errors"), 1);
    assert_eq!(count(&host, S1, 7, "port_xmit_discards"), 0);
}

#[test]
fn words_and_packets_are_counted_at_both_ends_of_each_link() {
    let host = host();
    let ports = [(H, 1, S1, 4), (S1, 7, S2, 2), (S2, 5, T, 1)];
    let read = |name: &str, node, port| count(&host, node, port, name);
    let before: Vec<_> = ports
        .iter()
        .map(|&(from, out, to, into)| {
            (
                read("port_xmit_data", from, out),
                read("port_rcv_data", to, into),
                read("port_unicast_xmit_pkts", from, out),
                read("port_unicast_rcv_pkts", to, into),
            )
        })
        .collect();
    let packet = Ud::default().bytes();
    trace(&host, &packet);
    // All but the VCRC, in words of 4 bytes.
    let words = (packet.len() as u64 - 2) / 4;
    for (&(from, out, to, into), before) in ports.iter().zip(before) {
        assert_eq!(read("port_xmit_data", from, out) - before.0, words);
        assert_eq!(read("port_rcv_data", to, into) - before.1, words);
        assert_eq!(read("port_unicast_xmit_pkts", from, out) - before.2, 1);
        assert_eq!(read("port_unicast_rcv_pkts", to, into) - before.3, 1);
    }
}

#[test]
fn a_multicast_packet_is_copied_by_the_tables_and_not_back() {
    let mut host = host();
    multicast(&mut host, &[4, 7], &[2, 5, 0]);
    let packet = Ud {
        dlid: 0xc000,
        ..Ud::default()
    };
    let trace = packet.trace(&host);
    let mut delivered: Vec<_> = trace.delivered().collect();
    delivered.sort();
    assert_eq!(delivered, [at(S2, 0), at(T, 1)]);
    assert_eq!(trace.discarded().count(), 0);
    assert_eq!(trace.hops.len(), 3);
    assert_eq!(count(&host, T, 1, "port_multicast_rcv_pkts"), 1);
    assert_eq!(count(&host, S1, 7, "port_multicast_xmit_pkts"), 1);
    assert_eq!(
        count(&host, T, 1, "port_unicast_rcv_pkts"),
        host.sim.with(|sim| {
            let counters = sim.port(at(T, 1)).unwrap().counters();
            counters.rcv_pkts - 1
        })
    );
}

#[test]
fn a_multicast_lid_that_no_table_has_ends_in_the_first_switch() {
    let host = host();
    let packet = Ud {
        dlid: 0xc005,
        ..Ud::default()
    };
    ended(&packet.trace(&host), S1, 4, DropReason::NoRoute);
}

#[test]
fn an_ipoib_datagram_comes_out_as_it_went_in() {
    let host = host();
    let mut header = IpoibHeader::default();
    header.set_ether_type(0x0800);
    let mut payload = header.as_bytes().to_vec();
    payload.extend_from_slice(b"an IPv4 packet, as it were");
    let packet = Ud {
        payload: payload.clone(),
        ..Ud::default()
    };
    let trace = packet.trace(&host);
    let PacketFate::Delivered(bytes) = &trace.ends[0].fate else {
        panic!("{trace:?}");
    };
    assert_eq!(Packet::parse(&bytes[..]).payload(), payload);
}

#[test]
fn what_the_tables_do_not_lead_to_the_destination_is_discarded_and_counted() {
    let mut host = host();
    let packet = Ud {
        dlid: 8,
        ..Ud::default()
    };
    ended(&packet.trace(&host), S1, 4, DropReason::NoRoute);
    assert_eq!(count(&host, S1, 4, "port_rcv_switch_relay_errors"), 1);
    assert_eq!(count(&host, S1, 4, "port_dlid_mapping_errors"), 1);
    // LID 20 leads to T, whose LID is another.
    write_lft(&mut host, &[1], &[(20, 7)]);
    write_lft(&mut host, &[1, 7], &[(20, 5)]);
    let packet = Ud {
        dlid: 20,
        ..Ud::default()
    };
    ended(&packet.trace(&host), T, 1, DropReason::WrongLid);
    // S2 sends it back.
    write_lft(&mut host, &[1, 7], &[(20, 2)]);
    ended(&packet.trace(&host), S2, 2, DropReason::SamePort);
    assert_eq!(count(&host, S2, 2, "port_looping_errors"), 1);
}

/// A triangle of switches that send LID 20, and copies of MLID 0xC000, round and round.
#[test]
fn loops_end_by_the_hop_limit_and_do_not_fill_the_fabric() {
    let fabric = ib_testkit::fabrics::fabric("gen-ring-5");
    let sim = ib_sim::Sim::new(&fabric, SimOptions::default()).share();
    let ca = sim.with(|sim| {
        let mut nodes = sim.nodes().iter_enumerated();
        nodes.find(|(_, node)| !node.is_switch()).unwrap().0
    });
    let mut host = Host::at(sim, at(ca, 1));
    // Round the ring, from the host's switch until it is met again.
    let mut route = vec![1u8];
    let first = host.sim.with(|sim| sim.peer(at(ca, 1)).unwrap());
    let mut here = first;
    loop {
        let (out, next) = host.sim.with(|sim| {
            let ports = 1..=sim.node(here.node).unwrap().num_ports();
            let mut ways = ports.filter_map(|port| {
                let next = sim.peer(at(here.node, port))?;
                let switch = sim.node(next.node).unwrap().is_switch();
                (switch && port != here.port.0).then_some((port, next))
            });
            ways.next().unwrap()
        });
        activate(&mut host, &route, &[here.port.0, out]);
        write_lft(&mut host, &route, &[(20, out)]);
        // All ports: each copy makes more.
        let mut table = MulticastForwardingTable::default();
        table.set_port_mask_block(0, 0xfffe).unwrap();
        host.set(&route, MulticastForwardingTable::ID, 0, table.as_bytes())
            .unwrap();
        route.push(out);
        here = next;
        if here.node == first.node {
            activate(&mut host, &[1], &[here.port.0]);
            break;
        }
    }
    host.change_port(&[], 1, |info| {
        info.set_lid(Lid(1)).set_master_sm_lid(Lid(1));
    });
    activate(&mut host, &[], &[1]);
    let packet = Ud {
        dlid: 20,
        ..Ud::default()
    };
    let send = |host: &Host, packet: &Ud| {
        host.sim
            .with(|sim| sim.trace_packet(at(ca, 1), &packet.bytes()).unwrap())
    };
    let trace = send(&host, &packet);
    let reasons: Vec<_> = trace.discarded().map(|(_, reason)| reason).collect();
    assert_eq!(reasons, [DropReason::TooManyHops]);
    assert_eq!(trace.hops.len(), 64);
    let packet = Ud {
        dlid: 0xc000,
        ..Ud::default()
    };
    let trace = send(&host, &packet);
    assert!(trace.is_complete());
    assert!(
        trace
            .discarded()
            .any(|(_, reason)| reason == DropReason::TooManyHops)
    );
}

/// Two switches with three cables send a datagram of management back and forth, two copies for one.
#[test]
fn multicast_management_that_multiplies_in_a_loop_ends() {
    let mut builder = ib_routing::FabricBuilder::new();
    for (guid, type_) in [
        (0x10, ib_routing::NodeType::CA),
        (0x20, ib_routing::NodeType::SWITCH),
        (0x30, ib_routing::NodeType::SWITCH),
    ] {
        let node = ib_routing::NewNode {
            type_,
            guid: ib_wire::Guid(guid),
            num_ports: 4,
            ..ib_routing::NewNode::default()
        };
        builder.add_node(node).unwrap();
    }
    builder.add_link(at(H, 1), at(S1, 4)).unwrap();
    for port in 1..=3 {
        builder.add_link(at(S1, port), at(S2, port)).unwrap();
    }
    let options = SimOptions {
        traps: false,
        ..SimOptions::default()
    };
    let sim = ib_sim::Sim::new(&builder.build(), options).share();
    let mut host = Host::at(sim, at(H, 1));
    let mut table = MulticastForwardingTable::default();
    table.set_port_mask_block(0, 0xe).unwrap();
    for route in [&[1][..], &[1, 1]] {
        host.set(route, MulticastForwardingTable::ID, 0, table.as_bytes())
            .unwrap();
    }
    let smp = ib_smp::SmpLidRouted::new(ib_mad::Method::GET, ib_smp::NodeInfo::ID, 0);
    let mut mad = ib_mad::Mad::new(ib_mad::MadAddress::smi(Lid(0xc000)));
    mad.bytes = *smp.as_bytes();
    assert!(host.exchange(&mad).is_none());
    assert_eq!(host.sim.with(|sim| sim.in_flight()), 0);
}

#[test]
fn partitions_are_enforced_where_a_port_is_told_to() {
    let foreign = Ud {
        p_key: PKey(0x8123),
        ..Ud::default()
    };
    ended(&foreign.trace(&host()), T, 1, DropReason::PKey);
    for (inbound, port, counter) in [
        (true, 2, "port_rcv_constraint_errors"),
        (false, 5, "port_xmit_constraint_errors"),
    ] {
        let mut host = host();
        let mut table = PartitionKeyTable::default();
        table.set_p_key_block(0, PKey::DEFAULT_FULL).unwrap();
        let modifier = u32::from(port) << 16;
        host.set(&[1, 7], PartitionKeyTable::ID, modifier, table.as_bytes())
            .unwrap();
        host.change_port(&[1, 7], port, |info| {
            info.set_partition_enforcement_inbound(inbound)
                .set_partition_enforcement_outbound(!inbound);
        });
        let trace = foreign.trace(&host);
        ended(&trace, S2, port, DropReason::PKey);
        assert_eq!(count(&host, S2, port, counter), 1);
        let other = if inbound {
            "port_xmit_constraint_errors"
        } else {
            "port_rcv_constraint_errors"
        };
        assert_eq!(count(&host, S2, port, other), 0);
        // A limited member may talk to a full one.
        let limited = Ud {
            p_key: PKey(0x7fff),
            ..Ud::default()
        };
        assert_eq!(limited.trace(&host).delivered().count(), 1);
        // Two limited ones may not talk to each other.
        let mut table = PartitionKeyTable::default();
        table.set_p_key_block(0, PKey(0x7fff)).unwrap();
        host.set(&[1, 7, 5], PartitionKeyTable::ID, 0, table.as_bytes())
            .unwrap();
        ended(&limited.trace(&host), T, 1, DropReason::PKey);
    }
}

#[test]
fn a_packet_larger_than_the_mtu_of_a_link_goes_no_further() {
    let mut host = host();
    let packet = |bytes| Ud {
        payload: vec![1; bytes],
        ..Ud::default()
    };
    host.change_port(&[1, 7], 5, |info| {
        info.set_neighbor_mtu(Mtu::MTU_1024);
    });
    assert_eq!(packet(1024).trace(&host).delivered().count(), 1);
    ended(&packet(1028).trace(&host), S2, 5, DropReason::TooLong);
    assert_eq!(count(&host, S2, 5, "port_xmit_discards"), 1);
    assert_eq!(count(&host, S2, 5, "port_neighbor_mtu_discards"), 1);
}

#[test]
fn a_port_that_is_not_active_and_a_cable_that_is_gone_are_discards() {
    let host = host();
    host.sim.with(|sim| sim.unlink(at(S2, 5)).unwrap());
    ended(&Ud::default().trace(&host), S2, 5, DropReason::LinkDown);
    assert_eq!(count(&host, S2, 5, "port_xmit_discards"), 1);
    assert_eq!(count(&host, S2, 5, "port_inactive_discards"), 1);
}

#[test]
fn a_wrong_vcrc_ends_at_the_next_port_and_a_wrong_icrc_at_the_last() {
    let host = host();
    let sent = Ud::default().bytes();
    let mut bytes = sent.clone();
    *bytes.last_mut().unwrap() ^= 1;
    ended(&trace(&host, &bytes), S1, 4, DropReason::BitError);
    assert_eq!(count(&host, S1, 4, "port_rcv_errors"), 1);

    let len = sent.len();
    let mut bytes = sent;
    bytes[len - 6] ^= 1;
    let vcrc = ib_wire::crc::vcrc(&bytes[..len - 2]);
    bytes[len - 2..].copy_from_slice(&vcrc);
    ended(&trace(&host, &bytes), T, 1, DropReason::Icrc);
}

#[test]
fn a_raw_packet_passes_unless_it_is_filtered() {
    let mut host = host();
    let mut lrh = Lrh::default();
    lrh.set_slid(Lid(1)).set_dlid(Lid(9));
    let mut buffer = [0; 128];
    let len = PacketBuilder::raw(lrh, Rwh::default())
        .payload(&[7; 64])
        .build(&mut buffer)
        .unwrap();
    let bytes = &buffer[..len];
    assert_eq!(trace(&host, bytes).delivered().count(), 1);
    host.change_port(&[1, 7], 2, |info| {
        info.set_filter_raw_inbound(true);
    });
    ended(&trace(&host, bytes), S2, 2, DropReason::RawFiltered);
    assert_eq!(count(&host, S2, 2, "port_rcv_constraint_errors"), 1);
}

#[test]
fn faults_of_the_schedule_hit_data_packets_too() {
    let host = host();
    let with = |rates| {
        host.sim.with(|sim| sim.set_fault_rates(rates));
        Ud::default().trace(&host)
    };
    let lost = with(FaultRates {
        loss: 1.0,
        ..FaultRates::NONE
    });
    ended(&lost, S1, 4, DropReason::Lost);
    let twice = with(FaultRates {
        duplicate: 1.0,
        ..FaultRates::NONE
    });
    assert_eq!(twice.delivered().count(), 8, "doubled on each of 3 links");
    let corrupt = with(FaultRates {
        corrupt: 1.0,
        ..FaultRates::NONE
    });
    let PacketFate::Delivered(bytes) = &corrupt.ends[0].fate else {
        panic!("{corrupt:?}");
    };
    assert_ne!(bytes, &Ud::default().bytes());
}

#[test]
fn what_no_adapter_sends_is_refused_with_the_reason() {
    let host = host();
    let send = |port, bytes: &[u8]| host.sim.with(|sim| sim.send_packet(port, bytes));
    let good = Ud::default().bytes();
    let error = send(at(S1, 4), &good).unwrap_err();
    assert!(matches!(error, PacketError::Port(_)), "{error}");
    let error = send(at(H, 1), &good[..good.len() - 9]).unwrap_err();
    assert!(matches!(error, PacketError::Malformed(_)), "{error}");
    assert_eq!(send(at(H, 1), &[]).unwrap_err(), PacketError::NoLrh);
    let mut management = Packet::parse(good);
    management
        .edit_bth(|bth| {
            bth.set_dest_qp(Qpn::GSI);
        })
        .unwrap();
    let error = send(at(H, 1), management.bytes()).unwrap_err();
    assert_eq!(error, PacketError::Management(Qpn::GSI));
}
