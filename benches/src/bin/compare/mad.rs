//! Management datagrams: PortInfo decoded beside libibmad's field table and OpenSM's C structures,
//! whole datagrams printed beside tshark.

use std::{hint::black_box, time::Duration};

use ib_mad::{AttributeId, MadHeader, Method, MgmtClass, TransactionId};
use ib_smp::PortInfo;
use ib_transport::capture::{CaptureWriter, LinkType};
use ib_wire::{Bth, Deth, Lid, Lrh, OpCode, PacketBuilder, QKey, Qpn, table::FieldValue};

use crate::{
    dissect::{CASES, Dissection},
    mad_peer::{Decoder, Peer},
    measure::{SHORT_REPETITIONS, Sample, by_turns, figures_by_turns, timed},
    row::Row,
};

const LIBIBMAD: &str = "libibmad mad_decode_field";
const STRUCTS: &str = "OpenSM ib_types.h";
const INSTALL: &str = "apt-get install gcc libibmad-dev libopensm-dev";

/// Different attributes, so that nothing is decoded twice in a row.
const COUNT: usize = 64;

/// Measures every case.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = portinfo();
    rows.extend(decode_mads());
    rows
}

/// All fields of PortInfo into a structure in the host's order.
fn portinfo() -> Vec<Row> {
    let attributes: Vec<[u8; 64]> = (0..COUNT)
        .map(|seed| std::array::from_fn(|at| (at * 31 + seed * 17) as u8))
        .collect();
    let views: Vec<&PortInfo> = attributes
        .iter()
        .filter_map(|bytes| Some(PortInfo::parse(bytes, 0).ok()?.0))
        .collect();
    let ours = || {
        for view in black_box(&views) {
            black_box(&HostPortInfo::decode(view));
        }
    };
    let cases = [
        ("portinfo-decode", LIBIBMAD, Decoder::Fields),
        ("portinfo-decode-struct", STRUCTS, Decoder::Structs),
    ];
    let mut peer = match Peer::start(&attributes) {
        Ok(peer) => peer,
        Err(why) => {
            eprintln!("the peers cannot be built: {why}");
            let (alone, _) = by_turns(ours, || ());
            let alone = per_attribute(alone);
            let row = |case| Row::without_peer("mad", case, INSTALL, "ns", Some(&alone));
            return cases.map(|(case, ..)| row(case)).into();
        }
    };
    // Both read the same values from the same bytes.
    let sums: Vec<u64> = views
        .iter()
        .map(|view| HostPortInfo::decode(view).sum())
        .collect();
    assert_eq!(sums, peer.sums(), "OpenSM's structures read other values");
    let mut row = |(case, name, decoder)| {
        let theirs = || peer.repetition(decoder);
        let (ours, peer) = figures_by_turns(SHORT_REPETITIONS, timed(ours), theirs);
        Row::times("mad", case, name, "ns", &per_attribute(ours), &peer)
    };
    cases.map(&mut row).into()
}

fn per_attribute(sample: Sample) -> Sample {
    sample.per(COUNT as u32)
}

/// Declares the host's structure: each field of PortInfo in the host's order, but for the reserved
/// ones and those that OpenSM's structures lack.
macro_rules! host_port_info {
    ($($field:ident: $type:ident),* $(,)?) => {
        struct HostPortInfo {
            $($field: $type,)*
        }

        impl HostPortInfo {
            #[inline(always)]
            fn decode(view: &PortInfo) -> Self {
                Self {
                    $($field: view.$field().to_bits() as $type,)*
                }
            }

            /// The sum of all values, each times its place, to compare readings by.
            fn sum(&self) -> u64 {
                let values = [$(u64::from(self.$field)),*];
                let weighed = values.iter().zip(1u64..);
                weighed.fold(0, |sum, (value, place)| sum.wrapping_add(value.wrapping_mul(place)))
            }
        }
    };
}

host_port_info! {
    m_key: u64, gid_prefix: u64, lid: u16, master_sm_lid: u16, capability_mask: u32, diag_code: u16,
    m_key_lease_period: u16, local_port_num: u8, link_width_enabled: u8, link_width_supported: u8,
    link_width_active: u8, link_speed_supported: u8, port_state: u8, port_physical_state: u8,
    link_down_default_state: u8, m_key_protect_bits: u8, lmc: u8, link_speed_active: u8,
    link_speed_enabled: u8, neighbor_mtu: u8, master_sm_sl: u8, vl_cap: u8, init_type: u8,
    vl_high_limit: u8, vl_arbitration_high_cap: u8, vl_arbitration_low_cap: u8,
    init_type_reply: u8, mtu_cap: u8, vl_stall_count: u8, hoq_life: u8, operational_vls: u8,
    partition_enforcement_inbound: u8, partition_enforcement_outbound: u8, filter_raw_inbound: u8,
    filter_raw_outbound: u8, m_key_violations: u16, p_key_violations: u16, q_key_violations: u16,
    guid_cap: u8, client_reregister: u8, multicast_p_key_trap_suppression_enabled: u8,
    subnet_timeout: u8, resp_time_value: u8, local_phy_errors: u8, overrun_errors: u8,
    max_credit_hint: u16, link_round_trip_latency: u32, capability_mask2: u16,
    link_speed_ext_active: u8, link_speed_ext_supported: u8, link_speed_ext_enabled: u8,
}

/// Datagrams to printed fields, a datagram: `ib decode` reads them as text, tshark in packets.
fn decode_mads() -> Vec<Row> {
    let Some((input, capture)) = datagrams() else {
        let install = "memory for a capture";
        return vec![Row::without_peer("mad", "decode-mads", install, "ns", None)];
    };
    let dissection = Dissection {
        subject: "mad",
        case: "decode-mads",
        ours: &["decode", "mad", "-"],
        fields: (
            "method,transaction_id,attribute_id",
            &[
                "infiniband.mad.method",
                "infiniband.mad.transactionid",
                "infiniband.mad.attributeid",
            ],
        ),
        input,
        capture,
    };
    dissection.rows()
}

/// Requests of four classes: a line of digits each, and a capture of packets with the same.
fn datagrams() -> Option<(Vec<u8>, Vec<u8>)> {
    const KINDS: [(MgmtClass, u16); 8] = [
        (MgmtClass::SUBN_DIRECTED, 0x11),
        (MgmtClass::SUBN_DIRECTED, 0x15),
        (MgmtClass::SUBN_LID, 0x12),
        (MgmtClass::SUBN_LID, 0x19),
        (MgmtClass::SUBN_ADM, 0x35),
        (MgmtClass::SUBN_ADM, 0x11),
        (MgmtClass::PERF, 0x12),
        (MgmtClass::PERF, 0x1d),
    ];
    let mut text = Vec::new();
    let mut capture = CaptureWriter::pcap(Vec::new(), LinkType::ERF).ok()?;
    let mut frame = [0; 290];
    for index in 0..CASES {
        let (class, attribute) = KINDS[index as usize % KINDS.len()];
        let mut mad: [u8; 256] = std::array::from_fn(|at| (at as u32 * 31 + index * 17) as u8);
        let (header, _) = MadHeader::parse_mut(&mut mad, 0).ok()?;
        header
            .set_base_version(1)
            .set_mgmt_class(class)
            .set_class_version(if class == MgmtClass::SUBN_ADM { 2 } else { 1 })
            .set_method(Method::GET)
            .set_transaction_id(TransactionId(index.into()))
            .set_attribute_id(AttributeId(attribute));
        let is_smp = matches!(class, MgmtClass::SUBN_DIRECTED | MgmtClass::SUBN_LID);
        let qp = if is_smp { Qpn::SMI } else { Qpn::GSI };
        let (mut lrh, mut bth, mut deth) = (Lrh::default(), Bth::default(), Deth::default());
        lrh.set_dlid(Lid(1)).set_slid(Lid(2));
        bth.set_op_code(OpCode::UD_SEND_ONLY).set_dest_qp(qp);
        deth.set_src_qp(qp).set_q_key(QKey(0x8001_0000));
        let mut builder = PacketBuilder::local(lrh, bth);
        let len = builder.with(&deth).payload(&mad).build(&mut frame).ok()?;
        let time = Duration::from_micros(index.into());
        capture.write(time, &frame[..len]).ok()?;
        for byte in mad {
            text.extend([byte >> 4, byte & 15].map(|nibble| b"0123456789abcdef"[nibble as usize]));
        }
        text.push(b'\n');
    }
    Some((text, capture.into_inner()))
}
