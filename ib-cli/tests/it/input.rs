//! Invalid input: messages name the file, the line, the expected form and the nearest valid word.

use std::{fs, path::PathBuf};

use crate::common::ib;

/// Files of a test in a directory of its own.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ib-input-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let file = self.0.join(name);
        fs::write(&file, content).unwrap();
        file.to_str().unwrap().to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The error of a command that is refused.
fn error(arguments: &[&str], stdin: &str) -> String {
    let output = ib(arguments, stdin);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    let last = stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with("error: "), "{stderr}");
    last.to_owned()
}

#[test]
fn a_name_that_is_no_file_is_compared_with_the_generators() {
    for (name, nearest) in [
        ("fattree", "`fat-tree:"),
        ("fat_tree:radix=8,levels=2", "`fat-tree:"),
        ("torsu:4x4", "`torus:"),
        ("tesis", "`thesis`"),
        ("Thesis", "`thesis`"),
    ] {
        let error = error(&["route", "--fabric", name], "");
        assert!(error.contains(nearest), "{error}");
    }
    let error = error(&["route", "--fabric", "qqqqqqqqqqqq"], "");
    assert!(error.contains("No such file"), "{error}");
    assert!(error.contains("fat-tree, torus, mesh"), "{error}");
}

#[test]
fn a_compressed_file_is_named_as_one() {
    let scratch = Scratch::new("compressed");
    let magic: [(&str, &[u8], &str); 3] = [
        ("f.gz", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0], "gzip -dc"),
        ("f.xz", b"\xfd7zXZ\0\0", "xz -dc"),
        ("f.zst", &[0x28, 0xb5, 0x2f, 0xfd, 0, 0], "zstd -dc"),
    ];
    for (name, bytes, tool) in magic {
        let file = scratch.write(name, bytes);
        for arguments in [
            &["route", "--fabric", &file][..],
            &["check", "--fabric", "thesis", "--lfts", &file],
            &["up", "--config", &file],
        ] {
            let error = error(arguments, "");
            assert!(error.contains("compressed"), "{error}");
            assert!(error.contains(tool), "{error}");
            assert!(error.starts_with(&format!("error: {file}: ")), "{error}");
        }
    }
}

#[test]
fn names_are_checked_before_an_adapter_is_looked_for() {
    let error_of = |arguments: &[&str]| error(&[&["query"], arguments].concat(), "");
    let unknown = error_of(&["sa", "PathRecrd"]);
    assert!(
        unknown.contains("PathRecrd") && unknown.contains("nearest is PathRecord"),
        "{unknown}"
    );
    let field = error_of(&["sa", "PathRecord", "slidd=1"]);
    assert!(
        field.contains("slidd") && field.contains("nearest is slid"),
        "{field}"
    );
    let value = error_of(&["sa", "PathRecord", "slid=x"]);
    assert!(value.contains("16 bits"), "{value}");
    let modifier = error_of(&["portinfo", "seven"]);
    assert!(modifier.contains("seven"), "{modifier}");
    let counters = error_of(&["perf", "--counters", "PortCounter"]);
    assert!(counters.contains("nearest is PortCounters"), "{counters}");
}

#[test]
fn a_torus_configuration_is_refused_with_file_and_line() {
    let scratch = Scratch::new("torus");
    let torus = scratch.write("torus.conf", "# a torus\ntorus 4 4 4\nxp_link 0x20\n");
    let config = scratch.write(
        "opensm.conf",
        format!("routing_engine torus-2QoS\ntorus_config {torus}\n"),
    );
    let start = format!("error: {torus}:3: xp_link: ");
    for arguments in [
        &["route", "--engine", "torus-2QoS", "--torus-config", &torus][..],
        &["up", "--engine", "torus-2QoS", "--torus-config", &torus],
        &["up", "--config", &config],
    ] {
        let error = error(&[arguments, &["--fabric", "torus:4x4x4"]].concat(), "");
        assert!(error.starts_with(&start), "{error}");
    }
}

#[test]
fn roots_that_are_not_in_the_fabric_are_named_with_their_file() {
    let scratch = Scratch::new("roots");
    let roots = scratch.write("roots", "# the top\n0x1\n");
    let error = error(
        &[
            "route",
            "--fabric",
            "thesis",
            "--engine",
            "updn",
            "--no-fallback",
            "--roots",
            &roots,
        ],
        "",
    );
    assert!(error.contains(&roots), "{error}");
}

#[test]
fn long_lines_are_cut_in_messages() {
    let scratch = Scratch::new("long");
    let long = "x".repeat(300);
    let cut = |error: String| {
        assert!(!error.contains(&long[..61]), "{error}");
        assert!(error.contains(&long[..50]), "{error}");
    };
    for text in [
        long.clone(),
        format!("sm_priority {long}"),
        format!("{long} 1"),
    ] {
        let file = scratch.write("opensm.conf", &text);
        let output = ib(&["up", "--fabric", "thesis", "--config", &file], "");
        cut(String::from_utf8(output.stderr).unwrap());
    }
    for text in [
        format!("torus {long}\n"),
        format!("{long}\n"),
        format!("torus 4 4 4\n{long} 1\n"),
    ] {
        let file = scratch.write("torus.conf", &text);
        cut(error(
            &["route", "--engine", "torus-2QoS", "--torus-config", &file],
            "",
        ));
    }
    let file = scratch.write(
        "partitions.conf",
        format!("Default=0x7fff, {long} : ALL=full;\n"),
    );
    cut(error(&["up", "--partitions", &file], ""));
}

#[test]
fn a_fabric_document_reads_back() {
    let spec = "fat-tree:radix=4,levels=3";
    let document = ib(&["generate", spec, "--json"], "").stdout;
    let again = ib(&["generate", "-", "--json"], &document);
    assert_eq!(again.status.code(), Some(0), "{again:?}");
    assert_eq!(again.stdout, document);
    let text = ib(&["generate", spec], "").stdout;
    assert_eq!(ib(&["generate", "-"], &document).stdout, text);
    let document = String::from_utf8(document).unwrap();
    for (from, to, part) in [
        ("\"type\":\"switch\"", "\"type\":\"toaster\"", "toaster"),
        ("\"num_ports\":4", "\"num_ports\":\"many\"", "expected u8"),
        (
            "\"peer\":{",
            "\"peer\":{\"node_guid\":\"0x9\",\"port_num\":1},\"p\":{",
            "0x0000000000000009",
        ),
        ("{\"fabric\"", "{\"fabrik\"", ""),
        ("\"nodes\":", "\"knots\":", "nodes"),
    ] {
        let changed = document.replacen(from, to, 1);
        assert_ne!(changed, document, "{from}");
        let output = ib(&["generate", "-"], &changed);
        if part.is_empty() {
            assert_eq!(output.status.code(), Some(0));
            continue;
        }
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{from}: {stderr}");
        assert!(stderr.starts_with("error: -:1: "), "{stderr}");
        assert!(stderr.contains(part), "{stderr}");
    }
}
