//! The diagnostics beside infiniband-diags on every fabric, each on an ibsim and under an OpenSM of its own.
//!
//! The subnet is read once, into a snapshot, from which `ib` answers; what depends on the port that a program sits on is
//! read live. ibnetdiscover is compared in `discover`, every attribute and record in `query`.

use std::{
    collections::BTreeSet,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use ib_routing::format::{ibnetdiscover, lfts};
use ib_testkit::{data::fabric_file as fabric, process};
use ib_wire::PortNum;
use serde_json::Value;

use crate::{
    diag, links,
    peers::{fabrics, ib, printed, printed_by_peer},
    query::{NODE_INFO, PORT_INFO},
    subnet::{PATIENCE, Subnet, line},
};

/// Two tests share the fabrics, so that two processors do.
#[test]
fn the_tools_agree_on_every_second_fabric() {
    compare_each(fabrics().iter().step_by(2));
}

#[test]
fn the_tools_agree_on_the_other_fabrics() {
    compare_each(fabrics().iter().skip(1).step_by(2));
}

fn compare_each<'a>(files: impl Iterator<Item = &'a std::path::PathBuf>) {
    for file in files {
        let taken = Taken::of(file);
        taken.tables();
        taken.traces();
        taken.links();
        taken.own_ports();
        taken.counters();
        taken.errors();
        taken.attributes();
        taken.records();
    }
}

/// ibdiagnet 1.5.7 ends by a signal on ibsim and on our server, before it has found a node: there is nothing to compare.
#[test]
fn ibdiagnet_crashes_on_both_simulators() {
    let file = fabric("gen-ring-5");
    let subnet = Subnet::up_file(&file);
    let on_ibsim = process::output(&mut subnet.ibsim.client("ibdiagnet", &subnet.node));
    let on_ibsim = on_ibsim.expect("ibdiagnet is installed");
    let text = String::from_utf8_lossy(&on_ibsim.stdout);
    assert!(!on_ibsim.status.success(), "it works, compare it: {text}");
    assert!(text.contains("0 nodes"), "{text}");
    let file = file.to_str().expect("the path is text");
    let (status, text, _) = crate::simulated::simulated(&["--fabric", file], "ibdiagnet -o .");
    assert_ne!(status, Some(0), "it works, compare it: {text}");
}

/// A subnet under OpenSM, with a snapshot of it.
struct Taken {
    subnet: Subnet,
    /// The snapshot file.
    path: String,
    /// Name of the fabric, for messages.
    name: String,
    nodes: Vec<Value>,
    /// Output of ibqueryerrors.
    errors: String,
}

/// Makes ports of the first and the last switch count errors. Returns what ibqueryerrors says of them.
fn count_errors(subnet: &mut Subnet, file: &Path) -> String {
    let topology = std::fs::read_to_string(file).expect("the file is text");
    let topology = ibnetdiscover::read(&topology).expect("a fabric").fabric;
    let switches = topology
        .nodes()
        .iter()
        .filter(|node| node.type_.is_switch());
    let names: Vec<&str> = switches.map(|node| node.name.as_str()).collect();
    let host = topology.first_host().expect("every fabric has a host");
    let host_name = topology.node(host.node).name.as_str();
    let switches = [names.first(), names.last()];
    let [first, last] = switches.map(|name| *name.expect("every fabric has a switch"));
    for (node, port, counter) in [
        (host_name, host.port, "PortRcvErrors=9"),
        (host_name, host.port, "VL15Dropped=3"),
        (first, PortNum(1), "SymbolErrorCounter=1200"),
        (first, PortNum(1), "PortXmitDiscards=1"),
        // Packets that waited are no errors here, and errors for ibqueryerrors.
        (first, PortNum(1), "PortXmitWait=70000"),
        (last, PortNum(1), "LinkDownedCounter=25"),
    ] {
        let line = format!("PerformanceSet \"{node}\"[{port}] PortCounters.{counter}");
        subnet.ibsim.console(&line).expect("it reads its console");
    }
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        // Status 1 says that there are errors.
        let mut command = subnet.ibsim.client("ibqueryerrors", &subnet.node);
        let output = process::output(command.arg("--report-port"));
        let output = output.expect("ibqueryerrors is installed");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if text.contains("LinkDownedCounter == 25") || Instant::now() > patience {
            return text;
        }
    }
}

/// The hops of a path of ours, each as ibtracert prints it.
fn hops_as_ibtracert(path: &Value) -> Vec<String> {
    let hops = path["hops"].as_array().expect("hops");
    let entered = hops.iter().zip(hops.iter().skip(1));
    let lines = entered.map(|(before, hop)| {
        let lid = hop["lid"].as_u64().expect("a LID");
        let others = (1 << hop["lmc"].as_u64().expect("an LMC")) - 1;
        format!(
            "[{}] -> {} port {{{}}}[{}] lid {lid}-{} {}",
            before["output"],
            hop["type"].as_str().expect("a type"),
            hop["port_guid"].as_str().expect("a GUID"),
            hop["input"],
            lid + others,
            hop["name"],
        )
    });
    lines.collect()
}

impl Taken {
    fn of(file: &Path) -> Self {
        let mut subnet = Subnet::up_file(file);
        let errors = count_errors(&mut subnet, file);
        let path = subnet.ibsim.file("taken");
        let path = path.to_str().expect("the path is text").to_owned();
        let snapshot = ["snapshot", &path, "--timeout", PATIENCE];
        ib(&subnet.ibsim, &subnet.node, &snapshot);
        let mut taken = Self {
            subnet,
            path,
            name: file.display().to_string(),
            errors,
            nodes: Vec::new(),
        };
        let nodes = taken.json(&["nodes"]);
        taken.nodes = nodes["nodes"].as_array().expect("nodes").clone();
        taken
    }

    /// Output of a command that reads the snapshot.
    fn text(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ib"));
        printed(command.args(arguments).args(["--from", &self.path]))
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let text = self.text(&[arguments, &["--json"]].concat());
        serde_json::from_str(&text).expect("one JSON document")
    }

    fn of_type(&self, wanted: &str) -> Vec<&Value> {
        let nodes = self.nodes.iter();
        nodes.filter(|node| node["type"] == wanted).collect()
    }

    /// The LIDs of the nodes of a type; 0 where a node has none.
    fn lids(&self, wanted: &str) -> Vec<String> {
        let nodes = self.of_type(wanted).into_iter();
        let lids = nodes.map(|node| node["lid"].to_string());
        lids.filter(|lid| lid != "0").collect()
    }

    /// The forwarding tables of the first and the last switch beside ibroute.
    fn tables(&self) {
        let Self { subnet, name, .. } = self;
        let topology = ib(
            &subnet.ibsim,
            &subnet.node,
            &["discover", "--timeout", PATIENCE],
        );
        let topology = ibnetdiscover::read(&topology).expect("a fabric").fabric;
        let ours = self.text(&["tables"]);
        let ours = lfts::read(&ours, &topology).expect("tables");
        let switches = self.of_type("switch");
        let ends = switches.first().into_iter().chain(switches.last());
        for switch in ends {
            let lid = switch["lid"].to_string();
            let theirs = printed_by_peer(subnet.ibsim.client("ibroute", &subnet.node).arg(&lid));
            let theirs = lfts::read(&theirs, &topology).expect("tables");
            let guid = switch["node_guid"].as_str().expect("a GUID");
            let guid = guid.parse().expect("a GUID");
            let index = topology.switch_by_guid(guid).expect("it was found");
            let (ours, theirs) = (ours.routes.lft(index), theirs.routes.lft(index));
            let (shown, others) = ours.split_at(ours.len().min(theirs.len()));
            assert_eq!(shown, &*theirs, "{name} {lid}");
            // ibroute reads a block too few if LinearFDBTop is a multiple of 64, and so leaves that LID out: ours has it.
            let left_out: Vec<usize> = (theirs.len()..)
                .zip(others)
                .filter(|(_, port)| **port != PortNum::UNREACHABLE.0)
                .map(|(lid, _)| lid)
                .collect();
            let is_first_of_block = theirs.len() % 64 == 0 && left_out == [theirs.len()];
            assert!(
                left_out.is_empty() || is_first_of_block,
                "{name} {lid}: {left_out:?}"
            );
        }
    }

    /// Every hop between the first host and some others beside ibtracert: the ports, the GUID, the LIDs and the name. Either
    /// reads the same file of pairs.
    fn traces(&self) {
        let Self { subnet, name, .. } = self;
        let lids = self.lids("ca");
        let [from, others @ ..] = lids.as_slice() else {
            return;
        };
        let others = others.iter().step_by(others.len().div_ceil(8).max(1));
        let pairs: String = others.map(|to| format!("{from} {to}\n")).collect();
        let path = subnet.ibsim.file("pairs");
        std::fs::write(&path, &pairs).expect("there is room for a file");
        let path = path.to_str().expect("the path is text");
        let theirs = printed_by_peer(
            subnet
                .ibsim
                .client("ibtracert", &subnet.node)
                .args(["--ports-file", path]),
        );
        // "[1] -> switch port {0x00000000000000f4}[2] lid 3-3 "name"": the port before, then the node that is entered.
        let is_hop = |line: &&str| line.starts_with('[');
        let theirs = format!("\n{theirs}");
        let theirs: Vec<Vec<&str>> = theirs
            .split("\nFrom ")
            .skip(1)
            .map(|path| path.lines().filter(is_hop).collect())
            .collect();
        assert_eq!(theirs.len(), pairs.lines().count(), "{name}");
        let ours = self.json(&["trace", "--pairs", path]);
        let ours = ours["paths"].as_array().expect("paths");
        assert!(ours.iter().all(|path| path["arrived"] == true), "{name}");
        let ours: Vec<Vec<String>> = ours.iter().map(hops_as_ibtracert).collect();
        assert_eq!(ours, theirs, "{name}");
    }

    /// Every field of every port that iblinkinfo lists. iblinkinfo names a port of an adapter by the port's GUID.
    fn links(&self) {
        let Self { subnet, name, .. } = self;
        let theirs = printed_by_peer(
            subnet
                .ibsim
                .client("iblinkinfo", &subnet.node)
                .arg("--line"),
        );
        let theirs = links::of_iblinkinfo(&theirs);
        let ours = links::of_ours(&[self.json(&["links"]), self.json(&["links", "--down"])]);
        for (at, fields) in &ours {
            assert_eq!(theirs.get(at), Some(fields), "{name} {at:?}");
        }
        let more: Vec<_> = theirs.keys().filter(|at| !ours.contains_key(*at)).collect();
        assert!(more.is_empty(), "{name}: {more:?}");
    }

    /// The own ports beside ibstat.
    fn own_ports(&self) {
        let Self { subnet, name, .. } = self;
        let theirs = printed_by_peer(&mut subnet.ibsim.client("ibstat", &subnet.node));
        let ours = ib(
            &subnet.ibsim,
            &subnet.node,
            &["ports", "--json", "--timeout", PATIENCE],
        );
        let ours: Value = serde_json::from_str(&ours).expect("one JSON document");
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
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
            let ours = match key {
                "State" => text(&port["state"]),
                "Physical state" => text(&port["physical_state"]),
                "Base lid" => text(&port["lid"]),
                "LMC" => text(&port["lmc"]),
                "SM lid" => text(&port["sm_lid"]),
                "Port GUID" => text(&port["port_guid"]),
                "Capability mask" => {
                    let mask = port["capability_mask"].as_u64().expect("a mask");
                    format!("{mask:#010x}")
                }
                // The rate is what umad2sim writes into its files, 104 for 4x EDR: ours is from PortInfo.
                _ => continue,
            };
            // ibstat has its own words for the states before Active. OpenSM on the own node sets IsSM after umad2sim has
            // written the capabilities into its files, which ibstat reads: there ours, from PortInfo, is right.
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

    /// The error counters of port 1 of a switch beside perfquery.
    fn counters(&self) {
        let Self { subnet, name, .. } = self;
        let lids = self.lids("switch");
        let Some(lid) = lids.first() else { return };
        let theirs = printed_by_peer(
            subnet
                .ibsim
                .client("perfquery", &subnet.node)
                .args([lid, "1"]),
        );
        let ours = self.json(&["perf", &format!("{lid}:1")]);
        let counters = ours["ports"][0]["counters"].as_object().expect("counters");
        let mut compared = 0;
        for line in theirs.lines().filter(|line| line.contains(":.")) {
            let (counter, value) = line.split_once(':').expect("a colon");
            let plain = |text: &str| text.replace('_', "").to_lowercase();
            let ours = counters
                .iter()
                .find(|(known, _)| plain(known) == plain(counter));
            // The requests themselves are counted, so these values differ from one request to the next.
            let counts_traffic =
                counter.contains("Data") || counter.contains("Pkts") || counter.contains("Wait");
            if let Some((_, ours)) = ours.filter(|_| !counts_traffic) {
                let value = value.trim_start_matches('.');
                assert_eq!(ours.to_string(), value, "{name} {counter}");
                compared += 1;
            }
        }
        assert!(compared >= 10, "{name}: {theirs}");
    }

    /// Every line of ibqueryerrors beside ours: counter, value, port and other end. Both thresholds are 0.
    fn errors(&self) {
        let Self { name, errors, .. } = self;
        let theirs = diag::error_lines(errors);
        let counters: BTreeSet<&str> = theirs.iter().map(|line| line.2.as_str()).collect();
        assert!(counters.len() >= 5, "{name}: {errors}");
        let ours = diag::our_error_lines(&self.json(&["perf", "--errors"]));
        // A packet that waits is no fault, so ours lists the counter only if a file gives it a threshold.
        let with_wait = self.subnet.ibsim.file("thresholds");
        let limits = ib_diag::CounterReadings::names()
            .filter(|name| ib_diag::CounterReadings::counts_errors(name))
            .map(|name| format!("{name}=0\n"))
            .chain(["PortXmitWait=0\n".to_owned()]);
        std::fs::write(&with_wait, limits.collect::<String>()).expect("the file is written");
        let with_wait = with_wait.to_str().expect("the path is text");
        let all = self.json(&["perf", "--errors", "--thresholds", with_wait]);
        let all = diag::our_error_lines(&all);
        let difference: Vec<_> = all.symmetric_difference(&theirs).collect();
        assert!(difference.is_empty(), "{name}: {difference:?}");
        let mut without_wait = theirs;
        without_wait.retain(|line| line.2 != "portxmitwait");
        assert_eq!(ours, without_wait, "{name}");
    }

    /// NodeInfo and PortInfo beside smpquery and ibportstate.
    fn attributes(&self) {
        let Self { subnet, name, .. } = self;
        subnet.same(
            "smpquery -D nodeinfo 0,1",
            "nodeinfo --direct 0,1",
            &NODE_INFO,
        );
        let tool = "smpquery -K -D portinfo 0 1";
        subnet.same(tool, "portinfo 1 --direct 0", &PORT_INFO);
        // By LID it would ask the port at the other end by LID and directed route together, which ibsim does not take.
        let tool = "ibportstate -D 0,1 1 query";
        let text = subnet.tool(tool);
        // The blocks after it are the vendor's attribute and the port at the other end.
        let mut blocks = text.split("# ");
        let block = blocks.find(|block| block.starts_with("Port info:"));
        let block = block.unwrap_or_else(|| panic!("{name} {tool}: {text}"));
        let fields = block.lines().filter_map(line).count();
        assert!(fields >= 9, "{name}: {text}");
        subnet.same_text(block, tool, "portinfo 1 --direct 0,1", &PORT_INFO);
    }

    /// The manager and a path beside sminfo and saquery.
    fn records(&self) {
        let Self { subnet, name, .. } = self;
        let own = subnet.query("portinfo");
        let manager = own["master_sm_lid"].to_string();
        let text = subnet.tool("sminfo");
        assert!(
            text.contains(&format!("sm lid {manager} ")),
            "{name}: {text}"
        );
        let ours = subnet.query(&format!("sminfo --lid {manager}"));
        let guid = ours["guid"]
            .as_str()
            .expect("a GUID")
            .trim_start_matches("0x");
        let guid = format!("sm guid 0x{}", guid.trim_start_matches('0'));
        assert!(text.contains(&guid), "{name}: {text} {guid}");
        let state = format!("state {}", ours["sm_state"]);
        assert!(text.contains(&state), "{name}: {text} {state}");

        let lids = self.lids("ca");
        let (first, last) = (&lids[0], &lids[lids.len() - 1]);
        let path = subnet.query(&format!("sa PathRecord slid={first} dlid={last}"));
        let ours = ["slid", "dlid"].map(|key| path[key].to_string());
        assert_eq!(ours, [first.as_str(), last.as_str()], "{name}");
        // ibsim breaks an answer of several segments off, so one path is asked for. It hands an answer that comes late to the
        // next program in the slot, which saquery takes for its own: then it is asked again.
        let tool = format!("saquery PR --slid {first} --dlid {last}");
        let mut shown = (0..3).map(|_| {
            let text = subnet.tool(&tool);
            let fields = text.lines().filter_map(line);
            let ends = fields.filter(|(key, _)| matches!(*key, "slid" | "dlid"));
            let mut ends: Vec<(String, String)> = ends
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect();
            ends.sort();
            ends
        });
        let [slid, dlid] = ours;
        let ours = [("dlid".to_owned(), dlid), ("slid".to_owned(), slid)];
        assert!(shown.any(|theirs| theirs == ours), "{name}: {tool}");
    }
}
