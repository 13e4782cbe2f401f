//! The tables of the code against the tables of the specification, both ways.

use ib_wire::{
    Bth, Deth, LAYOUTS, OPERATIONS, OpCode, PayloadRule, Position,
    properties::{layout_disagreements, structs_of},
    table::Layout,
};

use ib_testkit::spec::{HEADERS, OPCODES, code_points_agree, enumerated, rows};

/// Structures of `headers.csv` that are management datagrams: ib-mad's, ib-smp's and ib-sa's.
const MANAGEMENT: [&str; 21] = [
    "MADHeader",
    "GMP",
    "SMPLidRouted",
    "SMPDirected",
    "RMPPHeader",
    "RMPPData",
    "RMPPAck",
    "RMPPStop",
    "RMPPAbort",
    "SAHeader",
    "SAMad",
    "VendorRange2Header",
    "VendorRange2Mad",
    "VendorRange1Mad",
    "PerformanceMad",
    "DeviceMgmtMad",
    "CongestionControlMad",
    "BaseboardMgmtMad",
    "CommunicationMgmtMad",
    "SNMPMad",
    "VendorMad",
];

/// Structures that other standards define.
const FOREIGN: [&str; 8] = [
    "Ethernet",
    "VLAN",
    "IPv4",
    "IPv4OptionWord",
    "IPv6",
    "IPoIBAddress",
    "IPoIBARP",
    "IPoIBMGID",
];

#[test]
fn layouts_agree_with_the_table_of_headers() {
    let ours: Vec<&Layout> = LAYOUTS
        .iter()
        .copied()
        .filter(|layout| !FOREIGN.contains(&layout.name))
        .collect();
    assert_eq!(layout_disagreements(HEADERS, &ours), [""; 0]);
}

#[test]
fn every_structure_of_a_packet_has_its_layout() {
    for name in structs_of(HEADERS) {
        let ours = LAYOUTS.iter().any(|layout| layout.name == name);
        assert!(ours != MANAGEMENT.contains(&name), "{name}");
    }
}

#[test]
fn fields_of_every_layout_cover_it_without_gap() {
    for layout in LAYOUTS {
        let mut next = 0;
        for field in layout.fields {
            assert_eq!(field.bit_offset, next, "{}.{}", layout.name, field.name);
            next += field.bits;
        }
        assert_eq!(next, layout.len * 8, "{}", layout.name);
    }
}

#[test]
fn every_kind_of_disagreement_is_found() {
    let csv = HEADERS
        .replace("BTH,psn,72,24,psn", "BTH,psn,72,24,bytes")
        .replace("BTH,ack_req,64,1", "BTH,ack,63,2")
        .replace("DETH,src_qp,40,24,qpn,\n", "");
    assert_eq!(
        layout_disagreements(&csv, &[Bth::LAYOUT, Deth::LAYOUT]),
        [
            "BTH.ack: the layout has `ack_req` here",
            "BTH.ack: 2 bits at 63, the layout has 1 at 64",
            "BTH.psn: kind bytes, the layout has Uint",
            "DETH.src_qp: the table has no such row",
            "DETH: 40 bits, the layout has 8 bytes",
        ]
    );
}

#[test]
fn operations_agree_with_the_table_of_opcodes() {
    let rows: Vec<Vec<&str>> = rows(OPCODES).collect();
    assert_eq!(rows.len(), OPERATIONS.len());
    for (row, operation) in rows.iter().zip(OPERATIONS) {
        let &[
            value,
            name,
            transport,
            headers,
            payload,
            immediate,
            position,
        ] = row.as_slice()
        else {
            panic!("not a row: {row:?}");
        };
        let code = u8::from_str_radix(value.trim_start_matches("0x"), 16).unwrap();
        assert_eq!(operation.op_code, OpCode(code), "{name}");
        assert_eq!(operation.op_code.name(), Some(name));
        assert_eq!(operation.op_code.operation(), Some(operation), "{name}");
        assert_eq!(
            operation.op_code.transport().name(),
            Some(transport),
            "{name}"
        );
        let stack: Vec<&str> = operation.headers.iter().map(|e| e.layout().name).collect();
        assert_eq!(
            stack,
            headers.split_whitespace().collect::<Vec<_>>(),
            "{name}"
        );
        let payload_of = match operation.payload {
            PayloadRule::None => "no",
            PayloadRule::PathMtu => "pmtu",
            PayloadRule::UpToPathMtu => "1..pmtu",
            PayloadRule::EmptyToPathMtu => "0..pmtu",
        };
        assert_eq!(payload_of, payload, "{name}");
        let position_of = match operation.position {
            Position::First => "first",
            Position::Middle => "middle",
            Position::Last => "last",
            Position::Only => "only",
        };
        assert_eq!(position_of, position, "{name}");
        assert_eq!(operation.has_immediate(), immediate == "yes", "{name}");
        let answers = name.contains("Response") || name.contains("Acknowledge");
        assert_eq!(operation.op_code.is_response(), answers, "{name}");
    }
}

#[test]
fn code_points_agree_with_the_table_of_enums() {
    code_points_agree!(
        "LNH": ib_wire::Lnh,
        "GRH_NXT_HDR": ib_wire::GrhNxtHdr,
        "FCP_OP": ib_wire::FcpOp,
        "TRANSPORT": ib_wire::Transport,
        "AETH_SYNDROME_CLASS": ib_wire::AethSyndromeClass,
        "NAK_CODE": ib_wire::NakCode,
        "MULTICAST_SCOPE": ib_wire::MulticastScope,
        "PKEY_MEMBERSHIP": ib_wire::PKeyMembership,
        "MTU": ib_wire::Mtu,
        "RATE": ib_wire::Rate,
    );
}

#[test]
fn times_and_credits_of_syndromes_agree_with_the_table_of_enums() {
    for (code, name) in enumerated("RNR_TIMER") {
        let timer = ib_wire::RnrTimer::from_low_bits(code as u8);
        assert_eq!(format!("{} us", timer.micros()), name);
        assert_eq!(ib_wire::RnrTimer::at_least(timer.duration()), timer);
    }
    for (code, name) in enumerated("AETH_CREDIT_COUNT") {
        let credits = ib_wire::CreditCount::from_low_bits(code as u8);
        match credits.messages() {
            Some(messages) => {
                assert_eq!(format!("{messages} credits"), name);
                assert_eq!(ib_wire::CreditCount::at_most(messages.into()), credits);
            }
            None => assert_eq!(name, "invalid"),
        }
    }
}

#[test]
fn well_known_values_agree_with_the_table_of_enums() {
    use ib_wire::{EtherType, Lid, PKey, QKey, Qpn, ROCE_V2_PORT};
    let value = |table: &str, name: &str| {
        let rows = enumerated(table);
        rows.iter().find(|(_, row)| *row == name).unwrap().0
    };
    for (lid, name) in [
        (Lid::NONE, "Reserved"),
        (Lid::UNICAST_MIN, "FirstUnicast"),
        (Lid::UNICAST_MAX, "LastUnicast"),
        (Lid::MULTICAST_MIN, "FirstMulticast"),
        (Lid::MULTICAST_MAX, "LastMulticast"),
        (Lid::PERMISSIVE, "Permissive"),
    ] {
        assert_eq!(u64::from(lid.0), value("WELL_KNOWN_LID", name));
    }
    for (qpn, name) in [
        (Qpn::SMI, "SMI"),
        (Qpn::GSI, "GSI"),
        (Qpn::MULTICAST, "Multicast"),
    ] {
        assert_eq!(u64::from(qpn.bits()), value("WELL_KNOWN_QP", name));
    }
    for (key, name) in [
        (PKey::DEFAULT_FULL, "DefaultFull"),
        (PKey::DEFAULT_LIMITED, "DefaultLimited"),
    ] {
        assert_eq!(u64::from(key.0), value("WELL_KNOWN_PKEY", name));
    }
    assert_eq!(u64::from(QKey::GSI.0), value("WELL_KNOWN_QKEY", "QP1"));
    let ether_type = value("ROCE_NUMBER", "RoCEv1EtherType");
    assert_eq!(u64::from(EtherType::ROCE_V1.0), ether_type);
    assert_eq!(
        u64::from(ROCE_V2_PORT),
        value("ROCE_NUMBER", "RoCEv2UdpPort")
    );
}
