//! The walk through a fabric: `ib discover` beside ibnetdiscover.

use std::{
    io::Write as _,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ib_testkit::{
    data::fabric_file as fabric,
    ibsim::{Ibsim, unique_name},
    process,
};
use serde_json::Value;

use crate::peers::{fabrics, first_ca, ib, printed, printed_by_peer};

/// The text without the comments that name the program and the time.
fn topology(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('#')).collect()
}

#[test]
fn discover_prints_what_ibnetdiscover_prints() {
    for file in fabrics() {
        let ibsim = Ibsim::start(&file).unwrap();
        let node = first_ca(&file);
        let theirs = printed_by_peer(&mut ibsim.client("ibnetdiscover", &node));
        let ours = ib(&ibsim, &node, &["discover"]);
        assert_eq!(topology(&ours), topology(&theirs), "{}", file.display());
    }
}

#[test]
fn discover_works_under_the_preloaded_library() {
    let file = fabric("real-edr-102");
    let ibsim = Ibsim::start(&file).unwrap();
    let node = first_ca(&file);
    let theirs = printed_by_peer(&mut ibsim.client("ibnetdiscover", &node));
    let ours = printed(
        ibsim
            .client(env!("CARGO_BIN_EXE_ib"), &node)
            .arg("discover"),
    );
    assert_eq!(topology(&ours), topology(&theirs));
}

#[test]
fn a_silent_node_is_listed_and_does_not_stall_the_walk() {
    const SILENT: &str = "00000000000000f4";
    let file = fabric("seed-dualstar");
    let node = first_ca(&file);
    let name = unique_name();
    let mut ibsim = Command::new("ibsim")
        .arg("-s")
        .arg(&file)
        .env("IBSIM_SOCKNAME", &name)
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("ibsim is installed");
    let mut console = ibsim.stdin.take().expect("it was piped");
    writeln!(console, "Error \"S-{SILENT}\" 100").expect("it reads its console");
    let patience = Instant::now() + Duration::from_secs(15);
    let walk = || {
        let mut discover = Command::new(env!("CARGO_BIN_EXE_ib"));
        discover.args(["discover", "--json", "--node", &node, "--device"]);
        discover.arg(format!("sim:{name}"));
        process::output(&mut discover).expect("the program was built")
    };
    // The command takes its time to arrive.
    let (output, took) = loop {
        let begin = Instant::now();
        let output = walk();
        if output.status.code() == Some(1) || begin > patience {
            break (output, begin.elapsed());
        }
        thread::sleep(Duration::from_millis(50));
    };
    drop(console);
    ibsim.kill().expect("it is ours");
    ibsim.wait().expect("it was started");

    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.starts_with("warning: no answer from"), "{stderr}");
    assert!(took < Duration::from_secs(5), "{took:?}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    // All but this switch and the CA that has no other cable.
    assert_eq!(document["fabric"]["switches"], 4);
    assert_eq!(document["fabric"]["cas"], 6);
    let silent = document["silent"].as_array().expect("a list");
    assert!(!silent.is_empty());
    assert!(!document["nodes"].to_string().contains(SILENT));
}

/// A line of a list. For a port without a link ibnetdiscover prints a width and a speed although there are none; our
/// list has `???`.
fn comparable(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        [
            kind @ ("SW" | "CA" | "RT"),
            lid,
            port,
            guid,
            _,
            _,
            rest @ ..,
        ] if !line.contains(" - ") => {
            format!("{kind} {lid} {port} {guid} {}", rest.join(" "))
        }
        _ => line.to_owned(),
    }
}

/// ibnetdiscover lists nodes and ports in the order of a hash, `ib discover` in the order of the walk.
#[test]
fn lists_hold_what_those_of_ibnetdiscover_hold() {
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(comparable).collect();
        lines.sort();
        lines
    };
    for name in [
        "seed-dualstar",
        "gen-karyn-4-2",
        "real-edr-102",
        "real-sdr-2007-6",
    ] {
        let file = fabric(name);
        let ibsim = Ibsim::start(&file).unwrap();
        let node = first_ca(&file);
        for option in ["-l", "-H", "-S", "-R", "-p"] {
            let theirs = printed_by_peer(ibsim.client("ibnetdiscover", &node).arg(option));
            let ours = ib(&ibsim, &node, &["discover", option]);
            assert_eq!(sorted(&ours), sorted(&theirs), "{name} {option}");
        }
    }
}
