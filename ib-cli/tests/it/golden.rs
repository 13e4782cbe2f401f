//! The output of every command for people, word for word: the files in `snapshots/`.
//!
//! A change of a snapshot is a change that users see, so it belongs in the changelog.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, Command, Output, Stdio},
};

use crate::common::ib;
use insta::assert_snapshot;

/// The sample packet of the architecture specification, 7.8.
const PACKET: &str = "7012375c000e17d20a2024870087b1b3000dec2a01710a1c015d400238f27a050000000ebb884d85fd5cfba4728bc0690ed400009625b75a45fa";

/// The command with its outputs and its status.
fn printed(arguments: &[&str], stdin: &str) -> String {
    transcript(arguments, &ib(arguments, stdin))
}

fn transcript(arguments: &[&str], output: &Output) -> String {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        !stdout.contains('\x1b') && !stderr.contains('\x1b'),
        "{arguments:?} prints colours, and nobody sees them"
    );
    let mut text = format!("$ ib {}\n{}", arguments.join(" "), without_clock(&stdout));
    if !stderr.is_empty() {
        text.push_str("--- stderr\n");
        text.push_str(&stderr);
    }
    let status = output.status.code().expect("no signal ended it");
    text.push_str(&format!("--- status {status}\n"));
    text
}

/// The text without the numbers that differ from run to run, or with the work that the subnet manager finds to do:
/// those of times, of datagrams and of the verdict. The quality of an engine's routes does not matter here: its
/// numbers become `#`.
fn without_clock(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let has_times = ["time ", "phases ", "MADs "]
            .iter()
            .any(|name| line.starts_with(name));
        if has_times || line.ends_with(" on the clock") {
            lines += &masked(line);
        } else if ["routes ", "hops ", "load "]
            .iter()
            .any(|name| line.starts_with(name))
        {
            lines += &without_digits(line);
        } else {
            lines += line;
        }
        lines.push('\n');
    }
    lines
}

/// The line with `#` for each number.
fn without_digits(line: &str) -> String {
    let mut text = String::new();
    for character in line.chars() {
        if !character.is_ascii_digit() {
            text.push(character);
        } else if !text.ends_with('#') {
            text.push('#');
        }
    }
    text
}

/// The words of the line, a dot for each number.
fn masked(line: &str) -> String {
    let word = |word| match str::parse::<f64>(word) {
        Ok(_) => ".",
        Err(_) => word,
    };
    line.split_whitespace()
        .map(word)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn up_prints_the_fabric_the_engines_and_the_verdict() {
    let updn = ["up", "--fabric", "thesis", "--engine", "updn"];
    assert_snapshot!(printed(&updn, ""));
    // Shortest paths on a ring can deadlock: they are not installed.
    let ring = "ring:switches=5,hosts=1";
    let unsafe_routes = ["up", "--fabric", ring, "--engine", "minhop", "--lmc", "1"];
    assert_snapshot!(printed(&unsafe_routes, ""));
}

#[test]
fn route_prints_a_line_an_engine() {
    let engines = [
        "route",
        "--fabric",
        "ring:switches=5,hosts=1",
        "--engine",
        "minhop,updn,lash",
    ];
    assert_snapshot!(printed(&engines, ""));
}

#[test]
fn check_prints_the_verdict_about_tables() {
    let directory = std::env::temp_dir().join(format!("ib-golden-{}", std::process::id()));
    fs::create_dir_all(&directory).expect("a directory for temporary files");
    let lfts = directory.join("lfts");
    let lfts = lfts.to_str().expect("the path is text");
    for (engine, name) in [
        ("updn", "check_of_a_good_table"),
        ("minhop", "check_of_a_deadlock"),
    ] {
        let ring = "ring:switches=5,hosts=1";
        ib(
            &[
                "route", "--fabric", ring, "--engine", engine, "--lfts", lfts,
            ],
            "",
        );
        let checked = printed(&["check", "--fabric", ring, "--lfts", lfts], "");
        assert_snapshot!(name, checked.replace(lfts, "LFTS"));
    }
    fs::remove_dir_all(&directory).expect("the directory is ours");
}

#[test]
fn whatif_prints_who_loses_whom() {
    let links = [
        "whatif",
        "--fabric",
        "ring:switches=4,hosts=1",
        "--engine",
        "updn",
        "--in-full",
    ];
    assert_snapshot!(printed(&links, ""));
    let line = [
        "whatif",
        "--fabric",
        "mesh:3x1",
        "--engine",
        "updn",
        "--switches",
    ];
    assert_snapshot!(printed(&line, ""));
}

#[test]
fn generate_prints_a_fabric_file() {
    assert_snapshot!(printed(
        &["generate", "--fabric", "ring:switches=3,hosts=1"],
        ""
    ));
}

#[test]
fn decode_prints_a_line_a_header() {
    assert_snapshot!(printed(&["decode", "packet", PACKET], ""));
    let cut = &PACKET[..80];
    assert_snapshot!(printed(&["decode", "packet", cut], ""));
    assert_snapshot!(printed(&["decode", "packet", "--as", "link", "-"], LINKS));
    assert_snapshot!(printed(
        &["decode", "packet", "--as", "link", "--json", "-"],
        LINKS
    ));
    assert_snapshot!(printed(&["decode", "mad", "-"], &mads()));
}

/// Flow control: right, wrong CRC, a reserved operation, cut short, too long.
const LINKS: &str = "00000000b362\n00000000b363\n50000000b362\n0000\n00000000b362ff\n";

/// Requests and answers of different classes.
fn mads() -> String {
    let text = ib_testkit::data::vectors_text("mads");
    let hex = |line: &str| {
        let vector: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        vector["hex"].as_str().expect("hex").to_owned() + "\n"
    };
    text.lines().step_by(80).map(hex).collect()
}

#[test]
fn chosen_fields_stand_in_columns() {
    let choose = |what, names| printed(&["decode", what, "--fields", names, "-"], &mads());
    assert_snapshot!(choose(
        "mad",
        "method,TransactionID,attribute_id,PortInfo.lid,NodeInfo.node_guid"
    ));
    let packet = format!("{PACKET}\n{}\n", &PACKET[..16]);
    let names = "LRH.SLID,LRH.DLID,op_code,BTH.dest_qp,psn,RETH.va";
    assert_snapshot!(printed(
        &["decode", "packet", "--fields", names, "-"],
        &packet
    ));
    let json = ["decode", "packet", "--json", "--fields", names, "-"];
    assert_snapshot!(printed(&json, &packet));
}

#[test]
fn query_prints_fields_in_columns() {
    let server = Server::start("thesis");
    let query = |arguments: &[&str]| {
        let device = format!("sim:{}", server.name);
        let output = ib(&[&["query", "--device", &device], arguments].concat(), "");
        transcript(&[&["query"], arguments].concat(), &output)
    };
    assert_snapshot!(query(&["nodeinfo"]));
    assert_snapshot!(query(&["switchinfo", "--direct", "0,1"]));
    assert_snapshot!(query(&[
        "nodeinfo",
        "--direct",
        "0,1,36",
        "--timeout",
        "20",
        "--retries",
        "0"
    ]));
    assert_snapshot!(query(&["sa", "PathRecord"]));
}

#[test]
fn bad_usage_and_bad_input_are_one_line_and_status_2() {
    let cases: [(&[&str], &str); 16] = [
        (&["up", "--fabric", "/nowhere"], ""),
        (&["up", "--fabric", "torus:4x"], ""),
        (&["up", "--fabric", "-"], "this is\nno fabric\n"),
        (&["up", "--engine", "magic"], ""),
        (&["route", "--lmc", "8"], ""),
        (&["route", "--fabric", "thesis", "--roots", "/nowhere"], ""),
        (&["check", "--fabric", "thesis"], ""),
        (&["whatif", "--bogus"], ""),
        (&["generate", "--fabric", "cube:4"], ""),
        (&["decode", "packet", "0g"], ""),
        (&["decode", "packet", "--as", "token-ring", "00"], ""),
        (&["decode", "packet", "--fields", "BTH.dst_qp", "00"], ""),
        (&["decode", "mad", "--fields", "lid", "-"], ""),
        (&["encode"], "{}\n"),
        (&["query", "nodeinfo", "--device", "sim:nobody-listens"], ""),
        (&["sim", "--fabric", "-"], ""),
    ];
    let text: String = cases
        .iter()
        .map(|(arguments, stdin)| {
            let output = ib(arguments, stdin);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}");
            assert_eq!(output.stdout, b"", "{arguments:?}");
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(stderr.lines().count(), 1, "{arguments:?}: {stderr}");
            transcript(arguments, &output)
        })
        .collect();
    assert_snapshot!(text);
}

#[test]
fn help_lists_the_commands() {
    assert_snapshot!(printed(&["--help"], ""));
}

#[test]
fn ctrl_c_is_status_130() {
    let mut server = Server::start("thesis");
    let kill = Command::new("kill")
        .args(["-INT", &server.child.id().to_string()])
        .status();
    assert!(kill.expect("kill is installed").success());
    let status = server.child.wait().expect("it was not waited for");
    assert_eq!(status.code(), Some(130));
}

/// The output of a shell command on a terminal, which `script` gives it.
fn on_terminal(command: &str) -> String {
    let output = Command::new("script")
        .args(["-qec", command, "/dev/null"])
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output();
    let output = output.expect("script is installed");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_long_input_shows_its_progress_unless_the_output_is_on_the_terminal_too() {
    let ib = env!("CARGO_BIN_EXE_ib");
    // The bar comes with the first read after a second.
    let lines = format!("(echo {0}; sleep 1.2; echo {0})", "00".repeat(256));
    let decode = format!("{lines} | {ib} decode mad --fields method -");
    assert!(on_terminal(&format!("{decode} >/dev/null")).contains("decoding"));
    let shown = on_terminal(&decode);
    assert_eq!(shown.replace('\r', ""), "0\n0\n");
}

#[test]
fn colour_is_for_terminals() {
    let ib = env!("CARGO_BIN_EXE_ib");
    assert!(on_terminal(&format!("{ib} --help")).contains('\x1b'));
    let piped = crate::common::ib(&["--help"], "");
    assert!(!piped.stdout.contains(&0x1b));
}

/// `ib sim` on sockets of its own.
struct Server {
    child: Child,
    name: String,
}

impl Server {
    fn start(fabric: &str) -> Self {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("golden-{}-{count}", std::process::id());
        let mut child = Command::new(env!("CARGO_BIN_EXE_ib"))
            .args(["sim", "--fabric", fabric, "--socket", &name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program was built");
        // The server answers on its console once it listens.
        let console = child.stdin.as_mut().expect("it was piped");
        console.write_all(b"Help\n").expect("it reads");
        let stdout = child.stdout.take().expect("it was piped");
        let mut answer = String::new();
        let read = BufReader::new(stdout).read_line(&mut answer);
        assert!(read.expect("it prints text") > 0, "it ended");
        Self { child, name }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
