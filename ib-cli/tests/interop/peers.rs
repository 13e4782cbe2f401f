//! Starts the other programs, and reads their output.

use std::{
    fs,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use ib_testkit::{data::fabric_file as fabric, ibsim::Ibsim, process};

/// The largest number of starts of a peer that signals kill.
const RUNS: usize = 3;

/// The fabric files.
pub(crate) fn fabrics() -> Vec<PathBuf> {
    let directory = fabric("x")
        .parent()
        .expect("a file is in a directory")
        .to_owned();
    let entries = fs::read_dir(directory).expect("the fabrics are there");
    let files = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "net"))
        .collect();
    files.sort();
    files
}

/// The id of the first CA of a fabric file: where the programs sit.
pub(crate) fn first_ca(file: &Path) -> String {
    let text = fs::read_to_string(file).expect("the file is text");
    let line = text
        .lines()
        .find(|line| line.starts_with("Ca") || line.starts_with("Hca"));
    line.and_then(|line| line.split('"').nth(1))
        .expect("the fabric has a CA")
        .to_owned()
}

/// The output of a program that succeeds.
pub(crate) fn printed(command: &mut Command) -> String {
    let output = process::output(command).expect("the program is installed");
    text_of(command, output)
}

/// The output of a peer on ibsim that succeeds. A peer under the library that attaches it to ibsim can die of a signal,
/// without a word, on a loaded machine, or hang until it is killed. Such a run says nothing about `ib`, and the peer is started
/// again.
pub(crate) fn printed_by_peer(peer: &mut Command) -> String {
    let mut runs = 0;
    let output = loop {
        let output = process::output(peer).expect("the peer is installed");
        runs += 1;
        if output.status.signal().is_none() || runs == RUNS {
            break output;
        }
    };
    text_of(peer, output)
}

/// The text that a command printed. Panics if the command failed.
fn text_of(command: &Command, output: Output) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = output;
    assert!(
        status.success(),
        "{command:?}: {status}: {}{}",
        String::from_utf8_lossy(&stderr),
        String::from_utf8_lossy(&stdout)
    );
    String::from_utf8(stdout).expect("it prints text")
}

/// `ib` over the simulator's socket.
pub(crate) fn ib(ibsim: &Ibsim, node: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ib"));
    command
        .args(arguments)
        .arg("--device")
        .arg(format!("sim:{}", ibsim.name()));
    printed(command.args(["--node", node]))
}

/// A decimal number, or a hexadecimal one with the prefix `0x`.
pub(crate) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
