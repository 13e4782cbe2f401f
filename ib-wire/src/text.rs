//! Text files with one entry per line, as OpenSM and its tools keep them: lines, comments and the error of a line.

use alloc::{borrow::ToOwned, string::String};

use thiserror::Error;

/// A line of a text file that cannot be read.
///
/// A message that names the file, as `FILE:LINE`, is made of the fields.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: `{found}`, expected {expected}")]
pub struct TextError {
    /// Line of the file, from 1.
    pub line: usize,
    /// The part of the line that cannot be read, cut by [`shorten`].
    pub found: String,
    /// Form that the part should have.
    pub expected: &'static str,
}

impl TextError {
    /// The error of a line; `found` is shortened.
    #[must_use]
    pub fn new(line: usize, found: &str, expected: &'static str) -> Self {
        Self {
            line,
            found: shorten(found),
            expected,
        }
    }
}

/// The lines that are not empty, with their numbers from 1, without comments (`#` to the end of the line)
/// and without blanks around.
///
/// ```
/// let text = "# hosts\n\n one # first\ntwo";
/// let lines: Vec<_> = ib_wire::text::lines(text).collect();
/// assert_eq!(lines, [(3, "one"), (4, "two")]);
/// ```
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).filter_map(|(at, line)| {
        let line = line.split('#').next().unwrap_or_default().trim();
        (!line.is_empty()).then_some((at, line))
    })
}

/// Largest number of characters of a file that a message quotes.
const LONGEST_QUOTE: usize = 60;

/// The start of a text, short enough for a message: 60 characters, and `...` where more follow.
#[must_use]
pub fn shorten(text: &str) -> String {
    match text.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => text.get(..end).unwrap_or_default().to_owned() + "...",
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_quoted_by_its_start() {
        let error = TextError::new(7, &"é".repeat(61), "less");
        assert_eq!(error.found, "é".repeat(60) + "...");
        let error = TextError::new(7, &"é".repeat(60), "less");
        assert_eq!(error.found, "é".repeat(60));
    }
}
