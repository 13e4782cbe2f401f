//! The interface for scripts: exit status, one line on stderr, JSON on stdout.

use crate::common::{PAIR, ib};
use ib_testkit::data::{clusters_file, fabric_files, vectors_text};

/// Asserts status 2 and one line on stderr that begins with `start` and contains `part`.
fn refused(arguments: &[&str], stdin: &str, start: &str, part: &str) {
    let output = ib(arguments, stdin);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    let last = stderr.lines().last().unwrap();
    assert!(last.starts_with(start), "{arguments:?}: {stderr}");
    assert!(last.contains(part), "{arguments:?}: {stderr}");
    assert!(output.stdout.is_empty());
}

fn bad_fabric(text: &str, line: usize, part: &str) {
    refused(
        &["up", "--fabric", "-"],
        text,
        &format!("error: -:{line}: "),
        part,
    );
}

#[test]
fn a_bad_fabric_is_refused_with_its_line() {
    assert_eq!(ib(&["up", "--fabric", "-"], PAIR).status.code(), Some(0));
    bad_fabric("", 1, "empty");
    bad_fabric("this is\nno fabric at all\n", 1, "no node");
    bad_fabric(
        &PAIR.replace(
            "[2]\t\"H-0000000000000010\"",
            "???\n[2]\t\"H-0000000000000010\"",
        ),
        4,
        "???",
    );
    bad_fabric(
        &PAIR.replace(
            "Ca\t1 \"H-0000000000000010\"",
            "Toaster\t1 \"H-0000000000000010\"",
        ),
        10,
        "Toaster",
    );
    bad_fabric(
        &PAIR.replace("[2]\t\"H-0000000000000020\"", "[1]\t\"H-0000000000000020\""),
        8,
        "twice",
    );
    bad_fabric(
        &PAIR.replace("[2]\t\"H-0000000000000020\"", "[4]\t\"H-0000000000000020\""),
        8,
        "expected 1..=3",
    );
    bad_fabric(
        &PAIR.replace(
            "[1]\t\"S-0000000000000002\"[2]",
            "[1]\t\"S-0000000000000002\"[1]",
        ),
        8,
        "expected each other",
    );
}

#[test]
fn a_link_that_one_side_lists_is_accepted() {
    let text = PAIR.replace(
        "[2]\t\"H-0000000000000020\"[1]\t\t# \"b\" lid 0 4xQDR\n",
        "",
    );
    let output = ib(&["up", "--fabric", "-", "--json"], &text);
    assert_eq!(output.status.code(), Some(0));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["fabric"]["links"], 3);
}

#[test]
fn a_line_outside_the_blocks_is_a_warning_with_its_number() {
    let text = format!("user@host$ ibnetdiscover\n\n{PAIR}");
    let output = ib(&["up", "--fabric", "-"], &text);
    assert_eq!(output.status.code(), Some(0));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("warning: -:1: "), "{stderr}");
}

#[test]
fn bad_usage_is_one_line_and_status_2() {
    refused(&[], "", "error: ", "subcommands: up, sm,");
    refused(&["decode"], "", "error: ", "subcommands: packet, mad");
    refused(&["up", "--bogus"], "", "error: ", "--bogus");
    refused(&["up", "--lmc", "8"], "", "error: ", "expected 0 to 7");
    refused(&["up", "--fabric", "torus:4x"], "", "error: ", "torus:4x");
    refused(
        &["up", "--fabric", "/nowhere"],
        "",
        "error: /nowhere: ",
        "expected",
    );
    refused(
        &["up", "--sm", "nobody"],
        "",
        "error: --sm: ",
        "expected a GUID",
    );
    refused(&["decode", "mad", "0g"], "", "error: ", "hexadecimal");
    refused(&["decode", "packet"], "0\n", "error: -:1: ", "two a byte");
    refused(&["encode"], "{}\n", "error: -:1: ", "headers");
    refused(&["encode", "--json"], "", "error: --json: ", "expected");
    refused(&["sim", "--json"], "", "error: --json: ", "expected");
}

#[test]
fn odd_values_are_refused_by_their_option() {
    for (arguments, part) in [
        (&["route", "--lmc", "-1"][..], "expected 0 to 7"),
        (
            &["route", "--remove-links", "-5"],
            "expected a number from 0 to 100",
        ),
        (
            &["route", "--remove-links", "nan"],
            "expected a number from 0 to 100",
        ),
        (&["route", "--threads", "99999999999999999999"], "--threads"),
        (&["route", "--engine", ""], "expected one of"),
        (&["up", "--fabric", ""], "--fabric"),
        (&["up", "--fabric", "torus:99999x99999"], "expected at most"),
        (&["up", "--fabric", "ring:switches=-3"], "expected a number"),
        (&["sim", "--socket", ""], "--socket"),
        (&["up", "--faults", "rain=1"], "unknown fault `rain`"),
        (&["sim", "--faults", "loss=2"], "--faults"),
        (&["sim", "--latency", "5"], "expected a time"),
        (&["sim", "--lft-cap", "49153"], "--lft-cap"),
        (&["sim", "--listen", "0.0.0.0"], "--udp"),
        (&["sim", "--udp", "7070", "--", "true"], "cannot be used"),
        (
            &["query", "nodeinfo", "--lid", "-1"],
            "expected 1 to 0xbfff",
        ),
        (
            &["query", "nodeinfo", "--direct", "0,256"],
            "expected 0 and up to 63 ports",
        ),
        (
            &["query", "perf", "--counters", "Luck"],
            "expected one of ClassPortInfo, PortSamplesControl",
        ),
        (&["discover", "--max-hops", "-1"], "--max-hops"),
        (&["route", "--threads", "-1"], "expected a number"),
        (&["route", "--json", "--lfts", "-"], "one JSON document"),
        (
            &["decode", "packet", "--fields", "", "00"],
            "expected STRUCT.FIELD",
        ),
        (
            &["decode", "packet", "--fields", ",", "00"],
            "expected STRUCT.FIELD",
        ),
    ] {
        refused(arguments, "", "error: ", part);
    }
}

#[test]
fn a_command_with_a_slip_is_answered_by_those_like_it() {
    refused(
        &["dicover"],
        "",
        "error: ",
        "similar subcommands exist: 'decode', 'discover')",
    );
}

#[test]
fn every_command_shows_how_it_is_used() {
    for command in [
        "up",
        "sm",
        "sim",
        "route",
        "check",
        "whatif",
        "discover",
        "conform",
        "query",
        "generate",
        "decode",
        "encode",
        "completions",
        "man",
    ] {
        let help = ib(&[command, "--help"], "");
        assert_eq!(help.status.code(), Some(0));
        let text = String::from_utf8(help.stdout).unwrap();
        assert!(text.contains(&format!("Usage: ib {command} ")), "{text}");
        let (_, examples) = text.split_once("Examples:\n").expect("examples");
        let example = format!("  ib {command}");
        assert!(
            examples.lines().any(|line| line.starts_with(&example)),
            "{text}"
        );
        let long = text.lines().find(|line| line.chars().count() > 100);
        assert_eq!(long, None, "{command}");
        assert!(!text.contains("[default: \"\"]"), "{text}");
    }
}

/// A file for a test, under a name of its own.
fn file(name: &str, content: impl AsRef<[u8]>) -> String {
    let path = std::env::temp_dir().join(format!("ib-cli-{}-{name}", std::process::id()));
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn files_from_other_systems_read_as_our_own() {
    let lfts = file("lfts", "");
    let route = [
        "route", "--fabric", "thesis", "--engine", "updn", "--lfts", &lfts,
    ];
    assert_eq!(ib(&route, "").status.code(), Some(0));
    let text = std::fs::read_to_string(&lfts).unwrap();
    let fabric = String::from_utf8(ib(&["generate", "thesis"], "").stdout).unwrap();
    for (mark, end) in [("", "\r\n"), ("\u{feff}", "\n"), ("\u{feff}", "\r\n")] {
        std::fs::write(&lfts, format!("{mark}{}", text.replace('\n', end))).unwrap();
        let fabric = format!("{mark}{}", fabric.replace('\n', end));
        let check = ib(&["check", "--fabric", "-", "--lfts", &lfts], &fabric);
        assert_eq!(check.status.code(), Some(0), "{mark:?} {end:?}");
        assert!(
            check.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&check.stderr)
        );
    }
    std::fs::remove_file(&lfts).unwrap();

    let mad = "00".repeat(256);
    let plain = ib(&["decode", "mad", "--json"], format!("{mad}\n")).stdout;
    let cases = format!("\u{feff}{mad}\r\n");
    assert_eq!(ib(&["decode", "mad", "--json"], &cases).stdout, plain);
    let document = String::from_utf8(plain).unwrap();
    let document = format!("\u{feff}{}\r\n", document.trim());
    assert_eq!(
        ib(&["encode", "--raw"], &document).stdout,
        format!("{mad}\n").as_bytes()
    );
}

/// More text than is read at once, so that some lines are cut.
#[test]
fn cases_are_the_same_however_long_their_lines_are() {
    let case = |number: usize| {
        let digits = format!("01{:02x}01{number:02x}", number % 7).repeat(64);
        digits[..match number % 5 {
            0 => 0,
            1 => 510,
            _ => 512,
        }]
            .to_owned()
    };
    let cases: Vec<String> = (0..1000).map(|number| case(number % 256)).collect();
    let decoded = |input: String| {
        let output = ib(&["decode", "mad", "--json", "-"], input);
        assert!(output.stderr.is_empty());
        String::from_utf8(output.stdout).unwrap()
    };
    let documents = decoded(cases.join("\n") + "\n");
    assert_eq!(documents.lines().count(), cases.len());
    let alone: Vec<String> = cases[..10]
        .iter()
        .map(|case| decoded(format!("{case}\n")))
        .collect();
    assert!(documents.starts_with(&alone.concat()));
    for (number, end) in ["\r\n", " \n"].into_iter().enumerate() {
        assert!(decoded(cases.join(end)) == documents, "{number}");
    }
    // Equally long lines, one of which has other digits, blanks or no digits at all.
    let mut equal = vec![cases[2].clone(); 600];
    equal[300] = cases[2].to_uppercase();
    equal[301] = format!("{}\n{}", &cases[2][..511], "0");
    let output = ib(&["decode", "mad", "--json", "-"], equal.join("\n"));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr.starts_with("error: -:302: 511 hexadecimal digits"),
        "{stderr}"
    );
    assert_eq!(
        output.stdout.iter().filter(|&&byte| byte == b'\n').count(),
        301
    );
}

#[test]
fn rubbish_is_one_printable_line_and_status_2() {
    // Bytes that are no text, with control characters, line ends and the start of an escape sequence.
    let rubbish: Vec<u8> = (0..=255).chain([0x1b, b'[', b'2', b'J', 0xff]).collect();
    let rubbish = file("rubbish", rubbish);
    let empty = file("empty", "");
    let lfts = file("good-lfts", "");
    let route = [
        "route", "--fabric", "thesis", "--engine", "updn", "--lfts", &lfts,
    ];
    assert_eq!(ib(&route, "").status.code(), Some(0));
    for name in [&rubbish, &empty, "/nowhere/at/all", "/"] {
        for arguments in [
            &["up", "--fabric", name][..],
            &["check", "--fabric", "thesis", "--lfts", name],
            &["route", "--fabric", "thesis", "--from", name],
            &["route", "--fabric", "thesis", "--clusters", name],
            &["decode", "packet", "--pcap", name],
            &[
                "check", "--fabric", "thesis", "--lfts", &lfts, "--sls", name,
            ],
            &[
                "check", "--fabric", "thesis", "--lfts", &lfts, "--sl2vl", name,
            ],
        ] {
            let output = ib(arguments, "");
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
            assert!(
                stderr.starts_with("error: ") && stderr.ends_with('\n'),
                "{stderr:?}"
            );
            assert!(
                !stderr.trim_end_matches('\n').contains(char::is_control),
                "{stderr:?}"
            );
        }
    }
    for arguments in [
        &["up", "--config", &rubbish][..],
        &["route", "--roots", &rubbish],
        &["decode", "mad", "-"],
        &["encode", "-"],
    ] {
        let stdin = std::fs::read(&rubbish).unwrap();
        let output = ib(arguments, &stdin);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(
            !stderr.trim_end_matches('\n').contains(char::is_control),
            "{stderr:?}"
        );
    }
    for name in [&rubbish, &empty, &lfts] {
        std::fs::remove_file(name).unwrap();
    }
}

#[test]
fn an_output_that_is_full_is_status_2_and_one_that_is_closed_is_not() {
    for arguments in [
        &["--help"][..],
        &["up"],
        &["generate", "thesis"],
        &["decode", "mad", "00"],
    ] {
        let run = |stdout: std::process::Stdio| {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ib"));
            command.args(arguments).stdin(std::process::Stdio::null());
            command.stdout(stdout).output().unwrap()
        };
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let full = run(full.into());
        assert_eq!(full.status.code(), Some(2), "{arguments:?}");
        let stderr = String::from_utf8(full.stderr).unwrap();
        assert!(stderr.starts_with("error: standard output: "), "{stderr}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let closed = run(writer.into());
        assert_ne!(closed.status.code(), Some(2), "{arguments:?}");
        assert!(closed.stderr.is_empty(), "{arguments:?}");
    }
    for option in ["--lfts", "--sls", "--sl2vl"] {
        refused(
            &["route", option, "/nowhere/x"],
            "",
            "error: /nowhere/x: ",
            "expected a file that can be written",
        );
    }
}

#[test]
fn work_goes_on_when_nobody_reads_its_warnings() {
    let faults = ["up", "--json", "--faults", "loss=0.1,seed=1"];
    let heard = ib(&faults, "");
    assert!(heard.stderr.starts_with(b"warning: "), "{heard:?}");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ib"));
    command.args(faults).stdin(std::process::Stdio::null());
    let unheard = command.stderr(writer).output().unwrap();
    assert_eq!(unheard.status, heard.status);
    assert!(!unheard.stdout.is_empty());
}

#[test]
fn fabrics_are_documents_too() {
    let output = ib(&["generate", "thesis", "--json"], "");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["fabric"]["switches"], 5);
    assert_eq!(document["fabric"]["links"], 19);
    let nodes = document["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 12);
    // Each cable is there from both ends.
    for node in nodes {
        for port in node["ports"].as_array().unwrap() {
            let peer = &port["peer"];
            if peer.is_null() {
                continue;
            }
            let other = nodes
                .iter()
                .find(|other| other["node_guid"] == peer["node_guid"]);
            let ports = other.unwrap()["ports"].as_array().unwrap();
            let back = ports
                .iter()
                .find(|end| end["port_num"] == peer["port_num"])
                .unwrap();
            assert_eq!(back["peer"]["node_guid"], node["node_guid"]);
            assert_eq!(back["peer"]["port_num"], port["port_num"]);
        }
    }
}

#[test]
fn every_fabric_comes_up() {
    for path in fabric_files() {
        let output = ib(&["up", "--json", "--fabric", path.to_str().unwrap()], "");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{path:?}: {stderr}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["routes"]["unreachable"], 0, "{path:?}");
        assert_eq!(report["routes"]["deadlock_free"], true, "{path:?}");
        assert_eq!(report["ports"]["not_active"], 0, "{path:?}");
    }
}

#[test]
fn a_failed_check_is_status_1() {
    // Shortest paths on a ring of five close a circle.
    let ring = [
        "route",
        "--fabric",
        "ring:switches=5,hosts=1",
        "--engine",
        "minhop",
    ];
    assert_eq!(ib(&ring, "").status.code(), Some(1));
    assert_eq!(ib(&["decode", "packet", "4082"], "").status.code(), Some(1));
}

#[test]
fn check_says_how_traffic_meets_and_proves_that_nothing_deadlocks() {
    let directory = std::env::temp_dir().join(format!("ib-proof-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let (lfts, order) = (directory.join("lfts"), directory.join("order"));
    let (lfts, order) = (lfts.to_str().unwrap(), order.to_str().unwrap());
    let tree = ["--fabric", "fat-tree:radix=8,levels=2"];
    let route = [&["route", "--engine", "ftree", "--lfts", lfts], &tree[..]].concat();
    assert_eq!(ib(&route, "").status.code(), Some(0));
    let check = [
        "check",
        "--json",
        "--lfts",
        lfts,
        "--traffic",
        "--certificate",
        order,
    ];
    let output = ib(&[&check, &tree[..]].concat(), "");
    assert_eq!(output.status.code(), Some(0));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["routes"]["unreachable"], 0);
    // A whole tree has no contention under shifts, and each link carries a share of all pairs.
    assert_eq!(report["traffic"]["shift"]["max"], 1);
    assert_eq!(report["traffic"]["all_to_all"]["max"], 28);
    assert_eq!(
        report["traffic"]["lmc_overlap"]["common_links"],
        serde_json::json!([])
    );
    assert_eq!(report["certificate"]["flaw"], serde_json::Value::Null);
    let lines = std::fs::read_to_string(order).unwrap().lines().count() as u64;
    assert_eq!(report["certificate"]["channels"].as_u64(), Some(lines - 1));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn logical_clusters_are_one_document() {
    let output = ib(
        &[
            "route",
            "--json",
            "--fabric",
            "mcsm",
            "--engine",
            "updn",
            "--clusters",
            clusters_file().to_str().unwrap(),
        ],
        "",
    );
    assert_eq!(output.status.code(), Some(0));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["routes"]["pairs"], 30);
    assert_eq!(report["routes"]["unreachable"], 0);
    assert_eq!(report["engine"], "updn");
    let transit = report["clusters"][1]["transit"].as_array().unwrap();
    assert_eq!(transit.len(), 4);
    assert!(
        transit
            .iter()
            .all(|port| port["lids"] == 499 || port["lids"] == 500)
    );
}

#[test]
fn a_dump_routes_the_same_fabric_again() {
    let directory = std::env::temp_dir().join(format!("ib-dump-{}", std::process::id()));
    let file = |name: &str| directory.join(name).display().to_string();
    let fabric = ["--fabric", "torus:4x4,hosts=2", "--engine"];
    let route = |more: &[&str]| {
        let output = ib(&[&["route", "--json"], &fabric[..], more].concat(), "");
        let stderr = String::from_utf8(output.stderr).unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect(&stderr);
        report["routes"].clone()
    };
    let dump = file("");
    let first = route(&["updn", "--dump-dir", &dump]);
    let (lids, lfts) = (file("guid2lid"), file("opensm-lfts.dump"));
    let again = route(&["file", "--tables", &lfts, "--guid2lid", &lids]);
    assert_eq!(first, again);
    let matrix = file("opensm-lid-matrix.dump");
    let by_hops = route(&["file", "--lid-matrix-file", &matrix, "--guid2lid", &lids]);
    assert_eq!(by_hops["mean_hops"], route(&["minhop"])["mean_hops"]);
    // This format does not contain the owners of LIDs, and a generated fabric has no LIDs.
    refused(
        &[
            "check",
            "--fabric",
            fabric[1],
            "--lfts",
            &file("opensm.fdbs"),
        ],
        "",
        "error: ",
        "opensm.fdbs: no LID of a port of this fabric",
    );
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn lists_of_single_engines_are_refused_with_file_and_line() {
    for option in [
        "--ids-guid-file",
        "--cn-guid-file",
        "--io-guid-file",
        "--hop-weights-file",
        "--port-search-ordering-file",
        "--ignore-guids",
        "--guid-routing-order-file",
    ] {
        refused(
            &["route", option, "-"],
            "# list\nnothing\n",
            "error: -:2: ",
            "expected",
        );
    }
}

#[test]
fn clusters_that_disagree_are_refused_with_file_and_line() {
    let text = std::fs::read_to_string(clusters_file()).unwrap();
    refused(
        &["route", "--fabric", "mcsm", "--clusters", "-"],
        &text.replace("1000 1999", "900 1999"),
        "error: -:14: cluster second: LIDs 900 to 999",
        "expected",
    );
    refused(
        &["route", "--fabric", "mcsm", "--clusters", "-"],
        &text.replace("boundary", "border"),
        "error: -:4: ",
        "boundary",
    );
}

/// Packets of the vectors, with the form that they start in.
fn packets() -> Vec<(&'static str, Vec<String>)> {
    let files = [
        ("opcodes", "ib"),
        ("raw", "ib"),
        ("raw", "link"),
        ("malformed", "ib"),
        ("roce", "rocev1"),
        ("roce", "rocev2-ipv4"),
        ("roce", "rocev2-ipv6"),
    ];
    let packets = files.map(|(file, start)| {
        let text = vectors_text(file);
        let vectors = text
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let of_start = vectors.filter(|vector| {
            let kind = vector["kind"].as_str().unwrap();
            kind == start || start == "ib" && kind == "raw"
        });
        let digits = of_start.map(|vector| vector["hex"].as_str().unwrap().to_owned());
        (start, digits.collect())
    });
    packets.into()
}

/// Asserts that every case is unchanged after `decode` with these arguments and `encode --raw`.
fn comes_back(arguments: &[&str], cases: &[String]) {
    let text: String = cases.iter().map(|case| format!("{case}\n")).collect();
    let decoded = ib(&[&["decode", "--json"], arguments].concat(), &text);
    let encoded = ib(&["encode", "--raw"], &decoded.stdout);
    assert_eq!(encoded.status.code(), Some(0));
    let encoded = String::from_utf8(encoded.stdout).unwrap();
    let encoded: Vec<&str> = encoded.lines().collect();
    assert_eq!(encoded.len(), cases.len(), "{arguments:?}");
    for (case, back) in cases.iter().zip(encoded) {
        assert_eq!(case, back, "{arguments:?}");
    }
}

#[test]
fn raw_encoding_gives_back_what_was_decoded() {
    for (start, cases) in packets() {
        comes_back(&["packet", "--as", start], &cases);
    }
}

#[test]
fn raw_encoding_gives_back_packets_cut_at_any_byte() {
    for (start, cases) in packets() {
        let few = cases.iter().step_by(cases.len().div_ceil(12));
        let cut = few.flat_map(|case| (0..=case.len() / 2).map(|len| case[..2 * len].to_owned()));
        comes_back(&["packet", "--as", start], &cut.collect::<Vec<_>>());
    }
}

#[test]
fn raw_encoding_gives_back_datagrams_of_any_class_and_length() {
    let mut cases = Vec::new();
    for class in 0..=255u8 {
        for attribute in [0x01u8, 0x02, 0x11, 0x13, 0x15, 0x35, 0x38, 0x3a, 0xff] {
            for fill in ["00", "ff", "a5"] {
                let header = format!("01{class:02x}0192{}00{attribute:02x}", fill.repeat(12));
                cases.push(format!("{header}{}", fill.repeat(256 - 18)));
            }
        }
    }
    let cut = (0..300).map(|len| format!("01810101{}", "a5".repeat(len)));
    cases.extend(cut);
    comes_back(&["mad"], &cases);
}

#[test]
fn attributes_of_vendors_are_decoded_where_they_lie_and_come_back() {
    let attributes = [
        (0x81, 0xff60, "MlnxCableInfo", 64),
        (0x01, 0xff52, "MlnxRegisterAccessSMP", 64),
        (0x01, 0xff53, "MlnxSemaphoreLock", 64),
        (0x04, 0xff00, "PortCountersCong", 64),
        (0x0a, 0x0017, "MlnxGeneralInfo", 32),
        (0x0a, 0x0050, "MlnxConfigSpace", 32),
    ];
    let case = |&(class, attribute, ..): &(u8, u16, &str, u64)| {
        let bytes: Vec<u8> = (0..=255u8).map(|at| at.wrapping_mul(29) ^ class).collect();
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        format!(
            "01{class:02x}0181{}{attribute:04x}{}",
            &text[8..32],
            &text[36..]
        )
    };
    let cases: Vec<String> = attributes.iter().map(case).collect();
    comes_back(&["mad"], &cases);
    let decoded = ib(&["decode", "mad", "--json"], cases.join("\n"));
    let lines = std::str::from_utf8(&decoded.stdout).unwrap().lines();
    for ((_, _, name, offset), line) in attributes.iter().zip(lines) {
        let document: serde_json::Value = serde_json::from_str(line).unwrap();
        let header = &document["headers"][1];
        assert_eq!(header["name"], *name);
        assert_eq!(header["offset"], *offset, "{name}");
    }
}

#[test]
fn tables_that_a_kernel_put_together_are_whole_however_short() {
    let text = vectors_text("mads");
    let vectors = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let short = vectors.filter(|vector| vector["hex"].as_str().unwrap().len() < 512);
    let short: Vec<serde_json::Value> = short.collect();
    assert!(short.len() > 30);
    let hex = |vector: &serde_json::Value| vector["hex"].as_str().unwrap().to_owned();
    let cases: Vec<String> = short.iter().map(hex).collect();
    comes_back(&["mad"], &cases);
    let output = ib(&["decode", "mad", "--json"], cases.join("\n"));
    assert_eq!(output.status.code(), Some(0));
    let documents = String::from_utf8(output.stdout).unwrap();
    for (vector, document) in short.iter().zip(documents.lines()) {
        let document: serde_json::Value = serde_json::from_str(document).unwrap();
        assert_eq!(document["headers"][0], vector["headers"][0]);
        assert_eq!(document["error"], serde_json::Value::Null);
    }
}

#[test]
fn a_datagram_that_is_cut_short_shows_the_header_that_all_have() {
    let names = |len: usize| {
        let digits = format!("01040101{}", "00".repeat(len - 4));
        let output = ib(&["decode", "mad", "--json", &digits], "");
        assert_eq!(output.status.code(), Some(1));
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["error"]["kind"], "truncated");
        let headers = document["headers"].as_array().unwrap();
        let names = headers.iter().map(|header| header["name"].to_string());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(23), [""; 0]);
    assert_eq!(names(24), ["\"MADHeader\""]);
    assert_eq!(names(255), ["\"MADHeader\""]);
}

#[test]
fn encoding_recomputes_lengths_pad_and_crcs() {
    // The sample packet of the architecture specification, 7.8.
    let packet = "7012375c000e17d20a2024870087b1b3000dec2a01710a1c015d400238f27a050000000ebb884d85fd5cfba4728bc0690ed400009625b75a45fa";
    let decoded = ib(&["decode", "packet", packet, "--json"], "");
    let mut document: serde_json::Value = serde_json::from_slice(&decoded.stdout).unwrap();
    document["headers"][0]["fields"]["pkt_len"] = 0.into();
    document["headers"][1]["fields"]["pad_cnt"] = 0.into();
    document["icrc"] = serde_json::Value::Null;
    document["vcrc"] = serde_json::Value::Null;
    let encoded = ib(&["encode"], document.to_string());
    assert_eq!(String::from_utf8(encoded.stdout).unwrap().trim(), packet);
}

#[test]
fn encoding_keeps_the_bytes_of_a_pad_that_fits() {
    // One byte of payload, and three bytes of pad that are not zero.
    let document = |payload: &str| {
        format!(
            r#"{{"headers":[{{"name":"LRH","offset":0,"fields":{{"lnh":2}}}},{{"name":"BTH","offset":8,"fields":{{"op_code":4}}}}],"payload":"{payload}","pad":"29903a"}}"#
        )
    };
    let encoded = |payload| {
        let encoded = ib(&["encode"], document(payload));
        String::from_utf8(encoded.stdout).unwrap().trim()[40..48].to_owned()
    };
    assert_eq!(encoded("cd"), "cd29903a");
    assert_eq!(
        encoded("cdef"),
        "cdef0000",
        "two bytes of pad are needed, not three"
    );
}

#[test]
fn encoding_a_link_packet_recomputes_its_crc() {
    let packet = "03ce0397";
    let document = r#"{"headers":[{"name":"FlowControlPacket","offset":0,"fields":{"op":0,"fctbs":974,"vl":0,"fccl":919,"lpcrc":0}}]}"#;
    let encoded = ib(&["encode"], document);
    let encoded = String::from_utf8(encoded.stdout).unwrap();
    assert!(encoded.starts_with(packet), "{encoded}");
    let decoded = ib(&["decode", "packet", "--as", "link", encoded.trim()], "");
    assert_eq!(decoded.status.code(), Some(0));
    let raw = ib(&["encode", "--raw"], document);
    assert_eq!(raw.stdout, b"03ce03970000\n");
}

#[test]
fn chosen_fields_are_those_of_the_whole_decoding() {
    let text = vectors_text("mad_packets");
    let cases: String = text
        .lines()
        .map(|line| {
            let vector: serde_json::Value = serde_json::from_str(line).unwrap();
            vector["hex"].as_str().unwrap().to_owned() + "\n"
        })
        .collect();
    let whole = ib(&["decode", "packet", "--json", "-"], &cases).stdout;
    // A number, a wide one, a GID, an array, and a field of a structure that few packets have.
    let names = "LRH.slid,GRH.sgid,MADHeader.transaction_id,BTH.psn,PortInfo.lid,NodeDescription.node_string,LinearForwardingTable.port_block,PathRecord.dgid";
    let chosen = ib(
        &["decode", "packet", "--json", "--fields", names, "-"],
        &cases,
    )
    .stdout;
    let (whole, chosen) = (
        String::from_utf8(whole).unwrap(),
        String::from_utf8(chosen).unwrap(),
    );
    assert_eq!(whole.lines().count(), chosen.lines().count());
    let mut compared = 0;
    for (whole, chosen) in whole.lines().zip(chosen.lines()) {
        let whole: serde_json::Value = serde_json::from_str(whole).unwrap();
        let chosen: serde_json::Value = serde_json::from_str(chosen).unwrap();
        let headers = whole["headers"].as_array().unwrap();
        for name in names.split(',') {
            let (structure, field) = name.split_once('.').unwrap();
            let is_it = |header: &&serde_json::Value| match structure {
                "MADHeader" => header["fields"].get("mgmt_class").is_some(),
                _ => header["name"] == structure,
            };
            let values: Vec<_> = headers.iter().filter(is_it).collect();
            let values: Vec<_> = values
                .iter()
                .map(|header| &header["fields"][field])
                .collect();
            let expected = match values.as_slice() {
                [] => serde_json::Value::Null,
                [only] => (*only).clone(),
                several => several.iter().copied().cloned().collect(),
            };
            compared += values.len();
            assert_eq!(chosen[name], expected, "{name} of {whole}");
        }
    }
    assert!(compared > cases.lines().count(), "{compared} values");
}

#[test]
fn a_node_that_cannot_be_is_named_once() {
    let text = "switchguid=0x0\nSwitch 1 \"s\"\n[1] \"h\"[1]\n\nCa 1 \"h\"\n[1] \"s\"[1]\n";
    let output = ib(&["up", "--fabric", "-"], text);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert_eq!(
        stderr
            .matches("node_guid in its NodeInfo is impossible")
            .count(),
        1,
        "{stderr}"
    );
}

#[test]
fn files_that_a_configuration_names_are_read_or_named() {
    let folder = std::env::temp_dir().join(format!("ib-config-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| {
        let file = folder.join(name);
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    };
    let roots = write("roots", "0x0000000000000001\n");
    // The form that `opensm -c` writes, while the partition file does not exist.
    let config = write(
        "good.conf",
        &format!(
            "routing_engine updn,no_fallback\nroot_guid_file {roots}\n\
             partition_config_file /etc/opensm/partitions.conf\n\
             torus_config /etc/opensm/torus-2QoS.conf\n"
        ),
    );
    let output = ib(&["up", "--fabric", "-", "--config", &config], PAIR);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let bad = write("bad.conf", "root_guid_file /not/there\n");
    refused(
        &["up", "--fabric", "-", "--config", &bad],
        PAIR,
        "error: /not/there: ",
        "read",
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
