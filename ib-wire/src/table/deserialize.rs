//! A map of fields into the bytes of a structure, for `serde`: the inverse of `serialize_fields`.
//!
//! Fields that the map does not name keep their bits, and a text replaces its own bytes only: bytes after
//! the terminating NUL stay. So bytes that were printed as a whole and again field by field come back as
//! they were.

use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Field, FieldKind, Layout, load::store_bits};
use crate::{Gid, addr::number};

/// Reads a map of fields and writes each into `bytes`.
///
/// ```
/// use ib_wire::{Lrh, table::FieldsMut};
/// use serde::de::DeserializeSeed as _;
///
/// let mut bytes = [0; Lrh::LEN];
/// let mut json = serde_json::Deserializer::from_str(r#"{"vl": 15, "dlid": 4}"#);
/// FieldsMut { layout: Lrh::LAYOUT, bytes: &mut bytes }.deserialize(&mut json)?;
/// assert_eq!(Lrh::from_bytes(bytes).dlid().0, 4);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
/// The format's own, and its custom error where a name is not in the layout, a value does not fit its
/// field, or `bytes` is shorter than the layout.
#[derive(Debug)]
pub struct FieldsMut<'a> {
    /// Layout of the bytes.
    pub layout: &'static Layout,
    /// At least as many bytes as the layout has.
    pub bytes: &'a mut [u8],
}

impl<'de> DeserializeSeed<'de> for FieldsMut<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for FieldsMut<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a map of the fields of {}", self.layout.name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        // Fields come in wire order as a rule: the search starts after the last one found.
        let mut next = 0;
        while let Some(index) = map.next_key_seed(FieldName {
            layout: self.layout,
            start: next,
        })? {
            match self.layout.fields.get(index) {
                Some(field) => {
                    map.next_value_seed(ValueMut::new(self.layout, field, self.bytes))?
                }
                None => map.next_value::<IgnoredAny>().map(|_| ())?,
            }
            next = index.saturating_add(1);
        }
        Ok(())
    }
}

/// A field's name, as its index in the layout.
struct FieldName {
    layout: &'static Layout,
    start: usize,
}

impl<'de> DeserializeSeed<'de> for FieldName {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for FieldName {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a field of {}", self.layout.name)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<usize, E> {
        let fields = self.layout.fields;
        let is_next = fields.get(self.start).is_some_and(|f| f.name == name);
        let found = if is_next {
            Some(self.start)
        } else {
            fields.iter().position(|field| field.name == name)
        };
        found.ok_or_else(|| {
            E::custom(format_args!(
                "{}: unknown field `{name}`, expected a name of the specification's table",
                self.layout.name
            ))
        })
    }
}

/// The place to which one value is written.
struct ValueMut<'a> {
    layout: &'static Layout,
    name: &'static str,
    kind: FieldKind,
    bit_offset: usize,
    bits: usize,
    bytes: &'a mut [u8],
}

impl<'a> ValueMut<'a> {
    fn new(layout: &'static Layout, field: &'static Field, bytes: &'a mut [u8]) -> Self {
        Self {
            layout,
            name: field.name,
            kind: field.kind,
            bit_offset: field.bit_offset,
            bits: field.bits,
            bytes,
        }
    }

    /// The whole bytes of the value.
    fn octets<E: Error>(&mut self) -> Result<&mut [u8], E> {
        let start = self.bit_offset / 8;
        let end = start.saturating_add(self.bits / 8);
        let (layout, name) = (self.layout, self.name);
        self.bytes
            .get_mut(start..end)
            .ok_or_else(|| short(layout, name))
    }

    fn number<E: Error>(self, value: u64) -> Result<(), E> {
        if self.kind != FieldKind::Uint {
            return Err(self.bad(value));
        }
        let too_wide = value.checked_shr(self.bits.try_into().unwrap_or(u32::MAX));
        if too_wide.is_some_and(|rest| rest != 0) {
            return Err(self.bad(value));
        }
        store_bits(self.bytes, self.bit_offset, self.bits, value)
            .ok_or_else(|| short(self.layout, self.name))
    }

    fn bad<E: Error>(&self, found: impl fmt::Display) -> E {
        let (layout, name, bits) = (self.layout.name, self.name, self.bits);
        let at = format_args!("{layout}.{name}: {found}, expected ");
        match self.kind {
            FieldKind::Uint if bits <= 32 => E::custom(format_args!("{at}a number of {bits} bits")),
            FieldKind::Uint => E::custom(format_args!(
                "{at}`0x` and up to {} hexadecimal digits",
                bits.div_ceil(4)
            )),
            FieldKind::Gid => E::custom(format_args!("{at}an IPv6 address")),
            FieldKind::Bytes => {
                E::custom(format_args!("{at}{} hexadecimal digits", bits.div_ceil(4)))
            }
            FieldKind::Text => E::custom(format_args!("{at}text of at most {} bytes", bits / 8)),
            FieldKind::Struct(inner) => E::custom(format_args!(
                "{at}an object with the fields of {}",
                inner.name
            )),
            FieldKind::Array { element_bits, .. } => E::custom(format_args!(
                "{at}a list of {}",
                bits.checked_div(element_bits).unwrap_or(0)
            )),
        }
    }
}

fn short<E: Error>(layout: &Layout, name: &str) -> E {
    E::custom(format_args!(
        "{}.{name} ends past the bytes, expected {} of them",
        layout.name, layout.len
    ))
}

impl<'de> DeserializeSeed<'de> for ValueMut<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueMut<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a value for {}.{}", self.layout.name, self.name)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.number(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.number(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        match u64::try_from(value) {
            Ok(value) => self.number(value),
            Err(_) => Err(self.bad(value)),
        }
    }

    fn visit_str<E: Error>(mut self, text: &str) -> Result<(), E> {
        match self.kind {
            FieldKind::Uint => match number(text, u64::MAX) {
                Some(value) => self.number(value),
                None => Err(self.bad(format_args!("`{text}`"))),
            },
            FieldKind::Gid => match text.parse::<Gid>() {
                Ok(gid) => {
                    self.octets()?.copy_from_slice(&gid.0);
                    Ok(())
                }
                Err(_) => Err(self.bad(format_args!("`{text}`"))),
            },
            FieldKind::Bytes => {
                let digits = text.strip_prefix("0x").unwrap_or(text);
                match write_hex(self.octets()?, digits) {
                    Some(()) => Ok(()),
                    None => Err(self.bad(format_args!("{} digits", digits.len()))),
                }
            }
            FieldKind::Text => match write_text(self.octets()?, text) {
                Some(()) => Ok(()),
                None => Err(self.bad(format_args!("{} bytes", text.len()))),
            },
            FieldKind::Struct(_) | FieldKind::Array { .. } => {
                Err(self.bad(format_args!("`{text}`")))
            }
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let FieldKind::Array {
            element_bits,
            element,
        } = self.kind
        else {
            return Err(self.bad("a list"));
        };
        let count = self.bits.checked_div(element_bits).unwrap_or(0);
        let offsets = (self.bit_offset..).step_by(element_bits.max(1));
        for (index, bit_offset) in offsets.take(count).enumerate() {
            let element = ValueMut {
                kind: *element,
                bit_offset,
                bits: element_bits,
                bytes: &mut *self.bytes,
                ..self
            };
            if list.next_element_seed(element)?.is_none() {
                return Err(self.bad(format_args!("a list of {index}")));
            }
        }
        match list.next_element::<IgnoredAny>()? {
            None => Ok(()),
            Some(_) => Err(self.bad("a longer list")),
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, map: A) -> Result<(), A::Error> {
        let inner = match self.kind {
            FieldKind::Struct(inner) => inner,
            // A list of one structure may be given as the structure itself.
            FieldKind::Array {
                element: FieldKind::Struct(inner),
                element_bits,
            } if element_bits == self.bits => inner,
            _ => return Err(self.bad("an object")),
        };
        FieldsMut {
            layout: inner,
            bytes: self.octets()?,
        }
        .visit_map(map)
    }
}

/// The bytes of `digits` into `to`; `None` unless they are exactly as many hexadecimal digits.
fn write_hex(to: &mut [u8], digits: &str) -> Option<()> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if pairs.len() != to.len() || !rest.is_empty() {
        return None;
    }
    for (to, &[high, low]) in to.iter_mut().zip(pairs) {
        let digit = |byte| char::from(byte).to_digit(16);
        *to = u8::try_from(digit(high)? << 4 | digit(low)?).ok()?;
    }
    Some(())
}

/// `text` into `to`, with a NUL where it is shorter; `None` if it is longer.
///
/// Bytes that print as `text` stay: a text of theirs may hold what reads as an escape.
fn write_text(to: &mut [u8], text: &str) -> Option<()> {
    let old = to.split(|&byte| byte == 0).next().unwrap_or_default();
    if prints_as(old, text) {
        return Some(());
    }
    let len = unescaped(text).count();
    let (start, rest) = to.split_at_mut_checked(len)?;
    for (to, byte) in start.iter_mut().zip(unescaped(text)) {
        *to = byte;
    }
    if let Some(end) = rest.first_mut() {
        *end = 0;
    }
    Some(())
}

/// Returns true if `bytes`, those that are no UTF-8 printed as `\xff`, are `text`.
fn prints_as(bytes: &[u8], mut text: &str) -> bool {
    for chunk in bytes.utf8_chunks() {
        let Some(rest) = text.strip_prefix(chunk.valid()) else {
            return false;
        };
        text = rest;
        for &byte in chunk.invalid() {
            match escape(text) {
                Some((found, rest)) if found == byte => text = rest,
                _ => return false,
            }
        }
    }
    text.is_empty()
}

/// The bytes of a text, `\x80` to `\xff` as the bytes that they name.
fn unescaped(mut text: &str) -> impl Iterator<Item = u8> {
    core::iter::from_fn(move || {
        if let Some((byte, rest)) = escape(text) {
            text = rest;
            return Some((Some(byte), ""));
        }
        let mut characters = text.chars();
        characters.next()?;
        let rest = characters.as_str();
        let character = text.get(..text.len().saturating_sub(rest.len()))?;
        text = rest;
        Some((None, character))
    })
    .flat_map(|(byte, character)| byte.into_iter().chain(character.bytes()))
}

/// The byte that `text` begins with as an escape, and what follows. Only bytes that no UTF-8 text has
/// alone are escaped.
fn escape(text: &str) -> Option<(u8, &str)> {
    let digits = text.strip_prefix("\\x")?;
    let (digits, rest) = digits.split_at_checked(2)?;
    let mut byte = [0];
    write_hex(&mut byte, digits)?;
    let [byte] = byte;
    (byte >= 0x80).then_some((byte, rest))
}

#[cfg(test)]
#[allow(
    unreachable_pub,
    dead_code,
    reason = "the macro declares more public items than the tests use"
)]
mod tests {
    use serde::de::DeserializeSeed as _;

    use super::*;

    crate::wire_struct! {
        /// Every kind of field.
        pub struct Sample("Sample", 64 bytes) {
            flag, set_flag: bool = 0, 1;
            narrow, set_narrow: u8 = 1, 7;
            wide, set_wide: u64 = 8, 64;
            text, set_text: [text; 8] = 72, 64;
            raw, set_raw: [bytes; 3] = 136, 24;
            gid, set_gid: Gid = 160, 128;
            list, set_list: [u8; 4] = 288, 16;
            inner, set_inner: Inner = 304, 16;
            inners, set_inners: [Inner; 2] = 320, 32;
            reserved, set_reserved: [bytes; 20] = 352, 160;
        }
    }

    crate::wire_struct! {
        /// Two bytes.
        pub struct Inner("Inner", 2 bytes) {
            a, set_a: u8 = 0, 8;
            b, set_b: u8 = 8, 8;
        }
    }

    fn read(bytes: &mut [u8], json: &str) -> Result<(), String> {
        let mut json = serde_json::Deserializer::from_str(json);
        FieldsMut {
            layout: Sample::LAYOUT,
            bytes,
        }
        .deserialize(&mut json)
        .map_err(|error| error.to_string())
    }

    #[test]
    fn what_was_serialized_comes_back() {
        for seed in (0..=255u8).step_by(if cfg!(miri) { 51 } else { 1 }) {
            let sample =
                Sample::from_bytes(core::array::from_fn(|i| (i as u8).wrapping_mul(29) ^ seed));
            let json = serde_json::to_string(&sample).unwrap();
            let mut bytes = *sample.as_bytes();
            read(&mut bytes, &json).unwrap();
            assert_eq!(&bytes, sample.as_bytes(), "{json}");
        }
    }

    #[test]
    fn every_field_is_written_over_another_background() {
        let sample = Sample::from_bytes(core::array::from_fn(|i| match i {
            9..17 => b'a' + i as u8,
            _ => (i as u8).wrapping_mul(151),
        }));
        let json = serde_json::to_string(&sample).unwrap();
        let mut bytes = [0xa5; Sample::LEN];
        read(&mut bytes, &json).unwrap();
        assert_eq!(&bytes, sample.as_bytes(), "{json}");
    }

    #[test]
    fn a_text_replaces_its_own_bytes_only() {
        let mut bytes = [0xa5; Sample::LEN];
        read(&mut bytes, r#"{"text": "ib"}"#).unwrap();
        assert_eq!(&bytes[8..18], b"\xa5ib\0\xa5\xa5\xa5\xa5\xa5\xa5");
        read(&mut bytes, r#"{"text": "infini"}"#).unwrap();
        assert_eq!(&bytes[8..18], b"\xa5infini\0\xa5\xa5");
        bytes[9..17].copy_from_slice(b"a\xff\xfeb\0cde");
        let before = bytes;
        read(&mut bytes, r#"{"text": "a\\xff\\xfeb"}"#).unwrap();
        assert_eq!(bytes, before);
        read(&mut bytes, r#"{"text": "\\xff\\x41é"}"#).unwrap();
        assert_eq!(&bytes[9..17], b"\xff\\x41\xc3\xa9\0");
    }

    #[test]
    fn errors_name_the_field_and_what_it_takes() {
        let mut bytes = [0; Sample::LEN];
        for (json, message) in [
            (
                r#"{"narrow": 128}"#,
                "Sample.narrow: 128, expected a number of 7 bits",
            ),
            (
                r#"{"narrow": -1}"#,
                "Sample.narrow: -1, expected a number of 7 bits",
            ),
            (r#"{"nnn": 1}"#, "Sample: unknown field `nnn`, expected"),
            (
                r#"{"raw": "0102"}"#,
                "Sample.raw: 4 digits, expected 6 hexadecimal digits",
            ),
            (
                r#"{"raw": "01020g"}"#,
                "Sample.raw: 6 digits, expected 6 hexadecimal digits",
            ),
            (
                r#"{"gid": "ffff"}"#,
                "Sample.gid: `ffff`, expected an IPv6 address",
            ),
            (
                r#"{"list": [1, 2, 3]}"#,
                "Sample.list: a list of 3, expected a list of 4",
            ),
            (
                r#"{"list": [1, 2, 3, 4, 5]}"#,
                "Sample.list: a longer list, expected a list of 4",
            ),
            (
                r#"{"list": [1, 2, 3, 16]}"#,
                "Sample.list: 16, expected a number of 4 bits",
            ),
            (
                r#"{"text": "123456789"}"#,
                "Sample.text: 9 bytes, expected text of at most 8",
            ),
            (r#"{"inner": {"c": 1}}"#, "Inner: unknown field `c`"),
        ] {
            let error = read(&mut bytes, json).unwrap_err();
            assert!(error.starts_with(message), "{json}: {error}");
        }
        assert!(read(&mut bytes[..8], r#"{"wide": "0x01"}"#).is_err());
    }
}
