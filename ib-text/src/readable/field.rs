//! One field for a person: its name, its value, and what the value means.

use ib_wire::{
    Gid,
    table::{Field, FieldKind, Layout, load_bits},
};

use super::Context;
use crate::{
    Cursor, Line,
    digits::is_plain,
    meaning::{self, Meaning},
};

/// A field, ready to be printed.
#[derive(Debug)]
pub(super) struct ReadableField {
    /// The name with those of the structures around it, as `port_info.lid`.
    name: String,
    /// The name and a blank.
    label: Box<str>,
    /// The field, its offset counted from the outermost structure.
    field: Field,
    /// True if it is shown only if it is not zero.
    is_reserved: bool,
    form: Form,
    meanings: Meanings,
}

/// The notation of a value.
#[derive(Clone, Copy, Debug)]
enum Form {
    Decimal,
    Hexadecimal,
    Gid,
    /// An address of IPv4 or Ethernet; bytes, if the length is another.
    Address,
    /// The ports of a directed route.
    Route,
    Bytes,
    Text,
    Array {
        element_bits: usize,
        element: FieldKind,
        /// True if elements that are numbers are written in hexadecimal.
        is_hexadecimal: bool,
    },
}

/// The meaning of a field's values.
#[derive(Debug)]
enum Meanings {
    None,
    /// Names of attributes, which depend on the class.
    OfAttribute,
    /// Of a field of few bits: ` (meaning)`, or nothing, by value, once it was asked for. Text with a unit takes longer
    /// to write than all else.
    Kept(Meaning, Vec<Option<Box<str>>>),
    /// Of a field of many bits.
    Written(Meaning),
}

/// Most bits of fields whose meanings are kept.
const FEW_BITS: usize = 8;

/// The fields of a structure, those of structures in it with their paths.
pub(super) fn fields(layout: &'static Layout) -> Vec<ReadableField> {
    let mut fields = Vec::new();
    add_fields(&mut fields, layout, 0, "");
    fields
}

/// Adds the fields of a structure at bit `at`.
fn add_fields(to: &mut Vec<ReadableField>, layout: &'static Layout, at: usize, prefix: &str) {
    for field in layout.fields {
        let name = format!("{prefix}{}", field.name);
        let bit_offset = at + field.bit_offset;
        match field.kind {
            FieldKind::Struct(inner) => add_fields(to, inner, bit_offset, &format!("{name}.")),
            FieldKind::Array {
                element_bits,
                element: &FieldKind::Struct(inner),
            } => {
                for index in 0..field.bits.checked_div(element_bits).unwrap_or(0) {
                    let bit_offset = bit_offset + index * element_bits;
                    add_fields(to, inner, bit_offset, &format!("{name}[{index}]."));
                }
            }
            _ => to.push(ReadableField {
                label: format!("{name} ").into(),
                name,
                field: Field {
                    bit_offset,
                    ..*field
                },
                is_reserved: field.name.contains("reserved") || field.is_reserved(),
                form: Form::of(field),
                meanings: Meanings::of(layout, field),
            }),
        }
    }
}

/// Fields whose numbers are written in hexadecimal: keys and masks.
const HEXADECIMAL: [&str; 8] = [
    "p_key",
    "p_key_block",
    "port_mask_block",
    "q_key",
    "r_key",
    "capability_mask",
    "capability_mask2",
    "ether_type",
];

impl Form {
    fn of(field: &Field) -> Self {
        match (field.kind, field.name) {
            (FieldKind::Uint, name) if field.bits > 32 || HEXADECIMAL.contains(&name) => {
                Self::Hexadecimal
            }
            (FieldKind::Uint, _) => Self::Decimal,
            (FieldKind::Gid, _) => Self::Gid,
            (FieldKind::Bytes, "src" | "dst") => Self::Address,
            (FieldKind::Bytes, "initial_path" | "return_path") => Self::Route,
            // Structures have been taken apart.
            (FieldKind::Bytes | FieldKind::Struct(_), _) => Self::Bytes,
            (FieldKind::Text, _) => Self::Text,
            (
                FieldKind::Array {
                    element_bits,
                    element,
                },
                name,
            ) => Self::Array {
                element_bits,
                element: *element,
                is_hexadecimal: element_bits > 32 || HEXADECIMAL.contains(&name),
            },
        }
    }
}

impl Meanings {
    fn of(layout: &Layout, field: &Field) -> Self {
        if field.name == "attribute_id" {
            return Self::OfAttribute;
        }
        match meaning::of(layout.name, field.name) {
            Some(meaning) if field.bits <= FEW_BITS => {
                Self::Kept(meaning, vec![None; 1 << field.bits])
            }
            Some(meaning) => Self::Written(meaning),
            None => Self::None,
        }
    }

    /// Appends what `value` means, if it means anything.
    fn print(&mut self, line: &mut Line, value: u64, context: Context) {
        match self {
            Self::None => {}
            Self::OfAttribute => {
                let class = context.class;
                let name = class.and_then(|class| meaning::of_attribute(class, value));
                in_parentheses(line, name);
            }
            Self::Kept(meaning, texts) => {
                let text = usize::try_from(value).ok();
                let Some(text) = text.and_then(|value| texts.get_mut(value)) else {
                    return;
                };
                let text = text.get_or_insert_with(|| match meaning(value) {
                    Some(text) => format!(" ({text})").into(),
                    None => Box::default(),
                });
                line.text(text.as_bytes());
            }
            Self::Written(meaning) => in_parentheses(line, meaning(value).as_deref()),
        }
    }
}

fn in_parentheses(line: &mut Line, text: Option<&str>) {
    if let Some(text) = text {
        line.text(b" (");
        line.text(text.as_bytes());
        line.byte(b')');
    }
}

impl ReadableField {
    /// The name with those of the structures around it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The bytes of a field that begins and ends with one.
    fn octets<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let start = self.field.bit_offset / 8;
        let end = start + self.field.bits / 8;
        bytes.get(start..end).unwrap_or_default()
    }

    /// Returns true if the field is printed.
    pub(super) fn is_shown(&self, bytes: &[u8], context: Context) -> bool {
        if self.is_reserved {
            return match self.field.kind {
                FieldKind::Uint => self.number(bytes, 0, self.field.bits) != 0,
                _ => self.octets(bytes).iter().any(|&byte| byte != 0),
            };
        }
        let start = self.field.bit_offset / 8;
        let is_data = self.field.kind == FieldKind::Bytes;
        !(is_data
            && context
                .followed_at
                .is_some_and(|at| at >= start && at < start + self.field.bits / 8))
    }

    fn number(&self, bytes: &[u8], from: usize, bits: usize) -> u64 {
        load_bits(bytes, self.field.bit_offset + from, bits).unwrap_or(0)
    }

    /// Appends name and value.
    pub(super) fn print(&mut self, line: &mut Line, bytes: &[u8], context: Context) {
        line.text(self.label.as_bytes());
        self.value(line, bytes, context);
    }

    /// Appends the value and its meaning.
    pub(super) fn value(&mut self, line: &mut Line, bytes: &[u8], context: Context) {
        match self.form {
            Form::Decimal | Form::Hexadecimal => {
                let value = self.number(bytes, 0, self.field.bits);
                match self.form {
                    Form::Decimal => line.decimal(value),
                    _ => hexadecimal(line, value, self.field.bits),
                }
                self.meanings.print(line, value, context);
            }
            Form::Gid => gid(line, self.octets(bytes)),
            Form::Address => address(line, self.octets(bytes)),
            Form::Route => directed_route(line, self.octets(bytes)),
            Form::Bytes => octets(line, self.octets(bytes)),
            Form::Text => text(line, self.octets(bytes)),
            Form::Array {
                element_bits,
                element,
                is_hexadecimal,
            } => self.array(line, bytes, element_bits, element, is_hexadecimal),
        }
    }

    fn array(
        &self,
        line: &mut Line,
        bytes: &[u8],
        element_bits: usize,
        element: FieldKind,
        is_hexadecimal: bool,
    ) {
        for index in 0..self.field.bits.checked_div(element_bits).unwrap_or(0) {
            if index > 0 {
                line.byte(b' ');
            }
            let from = index * element_bits;
            let start = (self.field.bit_offset + from) / 8;
            let octets = || {
                let octets = bytes.get(start..start + element_bits / 8);
                octets.unwrap_or_default()
            };
            match element {
                FieldKind::Uint if is_hexadecimal => {
                    let value = self.number(bytes, from, element_bits);
                    hexadecimal(line, value, element_bits);
                }
                FieldKind::Uint => line.decimal(self.number(bytes, from, element_bits)),
                FieldKind::Gid => gid(line, octets()),
                FieldKind::Text => text(line, octets()),
                _ => line.hex_bytes(octets()),
            }
        }
    }
}

/// Appends as many digits as the bits have.
fn hexadecimal(line: &mut Line, value: u64, bits: usize) {
    let mut cursor = line.room(2 + 16);
    cursor.text(b"0x");
    cursor.hex(value, bits.div_ceil(4));
    let len = cursor.len();
    line.advance(len);
}

fn gid(line: &mut Line, bytes: &[u8]) {
    if let Some(bytes) = bytes.first_chunk() {
        let mut cursor = line.room(40);
        cursor.gid(Gid(*bytes));
        let len = cursor.len();
        line.advance(len);
    }
}

/// Zero bytes that are written out; more are counted.
const LONGEST_ZEROS: usize = 8;

fn octets(line: &mut Line, bytes: &[u8]) {
    if bytes.len() > LONGEST_ZEROS && bytes.iter().all(|&byte| byte == 0) {
        line.decimal(bytes.len() as u64);
        line.text(b" zero bytes");
    } else {
        line.hex_bytes(bytes);
    }
}

/// Appends an address as it is usually written.
fn address(line: &mut Line, bytes: &[u8]) {
    match bytes.len() {
        4 => decimals(line, bytes, b'.'),
        6 => {
            for (index, byte) in bytes.iter().enumerate() {
                if index > 0 {
                    line.byte(b':');
                }
                line.hex_bytes(&[*byte]);
            }
        }
        _ => octets(line, bytes),
    }
}

/// Appends the ports of a directed route as far as they are not zero, as `0,1,4`.
fn directed_route(line: &mut Line, bytes: &[u8]) {
    let len = bytes.iter().rposition(|&byte| byte != 0).unwrap_or(0) + 1;
    decimals(line, bytes.get(..len).unwrap_or(bytes), b',');
}

fn decimals(line: &mut Line, bytes: &[u8], separator: u8) {
    // Three digits and a separator each.
    let mut cursor = line.room(4 * bytes.len() + Cursor::DECIMAL);
    for (index, &byte) in bytes.iter().enumerate() {
        if index > 0 {
            cursor.text(&[separator]);
        }
        cursor.decimal32(byte.into());
    }
    let len = cursor.len();
    line.advance(len);
}

fn text(line: &mut Line, bytes: &[u8]) {
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    if text.iter().all(|&byte| is_plain(byte) && byte < 0x7f) {
        line.byte(b'"');
        line.text(text);
        line.byte(b'"');
    } else {
        line.display(format_args!("{:?}", String::from_utf8_lossy(text)));
    }
}
