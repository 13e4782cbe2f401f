//! Packets whose every field and CRC is known: parsed, compared, and found right or wrong.

use ib_wire::{
    FaultKind, FlowControlPacket, Header, LAYOUTS, OpCode, Packet, Start, crc, table::Fields,
};
use serde_json::Value;

use ib_testkit::vectors::{cases, unhex};

fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key}: {case}"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn start(case: &Value) -> Start {
    match text(case, "kind") {
        "raw" => Start::Ib,
        kind => kind.parse().unwrap(),
    }
}

/// The header as JSON output has it, with GIDs as numbers would be: the vectors' own form.
fn json(header: &Header<'_>) -> Value {
    let fields = Fields {
        layout: header.layout,
        bytes: header.bytes,
    };
    serde_json::json!({
        "name": header.layout.name,
        "offset": header.offset,
        "fields": serde_json::to_value(fields).unwrap(),
    })
}

/// Headers that the vectors do not name, as the specification's tables do not have them.
fn is_foreign(header: &Header<'_>) -> bool {
    header.layout.name.starts_with("IPv")
}

#[test]
fn every_header_and_field_of_good_packets_reads_right() {
    let mut count = 0;
    for file in ["opcodes", "raw", "mad_packets", "malformed"] {
        for case in cases(file) {
            if case["valid"] != true || case["kind"] == "link" {
                continue;
            }
            let id = text(&case, "id");
            let bytes = unhex(text(&case, "hex"));
            let packet = Packet::parse_as(start(&case), bytes.as_slice());
            let headers: Vec<Value> = packet.headers().map(|header| json(&header)).collect();
            assert_eq!(Value::from(headers), case["headers"], "{id}");
            if let Some(payload) = case["payload"].as_str() {
                assert_eq!(hex(packet.payload()), payload, "{id}");
            }
            if let Some(mad) = case["mad"].as_str() {
                assert_eq!(hex(packet.payload()), mad, "{id}");
            }
            if let Some(pad) = case["pad"].as_u64() {
                assert_eq!(packet.pad().len() as u64, pad, "{id}");
            }
            count += 1;
        }
    }
    assert!(count > 1700, "{count}");
}

#[test]
fn crcs_of_good_packets_are_right_and_nothing_is_wrong_with_them() {
    for file in [
        "opcodes",
        "raw",
        "mad_packets",
        "roce",
        "third_party",
        "malformed",
    ] {
        for case in cases(file) {
            if case["valid"] != true || case["kind"] == "link" {
                continue;
            }
            let id = text(&case, "id");
            let bytes = unhex(text(&case, "hex"));
            let packet = Packet::parse_as(start(&case), bytes.as_slice());
            if let Some(icrc) = case["icrc"].as_str() {
                let check = packet.icrc().unwrap_or_else(|| panic!("{id}: no ICRC"));
                assert_eq!(hex(&check.found), icrc, "{id}");
                assert_eq!(hex(&check.computed), icrc, "{id}");
            }
            if let Some(vcrc) = case["vcrc"].as_str() {
                let check = packet.vcrc().unwrap_or_else(|| panic!("{id}: no VCRC"));
                assert_eq!(hex(&check.found), vcrc, "{id}");
                assert_eq!(hex(&check.computed), vcrc, "{id}");
            }
            let faults = packet.validate();
            assert_eq!(faults.error(), None, "{id}");
            if let Some(opcode) = case["opcode"].as_u64() {
                let found = packet.bth().map(|bth| bth.op_code());
                assert_eq!(found, Some(OpCode(opcode as u8)), "{id}");
            }
            if let Some(bth) = case["bth_offset"].as_u64() {
                let header = packet.headers().find(|header| header.layout.name == "BTH");
                assert_eq!(header.map(|header| header.offset as u64), Some(bth), "{id}");
            }
        }
    }
}

#[test]
fn wrong_icrcs_of_roce_packets_are_reported() {
    for case in cases("roce") {
        if case["valid"] == false {
            let bytes = unhex(text(&case, "hex"));
            let faults = Packet::parse_as(start(&case), bytes).validate();
            assert!(!faults.is_empty(), "{}", case["id"]);
        }
    }
}

/// The kinds of fault by which a vector's reason may be told.
fn kinds(reason: &str) -> &'static [FaultKind] {
    use FaultKind::*;
    match reason {
        "truncated" => &[Truncated],
        "length_mismatch" => &[LengthMismatch],
        "header_stack_exceeds_packet" => &[HeaderStackExceedsPacket],
        "bad_pktlen" => &[BadPktLen, Truncated, LengthMismatch],
        "bad_lver" => &[BadLver],
        "bad_tver" => &[BadTver],
        "bad_padcnt" => &[BadPadCnt],
        "reserved_opcode" => &[ReservedOpCode],
        "manufacturer_opcode" => &[ManufacturerOpCode],
        "bad_ipver" => &[BadIpVer],
        "bad_nxthdr" => &[BadNxtHdr],
        "bad_paylen" => &[BadPayLen],
        // The header that follows is not what LNH says: one of its fixed fields tells.
        "bad_lnh" => &[BadIpVer, BadNxtHdr, BadTver],
        "bad_payload_length" => &[BadPayloadLength],
        "unexpected_payload" => &[UnexpectedPayload],
        "icrc_mismatch" => &[IcrcMismatch],
        "vcrc_mismatch" => &[VcrcMismatch],
        _ => panic!("unknown reason {reason}"),
    }
}

#[test]
fn every_malformed_packet_has_its_fault_listed() {
    for case in cases("malformed") {
        if case["valid"] == true {
            continue;
        }
        let (id, reason) = (text(&case, "id"), text(&case, "reason"));
        let bytes = unhex(text(&case, "hex"));
        let packet = Packet::parse(bytes.as_slice());
        let faults = packet.validate();
        let told = kinds(reason).iter().any(|&kind| faults.has(kind));
        assert!(
            told,
            "{id}: {reason}, but {:?}",
            faults.iter().collect::<Vec<_>>()
        );
        for fault in faults.iter() {
            assert!(fault.at.offset <= bytes.len(), "{id}: {fault}");
        }
    }
}

#[test]
fn what_is_there_of_a_cut_packet_is_what_the_whole_one_has() {
    for case in cases("opcodes").iter().step_by(7) {
        let bytes = unhex(text(case, "hex"));
        let whole: Vec<_> = Packet::parse(bytes.as_slice())
            .headers()
            .map(|h| json(&h))
            .collect();
        for len in 0..bytes.len() {
            let cut = Packet::parse(&bytes[..len]);
            let headers: Vec<_> = cut.headers().map(|header| json(&header)).collect();
            assert!(whole.starts_with(&headers), "{} cut to {len}", case["id"]);
            assert!(
                cut.validate().has(FaultKind::Truncated),
                "{} cut to {len}",
                case["id"]
            );
            assert!(cut.icrc().is_none() && cut.vcrc().is_none());
        }
    }
}

#[test]
fn flow_control_packets_read_right_and_carry_their_crc() {
    for case in cases("raw") {
        if case["kind"] != "link" {
            continue;
        }
        let id = text(&case, "id");
        let bytes = unhex(text(&case, "hex"));
        let faults = FlowControlPacket::validate_bytes(&bytes);
        let wrong = faults.iter().filter(|fault| !fault.kind.is_note());
        let found: Vec<&str> = wrong.map(|fault| fault.kind.word()).collect();
        assert_eq!(found, Vec::from_iter(case["reason"].as_str()), "{id}");
        let Ok((packet, &[])) = FlowControlPacket::parse(&bytes, 0) else {
            continue;
        };
        if let Some(headers) = case["headers"].as_array() {
            let header = Header {
                layout: FlowControlPacket::LAYOUT,
                offset: 0,
                bytes: packet.as_bytes(),
            };
            assert_eq!([json(&header)], headers.as_slice(), "{id}");
        }
        let check = packet.crc_check();
        assert_eq!(check.is_ok(), case["reason"] != "lpcrc_mismatch", "{id}");
        if let Some(lpcrc) = case["lpcrc"].as_str() {
            assert_eq!(hex(&check.computed), lpcrc, "{id}");
            let built =
                FlowControlPacket::new(packet.op(), packet.vl(), packet.fctbs(), packet.fccl());
            assert_eq!(hex(built.as_bytes()), hex(&bytes), "{id}");
        }
    }
}

#[test]
fn unmasked_crcs_are_right() {
    for case in cases("crc") {
        let bytes = unhex(text(&case, "hex"));
        let icrc = crc::Icrc::new().update(&bytes).wire();
        assert_eq!(hex(&icrc), text(&case, "crc32_wire"), "{}", case["id"]);
        let vcrc = crc::vcrc(&bytes);
        assert_eq!(hex(&vcrc), text(&case, "crc16_wire"), "{}", case["id"]);
    }
}

#[test]
fn headers_payload_pad_and_crcs_together_are_the_packet() {
    for file in [
        "opcodes",
        "raw",
        "mad_packets",
        "roce",
        "third_party",
        "malformed",
    ] {
        for case in cases(file) {
            if case["kind"] == "link" {
                continue;
            }
            let bytes = unhex(text(&case, "hex"));
            let packet = Packet::parse_as(start(&case), bytes.as_slice());
            let mut parts: Vec<u8> = packet.headers().flat_map(|h| h.bytes.to_vec()).collect();
            parts.extend_from_slice(packet.payload());
            parts.extend_from_slice(packet.pad());
            assert!(bytes.starts_with(&parts), "{}", case["id"]);
            let crcs = packet.icrc().map_or(0, |_| 4) + packet.vcrc().map_or(0, |_| 2);
            if !packet.is_truncated() {
                let len = parts.len() + crcs + packet.trailer().len();
                assert_eq!(len, bytes.len(), "{}", case["id"]);
            }
            for header in packet.headers() {
                assert!(is_foreign(&header) || LAYOUTS.contains(&header.layout));
            }
        }
    }
}

#[test]
fn a_good_packet_built_again_is_the_same_bytes() {
    for file in [
        "opcodes",
        "raw",
        "mad_packets",
        "roce",
        "third_party",
        "malformed",
    ] {
        for case in cases(file) {
            if case["valid"] != true || case["kind"] == "link" {
                continue;
            }
            let bytes = unhex(text(&case, "hex"));
            let packet = Packet::parse_as(start(&case), bytes.as_slice());
            let builder = packet.to_builder().unwrap();
            assert_eq!(builder.packet_len(), bytes.len(), "{}", case["id"]);
            let mut buffer = vec![0xa5; bytes.len() + 3];
            assert_eq!(
                builder.build(&mut buffer),
                Ok(bytes.len()),
                "{}",
                case["id"]
            );
            assert_eq!(hex(&buffer[..bytes.len()]), hex(&bytes), "{}", case["id"]);
            assert_eq!(buffer[bytes.len()..], [0xa5; 3], "{}", case["id"]);
            for len in [0, 1, bytes.len() / 2, bytes.len() - 1] {
                let error = builder.build(&mut buffer[..len]).unwrap_err();
                assert!(
                    matches!(error, ib_wire::BuildError::NoRoom { .. }),
                    "{}",
                    case["id"]
                );
            }
        }
    }
}

#[test]
fn sealing_writes_every_length_and_crc_anew() {
    for file in ["opcodes", "raw", "mad_packets", "roce", "third_party"] {
        for case in cases(file) {
            if case["valid"] != true || case["kind"] == "link" {
                continue;
            }
            let bytes = unhex(text(&case, "hex"));
            let start = start(&case);
            let mut spoilt = bytes.clone();
            let crcs = match start {
                Start::Ib => {
                    spoilt[4] &= 0xf8;
                    spoilt[5] = 0;
                    if case["kind"] == "raw" { 2 } else { 6 }
                }
                _ => 4,
            };
            let covered = bytes.len() - crcs;
            spoilt[covered..].fill(0xa5);
            ib_wire::packet::seal(start, &mut spoilt).unwrap();
            // A checksum that was spoilt on the way is mended: compare what the ICRC covers.
            if start == Start::RoceV2Ipv4 {
                spoilt[10..12].copy_from_slice(&bytes[10..12]);
            }
            assert_eq!(hex(&spoilt), hex(&bytes), "{}", case["id"]);
        }
    }
}

#[test]
fn edited_headers_leave_right_crcs_and_change_nothing_else() {
    use ib_wire::{Grh, Lid, Psn, Qpn, Reth, Vl};
    for file in ["opcodes", "mad_packets", "roce", "third_party"] {
        for case in cases(file) {
            if case["valid"] != true {
                continue;
            }
            let bytes = unhex(text(&case, "hex"));
            let start = start(&case);
            let mut packet = Packet::parse_as(start, bytes.clone());
            packet
                .edit_bth(|bth| {
                    let (next, becn) = (bth.psn().add(0x1234), bth.becn());
                    bth.set_psn(next).set_becn(!becn);
                    bth.set_dest_qp(Qpn::try_new(0xabcdef).unwrap());
                })
                .unwrap();
            let changed = packet.bth().unwrap();
            assert_eq!(changed.dest_qp().bits(), 0xabcdef);
            assert_ne!(changed.psn(), Psn::new(0));
            let edited = packet.edit_extended::<Reth>(|reth| {
                let va = reth.va();
                reth.set_va(!va);
            });
            assert_eq!(edited.is_ok(), packet.reth().is_some());
            if packet.lrh().is_some() {
                packet
                    .edit_lrh(|lrh| {
                        let dlid = lrh.dlid().0;
                        lrh.set_dlid(Lid(!dlid)).set_vl(Vl::from_low_bits(9));
                    })
                    .unwrap();
                packet.switch_hop(Vl::from_low_bits(3)).unwrap();
            }
            if packet.grh().is_some_and(|grh| grh.hop_lmt() > 1) && packet.lrh().is_some() {
                let icrc = packet.icrc();
                packet
                    .router_hop(|lrh| {
                        lrh.set_slid(Lid(0x77));
                    })
                    .unwrap();
                assert_eq!(packet.icrc(), icrc, "a router leaves the ICRC as it is");
            }
            let _ = packet.edit_grh(|grh: &mut Grh| {
                grh.set_dgid("fe80::77".parse().unwrap());
            });
            let id = text(&case, "id");
            assert!(packet.icrc().unwrap().is_ok(), "{id}");
            assert!(packet.vcrc().is_none_or(|vcrc| vcrc.is_ok()), "{id}");
            assert_eq!(
                packet.payload(),
                Packet::parse_as(start, bytes).payload(),
                "{id}"
            );
        }
    }
}

#[test]
fn an_edit_never_mends_a_wrong_crc() {
    for case in cases("malformed") {
        let reason = case["reason"].as_str().unwrap_or_default();
        if !matches!(reason, "icrc_mismatch" | "vcrc_mismatch") {
            continue;
        }
        let mut packet = Packet::parse(unhex(text(&case, "hex")));
        let before = packet
            .validate()
            .iter()
            .map(|fault| fault.kind)
            .collect::<Vec<_>>();
        packet.switch_hop(ib_wire::Vl::from_low_bits(7)).unwrap();
        let after = packet
            .validate()
            .iter()
            .map(|fault| fault.kind)
            .collect::<Vec<_>>();
        assert_eq!(before, after, "{}", case["id"]);
    }
}

#[test]
fn an_acknowledgement_goes_back_the_way_the_request_came() {
    use ib_wire::{Acknowledge, NakCode, Qpn, Syndrome, Transport};
    let mut answered = 0;
    for file in ["opcodes", "roce"] {
        for case in cases(file) {
            if case["valid"] != true {
                continue;
            }
            let bytes = unhex(text(&case, "hex"));
            let request = Packet::parse_as(start(&case), bytes.as_slice());
            let op_code = request.bth().unwrap().op_code();
            let acknowledge = Acknowledge {
                dest_qp: Qpn::try_new(0x123).unwrap(),
                syndrome: Syndrome::nak(NakCode::REMOTE_ACCESS_ERROR),
                msn: 77,
            };
            let reliable = [Transport::RC, Transport::RD, Transport::XRC];
            let Some(builder) = acknowledge.answer(&request) else {
                let multicast = request.lrh().is_some_and(|lrh| lrh.dlid().is_multicast());
                let asks = reliable.contains(&op_code.transport()) && !op_code.is_response();
                assert!(multicast || !asks, "{}", case["id"]);
                continue;
            };
            let mut buffer = [0xa5; 200];
            let len = builder.build(&mut buffer).unwrap();
            let answer = Packet::parse_as(start(&case), &buffer[..len]);
            if answer.grh().is_none_or(|grh| grh.ip_ver() == 6) {
                assert_eq!(answer.validate().error(), None, "{}", case["id"]);
            }
            assert_eq!(answer.aeth().map(|aeth| aeth.msn()), Some(77));
            assert_eq!(answer.bth().unwrap().psn(), request.bth().unwrap().psn());
            let ends = request.lrh().map(|lrh| (lrh.dlid(), lrh.slid()));
            assert_eq!(answer.lrh().map(|lrh| (lrh.slid(), lrh.dlid())), ends);
            let ends = request.grh().map(|grh| (grh.dgid(), grh.sgid()));
            assert_eq!(answer.grh().map(|grh| (grh.sgid(), grh.dgid())), ends);
            assert!(answer.grh().is_none_or(|grh| grh.hop_lmt() == 64));
            assert!(
                answer
                    .ipv4()
                    .is_none_or(|ip| ip.ttl() == 64 && ip.ecn() != 3)
            );
            let class = answer
                .ipv6()
                .map(|ip| (ip.hop_limit(), ip.traffic_class() & 3));
            assert!(class.is_none_or(|(hops, ecn)| hops == 64 && ecn != 3));
            assert!(answer.udp().is_none_or(|udp| udp.checksum() == 0));
            answered += 1;
        }
    }
    assert!(answered > 200, "{answered}");
}
