//! Packets that `ib` writes, read by tshark.

use std::{fs, process::Command, time::Duration};

use ib_testkit::ibsim::unique_name;
use ib_transport::capture::{CaptureWriter, LinkType};
use serde_json::Value;

use crate::peers::{number, printed};

/// The fields that tshark also reads: structure and field by the specification's names, and tshark's name.
const FIELDS: [(&str, &str, &str); 35] = [
    ("LRH", "vl", "lrh.vl"),
    ("LRH", "lver", "lrh.lver"),
    ("LRH", "sl", "lrh.sl"),
    ("LRH", "lnh", "lrh.lnh"),
    ("LRH", "dlid", "lrh.dlid"),
    ("LRH", "pkt_len", "lrh.pktlen"),
    ("LRH", "slid", "lrh.slid"),
    ("GRH", "ip_ver", "grh.ipver"),
    ("GRH", "t_class", "grh.tclass"),
    ("GRH", "flow_label", "grh.flowlabel"),
    ("GRH", "pay_len", "grh.paylen"),
    ("GRH", "nxt_hdr", "grh.nxthdr"),
    ("GRH", "hop_lmt", "grh.hoplmt"),
    ("GRH", "sgid", "grh.sgid"),
    ("GRH", "dgid", "grh.dgid"),
    ("BTH", "op_code", "bth.opcode"),
    ("BTH", "se", "bth.se"),
    ("BTH", "mig_req", "bth.m"),
    ("BTH", "pad_cnt", "bth.padcnt"),
    ("BTH", "t_ver", "bth.tver"),
    ("BTH", "p_key", "bth.p_key"),
    ("BTH", "dest_qp", "bth.destqp"),
    ("BTH", "ack_req", "bth.a"),
    ("BTH", "psn", "bth.psn"),
    ("DETH", "q_key", "deth.q_key"),
    ("DETH", "src_qp", "deth.srcqp"),
    ("RETH", "va", "reth.va"),
    ("RETH", "r_key", "reth.r_key"),
    ("RETH", "dma_len", "reth.dmalen"),
    ("AtomicETH", "swap_dt", "atomiceth.swapdt"),
    ("AtomicETH", "cmp_dt", "atomiceth.cmpdt"),
    ("AETH", "msn", "aeth.msn"),
    ("AtomicAckETH", "orig_rem_dt", "atomicacketh.origremdt"),
    ("ICRC", "icrc", "invariant.crc"),
    ("VCRC", "vcrc", "variant.crc"),
];

/// A number, a truth value, or a GID, as one number.
fn value(text: &str) -> Option<u128> {
    match text {
        "True" => Some(1),
        "False" => Some(0),
        _ if text.contains(':') => text.parse::<std::net::Ipv6Addr>().ok().map(u128::from),
        _ => number(text).map(u128::from),
    }
}

#[test]
fn tshark_reads_every_field_of_the_packets_that_we_write() {
    let cases: Vec<Value> = ["opcodes", "mad_packets"]
        .iter()
        .flat_map(|name| {
            let text = ib_testkit::data::vectors_text(name);
            text.lines()
                .map(|line| serde_json::from_str(line).expect("JSON"))
                .collect::<Vec<Value>>()
        })
        .collect();
    let mut writer = CaptureWriter::pcapng(Vec::new(), LinkType::ERF).unwrap();
    for case in &cases {
        let hex = case["hex"].as_str().expect("hex");
        let bytes: Vec<u8> = (0..hex.len() / 2)
            .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hex"))
            .collect();
        writer.write(Duration::from_secs(1), &bytes).unwrap();
    }
    let file = std::env::temp_dir().join(format!("{}.pcapng", unique_name()));
    fs::write(&file, writer.into_inner()).unwrap();
    let mut tshark = Command::new("tshark");
    tshark
        .arg("-r")
        .arg(&file)
        .args(["-T", "fields", "-E", "separator=;", "-E", "occurrence=f"]);
    for (_, _, field) in FIELDS {
        tshark.args(["-e", &format!("infiniband.{field}")]);
    }
    let lines = printed(&mut tshark);
    fs::remove_file(&file).unwrap();
    assert_eq!(lines.lines().count(), cases.len());

    let mut compared = 0;
    for (case, line) in cases.iter().zip(lines.lines()) {
        let headers = case["headers"].as_array().expect("headers");
        let is_rd = headers.iter().any(|header| header["name"] == "RDETH");
        for ((structure, field, theirs), read) in FIELDS.iter().zip(line.split(';')) {
            let expected = match *structure {
                "ICRC" | "VCRC" => {
                    let text = case[*field].as_str().expect("both CRCs");
                    Some(format!("0x{text}"))
                }
                _ => headers
                    .iter()
                    .find(|header| header["name"] == *structure)
                    .map(|header| match &header["fields"][*field] {
                        Value::String(text) => text.clone(),
                        other => other.to_string(),
                    }),
            };
            // tshark 4.0 reads an RDETH, and what follows it, at the wrong bytes.
            if is_rd && !["LRH", "GRH", "BTH"].contains(structure) {
                continue;
            }
            // tshark reads no headers after opcodes that it does not support.
            let (Some(expected), false) = (expected, read.is_empty()) else {
                continue;
            };
            compared += 1;
            assert_eq!(
                value(read),
                value(&expected),
                "{} {theirs}: {read}",
                case["id"]
            );
        }
    }
    assert!(
        compared > 20 * cases.len(),
        "{compared} values of {} packets",
        cases.len()
    );
}
