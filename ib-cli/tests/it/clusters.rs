//! `ib up --clusters` and `ib sm --cluster`: the output and status that scripts rely on.

use std::{
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use crate::common::ib;
use serde_json::Value;

const MCSM: &str = include_str!("../../../ib-routing/testdata/clusters/mcsm.conf");

/// Files in a folder of their own, which is removed when the value is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("ib-clusters-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let file = self.0.join(name);
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The configuration of one of the clusters, with the declarations of the two others.
fn one_of_three(name: &str) -> String {
    let mut text = String::new();
    for part in MCSM.split("\n\n") {
        let mine = part.contains(&format!("cluster    {name}\n"));
        let declared = part
            .lines()
            .filter(|line| mine || line.starts_with("cluster") || line.starts_with("lids"));
        text.extend(declared.map(|line| format!("{line}\n")));
    }
    text
}

#[track_caller]
fn up(arguments: &[&str]) -> Value {
    let output = ib(&[&["up", "--json"], arguments].concat(), "");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn one_manager_for_each_cluster_and_the_routes_of_all() {
    let folder = Folder::new("each");
    let whole = folder.file("all", MCSM);
    let files = ["first", "second", "third"].map(|name| folder.file(name, &one_of_three(name)));
    for clusters in [whole, files.join(",")] {
        let report = up(&["--fabric", "mcsm", "--clusters", &clusters]);
        let routes = &report["routes"];
        assert_eq!(
            (&routes["pairs"], &routes["unreachable"]),
            (&30.into(), &0.into())
        );
        assert_eq!(
            (&routes["loops"], &routes["deadlock_free"]),
            (&0.into(), &true.into())
        );
        let clusters = report["clusters"].as_array().unwrap();
        let expected = [
            ("first", 1, 999),
            ("second", 1000, 1999),
            ("third", 2000, 2999),
        ];
        assert_eq!(clusters.len(), expected.len());
        for (cluster, (name, first, last)) in clusters.iter().zip(expected) {
            assert_eq!(cluster["name"], name);
            assert_eq!(cluster["lids"], serde_json::json!([first, last]));
            assert_eq!(cluster["engine"], "minhop");
            assert_eq!(cluster["beyond_boundary"], 0);
            assert!(cluster["smps"].as_u64().unwrap() > 20, "{cluster}");
        }
    }
}

#[test]
fn a_failure_in_one_cluster_costs_no_other_a_packet() {
    let folder = Folder::new("failure");
    let clusters = folder.file("all", MCSM);
    // A server of the second cluster.
    let then = "off=H-00002c9000001030,on=H-00002c9000001030";
    let report = up(&["--fabric", "mcsm", "--clusters", &clusters, "--then", then]);
    for change in report["changes"].as_array().unwrap() {
        let smps = |place: usize| {
            let smps = &change["clusters"][place]["smps"];
            smps["get"].as_u64().unwrap() + smps["set"].as_u64().unwrap()
        };
        assert_eq!((smps(0), smps(2)), (0, 0), "{change}");
        assert!(smps(1) > 0, "{change}");
    }
    assert_eq!(report["routes"]["unreachable"], 0);
}

#[test]
fn predefined_lids_are_given_and_ports_without_one_are_named() {
    let folder = Folder::new("lids");
    let clusters = folder.file("all", MCSM);
    let lids = "0x00002c9000001021 0x0600 0x0600\n0x00002c9000001031 0x0700 0x0700\n";
    let lids = folder.file("guid2lid", lids);
    let tables = folder.0.join("tables").display().to_string();
    let arguments = [
        "up",
        "--fabric",
        "mcsm",
        "--clusters",
        &clusters,
        "--predefined-lids",
        &lids,
        "--dump-dir",
        &tables,
    ];
    let output = ib(&arguments, "");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let unknown = stderr
        .lines()
        .filter(|line| line.contains("no predefined LID"));
    assert_eq!(unknown.count(), 7, "{stderr}");
    let known = std::fs::read_to_string(folder.0.join("tables/guid2lid")).unwrap();
    for line in [
        "0x00002c9000001021 0x0600 0x0600",
        "0x00002c9000001031 0x0700 0x0700",
    ] {
        assert!(known.contains(line), "{known}");
    }
}

#[test]
fn a_configuration_that_does_not_fit_is_refused_with_its_line() {
    let folder = Folder::new("refused");
    let line =
        |text: &str, part: &str| 1 + text.lines().position(|line| line.contains(part)).unwrap();
    for (name, from, to, blamed, part) in [
        (
            "overlap",
            "lids       1000",
            "lids       900",
            "cluster    second",
            "belong to cluster first too",
        ),
        (
            "switch",
            "boundary   0x00002c9000000300 24",
            "boundary   0x77 24",
            "boundary   0x77 24",
            "is no switch of the fabric",
        ),
        (
            "port",
            "boundary   0x00002c9000000300 24",
            "boundary   0x00002c9000000300 25",
            "0x00002c9000000300 25",
            "has no port 25",
        ),
        (
            "transit",
            "23 third",
            "23 fourth",
            "23 fourth",
            "transit is configured to \"fourth\"",
        ),
        (
            "syntax",
            "lids       1000 1999",
            "lids       1000",
            "lids       1000",
            "expected the first and the last of its LIDs",
        ),
    ] {
        let text = MCSM.replacen(from, to, 1);
        let file = folder.file(name, &text);
        let output = ib(&["up", "--fabric", "mcsm", "--clusters", &file], "");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {stderr}");
        let start = format!("error: {file}:{}: ", line(&text, blamed));
        let last = stderr.lines().last().unwrap();
        assert!(
            last.starts_with(&start) && last.contains(part),
            "{name}: {stderr}"
        );
    }
    // A declaration of another cluster must agree with that cluster's own file.
    let first = folder.file(
        "first",
        &one_of_three("first").replace("1000 1999", "1000 2100"),
    );
    let others = ["second", "third"].map(|name| folder.file(name, &one_of_three(name)));
    let files = format!("{first},{},{}", others[0], others[1]);
    let output = ib(&["up", "--fabric", "mcsm", "--clusters", &files], "");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("declared with other LIDs"), "{stderr}");
}

/// A server of the fabric `mcsm`, which ends when the value is dropped.
struct Server {
    process: Child,
    name: String,
}

impl Server {
    fn new(name: &str) -> Self {
        let name = format!("sim-of-{name}-{}", std::process::id());
        let process = Command::new(env!("CARGO_BIN_EXE_ib"))
            .args(["sim", "--fabric", "mcsm", "--socket", &name])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { process, name }
    }

    /// One sweep of a manager on a node. It is tried again if the server does not listen yet.
    fn manage(&self, node: &str, cluster: &str) -> Output {
        let device = format!("sim:{}", self.name);
        let begun = Instant::now();
        loop {
            let arguments = [
                "sm",
                "--once",
                "--json",
                "--device",
                &device,
                "--node",
                node,
                "--cluster",
                cluster,
            ];
            let output = ib(&arguments, "");
            let stderr = String::from_utf8_lossy(&output.stderr);
            if !stderr.contains(&self.name) || begun.elapsed() > Duration::from_secs(60) {
                return output;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The LID of the port of a node, read from the node.
    fn lid(&self, node: &str) -> u64 {
        let device = format!("sim:{}", self.name);
        let query = [
            "query", "portinfo", "--json", "--device", &device, "--node", node,
        ];
        let output = ib(&[&query[..], &["--direct", "0"]].concat(), "");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let text = answer.to_string();
        let lid = text.split("\"lid\":").nth(1).unwrap();
        let digits: String = lid.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A host of each cluster, and its LIDs.
const HOSTS: [(&str, u64, u64); 3] = [
    ("H-00002c9000001010", 1, 999),
    ("H-00002c9000001030", 1000, 1999),
    ("H-00002c9000001050", 2000, 2999),
];

#[test]
fn managers_of_single_clusters_serve_their_own_and_leave_the_others_alone() {
    let folder = Folder::new("sm");
    let file = folder.file("all", MCSM);
    let server = Server::new("sm");
    for (managed, (node, ..)) in HOSTS.into_iter().enumerate() {
        let output = server.manage(node, &file);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{node}: {stderr}");
        for (index, (host, first, last)) in HOSTS.into_iter().enumerate() {
            let lid = server.lid(host);
            match index <= managed {
                true => assert!((first..=last).contains(&lid), "{host}: {lid}"),
                false => assert_eq!(lid, 0, "{host} is of a cluster without a manager yet"),
            }
        }
    }
}

#[test]
fn a_manager_refuses_a_cluster_that_is_not_the_one_of_its_port() {
    let folder = Folder::new("foreign");
    let server = Server::new("foreign");
    for (name, from, to, part) in [
        (
            "open",
            "boundary   0x00002c9000000300 24\n",
            "",
            "expected a boundary between them",
        ),
        (
            "overlap",
            "lids       1000",
            "lids       900",
            "belong to cluster first too",
        ),
    ] {
        let text = MCSM.replacen(from, to, 1);
        assert_ne!(text, MCSM);
        let file = folder.file(name, &text);
        let output = server.manage("H-00002c9000001050", &file);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {stderr}");
        let last = stderr.lines().last().unwrap_or_default();
        let start = format!("error: {file}:");
        assert!(
            last.starts_with(&start) && last.contains(part),
            "{name}: {stderr}"
        );
    }
}
