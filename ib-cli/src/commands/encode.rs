//! `ib encode`: the bytes of what `ib decode --json` printed.
//!
//! Every header is written at its offset, a later one over an earlier one; payload, pad, CRCs and
//! trailer follow. So an edited field of an attribute wins over the data field that holds it as bytes.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    io::{self, BufRead, Write},
};

use clap::Args;
use ib_wire::table::{FieldsMut, Layout};
use serde::{Deserialize, de::DeserializeSeed as _};
use serde_json::value::RawValue;

use crate::{
    dissect,
    error::{CliError, Verdict},
    hex,
    output::line::Line,
};

/// Longer than any packet or datagram, reassembled ones included: an offset beyond is a mistake.
const MAX_LEN: usize = 1 << 24;

/// Encode what `decode --json` printed: hexadecimal digits, one case a line.
///
/// Recomputes lengths, pad and CRCs of packets, unless told --raw.
#[derive(Debug, Args)]
pub struct EncodeArgs {
    /// One JSON document; `-` or nothing: one document a line on stdin
    #[arg(value_name = "JSON")]
    document: Option<String>,
    /// Write the fields, pad and CRCs as they stand: gives back the bytes that were decoded
    #[arg(long)]
    raw: bool,
}

pub fn run(args: EncodeArgs) -> Result<Verdict, CliError> {
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
            for (index, line) in io::stdin().lock().lines().enumerate() {
                let line = line.map_err(|error| CliError::file("-", "read", &error))?;
                print(&format_args!("-:{}", index + 1), &line)?;
            }
        }
        Some(document) => print(&"the argument JSON", document)?,
    }
    out.flush()?;
    Ok(Verdict::Holds)
}

/// A document of `decode --json`.
#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    headers: Vec<Header<'a>>,
    #[serde(borrow, default)]
    payload: Cow<'a, str>,
    #[serde(borrow, default)]
    pad: Cow<'a, str>,
    #[serde(borrow, default)]
    trailer: Cow<'a, str>,
    #[serde(borrow, default)]
    icrc: Option<Crc<'a>>,
    #[serde(borrow, default)]
    vcrc: Option<Crc<'a>>,
}

#[derive(Deserialize)]
struct Header<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    offset: usize,
    #[serde(borrow)]
    fields: &'a RawValue,
}

#[derive(Deserialize)]
struct Crc<'a> {
    #[serde(borrow)]
    found: Cow<'a, str>,
}

struct Encoder {
    raw: bool,
    layouts: BTreeMap<&'static str, &'static Layout>,
}

impl Encoder {
    fn new(raw: bool) -> Self {
        Self {
            raw,
            layouts: dissect::layouts()
                .map(|layout| (layout.name, layout))
                .collect(),
        }
    }

    fn encode(&self, document: &str) -> Result<Vec<u8>, String> {
        let document: Document<'_> = serde_json::from_str(document).map_err(|error| {
            format!("{error}, expected a document as `ib decode --json` prints it")
        })?;
        let mut bytes = Vec::new();
        // The payload stands behind the headers of the packet; a datagram's structures lie in it.
        let mut tail = Vec::new();
        for digits in [&document.payload, &document.pad] {
            hex::decode_into(&mut tail, digits.as_bytes())?;
        }
        let placed = self.place(&document.headers)?;
        let is_packet = placed.iter().any(|place| is_packet_header(place.layout));
        let outer = placed
            .iter()
            .filter(|place| !is_packet || is_packet_header(place.layout));
        let start = outer.map(Place::end).max().unwrap_or(0);
        bytes.resize(start, 0);
        bytes.append(&mut tail);
        for place in &placed {
            place.write(&mut bytes)?;
        }
        if self.raw || !is_packet {
            for digits in [&document.icrc, &document.vcrc].into_iter().flatten() {
                hex::decode_into(&mut bytes, digits.found.as_bytes())?;
            }
            hex::decode_into(&mut bytes, document.trailer.as_bytes())?;
            return Ok(bytes);
        }
        Err("not yet".into())
    }

    fn place<'a>(&self, headers: &'a [Header<'a>]) -> Result<Vec<Place<'a>>, String> {
        headers
            .iter()
            .map(|header| {
                let Some(layout) = self.layouts.get(header.name.as_ref()) else {
                    return Err(format!(
                        "unknown header `{}`, expected a name of the specification's tables",
                        header.name
                    ));
                };
                if header.offset > MAX_LEN {
                    return Err(format!(
                        "{}: offset {}, expected at most {MAX_LEN}",
                        header.name, header.offset
                    ));
                }
                Ok(Place {
                    layout,
                    offset: header.offset,
                    fields: header.fields,
                })
            })
            .collect()
    }
}

/// A header and where it goes.
struct Place<'a> {
    layout: &'static Layout,
    offset: usize,
    fields: &'a RawValue,
}

impl Place<'_> {
    fn end(&self) -> usize {
        self.offset + self.layout.len
    }

    fn write(&self, bytes: &mut Vec<u8>) -> Result<(), String> {
        let end = self.end();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        let mut json = serde_json::Deserializer::from_str(self.fields.get());
        FieldsMut {
            layout: self.layout,
            bytes: bytes.get_mut(self.offset..end).unwrap_or_default(),
        }
        .deserialize(&mut json)
        .map_err(|error| error.to_string())
    }
}

fn is_packet_header(layout: &'static Layout) -> bool {
    ib_wire::LAYOUTS
        .iter()
        .any(|known| known.name == layout.name)
}
