//! Runs `ib` as a person does, except that there is no terminal.

use std::{
    io::Write as _,
    process::{Command, Output, Stdio},
};

/// Two switches and two hosts, every cable from both sides.
pub(crate) const PAIR: &str = r#"
Switch	3 "S-0000000000000001"		# "one" base port 0 lid 0 lmc 0
[1]	"S-0000000000000002"[1]		# "two" lid 0 4xQDR
[2]	"H-0000000000000010"[1]		# "a" lid 0 4xQDR

Switch	3 "S-0000000000000002"		# "two" base port 0 lid 0 lmc 0
[1]	"S-0000000000000001"[1]		# "one" lid 0 4xQDR
[2]	"H-0000000000000020"[1]		# "b" lid 0 4xQDR

Ca	1 "H-0000000000000010"		# "a"
[1]	"S-0000000000000001"[2]		# "one" lid 0 4xQDR

Ca	1 "H-0000000000000020"		# "b"
[1]	"S-0000000000000002"[2]		# "two" lid 0 4xQDR
"#;

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
