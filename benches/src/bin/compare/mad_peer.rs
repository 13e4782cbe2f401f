//! The peers of PortInfo's decoding: a C program that this machine's compiler builds against their headers.
//! It runs beside us and measures itself, a repetition at a time, on command.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{self, Child, ChildStdin, ChildStdout, Command, Stdio},
};

const SOURCE: &str = include_str!("mad_peer.c");

/// Which peer decodes.
#[derive(Clone, Copy)]
pub(crate) enum Decoder {
    /// libibmad's field table.
    Fields,
    /// OpenSM's structures.
    Structs,
}

/// The running program.
pub(crate) struct Peer {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Builds the program and gives it the attributes.
    pub(crate) fn start(attributes: &[[u8; 64]]) -> Result<Self, String> {
        let dir = std::env::temp_dir().join(format!("ib-compare-mad-{}", process::id()));
        fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
        let started = Self::start_in(&dir, attributes);
        // A running program needs its file no more.
        let _ = fs::remove_dir_all(&dir);
        started
    }

    fn start_in(dir: &Path, attributes: &[[u8; 64]]) -> Result<Self, String> {
        let (source, program) = (dir.join("mad_peer.c"), dir.join("mad_peer"));
        fs::write(&source, SOURCE).map_err(|error| error.to_string())?;
        let output = Command::new("cc")
            .args(["-O2", "-march=native", "-w", "-I/usr/include/infiniband"])
            .arg(format!("-DCOUNT={}", attributes.len()))
            .arg("-o")
            .args([&program, &source])
            .args(["-libmad", "-libumad"])
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let mut child = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let (commands, answers) = (child.stdin.take(), child.stdout.take());
        let (Some(commands), Some(answers)) = (commands, answers) else {
            return Err("the program has no pipes".to_owned());
        };
        let mut peer = Self {
            child,
            commands,
            answers: BufReader::new(answers),
        };
        let written = peer.commands.write_all(attributes.as_flattened());
        written.map_err(|error| error.to_string())?;
        Ok(peer)
    }

    /// One repetition: nanoseconds an attribute.
    pub(crate) fn repetition(&mut self, decoder: Decoder) -> f64 {
        let command = match decoder {
            Decoder::Fields => b"f",
            Decoder::Structs => b"s",
        };
        self.ask(command).trim().parse().unwrap_or(f64::NAN)
    }

    /// The weighed sum of each attribute's values, by OpenSM's structures.
    pub(crate) fn sums(&mut self) -> Vec<u64> {
        let answer = self.ask(b"w");
        let numbers = answer.split_whitespace();
        numbers.filter_map(|number| number.parse().ok()).collect()
    }

    /// The program's answer to a command; empty if the program has ended.
    fn ask(&mut self, command: &[u8; 1]) -> String {
        let mut answer = String::new();
        if self.commands.write_all(command).is_ok() {
            // An empty answer is no number: the row says so.
            let _ = self.answers.read_line(&mut answer);
        }
        answer
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The program is ours, and has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
