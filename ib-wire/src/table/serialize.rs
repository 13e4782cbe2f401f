//! A structure as a map of its fields, for `serde`.
//!
//! Numbers of up to 32 bits are numbers, wider ones `0x` and all their digits, reserved fields of any
//! width among them; GIDs are IPv6 text, text ends at the first NUL and shows a byte that is no UTF-8 as `\xff`,
//! bytes are hex, arrays are lists and nested structures maps.

use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};

use super::{Field, FieldKind, Layout, load_bits};
use crate::Gid;

/// Serializes `bytes` as a map from field names to values.
///
/// # Errors
/// The serializer's own, and one of its custom errors where `bytes` is shorter than the layout.
pub fn serialize_fields<S: Serializer>(
    layout: &Layout,
    bytes: &[u8],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(layout.fields.len()))?;
    for field in layout.fields {
        map.serialize_entry(field.name, &Value::of(field, bytes))?;
    }
    map.end()
}

/// Bytes together with the layout that says how they read.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    /// Layout of the bytes.
    pub layout: &'static Layout,
    /// At least as many bytes as the layout has.
    pub bytes: &'a [u8],
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_fields(self.layout, self.bytes, serializer)
    }
}

struct Value<'a> {
    reserved: bool,
    kind: FieldKind,
    bit_offset: usize,
    bits: usize,
    bytes: &'a [u8],
}

impl<'a> Value<'a> {
    fn of(field: &Field, bytes: &'a [u8]) -> Self {
        Self {
            reserved: field.is_reserved(),
            kind: field.kind,
            bit_offset: field.bit_offset,
            bits: field.bits,
            bytes,
        }
    }

    /// The whole bytes of the value.
    fn octets(&self) -> Option<&'a [u8]> {
        let start = self.bit_offset / 8;
        self.bytes.get(start..start.checked_add(self.bits / 8)?)
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let short = || S::Error::custom("fewer bytes than the layout has");
        match self.kind {
            FieldKind::Uint => {
                let value = load_bits(self.bytes, self.bit_offset, self.bits).ok_or_else(short)?;
                if self.bits <= 32 {
                    serializer.serialize_u64(value)
                } else {
                    let digits = self.bits.div_ceil(4);
                    serializer.collect_str(&format_args!("0x{value:0digits$x}"))
                }
            }
            FieldKind::Gid => {
                let octets = self
                    .octets()
                    .and_then(|o| o.first_chunk())
                    .ok_or_else(short)?;
                serializer.collect_str(&Gid(*octets))
            }
            FieldKind::Bytes => {
                let digits = Hex(self.octets().ok_or_else(short)?);
                if self.reserved {
                    serializer.collect_str(&format_args!("0x{digits}"))
                } else {
                    serializer.collect_str(&digits)
                }
            }
            FieldKind::Text => {
                let octets = self.octets().ok_or_else(short)?;
                let text = octets.split(|&byte| byte == 0).next().unwrap_or_default();
                serializer.collect_str(&Escaped(text))
            }
            FieldKind::Struct(layout) => {
                serialize_fields(layout, self.octets().ok_or_else(short)?, serializer)
            }
            FieldKind::Array {
                element_bits,
                element,
            } => {
                let count = self.bits.checked_div(element_bits).unwrap_or(0);
                let mut list = serializer.serialize_seq(Some(count))?;
                let offsets = (self.bit_offset..).step_by(element_bits.max(1));
                for bit_offset in offsets.take(count) {
                    list.serialize_element(&Value {
                        reserved: false,
                        kind: *element,
                        bit_offset,
                        bits: element_bits,
                        bytes: self.bytes,
                    })?;
                }
                list.end()
            }
        }
    }
}

struct Hex<'a>(&'a [u8]);

impl core::fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Text whose bytes that are no UTF-8 print as `\xff`.
struct Escaped<'a>(&'a [u8]);

impl core::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        for chunk in self.0.utf8_chunks() {
            f.write_str(chunk.valid())?;
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}
