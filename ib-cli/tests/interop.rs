//! `ib` beside infiniband-diags on the same simulated fabric: what the tools print is what we print.
#![cfg(feature = "interop")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::Duration,
};

use ib_transport::{
    capture::{CaptureWriter, LinkType},
    interop::{Ibsim, fabric, unique_name},
};
use serde_json::Value;

fn fabrics() -> Vec<PathBuf> {
    let directory = fabric("x")
        .parent()
        .expect("a file is in a directory")
        .to_owned();
    let entries = fs::read_dir(directory).expect("the fabrics are there");
    let files = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "net"))
        .collect();
    files.sort();
    files
}

/// The id of the first CA of a fabric file: where the programs sit.
fn first_ca(file: &Path) -> String {
    let text = fs::read_to_string(file).expect("the file is text");
    let line = text
        .lines()
        .find(|line| line.starts_with("Ca") || line.starts_with("Hca"));
    line.and_then(|line| line.split('"').nth(1))
        .expect("the fabric has a CA")
        .to_owned()
}

fn printed(command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("the program is installed");
    assert!(
        status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&stderr)
    );
    String::from_utf8(stdout).expect("it prints text")
}

/// `ib` over the simulator's socket.
fn ib(ibsim: &Ibsim, node: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ib"));
    command
        .args(arguments)
        .arg("--device")
        .arg(format!("sim:{}", ibsim.name()));
    printed(command.args(["--node", node]))
}

/// All but the comments that name the program and the time.
fn topology(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('#')).collect()
}

#[test]
fn discover_prints_what_ibnetdiscover_prints() {
    for file in fabrics() {
        let ibsim = Ibsim::start(&file).unwrap();
        let node = first_ca(&file);
        let theirs = printed(&mut ibsim.client("ibnetdiscover", &node));
        let ours = ib(&ibsim, &node, &["discover"]);
        assert_eq!(topology(&ours), topology(&theirs), "{}", file.display());
    }
}

#[test]
fn discover_works_under_the_preloaded_library() {
    let file = fabric("real-edr-102");
    let ibsim = Ibsim::start(&file).unwrap();
    let node = first_ca(&file);
    let theirs = printed(&mut ibsim.client("ibnetdiscover", &node));
    let ours = printed(
        ibsim
            .client(env!("CARGO_BIN_EXE_ib"), &node)
            .arg("discover"),
    );
    assert_eq!(topology(&ours), topology(&theirs));
}

/// `Lid:.............................4` as (`Lid`, `4`).
fn dotted(text: &str) -> Vec<(String, String)> {
    let line = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((
            name.trim().to_owned(),
            value.trim_start_matches('.').trim().to_owned(),
        ))
    };
    text.lines().filter_map(line).collect()
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Compares the fields that both name, by the tool's word and ours; every pair must be there.
fn assert_fields(tool: &str, ours: &str, pairs: &[(&str, &str)]) {
    let theirs = dotted(tool);
    let document: Value = serde_json::from_str(ours).expect("one JSON document");
    let fields = &document[0]["fields"];
    for (their_name, our_name) in pairs {
        let (_, theirs) = theirs
            .iter()
            .find(|(name, _)| name == their_name)
            .unwrap_or_else(|| panic!("no {their_name} in:\n{tool}"));
        let ours = match &fields[*our_name] {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => number(text),
            other => panic!("{our_name} is {other}"),
        };
        assert_eq!(
            ours,
            number(theirs),
            "{our_name} and {their_name}: {theirs}"
        );
    }
}

#[test]
fn query_reads_what_smpquery_and_perfquery_read() {
    let file = fabric("seed-dualstar");
    let ibsim = Ibsim::start(&file).unwrap();
    let node = first_ca(&file);
    let up = ib(&ibsim, &node, &["sm", "--once", "--json"]);
    let up: Value = serde_json::from_str(&up).expect("one JSON document");
    assert_eq!(up["ports"]["not_active"], 0);

    let tool =
        |arguments: &[&str]| printed(ibsim.client(arguments[0], &node).args(&arguments[1..]));
    let query = |arguments: &[&str]| ib(&ibsim, &node, &[&["query", "--json"], arguments].concat());
    assert_fields(
        &tool(&["smpquery", "-D", "nodeinfo", "0,1"]),
        &query(&["nodeinfo", "--direct", "0,1"]),
        &[
            ("BaseVers", "base_version"),
            ("ClassVers", "class_version"),
            ("NumPorts", "num_ports"),
            ("SystemGuid", "system_image_guid"),
            ("Guid", "node_guid"),
            ("PortGuid", "port_guid"),
            ("PartCap", "partition_cap"),
            ("DevId", "device_id"),
            ("Revision", "revision"),
            ("LocalPort", "local_port_num"),
            ("VendorId", "vendor_id"),
        ],
    );
    assert_fields(
        &tool(&["smpquery", "-D", "switchinfo", "0,1"]),
        &query(&["switchinfo", "--direct", "0,1"]),
        &[
            ("LinearFdbCap", "linear_fdb_cap"),
            ("RandomFdbCap", "random_fdb_cap"),
            ("McastFdbCap", "multicast_fdb_cap"),
            ("LinearFdbTop", "linear_fdb_top"),
            ("DefPort", "default_port"),
            ("LifeTime", "life_time_value"),
            ("StateChange", "port_state_change"),
            ("PartEnforceCap", "partition_enforcement_cap"),
            ("EnhancedPort0", "enhanced_port0"),
        ],
    );
    for port in ["1", "5"] {
        assert_fields(
            &tool(&["smpquery", "-D", "portinfo", "0,1", port]),
            &query(&["portinfo", "--direct", "0,1", port]),
            &[
                ("GidPrefix", "gid_prefix"),
                ("Lid", "lid"),
                ("SMLid", "master_sm_lid"),
                ("CapMask", "capability_mask"),
                ("DiagCode", "diag_code"),
                ("LocalPort", "local_port_num"),
                ("LMC", "lmc"),
                ("VLHighLimit", "vl_high_limit"),
                ("MkeyViolations", "m_key_violations"),
                ("PkeyViolations", "p_key_violations"),
                ("QkeyViolations", "q_key_violations"),
                ("GuidCap", "guid_cap"),
                ("MaxCreditHint", "max_credit_hint"),
            ],
        );
    }
    assert_fields(
        &tool(&["perfquery", "2", "1"]),
        &query(&["perf", "--lid", "2", "1"]),
        &[
            ("PortSelect", "port_select"),
            ("CounterSelect", "counter_select"),
            ("SymbolErrorCounter", "symbol_error_counter"),
            ("LinkDownedCounter", "link_downed_counter"),
            ("PortRcvErrors", "port_rcv_errors"),
            ("PortXmitDiscards", "port_xmit_discards"),
            ("VL15Dropped", "vl15_dropped"),
        ],
    );
}

/// The fields that tshark reads too: structure and field by the specification's names, and tshark's.
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
    let vectors = concat!(env!("CARGO_MANIFEST_DIR"), "/../ib-wire/testdata/vectors/");
    let cases: Vec<Value> = ["opcodes.jsonl", "mad_packets.jsonl"]
        .iter()
        .flat_map(|name| {
            let text =
                fs::read_to_string(format!("{vectors}{name}")).expect("the vectors are there");
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
            // tshark reads no headers behind opcodes that it does not know.
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
