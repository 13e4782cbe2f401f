//! The promises of the diagnostics that hold for each command alike, and what an administrator concludes from them.

use std::{
    fs,
    io::Write as _,
    os::{fd::OwnedFd, unix::net::UnixStream, unix::process::ExitStatusExt},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    common,
    served::{Fabric, temporary},
};

/// Number of the signal by which a program ends whose reader has gone.
const SIGPIPE: i32 = 13;

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs the command until it ends with this status: the console of the server is read when it has time.
fn until(fabric: &Fabric, arguments: &[&str], status: i32) -> Output {
    let patience = Instant::now() + Duration::from_secs(20);
    loop {
        let output = fabric.run(arguments);
        if output.status.code() == Some(status) {
            return output;
        }
        assert!(Instant::now() < patience, "{arguments:?}: {output:?}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Runs `ib` with a standard output whose reading end is closed.
fn unread(arguments: &[&str]) -> Output {
    let (reader, writer) = UnixStream::pair().unwrap();
    drop(reader);
    Command::new(env!("CARGO_BIN_EXE_ib"))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(OwnedFd::from(writer))
        .stderr(Stdio::piped())
        .output()
        .unwrap()
}

#[test]
fn a_reader_that_has_gone_ends_each_command_by_sigpipe_without_a_word() {
    let fabric = Fabric::start("gen-line-2");
    let file = temporary("unread.ibsnap");
    let path = file.to_str().unwrap();
    fabric.json(0, &["snapshot", path]);
    let taken = [
        &["health"][..],
        &["health", "--json"],
        &["links"],
        &["nodes"],
        &["perf"],
        &["perf", "--prometheus"],
        &["ports"],
        &["tables"],
        &["tables", "--json"],
        &["discover"],
        &["discover", "--json"],
        &["trace", "1", "2"],
        &["why", "1", "2"],
        &["diff", path, path],
    ];
    let taken = taken.map(|command| match command[0] {
        "diff" => command.to_vec(),
        _ => [command, &["--from", path]].concat(),
    });
    let others = [
        &["--help"][..],
        &["perf", "--help"],
        &["--version"],
        &["generate"],
        &["generate", "--json"],
        &["route"],
        &["up"],
        &["up", "--json"],
        &["whatif"],
        &["completions", "bash"],
        &["sm", "--print-config"],
        &["conform", "sma", "--list"],
        &["decode", "mad", "01010101"],
    ];
    let others = others.map(<[&str]>::to_vec);
    for arguments in taken.iter().chain(&others) {
        let output = unread(arguments);
        assert_eq!(
            output.status.signal(),
            Some(SIGPIPE),
            "{arguments:?}: {output:?}"
        );
        let said = stderr(&output);
        assert!(!said.contains("error"), "{arguments:?}: {said}");
    }
    fs::remove_file(file).unwrap();
}

#[test]
fn a_packet_that_reaches_another_owner_of_the_lid_has_not_arrived() {
    let mut fabric = Fabric::start("gen-karyn-4-2");
    let nodes = fabric.json(0, &["nodes", "--cas"]);
    let lid = |name: &str| {
        let mut nodes = nodes["nodes"].as_array().unwrap().iter();
        nodes.find(|node| node["name"] == name).unwrap()["lid"].clone()
    };
    let (taken, wanted) = ("host00006 HCA-1", "host00007 HCA-1");
    let shared = lid(taken);
    writeln!(fabric.console, "Baselid \"H-0010000000000070\"[1] {shared}").unwrap();
    let output = until(&fabric, &["trace", "host00001", wanted], 1);
    let text = stdout(&output);
    let expected = format!("LID {shared}: the packet reaches {taken}:1, which has the same LID");
    assert!(text.contains(&expected), "{text}");
    let trace = fabric.json(1, &["trace", "host00001", wanted]);
    assert_eq!(trace["arrived"], false, "{trace}");
    let why = fabric.run(&["why", "host00001", wanted]);
    assert_eq!(why.status.code(), Some(1));
    assert!(stdout(&why).contains(&format!(
        "limit: {}",
        &expected[expected.find("the packet").unwrap()..]
    )));
    // The one that the routes lead to is reached, and so is the LID itself.
    fabric.json(0, &["trace", "host00001", taken]);
    fabric.json(0, &["trace", "host00001", &shared.to_string()]);
    // The LID has a port that packets reach, so it is no LID without a route: the duplicate says it all.
    let health = fabric.json(1, &["health"]);
    let findings = health["findings"].as_array().unwrap().iter();
    let found: Vec<&Value> = findings
        .filter(|finding| finding["severity"] == "error")
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["check"], "duplicate_lid");
    let message = found[0]["message"].as_str().unwrap();
    assert!(
        message.contains(&format!("packets to it from this host reach {taken}")),
        "{message}"
    );
}

#[test]
fn ends_without_a_common_partition_are_what_limits_a_path() {
    let fabric = Fabric::start("gen-karyn-4-2");
    let (from, to) = ("host00001 HCA-1", "host00007 HCA-1");
    let before = fabric.json(0, &["why", from, to]);
    assert_eq!(before["p_keys"], json!(["0xffff"]));
    let set = [
        "send",
        to,
        "--class",
        "0x81",
        "--method",
        "2",
        "--attribute",
        "0x16",
    ];
    fabric.json(0, &[&set[..], &["--data", "0x8001"]].concat());
    let after = fabric.json(1, &["why", from, to]);
    assert_eq!(
        (&after["arrived"], &after["p_keys"]),
        (&json!(true), &json!([]))
    );
    let text = stdout(&fabric.run(&["why", from, to]));
    let expected = "limit: no packets pass: no P_Key of the sender (0xffff) matches one of the receiver (0x8001)";
    assert!(text.contains(expected), "{text}");
    // The table as people read it.
    let keys = stdout(&fabric.run(&["query", "pkeys", "--to", to]));
    assert!(keys.contains(" 0x8001 0x0000"), "{keys}");
}

#[test]
fn a_name_that_fits_no_node_is_followed_by_the_nearest_and_one_that_fits_several_by_them() {
    let fabric = Fabric::start("gen-karyn-4-2");
    let map = temporary("names.map");
    let guids = [0x60_u64, 0x70].map(|guid| format!("0x{:016x}", 0x10_0000_0000_0000 + guid));
    let [six, seven] = &guids;
    fs::write(&map, format!("{six} \"twin\"\n{seven} \"twin\"\n")).unwrap();
    let map_name = map.to_str().unwrap();
    let refused = |name: &str| {
        let output = fabric.run(&["trace", name, "1", "--node-name-map", map_name]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        stderr(&output)
    };
    assert!(refused("host0005 HCA-1:1").contains("the nearest is host00005 HCA-1"));
    let twins = refused("twin:1");
    assert!(twins.contains(six) && twins.contains(seven), "{twins}");
    assert!(!twins.contains("nearest"), "{twins}");
    assert!(!refused("host00005:9").contains("nearest"));
    fs::remove_file(map).unwrap();
}

#[test]
fn names_of_a_map_are_used_by_each_command() {
    let fabric = Fabric::start("gen-karyn-4-2");
    let map = temporary("each.map");
    let guid = "0x0010000000000070";
    fs::write(&map, format!("{guid} \"the host: eight\"\n")).unwrap();
    let (map_name, name) = (map.to_str().unwrap(), "the host: eight");
    let printed = |arguments: &[&str]| {
        let output = fabric.run(&[arguments, &["--node-name-map", map_name]].concat());
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
        stdout(&output)
    };
    for arguments in [
        &["nodes"][..],
        &["links", name],
        &["perf", name],
        &["tables"],
        &["discover"],
        &["discover", "-H"],
        &["discover", "--json"],
        &["trace", "1", name],
        &["why", name, "1"],
        &["ping", name, "--smi", "--count", "1"],
        &["port", "the host: eight:1", "enable", "--dry-run"],
    ] {
        assert!(printed(arguments).contains(name), "{arguments:?}");
    }
    assert!(printed(&["query", "nodedesc", "--to", name]).contains("host00007"));
    // A planned topology and an old snapshot have the same names: nothing differs.
    let plan = ib_testkit::data::fabric_file("gen-karyn-4-2");
    let plan = plan.to_str().unwrap();
    printed(&["health", "--expect", plan]);
    let old = temporary("each.ibsnap");
    let old_name = old.to_str().unwrap();
    fabric.json(0, &["snapshot", old_name]);
    printed(&["diff", old_name, "live"]);
    for file in [map, old] {
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn a_port_of_a_node_is_the_one_that_a_query_asks() {
    let fabric = Fabric::start("gen-karyn-4-2");
    let nodes = fabric.json(0, &["nodes", "--switches"]);
    let name = nodes["nodes"][0]["name"].as_str().unwrap();
    let fields = |arguments: &[&str]| fabric.json(0, arguments)[0]["fields"].clone();
    let port = format!("{name}:3");
    let info = fields(&["query", "portinfo", "3", "--to", name]);
    assert_eq!(fields(&["query", "portinfo", "--to", &port]), info);
    assert_ne!(fields(&["query", "portinfo", "--to", name]), info);
    assert_eq!(fields(&["query", "perf", "--to", &port])["port_select"], 3);
    for refused in [&["query", "portinfo", "2"][..], &["query", "nodeinfo"]] {
        let output = fabric.run(&[refused, &["--to", &port]].concat());
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(stderr(&output).contains("names a port"), "{output:?}");
    }
}

#[test]
fn a_difference_says_which_devices_do_not_respond() {
    let mut fabric = Fabric::start("gen-karyn-4-2");
    let old = temporary("silent.ibsnap");
    let old_name = old.to_str().unwrap();
    fabric.json(0, &["snapshot", old_name]);
    writeln!(fabric.console, "Silent \"H-0010000000000070\"").unwrap();
    let output = until(&fabric, &["diff", old_name], 1);
    let text = stdout(&output);
    assert!(
        text.ends_with("\n1 change of nodes, 1 of links, 0 of tables\n"),
        "{text}"
    );
    let text = stderr(&output);
    assert!(text.starts_with("warning: live: the device at "), "{text}");
    assert!(
        text.contains(", behind ") && text.ends_with(", does not respond\n"),
        "{text}"
    );
    fs::remove_file(old).unwrap();
}

#[test]
fn a_change_of_a_port_is_said_before_it_is_made_and_takes_a_route_around_the_link() {
    let fabric = Fabric::start("gen-ring-5");
    let own = fabric.json(0, &["ports"])["ports"][0]["node_guid"].clone();
    let links = fabric.json(0, &["links"]);
    let links = links["links"].as_array().unwrap().iter();
    let ends = links.flat_map(|link| [(&link["a"], &link["b"]), (&link["b"], &link["a"])]);
    let mut ends = ends.filter(|(end, _)| end["type"] == "switch");
    let leaf = ends
        .clone()
        .find(|(_, other)| other["node_guid"] == own)
        .unwrap()
        .0;
    // The far end of a cable at the own leaf: the requests to it would pass the cable.
    let (far, _) = ends
        .find(|(end, other)| other["node_guid"] == leaf["node_guid"] && end["type"] == "switch")
        .unwrap();
    let port = format!("{}:{}", far["node_guid"].as_str().unwrap(), far["port"]);
    let output = fabric.run(&["port", &port, "disable"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text.starts_with("disable at "), "{text}");
    assert!(text.ends_with("the port took it\n"), "{text}");
    assert_eq!(fabric.json(0, &["port", &port, "enable"])["taken"], true);
    // The LID of a host, which a manager gives back at its next sweep.
    let hosts = fabric.json(0, &["nodes", "--cas"]);
    let mut hosts = hosts["nodes"].as_array().unwrap().iter();
    let host = hosts.find(|host| host["node_guid"] != own).unwrap()["node_guid"]
        .as_str()
        .unwrap();
    fabric.json(0, &["port", &format!("{host}:1"), "lid=99", "mkeylease=30"]);
    assert!(stdout(&fabric.run(&["nodes"])).contains(" 99 "));
    assert_eq!(
        fabric.run(&["port", &port, "lid=99"]).status.code(),
        Some(2)
    );
}

#[test]
fn a_speed_beyond_port_info_is_set_by_the_vendor_attribute() {
    let fabric = Fabric::start("real-fdr10-152");
    let links = fabric.json(0, &["links"]);
    let mut links = links["links"].as_array().unwrap().iter();
    let end = &links.find(|link| link["speed"] == "FDR10").unwrap()["b"];
    let port = format!("{}:{}", end["node_guid"].as_str().unwrap(), end["port"]);
    let enabled = || {
        let info = fabric.json(0, &["query", "mlnxextportinfo", "--to", &port]);
        info[0]["fields"]["link_speed_enabled"].clone()
    };
    for (speed, expected) in [("speed=QDR", 0), ("speed=FDR10", 1)] {
        assert_eq!(fabric.json(0, &["port", &port, speed])["taken"], true);
        assert_eq!(enabled(), expected);
    }
    let without = Fabric::start("gen-ring-5");
    let own = without.json(0, &["ports"])["ports"][0]["node_guid"].clone();
    let port = format!("{}:1", own.as_str().unwrap());
    let output = without.run(&["port", &port, "speed=FDR10", "--dry-run"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("does not support FDR10"), "{said}");
}

#[test]
fn the_nodes_on_a_directed_route_and_the_users_of_a_link_are_named() {
    let mut fabric = Fabric::start("gen-karyn-4-2");
    let nodes = fabric.json(0, &["nodes"]);
    let nodes = nodes["nodes"].as_array().unwrap();
    let host = nodes
        .iter()
        .find(|node| node["name"] == "host00007 HCA-1")
        .unwrap();
    let route = host["direct"].as_str().unwrap();
    let found = fabric.json(0, &["trace", "--direct", route]);
    let hops = found["hops"].as_array().unwrap();
    assert_eq!(hops.len(), route.split(',').count());
    assert_eq!(hops.last().unwrap()["node_guid"], host["node_guid"]);
    let before = &hops[hops.len() - 2];
    let port = format!(
        "{}:{}",
        before["node_guid"].as_str().unwrap(),
        before["output"]
    );
    let users = fabric.json(0, &["links", &port, "--through"]);
    let ends = users["ends"].as_array().unwrap();
    assert_eq!(ends[0]["forwards_to"][0]["lids"], json!([host["lid"]]));
    assert_eq!((ends.len(), &ends[1]["forwards_to"]), (2, &json!([])));
    let text = stdout(&fabric.run(&["links", &port, "--through"]));
    assert!(
        text.contains(" forwards to 1 end port\n  host00007 HCA-1:1\n"),
        "{text}"
    );
    for refused in [
        &["links", "--through"][..],
        &["links", "host00007", "--through"],
    ] {
        assert_eq!(fabric.run(refused).status.code(), Some(2), "{refused:?}");
    }
    // A route to a device that does not respond ends at the port in front of it.
    writeln!(fabric.console, "Silent \"H-0010000000000070\"").unwrap();
    let output = until(&fabric, &["trace", "--direct", route], 1);
    let text = stdout(&output);
    let name = before["name"].as_str().unwrap();
    let expected = format!(
        "{name}:{} leads to no device that responds\n",
        before["output"]
    );
    assert!(text.ends_with(&expected), "{text}");
}

#[test]
fn a_query_of_a_snapshot_is_that_of_the_subnet_or_says_what_the_file_does_not_hold() {
    let fabric = Fabric::start("gen-ring-5");
    let file = temporary("queried");
    let path = file.to_str().unwrap();
    fabric.json(0, &["snapshot", path]);
    let nodes = fabric.json(0, &["nodes", "--switches"]);
    let switch = nodes["nodes"][2]["name"].as_str().unwrap();
    let port = format!("{switch}:2");
    let hosts = fabric.json(0, &["nodes", "--cas"]);
    let host = hosts["nodes"][0]["name"].as_str().unwrap();
    for words in [
        &["nodeinfo"][..],
        &["nodedesc", "--lid", "3"],
        &["switchinfo", "--to", switch],
        &["portinfo"],
        &["portinfo", "1", "--direct", "0,1"],
        &["portinfo", "--to", &port],
        &["lft", "0", "--to", switch],
        &["mft", "0", "--to", switch],
        &["sl2vl", "0x102", "--to", switch],
        &["vlarb", "0x10001", "--to", switch],
        &["pkeys"],
    ] {
        let query = [&["query"], words].concat();
        let live = fabric.run(&[&query[..], &["--json"]].concat());
        let held = common::ib(&[&query[..], &["--from", path, "--json"]].concat(), "");
        let said = String::from_utf8_lossy(&held.stderr);
        assert_eq!(held.status.code(), live.status.code(), "{words:?} {said}");
        assert_eq!(held.stdout, live.stdout, "{words:?}");
    }
    for words in [
        &["perf"][..],
        &["sa", "NodeRecord"],
        &["switchinfo", "--to", host],
        &["lft", "700", "--to", switch],
        &["portinfo", "9"],
    ] {
        let held = common::ib(&[&["query"], words, &["--from", path]].concat(), "");
        let said = String::from_utf8_lossy(&held.stderr);
        assert_eq!(held.status.code(), Some(2), "{words:?}");
        assert!(said.contains("does not hold"), "{words:?} {said}");
    }
    std::fs::remove_file(file).unwrap();
}

#[test]
fn counters_and_a_topology_without_a_silent_device_are_not_whole() {
    let mut fabric = Fabric::start("gen-karyn-4-2");
    let file = temporary("with-silent");
    let path = file.to_str().unwrap();
    fabric.json(0, &["snapshot", path]);
    // --fabric takes a snapshot as any other fabric.
    let whole = common::ib(&["discover", "--from", path], "");
    let taken = common::ib(&["generate", "--fabric", path, "--json"], "");
    let nodes = |output: &Output| {
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        document["nodes"].as_array().unwrap().len()
    };
    assert_eq!(whole.status.code(), Some(0), "{}", stderr(&whole));
    let found = fabric.run(&["discover", "--json", "--in-flight", "1"]);
    assert_eq!(nodes(&taken), nodes(&found));

    writeln!(fabric.console, "Silent \"H-0010000000000070\"").unwrap();
    until(&fabric, &["nodes"], 1);
    for options in [&["perf"][..], &["perf", "--errors"], &["perf", "--json"]] {
        let output = fabric.run(options);
        assert_eq!(output.status.code(), Some(1), "{options:?}");
        let said = stderr(&output);
        assert!(said.contains("does not respond"), "{options:?}: {said}");
    }
    let one = fabric.run(&["perf", "--reset", "host00001"]);
    assert_eq!(one.status.code(), Some(0), "{}", stderr(&one));
    let said = stderr(&one);
    assert!(said.ends_with("counters of 1 port cleared\n"), "{said}");
    fabric.run(&["snapshot", path]);
    let held = common::ib(&["discover", "--from", path], "");
    assert_eq!(held.status.code(), Some(1));
    assert!(
        stderr(&held).contains("no answer from"),
        "{}",
        stderr(&held)
    );
    fs::remove_file(file).unwrap();
}
