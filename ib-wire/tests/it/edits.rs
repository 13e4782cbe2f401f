//! Edits of finished packets: what may change, and what has to be built anew.

use ib_wire::{
    Bth, FaultKind, Gid, Grh, Ipv4, Ipv6, Lnh, Lrh, OpCode, Packet, PacketBuilder, Rwh, Start, Udp,
    packet::EditError,
};

fn bth() -> Bth {
    let mut bth = Bth::default();
    bth.set_op_code(OpCode::UC_SEND_ONLY);
    bth
}

fn build(builder: &PacketBuilder<'_>) -> Vec<u8> {
    let mut bytes = vec![0xa5; builder.packet_len()];
    assert_eq!(builder.build(&mut bytes), Ok(bytes.len()));
    bytes
}

fn grh() -> Grh {
    Grh::new(Gid::default(), Gid::default())
}

fn ipv4() -> Ipv4 {
    Ipv4::roce_v2([10, 0, 0, 1], [10, 0, 0, 2])
}

/// The edit is refused, and the packet is as it was.
fn refused(
    header: &'static str,
    bytes: &[u8],
    start: Start,
    edit: impl FnOnce(&mut Packet<Vec<u8>>) -> Result<(), EditError>,
) {
    let mut packet = Packet::parse_as(start, bytes.to_vec());
    let before = packet.clone();
    assert_eq!(edit(&mut packet), Err(EditError::Moves { header }));
    assert_eq!(packet, before, "{header}");
}

#[test]
fn a_network_that_changes_is_no_edit() {
    let all = [
        PacketBuilder::local(Lrh::default(), bth())
            .payload(&[7; 64])
            .clone(),
        PacketBuilder::global(Lrh::default(), grh(), bth()),
        PacketBuilder::raw(Lrh::default(), Rwh::default())
            .payload(&[7; 64])
            .clone(),
        PacketBuilder::raw_ipv6(Lrh::default())
            .payload(&[7; 64])
            .clone(),
    ];
    for (lnh, builder) in [Lnh::IBA_LOCAL, Lnh::IBA_GLOBAL, Lnh::RAW, Lnh::IPV6]
        .iter()
        .zip(all)
    {
        let bytes = build(&builder);
        for other in (0..4).map(Lnh).filter(|other| other != lnh) {
            refused("LRH", &bytes, Start::Ib, |packet| {
                packet.edit_lrh(|lrh| {
                    lrh.set_lnh(other);
                })
            });
        }
    }
}

#[test]
fn a_length_that_moves_the_crcs_is_no_edit() {
    let bytes = build(PacketBuilder::local(Lrh::default(), bth()).payload(&[7; 64]));
    refused("LRH", &bytes, Start::Ib, |packet| {
        packet.edit_lrh(|lrh| {
            lrh.set_pkt_len(lrh.pkt_len() - 1);
        })
    });
    let bytes = build(PacketBuilder::roce_v1(grh(), bth()).payload(&[7; 64]));
    refused("GRH", &bytes, Start::RoceV1, |packet| {
        packet.edit_grh(|grh| {
            grh.set_pay_len(grh.pay_len() - 4);
        })
    });
    let udp = Udp::roce_v2(1);
    let bytes = build(&PacketBuilder::roce_v2_ipv4(ipv4(), &[1; 4], udp, bth()));
    for edit in [
        (|ip| ip.set_ihl(5)) as fn(&mut Ipv4) -> &mut Ipv4,
        |ip| ip.set_total_length(50),
        |ip| ip.set_protocol(6),
    ] {
        refused("IPv4", &bytes, Start::RoceV2Ipv4, |packet| {
            packet.edit_ipv4(|ip| {
                edit(ip);
            })
        });
    }
    let ip = Ipv6::roce_v2(Gid::default(), Gid::default());
    let bytes = build(&PacketBuilder::roce_v2_ipv6(ip, udp, bth()));
    refused("IPv6", &bytes, Start::RoceV2Ipv6, |packet| {
        packet.edit_ipv6(|ip| {
            ip.set_next_header(0);
        })
    });
}

#[test]
fn a_router_of_ip_leaves_the_icrc_as_it_is() {
    let udp = Udp::roce_v2(1);
    let bytes = build(PacketBuilder::roce_v2_ipv4(ipv4(), &[1; 8], udp, bth()).payload(b"data"));
    let mut packet = Packet::parse_as(Start::RoceV2Ipv4, bytes);
    let icrc = packet.icrc();
    for ttl in (1..64).rev() {
        let edited = packet.edit_ipv4(|ip| {
            ip.set_ttl(ttl).set_ecn(3);
        });
        assert_eq!(edited, Ok(()));
        assert!(packet.validate().is_empty(), "{ttl}");
        assert_eq!(packet.icrc(), icrc, "{ttl}");
    }
}

#[test]
fn an_address_that_is_translated_takes_both_checks_along() {
    let udp = Udp::roce_v2(1);
    let bytes = build(PacketBuilder::roce_v2_ipv4(ipv4(), &[], udp, bth()).payload(b"data"));
    let mut packet = Packet::parse_as(Start::RoceV2Ipv4, bytes);
    for last in 0..=255 {
        let edited = packet.edit_ipv4(|ip| {
            ip.set_src(&[192, 168, !last, last])
                .set_identification(u16::from(last) << 8);
        });
        assert_eq!(edited, Ok(()));
        assert!(packet.validate().is_empty(), "{last}");
    }
    let edited = packet.edit_ipv4(|ip| {
        ip.set_checksum(ip.checksum() ^ 1);
    });
    assert_eq!(edited, Ok(()));
    let faults = packet.validate();
    assert!(faults.has(FaultKind::BadChecksum) && !faults.has(FaultKind::IcrcMismatch));
}
