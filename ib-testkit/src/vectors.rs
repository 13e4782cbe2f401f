//! Recorded packets and datagrams, for the tests of every crate that parses some of them.

#[cfg(feature = "mad")]
pub mod mad;

use serde_json::Value;

use crate::data;

/// The cases of a file of vectors: `mads`, `opcodes`, `roce`.
#[must_use]
pub fn cases(name: &str) -> Vec<Value> {
    let text = data::vectors_text(name);
    let case = |line| serde_json::from_str(line).expect("a line of JSON");
    text.lines().map(case).collect()
}

/// The bytes that hexadecimal digits encode.
#[must_use]
pub fn unhex(text: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal digits");
    (0..text.len()).step_by(2).map(byte).collect()
}
