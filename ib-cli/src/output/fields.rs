//! Structures of the wire printed by their layout tables: as JSON, or as a line for reading.
//!
//! The JSON is what `ib_wire::table::serialize_fields` gives; a test holds them together. A layout is
//! compiled into steps once, because a capture prints the same few layouts a million times.

use ib_wire::{
    Gid,
    table::{Field, FieldKind, Layout, load_bits},
};

use super::line::{Constant, Line};

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

#[derive(Debug)]
struct Plan {
    /// Everything before the offset, and between offset and fields, of a header in JSON.
    name: Constant,
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    /// Separator, name, and the quote of a value that is text.
    before: Constant,
    value: Value,
}

#[derive(Debug)]
enum Value {
    /// A number of up to 32 bits inside an aligned window of at most 8 bytes.
    Number {
        start: usize,
        len: usize,
        shift: u32,
        mask: u64,
    },
    /// Hexadecimal digits of a number.
    Wide {
        bit_offset: usize,
        bits: usize,
    },
    Gid {
        start: usize,
    },
    Bytes {
        start: usize,
        len: usize,
    },
    Text {
        start: usize,
        len: usize,
    },
    Struct {
        start: usize,
        len: usize,
        plan: Box<Plan>,
    },
    Array(Vec<Step>),
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

    /// Appends the fields of `bytes`, which are as long as the layout.
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
        line.constant(&plan.name);
        if self.style == Style::Json {
            line.decimal(offset as u64);
            line.text(b",\"fields\":{");
        }
        print_steps(line, self.style, &plan.steps, bytes);
        if self.style == Style::Json {
            line.text(b"}}");
        }
    }

    /// The index of the plan of `layout`.
    #[inline]
    fn plan(&mut self, layout: &'static Layout) -> usize {
        let is_it = |(known, _): &(&'static Layout, Plan)| std::ptr::eq(*known, layout);
        if self.plans.get(self.next).is_some_and(is_it) {
            return self.next;
        }
        self.plans.iter().position(is_it).unwrap_or_else(|| {
            self.plans.push((layout, Plan::new(self.style, layout)));
            self.plans.len() - 1
        })
    }
}

impl Plan {
    fn new(style: Style, layout: &Layout) -> Self {
        let name = match style {
            Style::Json => format!("{{\"name\":\"{}\",\"offset\":", layout.name),
            Style::Plain => format!("{:<8} ", layout.name),
        };
        let steps = layout.fields.iter().enumerate().map(|(index, field)| {
            let separator = match (index, style) {
                (0, _) => "",
                (_, Style::Json) => ",",
                (_, Style::Plain) => ", ",
            };
            let before = match style {
                Style::Json => format!("{separator}\"{}\":", field.name),
                Style::Plain => format!("{separator}{} ", field.name),
            };
            Step::new(style, before, field)
        });
        Self {
            name: Constant::new(&name),
            steps: steps.collect(),
        }
    }
}

impl Step {
    /// The step that prints `before` and the field's value.
    fn new(style: Style, mut before: String, field: &Field) -> Self {
        let value = Value::new(style, field);
        let quote = if style == Style::Json { "\"" } else { "" };
        match value {
            Value::Number { .. } | Value::Struct { .. } | Value::Array(_) => {}
            Value::Wide { .. } => before.push_str(&format!("{quote}0x")),
            Value::Bytes { .. } if field.is_reserved() => before.push_str(&format!("{quote}0x")),
            Value::Text { .. } => before.push('"'),
            Value::Gid { .. } | Value::Bytes { .. } => before.push_str(quote),
        }
        Self {
            before: Constant::new(&before),
            value,
        }
    }
}

impl Value {
    fn new(style: Style, field: &Field) -> Self {
        let (start, len) = (field.bit_offset / 8, field.bits / 8);
        match field.kind {
            FieldKind::Uint if field.bits <= 32 => {
                let end = (field.bit_offset + field.bits).div_ceil(8);
                Self::Number {
                    start,
                    len: end - start,
                    shift: (end * 8 - field.bit_offset - field.bits) as u32,
                    mask: u64::from(u32::MAX) >> (32 - field.bits.max(1)),
                }
            }
            FieldKind::Uint => Self::Wide {
                bit_offset: field.bit_offset,
                bits: field.bits,
            },
            FieldKind::Gid => Self::Gid { start },
            FieldKind::Bytes => Self::Bytes { start, len },
            FieldKind::Text => Self::Text { start, len },
            FieldKind::Struct(layout) => Self::Struct {
                start,
                len,
                plan: Box::new(Plan::new(style, layout)),
            },
            FieldKind::Array {
                element_bits,
                element,
            } => {
                let count = field.bits.checked_div(element_bits).unwrap_or(0);
                let elements = (0..count).map(|index| {
                    let separator = match (index, style) {
                        (0, _) => "",
                        (_, Style::Json) => ",",
                        (_, Style::Plain) => " ",
                    };
                    let element = Field {
                        name: "",
                        bit_offset: field.bit_offset + index * element_bits,
                        bits: element_bits,
                        kind: *element,
                    };
                    Step::new(style, separator.to_owned(), &element)
                });
                Self::Array(elements.collect())
            }
        }
    }
}

fn print_steps(line: &mut Line, style: Style, steps: &[Step], bytes: &[u8]) {
    for step in steps {
        line.constant(&step.before);
        print_value(line, style, &step.value, bytes);
    }
}

#[inline(always)]
fn print_value(line: &mut Line, style: Style, value: &Value, bytes: &[u8]) {
    let octets = |start: usize, len: usize| bytes.get(start..start + len).unwrap_or_default();
    let quote = |line: &mut Line| {
        if style == Style::Json {
            line.byte(b'"');
        }
    };
    match *value {
        Value::Number {
            start,
            len,
            shift,
            mask,
        } => line.decimal(window(bytes, start, len) >> shift & mask),
        Value::Wide { bit_offset, bits } => {
            let value = load_bits(bytes, bit_offset, bits).unwrap_or(0);
            line.hex(value, bits.div_ceil(4));
            quote(line);
        }
        Value::Gid { start } => {
            if let Some(gid) = octets(start, 16).first_chunk() {
                line.display(Gid(*gid));
            }
            quote(line);
        }
        Value::Bytes { start, len } => {
            line.hex_bytes(octets(start, len));
            quote(line);
        }
        Value::Text { start, len } => {
            let octets = octets(start, len);
            let text = octets.split(|&byte| byte == 0).next().unwrap_or_default();
            line.json_text(&String::from_utf8_lossy(text));
            line.byte(b'"');
        }
        Value::Struct {
            start,
            len,
            ref plan,
        } => {
            line.byte(b'{');
            print_steps(line, style, &plan.steps, octets(start, len));
            line.byte(b'}');
        }
        Value::Array(ref elements) => {
            line.byte(b'[');
            print_steps(line, style, elements, bytes);
            line.byte(b']');
        }
    }
}

/// The big-endian number of up to 5 bytes that a field of up to 32 bits touches.
#[inline(always)]
fn window(bytes: &[u8], start: usize, len: usize) -> u64 {
    match (len, bytes.get(start..)) {
        (1, Some(&[byte, ..])) => byte.into(),
        (2, Some(&[a, b, ..])) => u16::from_be_bytes([a, b]).into(),
        (3, Some(&[a, b, c, ..])) => u32::from_be_bytes([0, a, b, c]).into(),
        (4, Some(&[a, b, c, d, ..])) => u32::from_be_bytes([a, b, c, d]).into(),
        (5, Some(&[a, b, c, d, e, ..])) => u64::from_be_bytes([0, 0, 0, a, b, c, d, e]),
        _ => 0,
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
