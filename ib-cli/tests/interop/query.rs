//! Queries to a fabric that OpenSM manages: every line of smpquery, sminfo, ibroute, perfquery and saquery is compared
//! with `ib query`.

use std::fs;

use ib_testkit::process;
use serde_json::{Map, Value};

use crate::{
    peers::{ib, number, printed_by_peer},
    subnet::{Subnet, elements, line, rows},
};

pub(crate) const NODE_INFO: [(&str, &str); 7] = [
    ("BaseVers", "base_version"),
    ("ClassVers", "class_version"),
    ("SystemGuid", "system_image_guid"),
    ("Guid", "node_guid"),
    ("PartCap", "partition_cap"),
    ("DevId", "device_id"),
    ("LocalPort", "local_port_num"),
];

pub(crate) const PORT_INFO: [(&str, &str); 29] = [
    ("Mkey", "m_key"),
    ("SMLid", "master_sm_lid"),
    ("CapMask", "capability_mask"),
    ("LocalPort", "local_port_num"),
    ("LinkState", "port_state"),
    ("PhysLinkState", "port_physical_state"),
    ("LinkDownDefState", "link_down_default_state"),
    ("ProtectBits", "m_key_protect_bits"),
    ("SMSL", "master_sm_sl"),
    ("VLArbHighCap", "vl_arbitration_high_cap"),
    ("VLArbLowCap", "vl_arbitration_low_cap"),
    ("InitReply", "init_type_reply"),
    ("OperVLs", "operational_vls"),
    ("PartEnforceInb", "partition_enforcement_inbound"),
    ("PartEnforceOutb", "partition_enforcement_outbound"),
    ("FilterRawInb", "filter_raw_inbound"),
    ("FilterRawOutb", "filter_raw_outbound"),
    ("MkeyLeasePeriod", "m_key_lease_period"),
    ("MkeyViolations", "m_key_violations"),
    ("PkeyViolations", "p_key_violations"),
    ("QkeyViolations", "q_key_violations"),
    (
        "McastPkeyTrapSuppressionEnabled",
        "multicast_p_key_trap_suppression_enabled",
    ),
    ("RespTimeVal", "resp_time_value"),
    ("LocalPhysErr", "local_phy_errors"),
    ("OverrunErr", "overrun_errors"),
    ("RoundTrip", "link_round_trip_latency"),
    ("CapabilityMask2", "capability_mask2"),
    // Of the record around it.
    ("EndPortLid", "endport_lid"),
    ("Lid", "lid"),
];

pub(crate) const SWITCH_INFO: [(&str, &str); 14] = [
    ("McastFdbCap", "multicast_fdb_cap"),
    ("DefPort", "default_port"),
    ("DefMcastPrimPort", "default_multicast_primary_port"),
    ("DefMcastNotPrimPort", "default_multicast_not_primary_port"),
    ("LifeTime", "life_time_value"),
    ("StateChange", "port_state_change"),
    ("OptSLtoVLMapping", "optimized_sl_to_vl_mapping_programming"),
    ("PartEnforceCap", "partition_enforcement_cap"),
    ("InboundPartEnf", "inbound_enforcement_cap"),
    ("OutboundPartEnf", "outbound_enforcement_cap"),
    ("FilterRawInbound", "filter_raw_inbound_cap"),
    ("FilterRawOutbound", "filter_raw_outbound_cap"),
    (
        "LifeTimeValue/PortStateChange/OpSL2VL",
        "life_time_value:5 port_state_change:1 optimized_sl_to_vl_mapping_programming:2",
    ),
    (
        "flags",
        "inbound_enforcement_cap:1 outbound_enforcement_cap:1 filter_raw_inbound_cap:1 \
         filter_raw_outbound_cap:1 enhanced_port0:1 reserved1:3",
    ),
];

#[test]
fn nodes_say_what_smpquery_and_sminfo_say() {
    let subnet = Subnet::up("seed-dualstar");
    for (theirs, ours) in [
        ("-D {} 0", "--direct 0"),
        ("-D {} 0,1", "--direct 0,1"),
        ("{} 2", "--lid 2"),
    ] {
        let tool = |attribute: &str| format!("smpquery {}", theirs.replace("{}", attribute));
        let query = |attribute: &str| format!("{attribute} {ours}");
        subnet.same(&tool("nodeinfo"), &query("nodeinfo"), &NODE_INFO);
        let description = [("Node Description", "node_string")];
        subnet.same(&tool("nodedesc"), &query("nodedesc"), &description);
    }
    for port in 0..=9 {
        let tool = format!("smpquery -K -D portinfo 0,1 {port}");
        subnet.same(&tool, &format!("portinfo {port} --direct 0,1"), &PORT_INFO);
    }
    subnet.same("smpquery -K portinfo 2", "portinfo --lid 2", &PORT_INFO);
    subnet.same(
        "smpquery -D switchinfo 0,1",
        "switchinfo --direct 0,1",
        &SWITCH_INFO,
    );
    subnet.same(
        "smpquery -D mepi 0,1 2",
        "mlnxextportinfo 2 --direct 0,1",
        &[],
    );

    // "sminfo: sm lid 1 sm guid 0x1002, activity count 379 priority 0 state 3 SMINFO_MASTER"
    let text = subnet.tool("sminfo 1");
    let ours = subnet.query("sminfo --lid 1");
    let word = |name: &str| {
        let (_, rest) = text.split_once(name).expect("the word is there");
        let word = rest.split([' ', ',']).next().expect("a value");
        number(word).expect("a number")
    };
    assert_eq!(
        Some(word("sm guid ")),
        ours["guid"].as_str().and_then(number)
    );
    assert_eq!(Some(word("priority ")), ours["priority"].as_u64());
    assert_eq!(Some(word(" state ")), ours["sm_state"].as_u64());
    assert!(
        ours["act_count"].as_u64() >= Some(word("activity count ")),
        "it only grows"
    );
}

#[test]
fn tables_are_those_that_smpquery_and_ibroute_print() {
    let subnet = Subnet::up("seed-dualstar");
    subnet.join();

    let guids = |text: &str| rows(text, |line| line.contains(": 0x"), ':');
    let of_guids = |block: u32| {
        let block = subnet.query(&format!("guidinfo {block} --lid 1"));
        elements(&block, "guid_block", "")
    };
    let all: Vec<u64> = (0..4).flat_map(of_guids).collect();
    subnet.same_numbers("smpquery GI 1", guids, &all);

    for (tool, ours) in [
        ("smpquery pkeys 2", "--lid 2"),
        ("smpquery -D pkeys 0", "--direct 0"),
    ] {
        let block = |block: u32| {
            let block = subnet.query(&format!("pkeys {block} {ours}"));
            elements(&block, "p_key_block", "")
        };
        let all: Vec<u64> = (0..2).flat_map(block).collect();
        subnet.same_numbers(tool, guids, &all);
    }

    for out in 0..=9_u64 {
        let of = |port: u64| {
            let modifier = port << 8 | out;
            let table = subnet.query(&format!("sl2vl {modifier} --direct 0,1"));
            elements(&table, "sl_to_vl", "")
        };
        let all: Vec<u64> = (0..=9).flat_map(of).collect();
        let vls = |text: &str| rows(text, |line| line.starts_with("ports: in"), ':');
        subnet.same_numbers(&format!("smpquery -D sl2vl 0,1 {out}"), vls, &all);
    }

    for port in 1..=9 {
        // This switch has eight entries in each table: part 1 of the low one, part 3 of the high one.
        let part = |part: u32, field: &str| {
            let table = subnet.query(&format!("vlarb {} --direct 0,1", part << 16 | port));
            let mut elements = elements(&table, "vl_weight_block", field);
            elements.truncate(8);
            elements
        };
        let all = [
            part(1, "vl"),
            part(1, "weight"),
            part(3, "vl"),
            part(3, "weight"),
        ]
        .concat();
        let entries = |text: &str| {
            rows(
                text,
                |line| line.starts_with("VL") || line.starts_with("WEIGHT"),
                ':',
            )
        };
        subnet.same_numbers(&format!("smpquery -D vlarb 0,1 {port}"), entries, &all);
    }

    // "0x0002 001 : (Channel Adapter portguid 0x...: 'name')"
    let routes = |text: &str| -> Vec<u64> {
        let lines = text.lines().filter(|line| line.contains("portguid"));
        lines
            .filter_map(|line| line.split_whitespace().nth(1)?.parse().ok())
            .collect()
    };
    let ports = elements(&subnet.query("lft --direct 0,1"), "port_block", "");
    subnet.same_numbers("ibroute -D 0,1", routes, &ports[1..=12]);

    // A line of crosses a group, below the numbers of the ports: "0xc000   x   x".
    let text = subnet.tool("ibroute -M -D 0,1");
    let ports = text
        .lines()
        .find(|line| line.contains("Ports:"))
        .expect("a head");
    let groups: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("0xc"))
        .collect();
    let masks = elements(&subnet.query("mft --direct 0,1"), "port_mask_block", "");
    assert!(
        !groups.is_empty(),
        "the members are on different sides:\n{text}"
    );
    for (group, mask) in groups.iter().zip(&masks) {
        let crosses = group.match_indices('x').skip(1);
        let port = |(at, _)| {
            ports
                .get(at..)?
                .trim()
                .split(' ')
                .next()?
                .parse::<u32>()
                .ok()
        };
        let theirs: u64 = crosses.filter_map(port).map(|port| 1 << port).sum();
        assert_eq!(theirs, *mask, "{group}");
    }
    assert!(masks[groups.len()..].iter().all(|mask| *mask == 0));
}

#[test]
fn counters_are_those_that_perfquery_prints() {
    let subnet = Subnet::up("seed-dualstar");
    // The counters that ibsim answers for a port that no request passes, because requests would be counted.
    for (option, attribute, renamed) in [
        ("", "PortCounters", &[][..]),
        ("-x", "PortCountersExtended", &[]),
        (
            "-D",
            "PortXmitDiscardDetails",
            &[(
                "PortSwHOQLifetimeLimitDiscards",
                "port_sw_hoq_limit_discards",
            )],
        ),
        (
            "-E",
            "PortRcvErrorDetails",
            &[("PortMalformedPktErrors", "port_malformed_packet_errors")],
        ),
        ("--oprcvcounters", "PortOpRcvCounters", &[]),
        ("--flowctlcounters", "PortFlowCtlCounters", &[]),
        ("--vloppackets", "PortVLOpPackets", &[]),
        ("--vlopdata", "PortVLOpData", &[]),
        (
            "--vlxmitflowctlerrors",
            "PortVLXmitFlowCtlUpdateErrors",
            &[],
        ),
        ("--vlxmitcounters", "PortVLXmitWaitCounters", &[]),
    ] {
        let ours = format!("perf --counters {attribute} --lid 9 4");
        subnet.same(&format!("perfquery {option} 9 4"), &ours, renamed);
    }
    // Without an address it is the own port.
    assert_eq!(subnet.query("perf")["port_select"], 1);
}

#[test]
fn records_are_those_that_saquery_prints() {
    let subnet = Subnet::up("seed-dualstar");
    subnet.join();

    let node_record = [
        ("sys_guid", "system_image_guid"),
        ("port_num", "local_port_num"),
        ("NodeDescription", "node_string"),
        ("reserved", "reserved1"),
    ];
    for lid in [1, 2, 8] {
        subnet.same(
            &format!("saquery NR {lid}"),
            &format!("sa NodeRecord lid={lid}"),
            &node_record,
        );
    }
    let port = "sa PortInfoRecord endport_lid=2 port_num=1";
    subnet.same("saquery PIR 2/1", port, &PORT_INFO);
    subnet.same("saquery SWIR 8", "sa SwitchInfoRecord lid=8", &SWITCH_INFO);
    subnet.same(
        "saquery LR 8/2",
        "sa LinkRecord from_lid=8 from_port=2",
        &[],
    );
    let sm_info = [("ActCount", "act_count"), ("SMState", "sm_state")];
    subnet.same("saquery SMIR 1", "sa SMInfoRecord lid=1", &sm_info);
    subnet.same(
        "saquery GIR 2/0",
        "sa GUIDInfoRecord lid=2 block_num=0",
        &[
            ("Block", "block_num"),
            ("GUID 0", "guid_block0"),
            ("GUID 1", "guid_block1"),
            ("GUID 2", "guid_block2"),
            ("GUID 3", "guid_block3"),
            ("GUID 4", "guid_block4"),
            ("GUID 5", "guid_block5"),
            ("GUID 6", "guid_block6"),
            ("GUID 7", "guid_block7"),
        ],
    );
    let path = [
        (
            "hop_flow_raw",
            "raw_traffic:1 reserved1:3 flow_label:20 hop_limit:8",
        ),
        ("num_path_revers", "reversible:1 numb_path:7"),
        ("mtu", "mtu_selector:2 mtu:6"),
        ("rate", "rate_selector:2 rate:6"),
        ("pkt_life", "packet_life_time_selector:2 packet_life_time:6"),
        ("resv2", "reserved2"),
    ];
    subnet.same(
        "saquery PR --slid 1 --dlid 2",
        "sa PathRecord slid=1 dlid=2",
        &path,
    );
    let group = [
        ("mtu", "mtu_selector:2 mtu:6"),
        ("rate", "rate_selector:2 rate:6"),
        ("pkt_life", "packet_life_time_selector:2 packet_life_time:6"),
    ];
    let broadcast = "sa MCMemberRecord mgid=ff12:401b:ffff::ffff:ffff";
    subnet.same(
        "saquery MCMR --mgid ff12:401b:ffff::ffff:ffff",
        broadcast,
        &group,
    );
    let class = [
        ("Capability mask 2", "capability_mask2"),
        ("Response time value", "resp_time_value"),
        (
            "Redirect TC/SL/FL",
            "redirect_tc:8 redirect_sl:4 redirect_fl:20",
        ),
        ("Redirect PKey", "redirect_p_key"),
        ("Redirect QKey", "redirect_q_key"),
        ("Trap TC/SL/FL", "trap_tc:8 trap_sl:4 trap_fl:20"),
        ("Trap PKey", "trap_p_key"),
        ("Trap HL/QP", "trap_hl:8 trap_qp:24"),
        ("Trap QKey", "trap_q_key"),
    ];
    subnet.same("saquery CPI", "sa ClassPortInfo", &class);

    let vls = |text: &str| rows(text, |line| line.starts_with("VL:"), ':');
    let table =
        subnet.query("sa SLtoVLMappingTableRecord lid=8 input_port_num=1 output_port_num=2");
    subnet.same_numbers(
        "saquery SL2VL 8/1/2",
        vls,
        &elements(&inner(&table, "sl_to_vl_mapping_table"), "sl_to_vl", ""),
    );
    let keys = |text: &str| rows(text, |line| line.starts_with("0x"), ':');
    let table = subnet.query("sa P_KeyTableRecord lid=2 port_num=1 block_num=0 --sm-key 1");
    subnet.same_numbers(
        "saquery --smkey 1 PKTR 2/1/0",
        keys,
        &elements(&inner(&table, "p_key_table"), "p_key_block", ""),
    );
    let routes = |text: &str| -> Vec<u64> {
        let lines = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        lines
            .filter_map(|words| match words[..] {
                [lid, port] => lid.parse::<u16>().ok().and(port.parse().ok()),
                _ => None,
            })
            .collect()
    };
    let table = subnet.query("sa LinearForwardingTableRecord lid=8 block_num=0");
    subnet.same_numbers(
        "saquery LFTR 8/0",
        routes,
        &elements(&inner(&table, "linear_forwarding_table"), "port_block", ""),
    );
    let entries = |text: &str| {
        rows(
            text,
            |line| line.starts_with("VL ") || line.starts_with("Weight:"),
            ':',
        )
    };
    let table = inner(
        &subnet.query("sa VLArbitrationTableRecord lid=8 output_port_num=2 block_num=1"),
        "vl_arbitration_table",
    );
    let (vls, weights) = (
        elements(&table, "vl_weight_block", "vl"),
        elements(&table, "vl_weight_block", "weight"),
    );
    let all = [&vls[..16], &weights[..16], &vls[16..], &weights[16..]].concat();
    subnet.same_numbers("saquery VLAR 8/2/1", entries, &all);
}

/// The structure in a record.
fn inner(record: &Map<String, Value>, name: &str) -> Map<String, Value> {
    record[name].as_object().expect("a structure").clone()
}

/// Links of each width and speed, an adapter with two ports in use and one with a port free, an enhanced port 0, a router, names
/// with odd characters. What ibnetdiscover prints of such a fabric is compared as well.
const MIXED: &str = include_str!("mixed.net");

#[test]
fn ports_of_every_kind_say_what_smpquery_says() {
    let file = std::env::temp_dir().join(format!("ib-query-{}-mixed.net", std::process::id()));
    fs::write(&file, MIXED).expect("a directory to write to");
    let subnet = Subnet::up_file(&file);
    fs::remove_file(&file).expect("it is ours");
    // From the first port of the adapter with two: itself, the odd switch, the plain one, the router, the other adapter.
    for (route, ports) in [
        ("0", 0..=2),
        ("0,1", 0..=8),
        ("0,1,3", 0..=12),
        ("0,1,5", 0..=2),
        ("0,1,3,12", 0..=2),
    ] {
        subnet.same(
            &format!("smpquery -D nodeinfo {route}"),
            &format!("nodeinfo --direct {route}"),
            &NODE_INFO,
        );
        subnet.same(
            &format!("smpquery -D nodedesc {route}"),
            &format!("nodedesc --direct {route}"),
            &[("Node Description", "node_string")],
        );
        for port in ports {
            subnet.same(
                &format!("smpquery -K -D portinfo {route} {port}"),
                &format!("portinfo {port} --direct {route}"),
                &PORT_INFO,
            );
        }
    }
    for route in ["0,1", "0,1,3"] {
        subnet.same(
            &format!("smpquery -D switchinfo {route}"),
            &format!("switchinfo --direct {route}"),
            &SWITCH_INFO,
        );
        for port in [1, 3, 8] {
            subnet.same(
                &format!("smpquery -D mepi {route} {port}"),
                &format!("mlnxextportinfo {port} --direct {route}"),
                &[],
            );
        }
    }
    // The same by the LIDs that the manager gave out.
    for (route, port) in [
        ("0", 1),
        ("0,1", 0),
        ("0,1,3", 0),
        ("0,1,5", 1),
        ("0,1,3,12", 1),
    ] {
        let lid = &subnet.query(&format!("portinfo {port} --direct {route}"))["lid"];
        subnet.same(
            &format!("smpquery nodeinfo {lid}"),
            &format!("nodeinfo --lid {lid}"),
            &NODE_INFO,
        );
        subnet.same(
            &format!("smpquery -K portinfo {lid} {port}"),
            &format!("portinfo {port} --lid {lid}"),
            &PORT_INFO,
        );
    }
    let theirs = printed_by_peer(&mut subnet.ibsim.client("ibnetdiscover", &subnet.node));
    let ours = ib(&subnet.ibsim, &subnet.node, &["discover"]);
    let topology = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(topology(&ours), topology(&theirs));
}

/// If smpquery finds no answer, `ib query` finds none either: both end with a status other than 0 and print no field.
#[test]
fn ports_are_in_the_state_that_ibportstate_prints() {
    let subnet = Subnet::up("seed-dualstar");
    for (theirs, ours) in [
        ("2 1", "portinfo 1 --lid 2"),
        ("-D 0,1 1", "portinfo 1 --direct 0,1"),
        ("-D 0,1 2", "portinfo 2 --direct 0,1"),
        ("-D 0 1", "portinfo 1 --direct 0"),
    ] {
        let tool = format!("ibportstate {theirs} query");
        let text = subnet.tool(&tool);
        // The blocks after it are the vendor's attribute and the port at the other end.
        let mut blocks = text.split("# ");
        let block = blocks.find(|block| block.starts_with("Port info:"));
        let block = block.unwrap_or_else(|| panic!("{tool}: {text}"));
        assert!(block.lines().filter_map(line).count() >= 9, "{text}");
        subnet.same_text(block, &tool, ours, &PORT_INFO);
    }
}

#[test]
fn what_smpquery_cannot_read_ib_query_cannot_read_either() {
    let subnet = Subnet::up("seed-dualstar");
    for (tool, ours) in [
        ("nodeinfo 40", "nodeinfo --lid 40"),
        ("-D nodeinfo 0,1,8", "nodeinfo --direct 0,1,8"),
        ("-D nodeinfo 0,1,200", "nodeinfo --direct 0,1,200"),
        ("-D portinfo 0,1 10", "portinfo 10 --direct 0,1"),
        ("-D portinfo 0,1 200", "portinfo 200 --direct 0,1"),
        ("-D switchinfo 0", "switchinfo --direct 0"),
    ] {
        let words = tool.split(' ');
        let mut theirs = subnet.ibsim.client("smpquery", &subnet.node);
        let theirs = process::output(theirs.args(words)).expect("the program is installed");
        let mut query = std::process::Command::new(env!("CARGO_BIN_EXE_ib"));
        query.arg("query").args(ours.split(' '));
        query.args(["--node", &subnet.node, "--device"]);
        query.arg(format!("sim:{}", subnet.ibsim.name()));
        let ours = process::output(&mut query).expect("the program was built");
        let theirs_fails = !theirs.status.success();
        assert_eq!(
            !ours.status.success(),
            theirs_fails,
            "{tool}: {}{}",
            String::from_utf8_lossy(&theirs.stdout),
            String::from_utf8_lossy(&ours.stderr)
        );
        assert_eq!(ours.stdout.is_empty(), theirs_fails, "{tool}");
    }
}
