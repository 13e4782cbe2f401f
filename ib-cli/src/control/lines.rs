//! The lines of the control socket: each line is one command, and each command has one answer.
//!
//! An answer in text is lines that end with an empty one; after `json ` it is one document on one line. The manager
//! and `ib ctl` share this file, and so does the fuzz target `cli_any_lines_are_answered`; it uses the standard library alone.

use std::{
    fmt::Display,
    io::{self, BufRead, Read as _, Write},
};

/// The longest command line in bytes, its end included. A connection that sends a longer one receives an error and is closed.
pub const MAX_LINE: u64 = 4096;

/// Says that the answer is wanted as JSON.
const JSON: &str = "json ";

/// A command, and the form of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The command's word and its values, without spaces around them.
    pub command: &'a str,
    /// The answer is a document, else text.
    pub json: bool,
}

impl<'a> Request<'a> {
    /// Reads a line, with or without its end.
    pub fn of_line(line: &'a str) -> Self {
        let line = line.trim();
        let command = line.strip_prefix(JSON);
        Self {
            command: command.unwrap_or(line).trim_start(),
            json: command.is_some(),
        }
    }

    /// The line to send, with its end.
    ///
    /// # Errors
    /// The command has a line end in it, or is longer than a line may be.
    pub fn to_line(self) -> io::Result<String> {
        let prefix = if self.json { JSON } else { "" };
        let line = format!("{prefix}{}\n", self.command);
        let invalid = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        if self.command.contains('\n') {
            invalid("a command is one line")
        } else if line.len() as u64 > MAX_LINE {
            invalid("a command has at most 4095 bytes")
        } else {
            Ok(line)
        }
    }
}

/// An answer in text. Empty lines are left out, as the first one ends the answer.
pub fn text_answer(text: &str) -> String {
    let mut answer = String::with_capacity(text.len().saturating_add(2));
    for line in text.trim_end().split('\n').filter(|line| !line.is_empty()) {
        answer.push_str(line);
        answer.push('\n');
    }
    answer.push('\n');
    answer
}

/// An answer as a document, which has no line end in it.
pub fn json_answer(document: impl Display) -> String {
    format!("{document}\n")
}

/// Answers the lines of a client until the client ends, or sends too long a line, or there is no answer. `answer` receives each
/// line without its end, and returns the whole answer.
///
/// # Errors
/// Those of reading and writing.
pub fn serve(
    mut reader: impl BufRead,
    mut writer: impl Write,
    mut answer: impl FnMut(&str) -> Option<String>,
) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = (&mut reader).take(MAX_LINE);
        limited.read_until(b'\n', &mut line)?;
        let is_whole = line.pop_if(|last| *last == b'\n').is_some();
        let text = String::from_utf8_lossy(&line);
        if !is_whole {
            if line.len() as u64 == MAX_LINE {
                let why = format!("a line has at most {MAX_LINE} bytes");
                let refused = match Request::of_line(&text).json {
                    true => json_answer(format_args!("{{\"message\":\"{why}\",\"refused\":true}}")),
                    false => text_answer(&format!("error: {why}")),
                };
                writer.write_all(refused.as_bytes())?;
            }
            return Ok(());
        }
        let Some(answer) = answer(text.trim()) else {
            return Ok(());
        };
        writer.write_all(answer.as_bytes())?;
    }
}

/// Reads the answer to one command; `None` if there is none. Text comes without the empty line.
///
/// # Errors
/// Those of reading, and text that is not UTF-8.
pub fn read_answer(mut reader: impl BufRead, json: bool) -> io::Result<Option<String>> {
    let mut answer = String::new();
    loop {
        let start = answer.len();
        let count = reader.read_line(&mut answer)?;
        if count == 0 && start == 0 {
            return Ok(None);
        }
        // Text ends with an empty line, a document with its line.
        if count == 0 || json {
            return Ok(Some(answer));
        }
        if answer.get(start..) == Some("\n") {
            answer.truncate(start);
            return Ok(Some(answer));
        }
    }
}
