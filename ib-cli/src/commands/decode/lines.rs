//! Cases in hexadecimal text, one a line.

use std::{
    io::{self, Read},
    mem,
};

use ib_wire::Start;

use super::{
    batch::Batch,
    pages::{Pages, READ_LEN},
};
use crate::{error::CliError, files::without_mark};

/// A reader of whole lines.
#[derive(Debug)]
pub struct LineReader<R> {
    source: R,
    start: Start,
    /// The beginning of a line whose end was not read.
    cut: Vec<u8>,
    /// True if nothing was read yet.
    is_first: bool,
}

impl<R: Read> LineReader<R> {
    /// A reader of `source`, whose cases start at `start`.
    pub fn new(source: R, start: Start) -> Self {
        Self {
            source,
            start,
            cut: Vec::new(),
            is_first: true,
        }
    }

    /// Replaces `lines` by the next ones: at least one, and no more than have arrived. Returns whether the input has
    /// ended.
    pub fn read(&mut self, lines: &mut Lines) -> Result<bool, CliError> {
        self.read_whole(lines).map_err(|error| {
            lines.clear();
            CliError::file("-", "read", &error)
        })
    }

    fn read_whole(&mut self, lines: &mut Lines) -> io::Result<bool> {
        lines.clear();
        mem::swap(&mut lines.cut, &mut self.cut);
        lines.start = self.start;
        lines.is_first = mem::take(&mut self.is_first);
        loop {
            let text = lines.pages.read(&mut self.source)?;
            if text.is_empty() {
                return Ok(true);
            }
            let Some(last) = memchr::memrchr(b'\n', text) else {
                lines.cut.extend_from_slice(text);
                continue;
            };
            let len = last + 1;
            lines.is_full = text.len() == READ_LEN;
            self.cut
                .extend_from_slice(text.get(len..).unwrap_or_default());
            lines.len = len;
            return Ok(false);
        }
    }
}

/// The text of whole lines.
#[derive(Debug, Default)]
pub struct Lines {
    start: Start,
    /// The beginning of the first line, if it was read with the lines before.
    cut: Vec<u8>,
    pages: Pages,
    /// Length of the lines in the pages.
    len: usize,
    /// True if these are the first lines of the input.
    is_first: bool,
    /// True if more lines had arrived than could be read at once.
    is_full: bool,
}

/// The first line of a batch that is no case.
#[derive(Debug)]
pub struct BadLine {
    /// Its number in the batch, from 1.
    pub number: usize,
    pub what: String,
}

impl Lines {
    fn clear(&mut self) {
        self.cut.clear();
        self.len = 0;
        self.is_full = false;
    }

    /// Returns true if more lines had arrived than could be read at once.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Adds the case of each line to `batch`. Returns the number of lines.
    ///
    /// # Errors
    /// The first line that is no case: those before are in the batch.
    pub fn parse(&mut self, batch: &mut Batch) -> Result<usize, BadLine> {
        let mut rest = self.pages.first(self.len);
        let mut parsed = Parsed {
            batch,
            start: self.start,
            is_first: self.is_first,
            count: 0,
        };
        if !self.cut.is_empty() {
            let (line, behind) = split_first(rest);
            self.cut.extend_from_slice(line);
            parsed.push(&self.cut)?;
            rest = behind;
        }
        // Most lines are as long as the one before. If such a line has nothing but digits, its end need not be searched
        // for.
        let mut len_before = 0;
        while !rest.is_empty() {
            if let Some((line, behind)) = split_line(rest, len_before)
                && parsed.batch.push_plain_digits(self.start, line)
            {
                parsed.count += 1;
                rest = behind;
                continue;
            }
            let (line, behind) = split_first(rest);
            len_before = line.len();
            parsed.push(line)?;
            rest = behind;
        }
        Ok(parsed.count)
    }
}

/// The lines of a batch that were parsed.
struct Parsed<'a> {
    batch: &'a mut Batch,
    start: Start,
    is_first: bool,
    count: usize,
}

impl Parsed<'_> {
    /// Adds the case of the next line.
    #[inline]
    fn push(&mut self, line: &[u8]) -> Result<(), BadLine> {
        self.count += 1;
        let line = if self.is_first && self.count == 1 {
            without_mark(line)
        } else {
            line
        };
        let pushed = self.batch.push_digits(self.start, line.trim_ascii());
        pushed.map_err(|what| BadLine {
            number: self.count,
            what,
        })
    }
}

/// The first line without its end, and what comes after it.
#[inline]
fn split_first(text: &[u8]) -> (&[u8], &[u8]) {
    let end = memchr::memchr(b'\n', text);
    let split = end.and_then(|end| split_line(text, end));
    split.unwrap_or((text, &[]))
}

/// The first `len` bytes and what comes after the end of the line, if a line ends there.
#[inline]
fn split_line(text: &[u8], len: usize) -> Option<(&[u8], &[u8])> {
    let (line, end) = text.split_at_checked(len)?;
    Some((line, end.strip_prefix(b"\n")?))
}
