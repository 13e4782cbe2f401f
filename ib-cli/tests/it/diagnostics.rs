//! The diagnostics on a fabric in the simulator, live and from a snapshot.

use std::{
    collections::BTreeSet,
    io::Write as _,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    common,
    served::{Fabric, document, keys, temporary},
};
use ib_mad::MgmtClass;
use ib_routing::{NodeType, format::ibnetdiscover};
use ib_sim::server::{Listen, Server, ServerOptions};
use ib_testkit::data::{fabric_file, fabric_text};
use serde_json::Value;

#[test]
fn every_command_reads_a_live_fabric_and_its_snapshot_alike() {
    let fabric = Fabric::start("gen-karyn-4-2");
    let file = temporary("snapshot");
    let path = file.to_str().unwrap();
    let taken = fabric.json(0, &["snapshot", path]);
    assert_eq!(
        (&taken["silent"], &taken["ports_without_counters"]),
        (&0.into(), &0.into())
    );

    let links = fabric.json(0, &["links"]);
    assert_eq!(keys(&links), ["links"]);
    let link = &links["links"][0];
    assert_eq!(keys(link), ["a", "b", "width", "speed", "could"]);
    assert!(link["a"]["node_guid"].is_string() && link["b"]["port"].is_number());

    let nodes = fabric.json(0, &["nodes"]);
    let count = nodes["nodes"].as_array().unwrap().len();
    let switches = fabric.json(0, &["nodes", "--switches"])["nodes"]
        .as_array()
        .unwrap()
        .len();
    let cas = fabric.json(0, &["nodes", "--cas"])["nodes"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(switches + cas, count);

    let perf = fabric.json(0, &["perf"]);
    let port = &perf["ports"][0];
    assert_eq!(
        keys(port),
        [
            "node_guid",
            "port",
            "name",
            "counters",
            "missing",
            "saturated"
        ]
    );
    assert_eq!(port["missing"], Value::Array(Vec::new()));

    let health = fabric.json(0, &["health"]);
    assert_eq!(keys(&health), ["findings", "checked"]);
    assert_eq!(health["checked"].as_object().unwrap().len(), 21);
    let finding = &health["findings"][0];
    let expected = [
        "check",
        "severity",
        "node_guid",
        "port",
        "name",
        "peer",
        "value",
        "limit",
        "message",
        "action",
    ];
    assert_eq!(keys(finding), expected);

    let tables = fabric.json(0, &["tables"]);
    assert_eq!(tables["switches"].as_array().unwrap().len(), switches);
    assert!(!tables["switches"][0]["lft"].as_object().unwrap().is_empty());

    // The same from the file. Counters have grown since.
    for command in ["links", "nodes", "tables", "health"] {
        let live = fabric.json(0, &[command]);
        let from_file = document(&common::ib(&[command, "--json", "--from", path], ""), 0);
        assert_eq!(live, from_file, "{command}");
    }
    let same = document(&common::ib(&["diff", "--json", path, path], ""), 0);
    assert_eq!(keys(&same), ["nodes", "links", "tables"]);
    assert_eq!(keys(&same["nodes"]), ["added", "removed", "changed"]);

    // A link goes down: the health report and the difference show it.
    let hosts = fabric.json(0, &["nodes", "--cas"]);
    let (a, b) = (
        hosts["nodes"][0]["name"].as_str().unwrap(),
        hosts["nodes"][1]["lid"].to_string(),
    );
    let trace = fabric.json(0, &["trace", a, &b]);
    assert_eq!(
        (&trace["arrived"], &trace["end"]),
        (&true.into(), &"arrived".into())
    );
    let why = fabric.json(0, &["why", a, &b]);
    assert_eq!(
        why["hops"].as_array().unwrap().len(),
        trace["hops"].as_array().unwrap().len()
    );

    // The pairs of a file are traced as they are alone.
    let pairs = temporary("pairs");
    let named = pairs.to_str().unwrap();
    std::fs::write(&pairs, format!("# suspects\n\"{a}\" {b}\n{b} \"{a}\"\n")).unwrap();
    let traced = fabric.json(0, &["trace", "--pairs", named]);
    assert_eq!(keys(&traced), ["paths", "arrived"]);
    assert_eq!(traced["arrived"], 2);
    assert_eq!(traced["paths"][0], trace);
    assert_eq!(traced["paths"][1], fabric.json(0, &["trace", &b, a]));
    let held = common::ib(&["trace", "--pairs", named, "--from", path], "");
    let held = String::from_utf8(held.stdout).unwrap();
    assert!(held.ends_with("2 of 2 paths arrive\n"), "{held}");
    std::fs::write(&pairs, "1 2\n1 nowhere\n").unwrap();
    let refused = fabric.run(&["trace", "--pairs", named]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains(&format!("{named}:2: ")), "{said}");
    std::fs::remove_file(pairs).unwrap();

    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_port_is_changed_and_what_would_cut_off_this_host_is_refused() {
    let fabric = Fabric::start("gen-ring-5");
    let ports = fabric.json(0, &["ports"]);
    let own = &ports["ports"][0];
    assert_eq!(own["state"], "Active");
    let own_port = format!("{}:{}", own["node_guid"].as_str().unwrap(), own["port"]);
    let refused = fabric.run(&["port", &own_port, "disable"]);
    assert_eq!(refused.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(stderr.contains("cut off"), "{stderr}");

    let links = fabric.json(0, &["links"]);
    let far = links["links"].as_array().unwrap().iter().find(|link| {
        let is_own = |end: &Value| end["node_guid"] == own["node_guid"];
        link["a"]["type"] == "ca" && !is_own(&link["a"]) && !is_own(&link["b"])
    });
    let leaf = &far.unwrap()["b"];
    let port = format!("{}:{}", leaf["node_guid"].as_str().unwrap(), leaf["port"]);
    let planned = fabric.json(0, &["port", &port, "disable", "--dry-run"]);
    assert_eq!(planned["taken"], Value::Null);
    let done = fabric.json(0, &["port", &port, "disable"]);
    assert_eq!(
        (&done["taken"], &done["after"]["physical_state"]),
        (&true.into(), &"Disabled".into())
    );
    let down = fabric.json(0, &["links", "--down", &port]);
    assert_eq!(down["links"].as_array().unwrap().len(), 1);
    // The host at the other end is gone, which only a comparison with the plan of the subnet shows.
    let plan = fabric_file("gen-ring-5");
    let health = fabric.json(1, &["health", "--expect", plan.to_str().unwrap()]);
    let checks: Vec<&str> = health["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["severity"] == "error")
        .map(|finding| finding["check"].as_str().unwrap())
        .collect();
    // The host, and its link.
    assert_eq!(checks, ["expected", "expected"]);
    let done = fabric.json(0, &["port", &port, "enable"]);
    assert_eq!(done["taken"], true);
}

#[test]
fn counters_are_cleared_when_told_to_and_never_otherwise() {
    let fabric = Fabric::start("gen-ring-5");
    let nodes = fabric.json(0, &["nodes", "--switches"]);
    let name = nodes["nodes"][0]["name"].as_str().unwrap().to_owned();
    let sent = |document: &Value| {
        document["ports"][0]["counters"]["port_xmit_pkts"]
            .as_u64()
            .unwrap()
    };
    let first = sent(&fabric.json(0, &["perf", &name]));
    let second = sent(&fabric.json(0, &["perf", &name]));
    assert!(second >= first && first > 0);
    fabric.json(0, &["perf", &name, "--reset"]);
    let cleared = sent(&fabric.json(0, &["perf", &name]));
    assert!(cleared < second, "{cleared} {second}");
    let text = fabric.run(&["perf", "--prometheus"]);
    let text = String::from_utf8(text.stdout).unwrap();
    for metric in [
        "infiniband_switch_port_transmit_data_bytes_total{guid=\"0x",
        "infiniband_hca_port_receive_packets_total{guid=\"0x",
        "infiniband_switch_info{guid=\"0x",
        "infiniband_switch_uplink_info{guid=\"0x",
    ] {
        assert!(text.contains(metric), "{metric}\n{text}");
    }
}

#[test]
fn errors_alone_show_what_all_counters_show_and_say_what_was_not_read() {
    let mut fabric = Fabric::start("gen-ring-5");
    let clean = fabric.run(&["perf", "--errors"]);
    assert_eq!(
        (clean.status.code(), clean.stdout.as_slice()),
        (Some(0), &[][..])
    );
    let said = String::from_utf8(clean.stderr).unwrap();
    assert!(
        said.contains("no port has an error counter above 0"),
        "{said}"
    );
    let links = fabric.json(0, &["links"]);
    let links = links["links"].as_array().unwrap();
    let between = links.iter().find(|link| {
        let is_switch = |end: &Value| end["type"] == "switch";
        is_switch(&link["a"]) && is_switch(&link["b"])
    });
    let end = &between.unwrap()["a"];
    let guid = end["node_guid"].as_str().unwrap();
    let id = format!("S-{}", guid.trim_start_matches("0x"));
    let port = &end["port"];
    writeln!(
        fabric.console,
        "PerformanceSet \"{id}\"[{port}] PortCounters.SymbolErrorCounter=77"
    )
    .unwrap();
    let with_errors = |document: &Value| -> Vec<Value> {
        let ports = document["ports"].as_array().unwrap().iter();
        ports
            .filter(|port| port["counters"]["symbol_error_counter"] != 0)
            .map(|port| serde_json::json!([port["node_guid"], port["port"]]))
            .collect()
    };
    let patience = Instant::now() + Duration::from_secs(20);
    let all = loop {
        let all = with_errors(&fabric.json(0, &["perf"]));
        if !all.is_empty() {
            break all;
        }
        assert!(Instant::now() < patience, "the console is not read");
    };
    assert_eq!(all, [serde_json::json!([guid, port])]);
    let only = fabric.json(0, &["perf", "--errors"]);
    assert_eq!(with_errors(&only), all);
    assert_eq!(only["ports"].as_array().unwrap().len(), 1);
    let over = &only["ports"][0];
    assert_eq!(
        over["errors"],
        serde_json::json!({ "symbol_error_counter": 77 })
    );
    assert!(over["port_guid"].is_string() && over["peer"]["port"].is_number());

    // A threshold is the highest value that is passed over.
    let file = temporary("thresholds");
    let path = file.to_str().unwrap();
    let shown = |options: &[&str]| {
        let arguments = [&["perf", "--errors"], options].concat();
        let document = fabric.json(0, &arguments);
        document["ports"].as_array().unwrap().len()
    };
    for (limit, count) in [(76, 1), (77, 0)] {
        std::fs::write(
            &file,
            format!("# of the site\nSymbolErrorCounter={limit}\n"),
        )
        .unwrap();
        assert_eq!(shown(&["--thresholds", path]), count, "{limit}");
    }
    assert_eq!(shown(&["--ignore", "VL15Dropped"]), 1);
    assert_eq!(shown(&["--ignore", "VL15Dropped,SymbolErrorCounter"]), 0);
    let counters = |options: &[&str]| {
        let document = fabric.json(0, &[&["health"], options].concat());
        let findings = document["findings"].as_array().unwrap().iter();
        findings
            .filter(|finding| finding["check"] == "counter")
            .count()
    };
    assert_eq!(counters(&[]), 1);
    assert_eq!(counters(&["--ignore", "symbol_error_counter"]), 0);
    for (options, part) in [
        (
            &["perf", "--errors", "--ignore", "SymbolErrors"][..],
            "no counter",
        ),
        (&["perf", "--ignore", "VL15Dropped"], "expected --errors"),
    ] {
        let refused = fabric.run(options);
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains(part), "{said}");
    }
    std::fs::remove_file(file).unwrap();

    // A device that does not answer ClassPortInfo has no error to show.
    let nodes = fabric.json(0, &["nodes", "--switches"]);
    let own = fabric.json(0, &["ports"]);
    let own_switch = fabric.json(
        0,
        &["links", own["ports"][0]["node_guid"].as_str().unwrap()],
    );
    let own_switch = &own_switch["links"][0];
    let mut others = nodes["nodes"].as_array().unwrap().iter().filter(|node| {
        let is_near = |end: &Value| end["node_guid"] == node["node_guid"];
        !is_near(&own_switch["a"]) && !is_near(&own_switch["b"])
    });
    let far = others.next().unwrap()["node_guid"].as_str().unwrap();
    let far = format!("S-{}", far.trim_start_matches("0x"));
    writeln!(fabric.console, "Error \"{far}\" 100 1").unwrap();
    let silent = loop {
        let output = fabric.run(&["perf", "--errors"]);
        if output.status.code() == Some(1) {
            break String::from_utf8(output.stderr).unwrap();
        }
        assert!(Instant::now() < patience, "the console is not read");
    };
    assert!(silent.contains("counters not read: no answer"), "{silent}");
}

#[test]
fn health_reads_the_groups_of_the_manager_that_runs() {
    let fabric = Fabric::start("gen-ring-5");
    let of_groups = |document: &Value| -> Vec<Value> {
        let findings = document["findings"].as_array().unwrap().iter();
        findings
            .filter(|finding| finding["check"] == "multicast")
            .cloned()
            .collect()
    };
    // The manager that brought the subnet up has ended, so no manager can be asked.
    let alone = fabric.json(0, &["health"]);
    assert_eq!(alone["checked"]["multicast"], 0);
    let manager = Command::new(env!("CARGO_BIN_EXE_ib"))
        .args(["sm", "--device", &format!("sim:{}", fabric.name)])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut manager = manager.unwrap();
    let patience = Instant::now() + Duration::from_secs(20);
    let served = loop {
        let served = fabric.run(&["health", "--json"]);
        let served: Value = serde_json::from_slice(&served.stdout).unwrap();
        if served["checked"]["multicast"] != 0 || Instant::now() > patience {
            break served;
        }
        thread::sleep(Duration::from_millis(50));
    };
    let _ = manager.kill();
    let _ = manager.wait();
    // The manager keeps the broadcast group of the default partition, which no port has joined.
    let found = of_groups(&served);
    assert_eq!(found.len(), 1, "{served}");
    assert_eq!(found[0]["severity"], "info");
    let message = found[0]["message"].as_str().unwrap();
    assert!(message.contains("ff12:401b:ffff::ffff:ffff"), "{message}");
}

/// A manager that ends with its test.
struct Manager(Child);

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The manager's SM_Key if nothing else is set.
const SM_KEY: &str = "1";

#[test]
fn a_broken_group_is_found_in_a_snapshot_as_it_is_live() {
    let fabric = Fabric::start("gen-ring-5");
    let manager = Command::new(env!("CARGO_BIN_EXE_ib"))
        .args(["sm", "--device", &format!("sim:{}", fabric.name)])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let _manager = Manager(manager.unwrap());
    let hosts = fabric.json(0, &["nodes", "--cas"]);
    let names: Vec<&str> = hosts["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|host| host["name"].as_str().unwrap())
        .collect();
    for name in &names[1..4] {
        fabric.join(name);
    }
    let health = |arguments: &[&str]| {
        let mut all = vec!["health", "--notes", "--json"];
        all.extend(arguments);
        let output = match arguments.contains(&"--from") {
            true => common::ib(&all, ""),
            false => fabric.run(&all),
        };
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), document)
    };
    let errors = |document: &Value| {
        let findings = document["findings"].as_array().unwrap().iter();
        let errors = findings
            .filter(|finding| finding["check"] == "multicast" && finding["severity"] == "error");
        errors.count()
    };
    let live = || health(&["--sm-key", SM_KEY]);
    // The manager joins them to a tree.
    let patience = Instant::now() + Duration::from_secs(20);
    while errors(&live().1) > 0 {
        assert!(Instant::now() < patience, "{:?}", live());
        thread::sleep(Duration::from_millis(50));
    }
    // Somebody overwrites the table of the switch of a member.
    let leaf = fabric.json(0, &["trace", names[0], names[2]]);
    let hops = leaf["hops"].as_array().unwrap();
    let leaf = hops[hops.len() - 2]["node_guid"].as_str().unwrap();
    let overwritten = fabric.run(&[
        "send",
        leaf,
        "--class",
        "1",
        "--method",
        "2",
        "--attribute",
        "0x1b",
    ]);
    assert!(overwritten.status.success(), "{overwritten:?}");

    let file = temporary("groups");
    let path = file.to_str().unwrap();
    fabric.json(0, &["snapshot", "--sm-key", SM_KEY, path]);
    let (status, found) = live();
    assert_eq!(status, Some(1), "{found}");
    assert!(errors(&found) > 0, "{found}");
    assert_eq!(health(&["--from", path]), (status, found));
    // Without the key the members are hidden, in the file as live.
    fabric.json(0, &["snapshot", path]);
    assert_eq!(health(&["--from", path]), health(&[]));
    std::fs::remove_file(file).unwrap();
}

#[test]
fn perf_and_the_second_sample_of_health_read_only_what_they_show() {
    let topology = ibnetdiscover::read(&fabric_text("gen-karyn-4-2")).unwrap();
    let topology = topology.fabric;
    let name = format!("diag-{}-observed", std::process::id());
    let options = ServerOptions::new(Listen::Unix(name.clone()));
    let mut server = Server::bind(&topology, &options).unwrap();
    let seen = Arc::new(Mutex::new((BTreeSet::new(), BTreeSet::new())));
    let counted = Arc::clone(&seen);
    server.observe(move |mad| {
        let (smps, gmps) = &mut *counted.lock().unwrap();
        // A request that is repeated, because this machine was busy, counts once.
        let id = mad.header().transaction_id().low();
        match mad.header().mgmt_class() {
            MgmtClass::SUBN_DIRECTED | MgmtClass::SUBN_LID => smps.insert(id),
            _ => gmps.insert(id),
        };
    });
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = thread::spawn(move || server.run(None, &mut std::io::sink(), &stopped));
    let device = format!("sim:{name}");
    // The numbers of requests of subnet management and of other classes that a command sends.
    let sent = |arguments: &[&str]| {
        *seen.lock().unwrap() = (BTreeSet::new(), BTreeSet::new());
        let mut all = arguments.to_vec();
        all.extend(["--device", &device]);
        let output = common::ib(&all, "");
        assert!(output.status.success(), "{output:?}");
        let (smps, gmps) = &*seen.lock().unwrap();
        (smps.len(), gmps.len())
    };
    sent(&["sm", "--once"]);
    let (walk, none) = sent(&["links"]);
    assert!(walk > 0);
    assert_eq!(none, 0);
    let hosts = topology
        .nodes()
        .iter()
        .filter(|node| node.type_ == NodeType::CA);
    let switches = topology
        .nodes()
        .iter()
        .filter(|node| node.type_ == NodeType::SWITCH);
    let ports: usize = hosts
        .map(|_| 1)
        .chain(
            switches
                .clone()
                .map(|switch| usize::from(switch.num_ports())),
        )
        .sum();
    // A port has two attributes with counters, as those of errors are not in the extended one of ibsim's devices.
    let counters = 2 * ports;
    // ClassPortInfo and the counters of one port; of two ports of one switch; of all ports.
    let switch = switches.clone().next().unwrap().guid;
    let (smps, gmps) = sent(&["perf", &format!("{switch}:1")]);
    assert!(smps <= walk);
    assert_eq!(gmps, 3);
    let (_, gmps) = sent(&["perf", &format!("{switch}:1"), &format!("{switch}:2")]);
    assert_eq!(gmps, 5);
    let (_, all) = sent(&["perf"]);
    assert_eq!(all, counters + topology.nodes().len());
    // Three readings more of the counters alone: nothing shows a change, so the subnet is walked once.
    let (smps, gmps) = sent(&["perf", "--watch", "0.01", "--count", "3"]);
    assert!(smps <= walk);
    assert_eq!(gmps, all + 3 * counters);
    // The second sample of health: the counters alone, and not what its agents can do.
    let (smps, gmps) = sent(&["health"]);
    assert_eq!(gmps, all);
    assert_eq!(
        sent(&["health", "--interval", "0.01"]),
        (smps, gmps + counters)
    );
    stop.store(true, Ordering::Relaxed);
    thread.join().unwrap().unwrap();
}

#[test]
fn a_name_that_fits_none_or_several_is_bad_usage() {
    let fabric = Fabric::start("gen-ring-5");
    let nodes = fabric.json(0, &["nodes"]);
    let guids: Vec<&str> = nodes["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["node_guid"].as_str().unwrap())
        .collect();
    let map = temporary("names");
    std::fs::write(
        &map,
        format!("{} \"twin\"\n{} \"twin\"\n", guids[0], guids[1]),
    )
    .unwrap();
    let map_name = map.to_str().unwrap();
    let several = fabric.run(&["links", "twin", "--node-name-map", map_name]);
    assert_eq!(several.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&several.stderr);
    assert!(
        stderr.contains(guids[0]) && stderr.contains(guids[1]),
        "{stderr}"
    );
    assert_eq!(fabric.run(&["links", "nobody"]).status.code(), Some(2));
    assert_eq!(
        fabric
            .run(&["links", "twin:99", "--node-name-map", map_name])
            .status
            .code(),
        Some(2)
    );
    std::fs::remove_file(map).unwrap();
}

#[test]
fn ib_check_verifies_dumped_tables_and_those_of_a_snapshot_alike() {
    let fabric = Fabric::start("gen-karyn-4-2");
    let folder = temporary("tables");
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let name = folder.to_str().unwrap();
    assert_eq!(
        fabric.run(&["tables", "--dump-dir", name]).status.code(),
        Some(0)
    );
    let taken = file("taken");
    fabric.json(0, &["snapshot", &taken]);
    let check = |topology: &str, lfts: &str, sl2vl: &str| {
        let files = ["--fabric", topology, "--lfts", lfts, "--sl2vl", sl2vl];
        common::ib(&[&["check", "--json"], &files[..]].concat(), "")
    };
    let [topology, lfts, sl2vl] = ["fabric.net", "opensm-lfts.dump", "opensm-sl2vl.dump"].map(file);
    let mut of_dump = document(&check(&topology, &lfts, &sl2vl), 0);
    assert_eq!(of_dump["routes"]["unreachable"], 0);
    let mut of_snapshot = document(&check(&taken, &taken, &taken), 0);
    for report in [&mut of_dump, &mut of_snapshot] {
        assert!(report.as_object_mut().unwrap().remove("seconds").is_some());
    }
    assert_eq!(of_snapshot, of_dump);
    // A snapshot that was cut is refused with the place.
    let bytes = std::fs::read(&taken).unwrap();
    std::fs::write(file("cut"), &bytes[..900]).unwrap();
    let cut = check(&taken, &file("cut"), &taken);
    assert_eq!(cut.status.code(), Some(2));
    let said = String::from_utf8(cut.stderr).unwrap();
    assert!(said.contains("cut: byte 900: "), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn any_datagram_is_sent_and_its_response_printed() {
    let fabric = Fabric::start("gen-ring-5");
    let sent = fabric.json(0, &["send", "0", "--class", "0x81", "--attribute", "0x11"]);
    assert_eq!(sent["status"], 0);
    assert_eq!(sent["response"].as_str().unwrap().len(), 512);
    let refused = fabric.json(1, &["send", "0", "--class", "0x81", "--attribute", "0x7f"]);
    assert_ne!(refused["status"], 0);
    let pinged = fabric.json(
        0,
        &["ping", "0,1", "--smi", "--count", "2", "--interval", "0"],
    );
    assert_eq!(pinged["answered"], 2);
}

#[test]
fn a_map_of_a_snapshot_holds_its_nodes_tables_and_findings() {
    let fabric = Fabric::start("gen-ring-5");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (snapshot, page) = (
        folder.join("map.ibsnap"),
        folder.join("map-of-snapshot.html"),
    );
    let (snapshot, page) = (snapshot.to_str().unwrap(), page.to_str().unwrap());
    assert_eq!(fabric.run(&["snapshot", snapshot]).status.code(), Some(0));
    let live = fabric.json(0, &["map", "--html", page]);
    let html = std::fs::read_to_string(page).unwrap();
    let again = document(
        &common::ib(&["map", "--html", page, "--from", snapshot, "--json"], ""),
        0,
    );
    assert_eq!(live, again);
    assert_eq!(live["shape"], "grid");
    let data = |html: &str| -> Value {
        let after = html.split("id=\"data\">").nth(1).unwrap();
        serde_json::from_str(after.split("</script>").next().unwrap()).unwrap()
    };
    let (live, again) = (data(&html), data(&std::fs::read_to_string(page).unwrap()));
    assert_eq!(live["links"], again["links"]);
    assert_eq!(live["tables"], again["tables"]);
    assert_eq!(
        live["nodes"].as_array().unwrap().len(),
        again["nodes"].as_array().unwrap().len()
    );
    assert_eq!(live["tables"].as_object().unwrap().len(), 5);
    assert_eq!(live["has_counters"], true);
    assert!(live["findings"].is_array());
}

#[test]
fn a_duplicate_guid_is_said_and_is_a_failure() {
    let mut fabric = Fabric::start("gen-ring-5");
    let nodes = fabric.json(0, &["nodes", "--switches"]);
    let node = |index: usize| {
        nodes["nodes"][index]["node_guid"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let (first, second) = (node(1), node(3));
    let id = format!("S-{}", second.trim_start_matches("0x"));
    writeln!(fabric.console, "Guid \"{id}\" {first}").unwrap();
    let patience = Instant::now() + Duration::from_secs(20);
    let output = loop {
        let output = fabric.run(&["discover", "--json"]);
        if output.status.code() == Some(1) || Instant::now() > patience {
            break output;
        }
        thread::sleep(Duration::from_millis(50));
    };
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        stderr.contains(&format!("more than one node answers with GUID {first}")),
        "{stderr}"
    );
    let document = document(&output, 1);
    assert_eq!(document["duplicate_guids"], serde_json::json!([first]));
}

#[test]
fn discover_lists_nodes_and_writes_what_other_programs_read() {
    let fabric = Fabric::start("gen-karyn-4-2");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (cache, snapshot) = (folder.join("discover.net"), folder.join("discover.ibsnap"));
    let (cache, snapshot) = (cache.to_str().unwrap(), snapshot.to_str().unwrap());
    let printed = |arguments: &[&str]| {
        let mut all = vec!["discover"];
        all.extend(arguments);
        let output = fabric.run(&all);
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let whole = printed(&["--cache", cache]);
    let offline = |arguments: &[&str]| {
        let mut all = vec!["discover"];
        all.extend(arguments);
        let output = common::ib(&all, "");
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    // The file does not contain the port from which the walk began.
    let without_comments = |text: String| {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    for option in ["-l", "-H", "-S", "-R", "-p", "-g"] {
        let (live, again) = (
            printed(&[option]),
            offline(&[option, "--load-cache", cache]),
        );
        assert_eq!(without_comments(live), without_comments(again), "{option}");
    }
    assert_eq!(
        printed(&["-S"]).lines().count(),
        whole.matches("switchguid=").count()
    );
    assert_eq!(
        printed(&["-H"]).lines().count(),
        whole.matches("caguid=").count()
    );
    assert_eq!(printed(&["-R"]), "");
    for format in ["slurm", "slurm-block", "dot", "ibsim", "json"] {
        let live = printed(&["--format", format]);
        assert!(live.len() > 200, "{format}: {live}");
        assert_eq!(
            live.contains("Nodes=host"),
            format.starts_with("slurm"),
            "{format}"
        );
    }
    assert!(fabric.run(&["snapshot", snapshot]).status.success());
    let mut live: Vec<String> = printed(&["-p"]).lines().map(str::to_owned).collect();
    let mut from: Vec<String> = offline(&["-p", "--from", snapshot])
        .lines()
        .map(str::to_owned)
        .collect();
    live.sort();
    from.sort();
    assert_eq!(live, from);
}

#[test]
fn links_could_do_what_their_devices_can() {
    let text = "Switch 3 \"S-1\" # \"sw1\"\n[1] \"H-11\"[1] 4xEDR\n[2] \"S-2\"[2] 1xEDR\n[3] \"S-2\"[3] 4xQDR\n\n\
                Switch 3 \"S-2\" # \"sw2\"\n[1] \"H-12\"[1] 4xEDR\n[2] \"S-1\"[2] 1xEDR\n[3] \"S-1\"[3] 4xQDR\n\n\
                Ca 1 \"H-11\" # \"host1\"\n[1] \"S-1\"[1] 4xEDR\n\nCa 1 \"H-12\" # \"host2\"\n[1] \"S-2\"[1] 4xEDR\n";
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("could.net");
    std::fs::write(&file, text).unwrap();
    let fabric = Fabric::serve(&file);
    let links = fabric.json(0, &["links", "--narrow", "--slow"]);
    let links = links["links"].as_array().unwrap();
    assert_eq!(links.len(), 2, "{links:?}");
    for link in links {
        assert_eq!(link["could"], "4x EDR");
    }
}

#[test]
fn a_host_that_is_silent_is_said_where_it_is_missed() {
    let mut fabric = Fabric::start("gen-karyn-4-2");
    let console = &mut fabric.console;
    writeln!(console, "Silent \"H-0010000000000070\"").unwrap();
    let patience = Instant::now() + Duration::from_secs(20);
    while fabric.run(&["nodes"]).status.code() != Some(1) {
        assert!(Instant::now() < patience, "the console is not read");
        thread::sleep(Duration::from_millis(50));
    }
    // Where to look: the port in front of the host.
    let of_port = |key: &str| fabric.json(1, &["health"])["findings"][0][key].clone();
    let behind = format!("{}:{}", of_port("name").as_str().unwrap(), of_port("port"));
    for command in ["nodes", "discover"] {
        let output = fabric.run(&[command]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            text.contains(&format!("behind {behind}")),
            "{command}: {text}"
        );
    }
    let scraped = fabric.run(&["perf", "--prometheus"]);
    let text = String::from_utf8_lossy(&scraped.stdout).into_owned();
    let (name, port) = behind.rsplit_once(':').unwrap();
    let labels = format!("behind=\"{name}\",behind_port=\"{port}\"}} 1");
    assert!(text.contains(&labels), "{labels}: {text}");
    let links = fabric.run(&["links"]);
    let text = String::from_utf8_lossy(&links.stdout).into_owned();
    assert!(text.contains("(does not respond)"), "{text}");
    let named = fabric.run(&["trace", "1", "host00007 HCA-1"]);
    let text = String::from_utf8_lossy(&named.stderr).into_owned();
    assert!(text.contains("1 device does not respond"), "{text}");
    let health = fabric.run(&["health"]);
    let text = String::from_utf8_lossy(&health.stdout).into_owned();
    assert!(text.contains(": 1 error,"), "{text}");
}

#[test]
fn ports_of_a_switch_have_no_guids_and_managers_of_their_own() {
    let fabric = Fabric::start("gen-karyn-4-2");
    let switches = fabric.json(0, &["nodes", "--switches"]);
    let switch = &switches["nodes"][0];
    let name = switch["name"].as_str().unwrap();
    let own = fabric.json(0, &["ports", "--node", name]);
    let ports = own["ports"].as_array().unwrap();
    assert!(ports.len() > 1, "{own}");
    for port in ports {
        let is_end_port = port["port"] == 0;
        assert_eq!(port["sm_lid"].is_number(), is_end_port, "{port}");
        assert_eq!(port["port_guid"].is_string(), is_end_port, "{port}");
        assert_eq!(port["gid"].is_string(), is_end_port, "{port}");
        assert_eq!(port["lid"], switch["lid"]);
    }
    assert_eq!(ports[0]["port_guid"], switch["node_guid"]);
}

#[test]
fn a_query_names_nodes_as_people_do() {
    let fabric = Fabric::start("gen-karyn-4-2");
    let nodes = fabric.json(0, &["nodes", "--cas"]);
    let lid = |name: &str| {
        let nodes = nodes["nodes"].as_array().unwrap().iter();
        let mut named = nodes.filter(|node| node["name"] == name);
        named.next().unwrap()["lid"].clone()
    };
    let info = fabric.json(0, &["query", "nodedesc", "--to", "host00007"]);
    assert!(info.to_string().contains("host00007 HCA-1"), "{info}");
    let counters = fabric.json(0, &["query", "perf", "--to", "host00007 HCA-1"]);
    assert!(
        counters.to_string().contains("port_xmit_data"),
        "{counters}"
    );
    let misplaced = fabric.run(&["query", "nodeinfo", "host00007"]);
    assert_eq!(misplaced.status.code(), Some(2));
    let text = String::from_utf8_lossy(&misplaced.stderr).into_owned();
    assert!(text.contains("--to \"host00007\" names a node"), "{text}");
    let unknown = fabric.run(&["query", "nodedesc", "--to", "nobody"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("names no node"));
    let slip = fabric.run(&["query", "nodedesc", "--to", "host0007 HCA-1"]);
    let text = String::from_utf8_lossy(&slip.stderr).into_owned();
    assert!(text.contains("the nearest is host00007 HCA-1"), "{text}");
    let records = [
        "query",
        "sa",
        "PathRecord",
        "from=host00001",
        "to=host00007",
    ];
    // No administrator serves the subnet, so no answer refuses the query, and no name is at fault.
    let output = fabric.run(&records);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(lid("host00007 HCA-1").as_u64() > Some(0));
}
