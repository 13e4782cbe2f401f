//! The diagnostics beside infiniband-diags, on ibsim with a subnet that `ib sm` has brought up.

use std::path::Path;

use ib_routing::format::{ibnetdiscover, lfts};
use ib_testkit::{data::fabric_file as fabric, ibsim::Ibsim};
use serde_json::Value;

use crate::peers::{first_ca, ib, printed};

const FABRICS: [&str; 4] = [
    "seed-dualstar",
    "gen-karyn-4-2",
    "gen-torus-5x5",
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
            let theirs = printed(ibsim.client("ibroute", &node).arg(&lid));
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
            let theirs = printed(ibsim.client("ibtracert", &node).args([from, to]));
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
    let theirs = printed(ibsim.client("perfquery", &node).args([&lid, "1"]));
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
        let theirs = printed(ibsim.client("iblinkinfo", &node).arg("--line"));
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
