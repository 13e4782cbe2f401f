//! Runs `ib` as a person does, except that there is no terminal.

use std::{
    io::Write as _,
    process::{Command, Output, Stdio},
};

/// Runs `ib` with this on its standard input.
pub(crate) fn ib(arguments: &[&str], stdin: impl AsRef<[u8]>) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ib"))
        .args(arguments)
        // The variable sets the width of help texts.
        .env_remove("COLUMNS")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = stdin.as_ref();
    let mut input = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // A command that refuses its arguments does not read its input.
        scope.spawn(move || input.write_all(stdin).ok());
        child.wait_with_output().unwrap()
    })
}
