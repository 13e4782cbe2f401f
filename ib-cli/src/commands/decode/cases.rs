//! The source of the cases: an argument, lines of hexadecimal text, or a capture.

use std::{
    fs::File,
    io::{self, Read},
    os::fd::AsFd,
    path::Path,
};

use ib_text::hex;
use ib_transport::capture::CaptureReader;
use ib_wire::Start;
use rustix::fs::FileType;

use super::pages::PageReader;
use crate::{
    error::CliError,
    files::without_mark,
    output::{progress::ReadProgress, stderr},
};

/// Bytes of cases in a batch: with their text they stay in the processor's cache.
const BATCH: usize = 1 << 15;

/// Cases that are decoded together.
#[derive(Debug, Default)]
pub struct Batch {
    /// The cases, and room that was theirs in another batch: it is not cleared for the next.
    bytes: Vec<u8>,
    /// Length of all cases.
    len: usize,
    /// The end of each case, and the start of its bytes in the packet.
    ends: Vec<(usize, Start)>,
}

impl Batch {
    /// The cases in order.
    pub fn cases(&self) -> impl Iterator<Item = (Start, &[u8])> {
        let mut from = 0;
        self.ends.iter().map(move |&(end, start)| {
            let case = self.bytes.get(from..end).unwrap_or_default();
            from = end;
            (start, case)
        })
    }

    /// Forgets the cases.
    pub fn clear(&mut self) {
        self.len = 0;
        self.ends.clear();
    }

    /// Room for `len` bytes of the next case.
    #[inline]
    fn room(&mut self, len: usize) -> &mut [u8] {
        let end = self.len + len;
        if self.bytes.len() < end {
            self.grow(end);
        }
        self.bytes.get_mut(self.len..end).unwrap_or_default()
    }

    #[cold]
    fn grow(&mut self, len: usize) {
        self.bytes.resize(len.max(2 * BATCH), 0);
    }

    /// The first `len` bytes of the room are the next case.
    #[inline]
    fn end_case(&mut self, start: Start, len: usize) {
        self.len += len;
        self.ends.push((self.len, start));
    }

    #[inline]
    fn push(&mut self, start: Start, case: &[u8]) {
        self.room(case.len()).copy_from_slice(case);
        self.end_case(start, case.len());
    }

    /// Adds the case of these digits.
    #[inline]
    fn push_digits(&mut self, start: Start, digits: &[u8]) -> Result<(), String> {
        let len = hex::decode_to(self.room(hex::room_for(digits)), digits)?;
        self.end_case(start, len);
        Ok(())
    }

    /// Adds the case of these digits, unless there is anything else among them; returns whether it did.
    #[inline]
    fn push_plain_digits(&mut self, start: Start, digits: &[u8]) -> bool {
        let len = hex::decode_plain_to(self.room(hex::room_for(digits)), digits);
        if let Some(len) = len {
            self.end_case(start, len);
        }
        len.is_some()
    }

    #[inline]
    fn is_full(&self) -> bool {
        // Lines without digits fill no bytes.
        self.len >= BATCH || self.ends.len() >= BATCH
    }
}

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
    Lines(Lines),
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
            _ => Self::Lines(Lines {
                reader: PageReader::new(stdin()),
                start,
                number: 0,
                len_before: 0,
                cut: Vec::new(),
            }),
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

    /// Fills an empty batch; returns whether the input has ended. Cases that were read before an error are
    /// in the batch.
    pub fn read(&mut self, batch: &mut Batch) -> Result<bool, CliError> {
        match self {
            Self::Argument(digits, start) => {
                let pushed = batch.push_digits(*start, digits.trim().as_bytes());
                pushed.map_err(|what| CliError::at("the argument HEX", what))?;
                Ok(true)
            }
            Self::Lines(lines) => lines.read(batch),
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

/// The lines of stdin.
pub struct Lines {
    reader: PageReader<Input>,
    start: Start,
    /// Lines that have been read.
    number: usize,
    /// Length of a line before.
    len_before: usize,
    /// The beginning of a line whose end the buffer did not hold.
    cut: Vec<u8>,
}

impl Lines {
    /// Fills an empty batch; whether the input has ended.
    fn read(&mut self, batch: &mut Batch) -> Result<bool, CliError> {
        while !batch.is_full() {
            let read = self.reader.fill();
            let chunk = read.map_err(|error| CliError::file("-", "read", &error))?;
            let (start, number) = (self.start, &mut self.number);
            if chunk.is_empty() {
                if !self.cut.is_empty() {
                    decode(batch, start, number, &self.cut)?;
                    self.cut.clear();
                }
                return Ok(true);
            }
            // Lines are decoded in place, but for the one that the end of the buffer cuts.
            let mut rest = chunk;
            while !batch.is_full() {
                // Most lines are as long as the one before. If such a line has nothing but digits, its end need not be
                // searched for.
                if self.cut.is_empty()
                    && let Some((line, behind)) = split_line(rest, self.len_before)
                    && batch.push_plain_digits(start, line)
                {
                    *number += 1;
                    rest = behind;
                    continue;
                }
                let end = memchr::memchr(b'\n', rest);
                let Some((line, behind)) = end.and_then(|end| split_line(rest, end)) else {
                    break;
                };
                rest = behind;
                if self.cut.is_empty() {
                    self.len_before = line.len();
                    decode(batch, start, number, line)?;
                } else {
                    self.cut.extend_from_slice(line);
                    decode(batch, start, number, &self.cut)?;
                    self.cut.clear();
                }
            }
            if !batch.is_full() {
                self.cut.extend_from_slice(rest);
                rest = &[];
            }
            let used = chunk.len() - rest.len();
            self.reader.consume(used);
        }
        Ok(false)
    }
}

/// The first `len` bytes and what comes after the end of the line, if a line ends there.
#[inline]
fn split_line(text: &[u8], len: usize) -> Option<(&[u8], &[u8])> {
    let (line, end) = text.split_at_checked(len)?;
    Some((line, end.strip_prefix(b"\n")?))
}

/// Decodes the line after line `number`.
#[inline]
fn decode(
    batch: &mut Batch,
    start: Start,
    number: &mut usize,
    line: &[u8],
) -> Result<(), CliError> {
    *number += 1;
    let line = if *number == 1 {
        without_mark(line)
    } else {
        line
    };
    let pushed = batch.push_digits(start, line.trim_ascii());
    pushed.map_err(|what| CliError::at(format_args!("-:{number}"), what))
}
