//! Structures of the wire printed by their layout tables: as JSON, or as a line for reading.
//!
//! The JSON is what `ib_wire::table::serialize_fields` gives; a test holds them together. A layout is
//! compiled once into a flat list of (constant text, value), because a capture prints the same few
//! layouts a million times: names, quotes, braces of nested structures are all constant text. The list
//! of a common layout is code. And a header with the bytes of the one printed before, as most addresses
//! of a capture are, is copied.

mod format;
mod printers;

use ib_wire::table::Layout;

use crate::{Line, by_layout::ByLayout, last::Last};
pub use format::FieldFormat;

/// The format of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `{"lid":4,...}`
    Json,
    /// `lid 4, ...`
    Plain,
}

/// Prints structures; remembers the layouts that it has seen.
///
/// The text of a structure that equals the one printed before is copied from the line: a printer prints to one line, and
/// [`forget`](Self::forget) has to be called when that is cleared.
#[derive(Debug)]
pub struct FieldPrinter {
    style: Style,
    headers: ByLayout<HeaderPrinter>,
}

/// Prints the structures of one layout.
#[derive(Debug)]
struct HeaderPrinter {
    format: FieldFormat,
    /// Equal if the offset is too.
    last: Last<usize>,
}

impl FieldPrinter {
    /// A printer in `style`.
    pub fn new(style: Style) -> Self {
        Self {
            style,
            headers: ByLayout::default(),
        }
    }

    /// Appends the fields of the structure at the start of `bytes`, which are at least as many as the
    /// layout has.
    ///
    /// JSON: the object `{"name":..,"offset":..,"fields":{..}}`; plain: `NAME  field value, ...`.
    #[inline]
    pub fn header(
        &mut self,
        line: &mut Line,
        layout: &'static Layout,
        offset: usize,
        bytes: &[u8],
    ) {
        let new = || HeaderPrinter::new(self.style, layout);
        let Some(header) = self.headers.get(layout, new) else {
            return;
        };
        let structure = bytes.get(..layout.len).unwrap_or_default();
        match header.last.find(&offset, structure) {
            Some(text) => line.repeat(text),
            None => header.print(line, offset, structure),
        }
    }

    /// To be called when the line is cleared: what was printed before is gone.
    pub fn forget(&mut self) {
        for header in self.headers.values_mut() {
            header.last.forget();
        }
    }
}

impl HeaderPrinter {
    fn new(style: Style, layout: &Layout) -> Self {
        Self {
            format: FieldFormat::of_layout(style, layout),
            last: Last::default(),
        }
    }

    #[inline]
    fn print(&mut self, line: &mut Line, offset: usize, structure: &[u8]) {
        let start = line.len();
        self.format.print(line, offset, structure);
        self.last.keep(offset, structure, start..line.len());
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
                printer.forget();
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

    #[test]
    fn equal_headers_print_the_same_text_wherever_they_stand() {
        for style in [Style::Json, Style::Plain] {
            let mut printer = FieldPrinter::new(style);
            let mut line = Line::default();
            let mut print = |byte: u8, offset| {
                let start = line.len();
                printer.header(&mut line, ib_wire::Lrh::LAYOUT, offset, &[byte; 8]);
                String::from_utf8(line.as_bytes()[start..].to_vec()).unwrap()
            };
            let first = print(1, 0);
            let other = print(2, 0);
            assert_ne!(first, other);
            assert_eq!(print(2, 0), other);
            assert_eq!(print(1, 0), first);
            let moved = print(1, 12);
            assert_eq!(moved.replace(":12,", ":0,"), first);
        }
    }
}
