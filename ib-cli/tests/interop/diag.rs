//! The diagnostics beside infiniband-diags, on ibsim with a subnet that `ib sm` has brought up.

use std::{
    collections::BTreeSet,
    io::Write as _,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ib_routing::format::{ibnetdiscover, lfts};
use ib_testkit::{
    data::fabric_file as fabric,
    ibsim::{Ibsim, client, is_listening, unique_name},
};
use serde_json::Value;

use crate::peers::{first_ca, ib, printed, printed_by_peer};

const FABRICS: [&str; 6] = [
    "seed-dualstar",
    "gen-karyn-4-2",
    "gen-torus-5x5",
    "gen-dragonfly-4-2-2",
    "gen-ft-48-broken10",
    "real-sdr-2007-6",
];

/// A fabric that is up, and the node that the programs sit on.
fn brought_up(file: &Path) -> (Ibsim, String) {
    let ibsim = Ibsim::start(file).unwrap();
    let node = first_ca(file);
    ib(&ibsim, &node, &["sm", "--once"]);
    (ibsim, node)
}

fn json(ibsim: &Ibsim, node: &str, arguments: &[&str]) -> Value {
    let mut all = arguments.to_vec();
    all.push("--json");
    serde_json::from_str(&ib(ibsim, node, &all)).expect("one JSON document")
}

#[test]
fn tables_hold_what_ibroute_reads() {
    for name in FABRICS {
        let file = fabric(name);
        let (ibsim, node) = brought_up(&file);
        let nodes = json(&ibsim, &node, &["nodes", "--switches"]);
        let topology = ib(&ibsim, &node, &["discover"]);
        let topology = ibnetdiscover::read(&topology).unwrap().fabric;
        let ours = ib(&ibsim, &node, &["tables"]);
        let ours = lfts::read(&ours, &topology).unwrap();
        for switch in nodes["nodes"].as_array().unwrap() {
            let lid = switch["lid"].to_string();
            let theirs = printed_by_peer(ibsim.client("ibroute", &node).arg(&lid));
            let theirs = lfts::read(&theirs, &topology).unwrap();
            let guid = switch["node_guid"].as_str().unwrap().parse().unwrap();
            let index = topology.switch_by_guid(guid).unwrap();
            let (ours, theirs) = (ours.routes.lft(index), theirs.routes.lft(index));
            assert_eq!(ours, theirs, "{name} {lid}");
        }
    }
}

#[test]
fn a_trace_passes_the_switches_that_ibtracert_passes() {
    for name in FABRICS {
        let file = fabric(name);
        let (ibsim, node) = brought_up(&file);
        let nodes = json(&ibsim, &node, &["nodes", "--cas"]);
        let lids: Vec<String> = nodes["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["lid"].to_string())
            .filter(|lid| lid != "0")
            .collect();
        let from = &lids[0];
        for to in lids.iter().skip(1).step_by(5) {
            let theirs = printed_by_peer(ibsim.client("ibtracert", &node).args([from, to]));
            // "[1] -> switch port {0x00000000000000f4}[2] lid 3-3 ...": the GUID of each node that is entered.
            let theirs: Vec<&str> = theirs
                .lines()
                .filter(|line| line.starts_with('['))
                .filter_map(|line| line.split(['{', '}']).nth(1))
                .collect();
            let ours = json(&ibsim, &node, &["trace", from, to]);
            assert_eq!(ours["arrived"], true, "{name} {from} {to}");
            let hops = ours["hops"].as_array().unwrap();
            assert_eq!(
                hops.len() - 1,
                theirs.len(),
                "{name} {from} {to}: {theirs:?}"
            );
            for (hop, theirs) in hops.iter().skip(1).zip(theirs) {
                // A switch has the GUID of its port 0; a packet enters an adapter by a port that has a GUID of its own.
                if hop["type"] == "switch" {
                    assert_eq!(hop["node_guid"], *theirs, "{name} {from} {to}");
                }
            }
        }
    }
}

#[test]
fn perf_has_the_error_counters_that_perfquery_reads() {
    let file = fabric("seed-dualstar");
    let (ibsim, node) = brought_up(&file);
    let nodes = json(&ibsim, &node, &["nodes", "--switches"]);
    let lid = nodes["nodes"][0]["lid"].to_string();
    let theirs = printed_by_peer(ibsim.client("perfquery", &node).args([&lid, "1"]));
    let ours = json(&ibsim, &node, &["perf", &format!("{lid}:1")]);
    let counters = ours["ports"][0]["counters"].as_object().unwrap();
    let mut compared = 0;
    for line in theirs.lines().filter(|line| line.contains(":.")) {
        let (name, value) = line.split_once(':').unwrap();
        let plain = |text: &str| text.replace('_', "").to_lowercase();
        let ours = counters
            .iter()
            .find(|(known, _)| plain(known) == plain(name));
        // The requests themselves are counted, so these values differ from one request to the next.
        let counts_traffic =
            name.contains("Data") || name.contains("Pkts") || name.contains("Wait");
        if let Some((_, ours)) = ours.filter(|_| !counts_traffic) {
            assert_eq!(ours.to_string(), value.trim_start_matches('.'), "{name}");
            compared += 1;
        }
    }
    assert!(compared >= 10, "{theirs}");
}

#[test]
fn links_are_those_of_iblinkinfo() {
    for name in FABRICS {
        let file = fabric(name);
        let (ibsim, node) = brought_up(&file);
        let theirs = printed_by_peer(ibsim.client("iblinkinfo", &node).arg("--line"));
        let nodes = json(&ibsim, &node, &["nodes", "--switches"]);
        let switches: Vec<&str> = nodes["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["node_guid"].as_str().unwrap())
            .collect();
        // A line for each port: `0xGUID "name" LID PORT[ ] ==( 4X 2.5 Gbps Active/ LinkUp)==> ... (Could be 12X ..)`.
        let mut ends: Vec<(String, String, bool)> = theirs
            .lines()
            .filter(|line| line.contains("LinkUp"))
            .filter_map(|line| {
                let mut parts = line.split('"');
                let guid = parts.next()?.trim();
                let port = parts.nth(1)?.split('[').next()?.split_whitespace().nth(1)?;
                let is_switch = switches.contains(&guid);
                is_switch.then(|| (guid.to_owned(), port.to_owned(), line.contains("12X")))
            })
            .collect();
        ends.sort();
        let ours = json(&ibsim, &node, &["links"]);
        let mut links = Vec::new();
        for link in ours["links"].as_array().unwrap() {
            let could = link["could"]
                .as_str()
                .is_some_and(|could| could.starts_with("12x"));
            for end in [&link["a"], &link["b"]] {
                if end["type"] == "switch" {
                    let guid = end["node_guid"].as_str().unwrap().to_owned();
                    links.push((guid, end["port"].to_string(), could));
                }
            }
        }
        links.sort();
        assert_eq!(links, ends, "{name}");
    }
}

#[test]
fn own_ports_are_those_of_ibstat() {
    for name in FABRICS {
        let file = fabric(name);
        let (ibsim, node) = brought_up(&file);
        let theirs = printed_by_peer(&mut ibsim.client("ibstat", &node));
        let ours = json(&ibsim, &node, &["ports"]);
        let (mut of_node, mut of_port) = (Vec::new(), None);
        let mut compared = 0;
        for line in theirs.lines().map(str::trim) {
            if let Some(number) = line
                .strip_prefix("Port ")
                .filter(|rest| rest.ends_with(':'))
            {
                let number: u64 = number.trim_end_matches(':').parse().expect("a number");
                let mut all = ours["ports"].as_array().expect("ports").iter();
                of_port = all.find(|port| port["port"] == number);
                assert!(of_port.is_some(), "{name}: {theirs}\n{ours}");
                continue;
            }
            let Some((key, value)) = line.split_once(": ") else {
                continue;
            };
            let Some(port) = of_port else {
                of_node.push((key, value));
                continue;
            };
            let text = |value: &Value| match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let ours = match key {
                "State" => text(&port["state"]),
                "Physical state" => text(&port["physical_state"]),
                "Base lid" => text(&port["lid"]),
                "LMC" => text(&port["lmc"]),
                "SM lid" => text(&port["sm_lid"]),
                "Port GUID" => text(&port["port_guid"]),
                "Capability mask" => {
                    format!(
                        "{:#010x}",
                        port["capability_mask"].as_u64().expect("a mask")
                    )
                }
                // The rate is what umad2sim writes into its files, 104 for 4x EDR: ours is from PortInfo.
                _ => continue,
            };
            // ibstat has its own words for the states before Active.
            let same = match key {
                "State" => value.get(..3) == ours.get(..3),
                _ => value == ours,
            };
            assert!(same, "{name} {key}: {value}, ours {ours}");
            compared += 1;
            for (key, value) in &of_node {
                match *key {
                    "Node GUID" => assert_eq!(*value, text(&port["node_guid"]), "{name}"),
                    "System image GUID" => {
                        assert_eq!(*value, text(&port["system_image_guid"]), "{name}");
                    }
                    _ => {}
                }
            }
        }
        assert!(compared >= 7, "{name}: {theirs}");
    }
}

/// A program that ends with its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// ibsim has no console for tests, so the counters are set on our server.
#[test]
fn errors_are_those_of_ibqueryerrors() {
    let file = fabric("gen-karyn-4-2");
    let node = first_ca(&file);
    let name = unique_name();
    let mut server = Command::new(env!("CARGO_BIN_EXE_ib"));
    server
        .args(["sim", "--socket", &name, "--fabric"])
        .arg(&file);
    let server = server.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut server = Running(server.spawn().expect("the program was built"));
    let patience = Instant::now() + Duration::from_secs(60);
    while !is_listening(&name) {
        assert!(Instant::now() < patience, "the simulator does not come up");
        thread::sleep(Duration::from_millis(20));
    }
    let ib = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ib"));
        command.args(arguments).args(["--node", &node, "--device"]);
        command.arg(format!("sim:{name}")).stdin(Stdio::null());
        command
    };
    // ibqueryerrors asks the administrator for a path, so the manager runs on.
    let manager = ib(&["sm"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let _manager = Running(manager.expect("the program was built"));
    let topology = std::fs::read_to_string(&file).expect("the file is text");
    let topology = ibnetdiscover::read(&topology).expect("a fabric").fabric;
    let switches = topology
        .nodes()
        .iter()
        .filter(|node| node.type_.is_switch());
    let guids: Vec<String> = switches.take(3).map(|node| node.guid.to_string()).collect();
    let console = server.0.stdin.as_mut().expect("it was piped");
    let mut set = BTreeSet::new();
    for (guid, port, counter, ours, value) in [
        (
            &guids[0],
            1,
            "SymbolErrorCounter",
            "symbol_error_counter",
            1200,
        ),
        (&guids[0], 2, "PortXmitDiscards", "port_xmit_discards", 170),
        (&guids[1], 1, "LinkDownedCounter", "link_downed_counter", 25),
        (&guids[2], 2, "VL15Dropped", "vl15_dropped", 300),
        (&guids[2], 2, "PortRcvErrors", "port_rcv_errors", 44),
    ] {
        let id = guid.trim_start_matches("0x");
        writeln!(
            console,
            "PerformanceSet \"S-{id}\"[{port}] PortCounters.{counter}={value}"
        )
        .expect("it reads its console");
        let number = |guid: &str| u64::from_str_radix(guid.trim_start_matches("0x"), 16).ok();
        set.insert((
            number(guid),
            u64::from(port as u8),
            ours.replace('_', ""),
            value,
        ));
    }
    // The manager has to come up, and the console's lines have to arrive.
    let theirs = loop {
        let mut command = client("ibqueryerrors", &name, &node, &std::env::temp_dir());
        let output = command.output().expect("ibqueryerrors is installed");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if text.contains("PortRcvErrors") {
            break text;
        }
        assert!(Instant::now() < patience, "{text}");
        thread::sleep(Duration::from_millis(100));
    };
    // "   GUID 0x20000000000000 port 1: [SymbolErrorCounter == 1200] ..."; port ALL is the sum of a switch.
    let mut errors = BTreeSet::new();
    for line in theirs
        .lines()
        .filter(|line| line.trim().starts_with("GUID"))
    {
        let words: Vec<&str> = line.split_whitespace().collect();
        let guid = u64::from_str_radix(words[1].trim_start_matches("0x"), 16).ok();
        let Ok(port) = words[3].trim_end_matches(':').parse::<u64>() else {
            continue;
        };
        for counter in line.split('[').skip(1) {
            let words: Vec<&str> = counter.split([' ', ']']).collect();
            let value = words[2].parse().expect("a number");
            errors.insert((guid, port, words[0].to_lowercase(), value));
        }
    }
    assert_eq!(errors, set, "{theirs}");
    let ours = printed(&mut ib(&["perf", "--errors", "--json"]));
    let ours: Value = serde_json::from_str(&ours).expect("one JSON document");
    let mut found = BTreeSet::new();
    for port in ours["ports"].as_array().expect("ports") {
        let guid = port["node_guid"].as_str().expect("a GUID");
        let guid = u64::from_str_radix(guid.trim_start_matches("0x"), 16).ok();
        for (counter, value) in port["counters"].as_object().expect("counters") {
            let known: BTreeSet<&str> = errors.iter().map(|(.., name, _)| name.as_str()).collect();
            let plain = counter.replace('_', "");
            let value = value.as_u64().expect("a number");
            if value > 0 && known.contains(plain.as_str()) {
                let port = port["port"].as_u64().expect("a number");
                found.insert((guid, port, plain, value));
            }
        }
    }
    assert_eq!(found, errors);
}
