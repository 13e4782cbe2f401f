//! Structures of the wire printed by their layout tables: as JSON, or as a line for reading.
//!
//! The JSON is what `ib_wire::table::serialize_fields` gives; a test holds them together. A layout is
//! compiled once into a flat list of (constant text, value), because a capture prints the same few
//! layouts a million times: names, quotes, braces of nested structures are all constant text.

use ib_wire::{
    Gid,
    table::{Field, FieldKind, Layout, load_bits},
};

use super::line::{Constant, Line, Pen};

/// How fields look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `{"lid":4,...}`
    Json,
    /// `lid 4, ...`
    Plain,
}

/// Prints structures; remembers the layouts that it has seen.
#[derive(Debug)]
pub struct FieldPrinter {
    style: Style,
    plans: Vec<(&'static Layout, Plan)>,
    /// Where the search for the next layout starts: headers come in the same order again and again.
    next: usize,
}

/// What prints a layout.
#[derive(Debug)]
struct Plan {
    /// What stands before the structure's offset; only JSON prints the offset.
    name: Constant,
    steps: Vec<Step>,
    /// What stands behind the last value.
    end: Constant,
    /// Room that the whole may touch.
    room: usize,
}

#[derive(Debug)]
struct Step {
    /// Everything since the value before.
    before: Constant,
    value: Value,
}

/// A value without structure, and where it is.
#[derive(Clone, Copy, Debug)]
enum Value {
    /// A number of up to 32 bits: those above `shift` of the 8 bytes from `start`.
    Number { start: usize, shift: u32, mask: u64 },
    /// Hexadecimal digits of a number.
    Wide { bit_offset: usize, bits: usize },
    /// An IPv6 address.
    Gid { start: usize },
    /// Hexadecimal digits of bytes.
    Bytes { start: usize, len: usize },
    /// Text up to the first NUL.
    Text { start: usize, len: usize },
}

impl FieldPrinter {
    /// A printer in `style`.
    pub fn new(style: Style) -> Self {
        Self {
            style,
            plans: Vec::new(),
            next: 0,
        }
    }

    /// Appends the fields of the structure at the start of `bytes`, which are at least as many as the
    /// layout has; numbers are read faster where eight more follow.
    ///
    /// JSON: the object `{"name":..,"offset":..,"fields":{..}}`; plain: `NAME  field value, ...`.
    pub fn header(
        &mut self,
        line: &mut Line,
        layout: &'static Layout,
        offset: usize,
        bytes: &[u8],
    ) {
        let index = self.plan(layout);
        let Some((_, plan)) = self.plans.get(index) else {
            return;
        };
        self.next = index + 1;
        let mut pen = line.room(plan.room);
        pen.constant(&plan.name);
        if self.style == Style::Json {
            pen.decimal(offset as u64);
        }
        for step in &plan.steps {
            pen.constant(&step.before);
            step.value.print(&mut pen, bytes);
        }
        pen.constant(&plan.end);
        let len = pen.len();
        line.advance(len);
    }

    /// The index of the plan of `layout`.
    #[inline]
    fn plan(&mut self, layout: &'static Layout) -> usize {
        let is_it = |(known, _): &(&'static Layout, Plan)| std::ptr::eq(*known, layout);
        if self.plans.get(self.next).is_some_and(is_it) {
            return self.next;
        }
        self.plans.iter().position(is_it).unwrap_or_else(|| {
            self.plans
                .push((layout, Compiler::new(self.style).compile(layout)));
            self.plans.len() - 1
        })
    }
}

impl Value {
    /// Room that the value may touch.
    fn room(self) -> usize {
        match self {
            Self::Number { .. } => Pen::DECIMAL,
            Self::Wide { .. } => 16,
            Self::Gid { .. } => 40,
            Self::Bytes { len, .. } => 2 * len,
            // A control character becomes `\u0001`, a byte that is no text `\\xff`.
            Self::Text { len, .. } => 6 * len,
        }
    }

    #[inline(always)]
    fn print(self, pen: &mut Pen<'_>, bytes: &[u8]) {
        let octets = |start: usize, len: usize| bytes.get(start..start + len).unwrap_or_default();
        match self {
            Self::Number { start, shift, mask } => {
                pen.decimal(window(bytes, start) >> shift & mask);
            }
            Self::Wide { bit_offset, bits } => {
                let value = load_bits(bytes, bit_offset, bits).unwrap_or(0);
                pen.hex(value, bits.div_ceil(4));
            }
            Self::Gid { start } => {
                if let Some(gid) = octets(start, 16).first_chunk() {
                    pen.display(Gid(*gid));
                }
            }
            Self::Bytes { start, len } => pen.hex_bytes(octets(start, len)),
            Self::Text { start, len } => {
                let octets = octets(start, len);
                let text = octets.split(|&byte| byte == 0).next().unwrap_or_default();
                pen.json_bytes(text);
            }
        }
    }
}

/// The eight bytes from `start` as a big-endian number, zeros behind the end.
#[inline(always)]
fn window(bytes: &[u8], start: usize) -> u64 {
    match bytes.get(start..) {
        Some(&[a, b, c, d, e, f, g, h, ..]) => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        rest => near_the_end(rest.unwrap_or_default()),
    }
}

#[inline(never)]
fn near_the_end(rest: &[u8]) -> u64 {
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
    steps: Vec<Step>,
}

impl Compiler {
    fn new(style: Style) -> Self {
        Self {
            style,
            text: String::new(),
            steps: Vec::new(),
        }
    }

    fn compile(mut self, layout: &Layout) -> Plan {
        let name = match self.style {
            Style::Json => format!("{{\"name\":\"{}\",\"offset\":", layout.name),
            Style::Plain => format!("{:<8} ", layout.name),
        };
        let (open, close) = match self.style {
            Style::Json => (",\"fields\":{", "}}"),
            Style::Plain => ("", "\n"),
        };
        self.text.push_str(open);
        self.fields(layout, 0);
        self.text.push_str(close);
        let (name, end) = (Constant::new(&name), Constant::new(&self.text));
        let steps = self.steps.iter();
        let room: usize = steps
            .map(|step| step.before.touched() + step.value.room())
            .sum();
        Plan {
            room: room + name.touched() + Pen::DECIMAL + end.touched(),
            name,
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
        let (start, len) = (field.bit_offset / 8, field.bits / 8);
        match field.kind {
            FieldKind::Uint if field.bits <= 32 => {
                let number = Value::Number {
                    start,
                    shift: (64 - field.bit_offset % 8 - field.bits) as u32,
                    mask: u64::from(u32::MAX) >> (32 - field.bits.max(1)),
                };
                self.step("", number, "");
            }
            FieldKind::Uint => {
                let wide = Value::Wide {
                    bit_offset: field.bit_offset,
                    bits: field.bits,
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
        self.steps.push(Step {
            before: Constant::new(&self.text),
            value,
        });
        self.text.clear();
        self.text.push_str(after);
    }
}

#[cfg(test)]
mod tests {
    use ib_wire::table::Fields;

    use super::*;

    #[test]
    fn json_is_what_the_library_serializes() {
        let layouts = [
            ib_wire::Lrh::LAYOUT,
            ib_wire::Bth::LAYOUT,
            ib_smp::PortInfo::LAYOUT,
            ib_smp::SmpDirected::LAYOUT,
            ib_smp::GuidInfo::LAYOUT,
            ib_smp::NodeDescription::LAYOUT,
            ib_smp::VlArbitrationTable::LAYOUT,
            ib_smp::SlToVlMappingTable::LAYOUT,
            ib_smp::PartitionKeyTable::LAYOUT,
        ];
        let mut printer = FieldPrinter::new(Style::Json);
        for seed in 0..64u32 {
            for layout in layouts {
                let bytes: Vec<u8> = (0..layout.len as u32)
                    .map(|i| (i.wrapping_mul(0x9e37_79b9) >> (seed % 24)) as u8 ^ seed as u8)
                    .collect();
                let mut line = Line::default();
                printer.header(&mut line, layout, 7, &bytes);
                let fields = serde_json::to_string(&Fields {
                    layout,
                    bytes: &bytes,
                })
                .unwrap();
                let name = layout.name;
                assert_eq!(
                    String::from_utf8_lossy(line.as_bytes()),
                    format!("{{\"name\":\"{name}\",\"offset\":7,\"fields\":{fields}}}")
                );
            }
        }
    }
}
