//! The source of the cases: an argument, lines of hexadecimal text, or a capture.

use std::{
    fs::File,
    io::{self, Read},
    os::fd::AsFd,
    path::Path,
};

use ib_transport::capture::CaptureReader;
use ib_wire::Start;
use rustix::fs::FileType;

use super::{
    batch::Batch,
    lines::{LineReader, Lines},
};
use crate::{
    error::CliError,
    output::{progress::ReadProgress, stderr},
};

/// The source of cases.
type Input = ReadProgress<Box<dyn Read + Send>>;

/// The label of the progress bar.
const DECODING: &str = "decoding";

fn stdin() -> Input {
    let stdin = io::stdin();
    let len = file_len(&stdin);
    Input::new(DECODING, len, Box::new(stdin))
}

/// Length of a file; `None` of a pipe or a terminal.
fn file_len(file: impl AsFd) -> Option<u64> {
    let stat = rustix::fs::fstat(file).ok()?;
    let is_file = FileType::from_raw_mode(stat.st_mode).is_file();
    u64::try_from(stat.st_size).ok().filter(|_| is_file)
}

/// A source of cases.
pub enum Cases {
    /// One case.
    Argument(String, Start),
    /// One case a line.
    Lines(LineReader<Input>),
    /// The packets of a capture.
    Capture {
        reader: CaptureReader<Input>,
        name: String,
        skipped: u64,
    },
}

impl Cases {
    /// The argument, or the lines of stdin.
    pub fn hex(argument: Option<String>, start: Start) -> Self {
        match argument {
            Some(digits) if digits != "-" => Self::Argument(digits, start),
            _ => Self::Lines(LineReader::new(stdin(), start)),
        }
    }

    /// The packets of the file, or of stdin.
    pub fn capture(file: &Path) -> Result<Self, CliError> {
        let name = file.display().to_string();
        let reader = if name == "-" {
            stdin()
        } else {
            let file = File::open(file).map_err(|error| CliError::file(&name, "read", &error))?;
            let len = file_len(&file);
            Input::new(DECODING, len, Box::new(file))
        };
        let reader = CaptureReader::new(reader).map_err(|error| CliError::at(&name, error))?;
        Ok(Self::Capture {
            reader,
            name,
            skipped: 0,
        })
    }

    /// Replaces the cases of `batch`, or the `lines` that are still to be parsed into it, by the next ones; returns
    /// whether the input has ended. Cases that were read before an error are in the batch.
    pub fn read(&mut self, lines: &mut Lines, batch: &mut Batch) -> Result<bool, CliError> {
        batch.clear();
        match self {
            Self::Argument(digits, start) => {
                let pushed = batch.push_digits(*start, digits.trim().as_bytes());
                pushed.map_err(|what| CliError::at("the argument HEX", what))?;
                Ok(true)
            }
            Self::Lines(reader) => reader.read(lines),
            Self::Capture {
                reader,
                name,
                skipped,
            } => {
                while !batch.is_full() {
                    let frame = reader.next_frame();
                    let Some(frame) = frame.map_err(|error| CliError::at(&*name, error))? else {
                        return Ok(true);
                    };
                    match frame.packet_bytes() {
                        Some((start, bytes)) => batch.push(start, bytes),
                        None => *skipped += 1,
                    }
                }
                Ok(false)
            }
        }
    }

    /// Reports on stderr which frames were skipped.
    pub fn finish(self) {
        if let Self::Capture {
            skipped,
            name,
            reader,
        } = self
            && skipped > 0
        {
            // The progress bar goes before the line comes.
            drop(reader);
            stderr::info(format_args!(
                "{name}: {skipped} frames of other protocols skipped"
            ));
        }
    }
}
