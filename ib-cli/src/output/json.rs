//! JSON on stdout: one document.

use std::io::{self, Write};

use serde::Serialize;

/// Prints `value` as one line.
pub fn print(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")?;
    out.flush()
}
