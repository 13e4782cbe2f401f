//! Paths of the test data: each file is in the crate that it belongs to.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The file at `path`, counted from the root of the workspace.
fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The fabric file of this name, in the format of ibnetdiscover: `gen-ring-5`.
#[must_use]
pub fn fabric_file(name: &str) -> PathBuf {
    file(&format!("ib-routing/testdata/fabrics/{name}.net"))
}

/// The text of the fabric file of this name.
#[must_use]
pub fn fabric_text(name: &str) -> String {
    read(&fabric_file(name))
}

/// All fabric files, by name.
#[must_use]
pub fn fabric_files() -> Vec<PathBuf> {
    let entries = fs::read_dir(file("ib-routing/testdata/fabrics")).expect("the fabrics are there");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("an entry of the folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "net"))
        .collect();
    files.sort();
    assert!(files.len() > 20, "the fabrics are missing");
    files
}

/// The configuration of torus-2QoS for `gen-torus-4x4x4`.
#[must_use]
pub fn torus_2qos_config() -> String {
    read(&file(
        "ib-routing/testdata/fabrics/gen-torus-4x4x4.torus-2QoS.conf",
    ))
}

/// The configuration of logical clusters of the fabric `mcsm`.
#[must_use]
pub fn clusters_file() -> PathBuf {
    file("ib-routing/testdata/clusters/mcsm.conf")
}

/// A file of recorded packets or datagrams, one JSON object on each line: `mads`, `opcodes`, `roce`.
#[must_use]
pub fn vectors_text(name: &str) -> String {
    read(&file(&format!("ib-wire/testdata/vectors/{name}.jsonl")))
}

/// A capture that another program wrote: `rocev2-write.pcap`.
#[must_use]
pub fn capture_file(name: &str) -> PathBuf {
    file(&format!("ib-wire/testdata/vectors/captures/{name}"))
}

/// Inputs that violated this property of this crate in the past: `CRATE/testdata/regressions/PROPERTY/`.
#[must_use]
pub fn regressions(package: &str, property: &str) -> Vec<Vec<u8>> {
    let folder = file(&format!("{package}/testdata/regressions/{property}"));
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.expect("an entry of the folder").path());
    let mut paths: Vec<_> = paths.collect();
    paths.sort();
    let bytes = |path: PathBuf| fs::read(&path).expect("a file of the folder");
    paths.into_iter().map(bytes).collect()
}
