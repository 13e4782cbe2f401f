//! The console's input: lines of bounded length from a reader that may be endless and of any bytes.

use std::io::{self, BufRead};
use std::sync::mpsc;

/// Most bytes of a line, its end not counted.
pub(super) const MAX_LINE: usize = 1 << 16;

/// Lines that wait for the server; a reader that is ahead by so many waits.
const MAX_WAITING: usize = 16;

/// One line of the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InputLine {
    /// The text without its end.
    Text(String),
    /// A line that is not UTF-8.
    NotUtf8,
    /// A line of more than [`MAX_LINE`] bytes.
    TooLong,
}

/// Reads the console in a thread of its own: a terminal cannot be waited for together with the sockets everywhere.
///
/// `wake` is called after each line. The thread ends with the reader, or when the receiver is dropped.
pub(super) fn read_lines(
    mut console: Box<dyn BufRead + Send>,
    wake: impl Fn() + Send + 'static,
) -> mpsc::Receiver<InputLine> {
    let (sender, receiver) = mpsc::sync_channel(MAX_WAITING);
    std::thread::spawn(move || {
        while let Ok(Some(line)) = next_line(&mut *console) {
            if sender.send(line).is_err() {
                return;
            }
            wake();
        }
    });
    receiver
}

/// The next line; `None` at the end. At most [`MAX_LINE`] bytes of it are kept in memory.
fn next_line(console: &mut dyn BufRead) -> io::Result<Option<InputLine>> {
    let mut text = Vec::new();
    let mut too_long = false;
    let mut empty = true;
    loop {
        let bytes = match console.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if bytes.is_empty() {
            if empty {
                return Ok(None);
            }
            break;
        }
        empty = false;
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or(bytes);
        too_long |= text.len().saturating_add(part.len()) > MAX_LINE;
        if !too_long {
            text.extend_from_slice(part);
        }
        let consumed = part.len().saturating_add(usize::from(end.is_some()));
        console.consume(consumed);
        if end.is_some() {
            break;
        }
    }
    if too_long {
        return Ok(Some(InputLine::TooLong));
    }
    let line = String::from_utf8(text).map_or(InputLine::NotUtf8, InputLine::Text);
    Ok(Some(line))
}
