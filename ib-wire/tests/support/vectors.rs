//! The vectors, for the tests of every crate that reads some of them.

use serde_json::Value;

/// The cases of a file of vectors.
pub(crate) fn cases(name: &str) -> Vec<Value> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../ib-wire/testdata/vectors");
    let text = std::fs::read_to_string(format!("{dir}/{name}.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The bytes of hexadecimal digits.
pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}
