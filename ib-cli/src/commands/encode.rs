//! `ib encode`: the bytes of what `ib decode --json` printed.

use std::io::{self, BufRead, Write};

use clap::Args;
use ib_text::{Encoder, Line};

use crate::{
    commands::refuse_json,
    error::{CliError, Verdict},
    files::without_mark,
};

/// Encode what `decode --json` printed: hexadecimal digits, one case a line.
///
/// Recomputes lengths, pad and CRCs of packets, unless --raw is given.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct EncodeArgs {
    /// One JSON document; `-` or nothing: one document a line on stdin
    #[arg(value_name = "JSON")]
    document: Option<String>,
    /// Write the fields, pad and CRCs as they are: the result is the bytes that were decoded
    #[arg(long)]
    raw: bool,
}

const EXAMPLES: &str = "\
Examples:
  ib decode packet --json HEX | ib encode --raw
                                             the same digits again
  ib encode - < edited.json                  lengths, pad and CRCs recomputed";

pub fn run(args: EncodeArgs, json: bool) -> Result<Verdict, CliError> {
    refuse_json("encode", json)?;
    let encoder = Encoder::new(args.raw);
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut text = Line::default();
    let mut print = |place: &dyn std::fmt::Display, document: &str| -> Result<(), CliError> {
        let bytes = encoder
            .encode(document)
            .map_err(|what| CliError::at(place, what))?;
        text.clear();
        text.hex_bytes(&bytes);
        text.byte(b'\n');
        Ok(out.write_all(text.as_bytes())?)
    };
    match args.document.as_deref() {
        None | Some("-") => {
            for (index, line) in io::stdin().lock().split(b'\n').enumerate() {
                let line = line.map_err(|error| CliError::file("-", "read", &error))?;
                let place = format_args!("-:{}", index + 1);
                let line = if index == 0 {
                    without_mark(&line)
                } else {
                    &line
                };
                match std::str::from_utf8(line) {
                    Ok(document) => print(&place, document)?,
                    Err(_) => {
                        return Err(CliError::at(place, "no UTF-8, expected a JSON document"));
                    }
                }
            }
        }
        Some(document) => print(&"the argument JSON", document)?,
    }
    out.flush()?;
    Ok(Verdict::Holds)
}
