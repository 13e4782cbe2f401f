//! Why a command stopped, and the exit status that says so.

use std::{fmt, io, process::ExitCode};

/// The result of a command that could do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every check holds: status 0.
    Holds,
    /// A check failed: status 1.
    Fails,
}

impl Verdict {
    /// `Holds` where `holds` is true.
    pub fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    /// The process's exit status.
    pub fn exit_code(self) -> ExitCode {
        match self {
            Self::Holds => ExitCode::SUCCESS,
            Self::Fails => ExitCode::from(1),
        }
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub enum CliError {
    /// Bad usage or bad input: status 2, and one line that says where, what, and what was expected.
    Input(String),
    /// The reader of the output has closed it: the command ends without a word, by SIGPIPE.
    OutputClosed,
}

impl CliError {
    /// An error whose text says everything.
    pub fn input(what: impl fmt::Display) -> Self {
        Self::Input(what.to_string())
    }

    /// An error in a file or another source of input.
    pub fn at(place: impl fmt::Display, what: impl fmt::Display) -> Self {
        Self::Input(format!("{place}: {what}"))
    }

    /// An error of a file that could not be read or written.
    pub fn file(name: impl fmt::Display, action: &str, error: &io::Error) -> Self {
        Self::Input(format!(
            "{name}: {error}, expected a file that can be {action}"
        ))
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(message) => f.write_str(message),
            Self::OutputClosed => f.write_str("the output is closed"),
        }
    }
}

/// Errors of the output: everything else that reads or writes names its file.
impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::file("standard output", "written", &error),
        }
    }
}

impl From<serde_json::Error> for CliError {
    fn from(error: serde_json::Error) -> Self {
        match error.io_error_kind() {
            Some(kind) => io::Error::from(kind).into(),
            None => Self::Input(error.to_string()),
        }
    }
}
