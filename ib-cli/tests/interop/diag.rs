//! Counters that the console of our server sets: errors beside ibqueryerrors.

use std::{
    collections::BTreeSet,
    io::Write as _,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ib_routing::format::ibnetdiscover;
use ib_testkit::{
    data::fabric_file as fabric,
    ibsim::{client, is_listening, unique_name},
    process,
};
use serde_json::Value;

use crate::peers::{first_ca, number, printed};

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
        let output = process::output(&mut command).expect("ibqueryerrors is installed");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if text.contains("PortRcvErrors") {
            break text;
        }
        assert!(Instant::now() < patience, "{text}");
        thread::sleep(Duration::from_millis(100));
    };
    // What passes a switch before its tables are written counts as relay errors, which are not compared.
    let names: BTreeSet<&str> = set.iter().map(|(.., name, _)| name.as_str()).collect();
    let mut errors = errors(&theirs);
    errors.retain(|(.., name, _)| names.contains(name.as_str()));
    assert_eq!(errors, set, "{theirs}");
    let ours = printed(&mut ib(&["perf", "--errors", "--json"]));
    let ours: Value = serde_json::from_str(&ours).expect("one JSON document");
    let mut found = counted(&ours);
    found.retain(|(.., name, _)| names.contains(name.as_str()));
    assert_eq!(found, errors);
}

/// A counter above 0: node GUID, port, name without underscores in small letters, value.
pub(crate) type Counted = (Option<u64>, u64, String, u64);

/// A line of ibqueryerrors: GUID of the port, port, counter, value, and GUID and port of the other end.
pub(crate) type ErrorLine = (u64, u64, String, u64, Option<(u64, u64)>);

/// A GUID, with leading zeros or without.
fn guid_of(text: &str) -> u64 {
    number(text).unwrap_or_else(|| panic!("a GUID: {text}"))
}

/// The counters of single ports that `ibqueryerrors --report-port` prints, each with the other end of its port.
pub(crate) fn error_lines(text: &str) -> BTreeSet<ErrorLine> {
    let mut found = BTreeSet::new();
    let mut lines = text.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let Some((place, counters)) = line
            .strip_prefix("GUID ")
            .and_then(|rest| rest.split_once(':'))
        else {
            continue;
        };
        let (guid, port) = place.split_once(" port ").expect("GUID and port");
        // Port ALL is the sum of a switch.
        let Ok(port) = port.parse::<u64>() else {
            continue;
        };
        // "Link info:    146   2[  ] ==( ...)==>  0x24be05ffff981d62    133    2[  ] "rocket mlx4_0" ( )"
        let link = lines.next_if(|line| line.starts_with("Link info:"));
        let (_, far) = link
            .and_then(|link| link.split_once("==>"))
            .unwrap_or_else(|| panic!("no link after {line}: {text}"));
        let far = far.split(['[', ' ']).filter(|word| !word.is_empty());
        let far: Vec<&str> = far.take(3).collect();
        let peer = match far.as_slice() {
            [far_guid, _, port] if far_guid.starts_with("0x") => {
                Some((guid_of(far_guid), port.parse().expect("a port")))
            }
            _ => None,
        };
        for counter in counters.split('[').skip(1) {
            let words: Vec<&str> = counter.split([' ', ']']).collect();
            let value = words[2].parse().expect("a number");
            let name = words[0].to_lowercase();
            found.insert((guid_of(guid), port, name, value, peer));
        }
    }
    found
}

/// The same of the document of `ib perf --errors`.
pub(crate) fn our_error_lines(document: &Value) -> BTreeSet<ErrorLine> {
    let place = |end: &Value| {
        let guid = guid_of(end["port_guid"].as_str().expect("a GUID"));
        (guid, end["port"].as_u64().expect("a number"))
    };
    let mut found = BTreeSet::new();
    for end in document["ports"].as_array().expect("ports") {
        let (guid, port) = place(end);
        let peer = end["peer"].as_object().map(|_| place(&end["peer"]));
        for (counter, value) in end["errors"].as_object().expect("counters") {
            let value = value.as_u64().expect("a number");
            let name = counter.replace('_', "");
            found.insert((guid, port, name, value, peer));
        }
    }
    found
}

/// The errors that ibqueryerrors prints of single ports.
pub(crate) fn errors(text: &str) -> BTreeSet<Counted> {
    let mut errors = BTreeSet::new();
    // "   GUID 0x20000000000000 port 1: [SymbolErrorCounter == 1200] ..."; port ALL is the sum of a switch.
    for line in text.lines().filter(|line| line.trim().starts_with("GUID")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Ok(port) = words[3].trim_end_matches(':').parse::<u64>() else {
            continue;
        };
        for counter in line.split('[').skip(1) {
            let counter: Vec<&str> = counter.split([' ', ']']).collect();
            let value = counter[2].parse().expect("a number");
            errors.insert((number(words[1]), port, counter[0].to_lowercase(), value));
        }
    }
    errors
}

/// The counters above 0 in the document of `ib perf`.
pub(crate) fn counted(document: &Value) -> BTreeSet<Counted> {
    let mut found = BTreeSet::new();
    for port in document["ports"].as_array().expect("ports") {
        let guid = number(port["node_guid"].as_str().expect("a GUID"));
        for (counter, value) in port["counters"].as_object().expect("counters") {
            let value = value.as_u64().expect("a number");
            if value > 0 {
                let port = port["port"].as_u64().expect("a number");
                found.insert((guid, port, counter.replace('_', ""), value));
            }
        }
    }
    found
}
