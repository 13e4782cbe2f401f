//! The bytes of a packet or datagram that was printed as JSON.
//!
//! Every header is written at its offset, a later one over an earlier one; payload, pad, CRCs and
//! trailer follow. So an edited field of an attribute wins over the data field that holds it as bytes.

use std::{borrow::Cow, collections::BTreeMap, error, fmt};

use ib_wire::{
    Bth, Ethernet, FlowControlPacket, Grh, Ipv4, Ipv6, Lrh, Start,
    table::{FieldsMut, Layout},
};
use serde::{Deserialize, de::DeserializeSeed as _};
use serde_json::value::RawValue;

use crate::{dissect, hex};

/// Longer than any packet or datagram, reassembled ones included: an offset beyond is a mistake.
const MAX_LEN: usize = 1 << 24;

/// The reason why a document has no bytes, in one line that says what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeError(String);

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl error::Error for EncodeError {}

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
    /// Of a datagram that is shorter than its format.
    #[serde(default)]
    length: Option<usize>,
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

/// Encodes documents as `ib decode --json` prints them.
///
/// # Example
///
/// ```
/// let document = r#"{"headers":[{"name":"AETH","offset":0,"fields":{"msn":7}}]}"#;
/// assert_eq!(ib_text::Encoder::new(true).encode(document)?, [0, 0, 0, 7]);
/// # Ok::<(), ib_text::EncodeError>(())
/// ```
#[derive(Debug)]
pub struct Encoder {
    raw: bool,
    layouts: BTreeMap<&'static str, &'static Layout>,
}

impl Encoder {
    /// `raw`: fields, pad and CRCs are written as they are. Otherwise lengths, pad and CRCs of packets are computed anew.
    #[must_use]
    pub fn new(raw: bool) -> Self {
        Self {
            raw,
            layouts: dissect::layouts()
                .map(|layout| (layout.name, layout))
                .collect(),
        }
    }

    /// The bytes of one document.
    ///
    /// # Errors
    /// [`EncodeError`] if the text is no such document, names a structure or a field that there is not, or has a value that
    /// does not fit.
    pub fn encode(&self, document: &str) -> Result<Vec<u8>, EncodeError> {
        self.bytes_of(document).map_err(EncodeError)
    }

    fn bytes_of(&self, document: &str) -> Result<Vec<u8>, String> {
        let document: Document<'_> = serde_json::from_str(document).map_err(|error| {
            format!("{error}, expected a document as `ib decode --json` prints it")
        })?;
        let placed = self.place(&document.headers)?;
        let is_packet = placed.iter().any(|place| is_packet_header(place.layout));
        let start = if is_packet {
            payload_start(&placed)
        } else {
            placed.iter().map(PlacedHeader::end).max().unwrap_or(0)
        };
        let mut bytes = vec![0; start];
        hex::decode_into(&mut bytes, document.payload.as_bytes())?;
        let end = bytes.len();
        if self.raw || !is_packet {
            hex::decode_into(&mut bytes, document.pad.as_bytes())?;
        }
        for place in &placed {
            place.write(&mut bytes)?;
        }
        if is_packet && !self.raw {
            return sealed(&placed, bytes, end, &document.pad);
        }
        for digits in [&document.icrc, &document.vcrc].into_iter().flatten() {
            hex::decode_into(&mut bytes, digits.found.as_bytes())?;
        }
        hex::decode_into(&mut bytes, document.trailer.as_bytes())?;
        bytes.truncate(document.length.unwrap_or(bytes.len()));
        Ok(bytes)
    }

    fn place<'a>(&self, headers: &'a [Header<'a>]) -> Result<Vec<PlacedHeader<'a>>, String> {
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
                Ok(PlacedHeader {
                    layout,
                    offset: header.offset,
                    fields: header.fields,
                })
            })
            .collect()
    }
}

/// A header and where it goes.
struct PlacedHeader<'a> {
    layout: &'static Layout,
    offset: usize,
    fields: &'a RawValue,
}

impl PlacedHeader<'_> {
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

/// The packet with its pad, lengths and CRCs; `end` is where its payload ends. The bytes of the pad are
/// those of the document where it has as many as the payload needs, else zeros.
fn sealed(
    placed: &[PlacedHeader<'_>],
    mut bytes: Vec<u8>,
    end: usize,
    digits: &str,
) -> Result<Vec<u8>, String> {
    let outermost = placed.iter().find(|place| place.offset == 0);
    let first = outermost.map_or("", |place| place.layout.name);
    if first == FlowControlPacket::LAYOUT.name {
        let packet = FlowControlPacket::parse_mut(&mut bytes, 0);
        let (packet, _) = packet.map_err(|error| error.to_string())?;
        packet.seal();
        return Ok(bytes);
    }
    let starts = [
        (Lrh::LAYOUT, Start::Ib),
        (Grh::LAYOUT, Start::RoceV1),
        (Ipv4::LAYOUT, Start::RoceV2Ipv4),
        (Ipv6::LAYOUT, Start::RoceV2Ipv6),
        (Ethernet::LAYOUT, Start::Ethernet),
    ];
    let Some((_, start)) = starts.iter().find(|(layout, _)| layout.name == first) else {
        return Err(format!(
            "the packet starts with `{first}`, expected LRH, GRH, IPv4, IPv6, Ethernet or FlowControlPacket at offset 0"
        ));
    };
    let bth = placed
        .iter()
        .find(|place| place.layout.name == Bth::LAYOUT.name);
    if let Some(bth) = bth {
        let pad = end.saturating_sub(payload_start(placed)).wrapping_neg() % 4;
        hex::decode_into(&mut bytes, digits.as_bytes())?;
        if bytes.len() != end + pad {
            bytes.truncate(end);
        }
        bytes.resize(end + pad, 0);
        let view = bytes.get_mut(bth.offset..).unwrap_or_default();
        let (view, _) = Bth::parse_mut(view, bth.offset).map_err(|error| error.to_string())?;
        view.set_pad_cnt(pad as u8);
    }
    let crcs = match (start, bth) {
        (Start::Ib, Some(_)) => 6,
        (Start::Ib, None) => 2,
        _ => 4,
    };
    bytes.resize(bytes.len() + crcs, 0);
    ib_wire::packet::seal(*start, &mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// One past the last header of the packet: structures in the payload do not count.
fn payload_start(placed: &[PlacedHeader<'_>]) -> usize {
    let headers = placed.iter().filter(|place| is_packet_header(place.layout));
    headers.map(PlacedHeader::end).max().unwrap_or(0)
}

fn is_packet_header(layout: &'static Layout) -> bool {
    ib_wire::LAYOUTS
        .iter()
        .any(|known| known.name == layout.name)
}
