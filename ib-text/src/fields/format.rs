//! A layout, or one field of it, compiled into what prints it.

use ib_wire::{
    Gid,
    table::{Field, FieldKind, Layout, load_bits},
};

use super::Style;
use crate::{Constant, Cursor, Line};

/// Prints the fields of a structure: constant text and values by turns.
#[derive(Debug)]
pub struct FieldFormat {
    steps: Vec<FormatItem>,
    /// Text after the last value.
    end: Constant,
    /// Room that the whole may touch.
    room: usize,
}

#[derive(Debug)]
struct FormatItem {
    /// Everything since the value before.
    before: Constant,
    value: Value,
}

/// A value without structure, and where it is.
#[derive(Clone, Copy, Debug)]
enum Value {
    /// A number of up to 32 bits: those above `shift` of the 8 bytes from `start`.
    Number { start: u32, mask: u32, shift: u8 },
    /// Sixteen hexadecimal digits of a number.
    Octets { start: u32 },
    /// Hexadecimal digits of a number.
    Wide { bit_offset: u32, bits: u8 },
    /// An IPv6 address.
    Gid { start: u32 },
    /// Hexadecimal digits of bytes.
    Bytes { start: u32, len: u32 },
    /// Text up to the first NUL.
    Text { start: u32, len: u32 },
}

impl FieldFormat {
    /// Prints all fields with their names: `,"fields":{..}}` in JSON, else `field value, ...` and the
    /// end of the line.
    pub fn of_layout(style: Style, layout: &Layout) -> Self {
        let (open, close) = match style {
            Style::Json => (",\"fields\":{", "}}"),
            Style::Plain => ("", "\n"),
        };
        let mut compiler = Compiler::new(style);
        compiler.text.push_str(open);
        compiler.fields(layout, 0);
        compiler.finish(layout.len, close)
    }

    /// Prints the values of some fields of `layout` without their names, each after its own text.
    pub fn of_fields<'a>(
        style: Style,
        layout: &Layout,
        fields: impl IntoIterator<Item = (&'a str, &'a Field)>,
    ) -> Self {
        let mut compiler = Compiler::new(style);
        for (before, field) in fields {
            compiler.text.push_str(before);
            compiler.value(field);
        }
        compiler.finish(layout.len, "")
    }

    /// Room that printing may touch.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Appends the structure of `bytes`, all of them.
    #[inline]
    pub fn print(&self, line: &mut Line, bytes: &[u8]) {
        let mut cursor = line.room(self.room);
        self.write(&mut cursor, bytes);
        let len = cursor.len();
        line.advance(len);
    }

    /// Writes the structure of `bytes`, all of them, into [`room`](Self::room).
    #[inline(always)]
    pub fn write(&self, cursor: &mut Cursor<'_>, bytes: &[u8]) {
        for step in &self.steps {
            cursor.constant(&step.before);
            step.value.print(cursor, bytes);
        }
        cursor.constant(&self.end);
    }
}

impl Value {
    /// Room that the value may touch.
    fn room(self) -> usize {
        match self {
            Self::Number { .. } => Cursor::DECIMAL,
            Self::Octets { .. } | Self::Wide { .. } => 16,
            Self::Gid { .. } => 40,
            Self::Bytes { len, .. } => 2 * len as usize,
            // A control character becomes `\u0001`, a byte that is no text `\\xff`.
            Self::Text { len, .. } => 6 * len as usize,
        }
    }

    /// Moves the eight bytes in which a number is looked for back into a structure of `len` bytes.
    fn stay_within(&mut self, len: usize) {
        if let Self::Number { start, shift, .. } = self
            && let Some(last) = len.checked_sub(8)
            && let back = (*start as usize).saturating_sub(last)
            && back > 0
        {
            *start -= back as u32;
            *shift -= 8 * back as u8;
        }
    }

    #[inline(always)]
    fn print(self, cursor: &mut Cursor<'_>, bytes: &[u8]) {
        let octets = |start: u32, len: u32| {
            let start = start as usize;
            bytes.get(start..start + len as usize).unwrap_or_default()
        };
        match self {
            Self::Number { start, mask, shift } => {
                cursor.decimal32((window(bytes, start as usize) >> shift) as u32 & mask);
            }
            Self::Octets { start } => cursor.hex64(window(bytes, start as usize)),
            Self::Wide { bit_offset, bits } => {
                let bits = usize::from(bits);
                let value = load_bits(bytes, bit_offset as usize, bits).unwrap_or(0);
                cursor.aside(|cursor| cursor.hex(value, bits.div_ceil(4)));
            }
            Self::Gid { start } => {
                if let Some(gid) = octets(start, 16).first_chunk() {
                    cursor.aside(|cursor| cursor.gid(Gid(*gid)));
                }
            }
            Self::Bytes { start, len } => {
                cursor.aside(|cursor| cursor.hex_bytes(octets(start, len)))
            }
            Self::Text { start, len } => {
                let octets = octets(start, len);
                let text = octets.split(|&byte| byte == 0).next().unwrap_or_default();
                cursor.aside(|cursor| cursor.json_bytes(text));
            }
        }
    }
}

/// The eight bytes from `start` as a big-endian number, zeros after the end.
#[inline(always)]
fn window(bytes: &[u8], start: usize) -> u64 {
    match bytes.get(start..) {
        Some(&[a, b, c, d, e, f, g, h, ..]) => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        rest => near_the_end(rest.unwrap_or_default()),
    }
}

/// As [`window`], of a structure that has less than eight bytes.
#[inline(always)]
fn near_the_end(rest: &[u8]) -> u64 {
    if let &[a, b, c, d] = rest {
        return u64::from(u32::from_be_bytes([a, b, c, d])) << 32;
    }
    let mut window = [0; 8];
    for (to, &byte) in window.iter_mut().zip(rest) {
        *to = byte;
    }
    u64::from_be_bytes(window)
}

/// Turns a layout into steps.
struct Compiler {
    style: Style,
    /// Constant text since the last value.
    text: String,
    steps: Vec<FormatItem>,
}

impl Compiler {
    fn new(style: Style) -> Self {
        Self {
            style,
            text: String::new(),
            steps: Vec::new(),
        }
    }

    /// The compiled format, for structures of `len` bytes, with `close` at its end.
    fn finish(mut self, len: usize, close: &str) -> FieldFormat {
        self.text.push_str(close);
        let end = self.constant();
        let steps = self.steps.iter_mut();
        let room: usize = steps
            .map(|step| {
                step.value.stay_within(len);
                step.before.touched() + step.value.room()
            })
            .sum();
        FieldFormat {
            room: room + end.touched(),
            steps: self.steps,
            end,
        }
    }

    /// The fields of a structure at bit `at`.
    fn fields(&mut self, layout: &Layout, at: usize) {
        for (index, field) in layout.fields.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            match self.style {
                Style::Json => {
                    self.text
                        .push_str(&format!("{separator}\"{}\":", field.name));
                }
                Style::Plain => {
                    let blank = if index == 0 { "" } else { " " };
                    self.text
                        .push_str(&format!("{separator}{blank}{} ", field.name));
                }
            }
            let field = Field {
                bit_offset: at + field.bit_offset,
                ..*field
            };
            self.value(&field);
        }
    }

    /// The value of a field, its bit offset counted from the start of the outermost structure.
    fn value(&mut self, field: &Field) {
        let (start, len) = ((field.bit_offset / 8) as u32, (field.bits / 8) as u32);
        match field.kind {
            FieldKind::Uint if field.bits <= 32 => {
                let number = Value::Number {
                    start,
                    shift: (64 - field.bit_offset % 8 - field.bits) as u8,
                    mask: u32::MAX >> (32 - field.bits.max(1)),
                };
                self.step("", number, "");
            }
            FieldKind::Uint if field.bit_offset.is_multiple_of(8) && field.bits == 64 => {
                self.quoted("0x", Value::Octets { start });
            }
            FieldKind::Uint => {
                let wide = Value::Wide {
                    bit_offset: field.bit_offset as u32,
                    bits: field.bits as u8,
                };
                self.quoted("0x", wide);
            }
            FieldKind::Gid => self.quoted("", Value::Gid { start }),
            FieldKind::Bytes => {
                let prefix = if field.is_reserved() { "0x" } else { "" };
                self.quoted(prefix, Value::Bytes { start, len });
            }
            FieldKind::Text => self.step("\"", Value::Text { start, len }, "\""),
            FieldKind::Struct(layout) => {
                self.text.push('{');
                self.fields(layout, field.bit_offset);
                self.text.push('}');
            }
            FieldKind::Array {
                element_bits,
                element,
            } => {
                self.text.push('[');
                for index in 0..field.bits.checked_div(element_bits).unwrap_or(0) {
                    if index > 0 {
                        self.text.push(match self.style {
                            Style::Json => ',',
                            Style::Plain => ' ',
                        });
                    }
                    self.value(&Field {
                        name: "",
                        bit_offset: field.bit_offset + index * element_bits,
                        bits: element_bits,
                        kind: *element,
                    });
                }
                self.text.push(']');
            }
        }
    }

    /// A value that is a string in JSON.
    fn quoted(&mut self, prefix: &str, value: Value) {
        match self.style {
            Style::Json => self.step(&format!("\"{prefix}"), value, "\""),
            Style::Plain => self.step(prefix, value, ""),
        }
    }

    fn step(&mut self, before: &str, value: Value, after: &str) {
        self.text.push_str(before);
        let before = self.constant();
        self.steps.push(FormatItem { before, value });
        self.text.push_str(after);
    }

    /// The constant text since the last value.
    fn constant(&mut self) -> Constant {
        let constant = Constant::new(&self.text);
        self.text.clear();
        constant
    }
}
