//! Structures of the wire for a person: names and units beside numbers, lines as wide as the terminal.
//!
//! On a terminal lines are wrapped and the names of structures are bold; elsewhere a structure is one line, so that
//! other tools can search it. Reserved fields that are zero are left out.

use ib_mad::MgmtClass;
use ib_wire::{
    Gid,
    table::{Field, FieldKind, Layout, load_bits},
};

use crate::{
    Line,
    meaning::{self, Meaning},
};

/// Width that names of structures are filled to.
const NAME: usize = 9;

/// How wide lines are, and whether there are colours.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Columns; `None`: lines are not wrapped.
    pub width: Option<usize>,
    /// Whether names are bold.
    pub colour: bool,
}

impl Terminal {
    /// Neither width nor colours.
    pub const PLAIN: Self = Self {
        width: None,
        colour: false,
    };

    /// Appends the name that a line begins with.
    pub fn name(self, line: &mut Line, name: &str) {
        if self.colour {
            line.display(format_args!("\x1b[1m{name:<NAME$}\x1b[0m"));
        } else {
            line.display(format_args!("{name:<NAME$}"));
        }
    }
}

/// Prints structures for a person; remembers the layouts that it has seen.
#[derive(Debug)]
pub struct ReadablePrinter {
    terminal: Terminal,
    layouts: Vec<ReadableLayout>,
    /// One item of a line while its length is not known.
    item: Line,
}

/// A layout with the meanings of its fields.
#[derive(Debug)]
struct ReadableLayout {
    layout: &'static Layout,
    fields: Vec<ReadableField>,
}

#[derive(Debug)]
struct ReadableField {
    /// The name with those of the structures around it, as `port_info.lid`.
    name: String,
    /// The field, its offset counted from the outermost structure.
    field: Field,
    meaning: Option<Meaning>,
}

/// The facts of a structure that come from the structures around it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context {
    /// Class of the datagram: names of attributes depend on it.
    pub class: Option<MgmtClass>,
    /// First byte, counted from the structure's own, of a structure that is printed after it: the bytes of a data
    /// field there are left out.
    pub followed_at: Option<usize>,
}

impl ReadablePrinter {
    /// A printer for this terminal.
    pub fn new(terminal: Terminal) -> Self {
        Self {
            terminal,
            layouts: Vec::new(),
            item: Line::default(),
        }
    }

    /// Width and colours of the output.
    pub fn terminal(&self) -> Terminal {
        self.terminal
    }

    /// Appends the structure that `bytes` begin with: its name, then its fields.
    pub fn structure(
        &mut self,
        line: &mut Line,
        layout: &'static Layout,
        bytes: &[u8],
        context: Context,
    ) {
        let is_it = |known: &ReadableLayout| std::ptr::eq(known.layout, layout);
        let index = self.layouts.iter().position(is_it).unwrap_or_else(|| {
            self.layouts.push(ReadableLayout::new(layout));
            self.layouts.len() - 1
        });
        let Some(known) = self.layouts.get(index) else {
            return;
        };
        self.terminal.name(line, layout.name);
        let mut column = layout.name.len().max(NAME);
        let mut is_first = true;
        for field in &known.fields {
            if !field.is_shown(bytes, context) {
                continue;
            }
            let item = &mut self.item;
            item.clear();
            field.print(item, bytes, context);
            let separator = if is_first { 1 } else { 2 };
            // A comma may follow.
            let wraps = |width| column + separator + item.len() + 1 > width && !is_first;
            if !is_first {
                line.byte(b',');
            }
            if self.terminal.width.is_some_and(wraps) {
                line.byte(b'\n');
                line.text(&[b' '; NAME + 1]);
                column = NAME + 1;
            } else {
                line.byte(b' ');
                column += separator;
            }
            line.text(item.as_bytes());
            column += item.len();
            is_first = false;
        }
        line.byte(b'\n');
    }

    /// The fields that are shown, as pairs of name and value.
    pub fn rows(layout: &'static Layout, bytes: &[u8]) -> Vec<(String, String)> {
        let context = Context::default();
        let known = ReadableLayout::new(layout);
        let shown = known
            .fields
            .iter()
            .filter(|field| field.is_shown(bytes, context));
        let row = |field: &ReadableField| {
            let mut value = Line::default();
            field.value(&mut value, bytes, context);
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (field.name.clone(), value)
        };
        shown.map(row).collect()
    }
}

impl ReadableLayout {
    fn new(layout: &'static Layout) -> Self {
        let mut fields = Vec::new();
        add_fields(&mut fields, layout, 0, "");
        Self { layout, fields }
    }
}

/// Adds the fields of a structure at bit `at`, those of structures in it with their paths.
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
                name,
                field: Field {
                    bit_offset,
                    ..*field
                },
                meaning: meaning::of(layout.name, field.name),
            }),
        }
    }
}

impl ReadableField {
    /// The bytes of a field that begins and ends with one.
    fn octets<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let start = self.field.bit_offset / 8;
        let end = start + self.field.bits / 8;
        bytes.get(start..end).unwrap_or_default()
    }

    fn is_shown(&self, bytes: &[u8], context: Context) -> bool {
        if self.field.name.contains("reserved") || self.field.is_reserved() {
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

    fn print(&self, line: &mut Line, bytes: &[u8], context: Context) {
        line.text(self.name.as_bytes());
        line.byte(b' ');
        self.value(line, bytes, context);
    }

    fn value(&self, line: &mut Line, bytes: &[u8], context: Context) {
        match self.field.kind {
            FieldKind::Uint => {
                let value = self.number(bytes, 0, self.field.bits);
                number(line, value, self.field.bits, self.field.name);
                let name = match (self.field.name, context.class) {
                    ("attribute_id", Some(class)) => {
                        meaning::of_attribute(class, value).map(Into::into)
                    }
                    _ => self.meaning.and_then(|meaning| meaning(value)),
                };
                if let Some(name) = name {
                    line.display(format_args!(" ({name})"));
                }
            }
            FieldKind::Gid => gid(line, self.octets(bytes)),
            FieldKind::Bytes => octets(line, self.octets(bytes), self.field.name),
            FieldKind::Text => text(line, self.octets(bytes)),
            // Structures have been taken apart.
            FieldKind::Struct(_) => {}
            FieldKind::Array {
                element_bits,
                element,
            } => {
                for index in 0..self.field.bits.checked_div(element_bits).unwrap_or(0) {
                    if index > 0 {
                        line.byte(b' ');
                    }
                    let from = index * element_bits;
                    if *element == FieldKind::Uint {
                        let value = self.number(bytes, from, element_bits);
                        number(line, value, element_bits, "");
                        continue;
                    }
                    let start = (self.field.bit_offset + from) / 8;
                    let end = start + element_bits / 8;
                    let element_bytes = bytes.get(start..end).unwrap_or_default();
                    match element {
                        FieldKind::Gid => gid(line, element_bytes),
                        FieldKind::Text => text(line, element_bytes),
                        _ => line.hex_bytes(element_bytes),
                    }
                }
            }
        }
    }
}

/// Fields whose numbers are written in hexadecimal: keys and masks.
const HEXADECIMAL: [&str; 6] = [
    "p_key",
    "q_key",
    "r_key",
    "capability_mask",
    "capability_mask2",
    "ether_type",
];

fn number(line: &mut Line, value: u64, bits: usize, name: &str) {
    if bits > 32 || HEXADECIMAL.contains(&name) {
        let digits = bits.div_ceil(4);
        line.display(format_args!("0x{value:0digits$x}"));
    } else {
        line.decimal(value);
    }
}

fn gid(line: &mut Line, bytes: &[u8]) {
    if let Some(bytes) = bytes.first_chunk() {
        line.display(Gid(*bytes));
    }
}

/// Bytes in hexadecimal; those of addresses as addresses are written.
fn octets(line: &mut Line, bytes: &[u8], name: &str) {
    match (bytes, name) {
        (&[a, b, c, d], "src" | "dst") => line.display(format_args!("{a}.{b}.{c}.{d}")),
        (&[a, b, c, d, e, f], "src" | "dst") => line.display(format_args!(
            "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}"
        )),
        (_, "initial_path" | "return_path") => directed_route(line, bytes),
        _ if bytes.len() > LONGEST_ZEROS && bytes.iter().all(|&byte| byte == 0) => {
            line.display(format_args!("{} zero bytes", bytes.len()));
        }
        _ => line.hex_bytes(bytes),
    }
}

/// Zero bytes that are written out; more are counted.
const LONGEST_ZEROS: usize = 8;

/// The ports of a directed route as far as they are not zero, as `0,1,4`.
fn directed_route(line: &mut Line, bytes: &[u8]) {
    let len = bytes.iter().rposition(|&byte| byte != 0).unwrap_or(0) + 1;
    for (index, &port) in bytes.iter().take(len).enumerate() {
        if index > 0 {
            line.byte(b',');
        }
        line.decimal(port.into());
    }
}

fn text(line: &mut Line, bytes: &[u8]) {
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    line.display(format_args!("{text:?}"));
}

/// Bytes in a row of a dump.
const ROW: usize = 16;

/// Appends a dump of bytes under a name, if there are any: offset, 16 bytes in hexadecimal, and as text.
pub fn dump(terminal: Terminal, line: &mut Line, name: &str, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    terminal.name(line, name);
    line.byte(b' ');
    line.decimal(bytes.len() as u64);
    line.text(b" bytes\n");
    for (row, bytes) in bytes.chunks(ROW).enumerate() {
        line.display(format_args!("  {:04x} ", row * ROW));
        for index in 0..ROW {
            if index == ROW / 2 {
                line.byte(b' ');
            }
            match bytes.get(index) {
                Some(byte) => {
                    line.byte(b' ');
                    line.hex_bytes(&[*byte]);
                }
                None => line.text(b"   "),
            }
        }
        line.text(b"  ");
        for &byte in bytes {
            line.byte(if matches!(byte, 0x20..=0x7e) {
                byte
            } else {
                b'.'
            });
        }
        line.byte(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(terminal: Terminal, layout: &'static Layout, bytes: &[u8]) -> String {
        let mut line = Line::default();
        let mut printer = ReadablePrinter::new(terminal);
        printer.structure(&mut line, layout, bytes, Context::default());
        String::from_utf8(line.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn lines_are_wrapped_at_the_width_of_the_terminal() {
        let bytes = [0xa5; 64];
        let layout = ib_smp::PortInfo::LAYOUT;
        let plain = printed(Terminal::PLAIN, layout, &bytes);
        assert_eq!(plain.lines().count(), 1);
        for width in [40, 80, 120] {
            let terminal = Terminal {
                width: Some(width),
                ..Terminal::PLAIN
            };
            let wrapped = printed(terminal, layout, &bytes);
            for line in wrapped.lines() {
                // An item is not cut.
                let items = line.trim().trim_end_matches(',').matches(", ").count();
                assert!(line.len() <= width || items == 0, "{line}");
            }
            let joined = wrapped.split_whitespace().collect::<Vec<_>>().join(" ");
            let expected = plain.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(joined, expected);
        }
    }

    #[test]
    fn a_dump_shows_every_byte_twice() {
        let mut line = Line::default();
        dump(
            Terminal::PLAIN,
            &mut line,
            "payload",
            b"\x00InfiniBand over RoCE\xff",
        );
        assert_eq!(
            String::from_utf8_lossy(line.as_bytes()),
            "payload   22 bytes\n  \
             0000  00 49 6e 66 69 6e 69 42  61 6e 64 20 6f 76 65 72  .InfiniBand over\n  \
             0010  20 52 6f 43 45 ff                                  RoCE.\n"
        );
    }
}
