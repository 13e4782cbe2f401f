//! RoCE after Ethernet headers and VLAN tags.

use ib_wire::{
    Bth, EtherType, Ethernet, FaultKind, Gid, Grh, Ipv4, Ipv6, OpCode, Packet, PacketBuilder, Qpn,
    Start, Vlan,
    roce::{Udp, flow_label},
};

/// An Ethernet header and `tags` VLAN tags in front of `ether_type`.
fn link(tags: usize, ether_type: EtherType) -> Vec<u8> {
    let next = |left: usize| match left {
        0 => ether_type,
        1 => EtherType::VLAN,
        _ => EtherType::SERVICE_VLAN,
    };
    let mut ethernet = Ethernet::default();
    ethernet
        .set_src(&[2; 6])
        .set_dst(&[4; 6])
        .set_ether_type(next(tags));
    let mut bytes = ethernet.as_bytes().to_vec();
    for left in (0..tags).rev() {
        let mut tag = Vlan::default();
        tag.set_vid(100).set_ether_type(next(left));
        bytes.extend_from_slice(tag.as_bytes());
    }
    bytes
}

fn send() -> Bth {
    let mut bth = Bth::default();
    bth.set_op_code(OpCode::RC_SEND_ONLY);
    bth
}

fn udp() -> Udp {
    Udp::roce_v2(flow_label(Qpn::GSI, Qpn::GSI))
}

fn build(builder: &PacketBuilder<'_>) -> Vec<u8> {
    let mut frame = vec![0xa5; builder.packet_len()];
    assert_eq!(builder.build(&mut frame), Ok(frame.len()));
    frame
}

fn gid() -> Gid {
    "fe80::2:c903:a1:b2c3".parse().unwrap()
}

#[test]
fn every_encapsulation_behind_up_to_sixteen_tags_is_found() {
    for tags in [0, 1, 2, 3, 16] {
        let cases = [
            (
                EtherType::ROCE_V1,
                PacketBuilder::roce_v1(Grh::new(gid(), gid()), send()),
                1,
            ),
            (
                EtherType::IPV4,
                PacketBuilder::roce_v2_ipv4(
                    Ipv4::roce_v2([10; 4], [11; 4]),
                    &[1; 8],
                    udp(),
                    send(),
                ),
                4,
            ),
            (
                EtherType::IPV6,
                PacketBuilder::roce_v2_ipv6(Ipv6::roce_v2(gid(), gid()), udp(), send()),
                2,
            ),
        ];
        for (ether_type, mut builder, network) in cases {
            let link = link(tags, ether_type);
            let mut frame = build(builder.link(&link).payload(b"hello"));
            let packet = Packet::parse_as(Start::Ethernet, frame.as_slice());
            assert!(packet.validate().is_empty(), "{ether_type}, {tags} tags");
            assert_eq!(packet.payload(), b"hello");
            assert_eq!(
                packet.headers().count(),
                1 + tags + network + 1,
                "{ether_type}"
            );
            assert_eq!(build(&packet.to_builder().unwrap()), frame);
            // The padding and the check sequence of a frame are no part of the packet.
            let whole = frame.len();
            frame.extend_from_slice(&[0; 6]);
            let packet = Packet::parse_as(Start::Ethernet, frame.as_slice());
            assert!(packet.validate().is_empty(), "{ether_type}");
            assert_eq!(packet.trailer(), [0; 6]);
            for len in 0..whole {
                let cut = Packet::parse_as(Start::Ethernet, &frame[..len]);
                let faults = cut.validate();
                assert!(
                    faults.has(FaultKind::Truncated),
                    "{ether_type} cut to {len}"
                );
            }
        }
    }
}

#[test]
fn a_seventeenth_tag_is_named_and_not_read() {
    let link = link(17, EtherType::ROCE_V1);
    let mut builder = PacketBuilder::roce_v1(Grh::new(gid(), gid()), send());
    let frame = build(builder.link(&link));
    let packet = Packet::parse_as(Start::Ethernet, frame.as_slice());
    assert_eq!(packet.headers().count(), 17);
    assert_eq!(packet.bth(), None);
    let error = packet.validate().error().copied();
    assert_eq!(
        error.map(|fault| (fault.kind, fault.at.offset)),
        Some((FaultKind::NotRoce, Ethernet::LEN + 16 * Vlan::LEN - 2))
    );
}

#[test]
fn frames_of_other_protocols_are_named_and_not_decoded_as_roce() {
    let arp = [link(1, EtherType::ARP), vec![7; 40]].concat();
    let packet = Packet::parse_as(Start::Ethernet, arp.as_slice());
    let names: Vec<&str> = packet.headers().map(|header| header.layout.name).collect();
    assert_eq!(names, ["Ethernet", "VLAN"]);
    assert_eq!(
        packet.validate().error().map(|fault| fault.kind),
        Some(FaultKind::NotRoce)
    );

    let mut dns = udp();
    dns.set_dst_port(53);
    let ip = Ipv4::roce_v2([10; 4], [11; 4]);
    let mut builder = PacketBuilder::roce_v2_ipv4(ip, &[], dns, send());
    let link = link(0, EtherType::IPV4);
    let frame = build(builder.link(&link).payload(b"hello"));
    let packet = Packet::parse_as(Start::Ethernet, frame.as_slice());
    let names: Vec<&str> = packet.headers().map(|header| header.layout.name).collect();
    assert_eq!(names, ["Ethernet", "IPv4", "UDP"]);
    assert!(packet.validate().has(FaultKind::NotRoce));
    assert_eq!((packet.bth(), packet.icrc()), (None, None));
}
