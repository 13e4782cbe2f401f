//! Reports on incomplete fabrics, and the reasons for status 1.

use std::{fs, path::PathBuf};

use crate::common::{PAIR, ib};
use serde_json::Value;

fn scratch(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("ib-reports-{}-{name}", std::process::id()));
    fs::write(&path, text).unwrap();
    path
}

/// Runs a command with `--json`: its status, its document, and what it printed on standard error.
fn report(arguments: &[&str], stdin: &str) -> (i32, Value, String) {
    let output = ib(&[arguments, &["--json"]].concat(), stdin);
    let stderr = String::from_utf8(output.stderr).unwrap();
    let document = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.code().unwrap(), document, stderr)
}

/// The errors of a report, one a line.
fn errors(report: &Value) -> String {
    let errors = report["errors"].as_array().expect("a list of errors");
    let lines = errors.iter().map(|error| error.as_str().expect("text"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_ca_without_a_lid_in_the_tables_is_unreachable() {
    let lfts = scratch("lfts", "");
    let name = lfts.to_str().unwrap();
    let route = ["route", "--fabric", "-", "--engine", "updn", "--lfts", name];
    assert_eq!(ib(&route, PAIR).status.code(), Some(0));
    let text = fs::read_to_string(&lfts).unwrap();
    let check = ["check", "--fabric", "-", "--lfts", name];
    let (status, whole, _) = report(&check, PAIR);
    assert_eq!((status, errors(&whole).as_str()), (0, ""));
    assert_eq!(whole["routes"]["pairs"], 2);

    // The lines of one CA, which contain its port GUID, are missing; then those of both.
    let without = |guid: &str| -> String {
        let lines = text.lines().filter(|line| !line.contains(guid));
        lines.map(|line| format!("{line}\n")).collect()
    };
    for guid in ["0000000000000011", "0000000000000021"] {
        fs::write(&lfts, without(guid)).unwrap();
        let (status, report, _) = report(&check, PAIR);
        assert_eq!(status, 1, "{guid}");
        // From the other CA and from both switches.
        assert_eq!(report["routes"]["unreachable"], 3, "{guid}");
        assert!(
            errors(&report).contains("1 port of a CA has no LID"),
            "{report}"
        );
        let text = ib(&check, PAIR);
        let text = String::from_utf8(text.stdout).unwrap();
        assert!(text.lines().last().unwrap().contains("NOT"), "{text}");
    }
    // No line names a CA, and the fabric's file has no LIDs.
    fs::write(&lfts, without("Channel Adapter")).unwrap();
    let output = ib(&check, PAIR);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("no LID"), "{stderr}");
    fs::remove_file(&lfts).unwrap();
}

#[test]
fn a_fabric_in_pieces_is_not_up() {
    let mut cut = 0;
    for seed in 1..=6 {
        let seed = seed.to_string();
        let fabric = [
            "--fabric",
            "random:switches=30,links=31,hosts=2,seed=1",
            "--remove-links",
            "10",
            "--seed",
            &seed,
        ];
        let (_, routed, _) = report(&[&["route"], &fabric[..]].concat(), "");
        let (status, up, stderr) = report(&[&["up"], &fabric[..]].concat(), "");
        let is_whole = routed["routes"]["unreachable"] == 0;
        assert_eq!(status, i32::from(!is_whole), "seed {seed}: {stderr}");
        assert_eq!(up["up"], is_whole);
        assert_eq!(up["missing"]["switches"] == 0, is_whole);
        if is_whole {
            continue;
        }
        cut += 1;
        assert_ne!(up["routes"]["unreachable"], 0);
        assert!(errors(&up).contains("no cable joins"), "{up}");
        let found = |name: &str| up["fabric"][name].as_u64().unwrap();
        let missing = |name: &str| up["missing"][name].as_u64().unwrap();
        for name in ["switches", "cas"] {
            assert_eq!(
                Some(found(name) + missing(name)),
                routed["fabric"][name].as_u64()
            );
        }
    }
    assert!(cut > 0, "no seed cuts the fabric");
}

#[test]
fn nodes_beyond_the_longest_directed_route_are_brought_up() {
    let line = ["up", "--fabric", "mesh:140x1,hosts=1"];
    let (status, up, _) = report(&line, "");
    assert_eq!(status, 0, "{}", errors(&up));
    assert_eq!(up["up"], true);
    assert_eq!(up["fabric"]["switches"], 140);
}

#[test]
fn a_report_says_whether_the_subnet_is_up_and_why_not() {
    let (status, up, _) = report(&["up", "--fabric", "thesis"], "");
    assert_eq!(
        (status, &up["up"], errors(&up).as_str()),
        (0, &true.into(), "")
    );
    let mut failed = 0;
    for seed in 1..=8 {
        let faults = format!("corrupt=0.05,seed={seed}");
        let (status, up, _) = report(&["up", "--faults", &faults], "");
        assert_eq!(up["up"], status == 0, "{up}");
        assert_eq!(errors(&up).is_empty(), status == 0, "{up}");
        failed += status;
    }
    assert!(failed > 0, "no seed keeps the subnet down");
    let ring = [
        "route",
        "--fabric",
        "ring:switches=5,hosts=1",
        "--engine",
        "minhop",
    ];
    let (status, ring, _) = report(&ring, "");
    assert_eq!(status, 1);
    assert!(errors(&ring).contains("deadlock"), "{ring}");
}
