//! Structures of the wire for a person: names and units beside numbers, lines as wide as the terminal.
//!
//! On a terminal lines are wrapped and the names of structures are bold; elsewhere a structure is one line, so that
//! other tools can search it. Reserved fields that are zero are left out.

mod dump;
mod field;
mod form;
mod label;

use ib_mad::MgmtClass;
use ib_wire::table::Layout;

pub use self::dump::dump;
use self::field::{ReadableField, fields};
use crate::{Line, by_layout::ByLayout, last::Last};

/// Width that names of structures are filled to.
const NAME: usize = 9;

/// The width of lines, and whether there are colours.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Columns; `None`: lines are not wrapped.
    pub width: Option<usize>,
    /// True if names are bold.
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
            line.text(b"\x1b[1m");
        }
        line.text(name.as_bytes());
        line.text(BLANKS.get(name.len()..NAME).unwrap_or_default());
        if self.colour {
            line.text(b"\x1b[0m");
        }
    }
}

const BLANKS: &[u8; NAME] = &[b' '; NAME];

/// Prints structures for a person; remembers the layouts that it has seen.
///
/// The text of a structure that equals the one printed before is copied from the line: a printer prints to one line, and
/// [`forget`](Self::forget) has to be called when that is cleared.
#[derive(Debug)]
pub struct ReadablePrinter {
    terminal: Terminal,
    layouts: ByLayout<ReadableLayout>,
    /// An item that goes to the next line.
    item: Vec<u8>,
}

/// A layout with the meanings of its fields.
#[derive(Debug)]
struct ReadableLayout {
    layout: &'static Layout,
    fields: Vec<ReadableField>,
    last: Last<Context>,
}

/// The facts of a structure that come from the structures around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
            layouts: ByLayout::default(),
            item: Vec::new(),
        }
    }

    /// Width and colours of the output.
    pub fn terminal(&self) -> Terminal {
        self.terminal
    }

    /// To be called when the line is cleared: what was printed before is gone.
    pub fn forget(&mut self) {
        for known in self.layouts.values_mut() {
            known.last.forget();
        }
    }

    /// Appends the structure that `bytes` begin with: its name, then its fields.
    pub fn structure(
        &mut self,
        line: &mut Line,
        layout: &'static Layout,
        bytes: &[u8],
        context: Context,
    ) {
        let new = || ReadableLayout {
            layout,
            fields: fields(layout),
            last: Last::default(),
        };
        let Some(known) = self.layouts.get(layout, new) else {
            return;
        };
        let structure = bytes.get(..layout.len).unwrap_or(bytes);
        if let Some(text) = known.last.find(&context, structure) {
            return line.repeat(text);
        }
        let start = line.len();
        self.terminal.name(line, layout.name);
        match self.terminal.width {
            None => known.print(line, structure, context),
            Some(width) => known.print_wrapped(line, structure, context, width, &mut self.item),
        }
        line.byte(b'\n');
        known.last.keep(context, structure, start..line.len());
    }

    /// The fields that are shown, as pairs of name and value.
    pub fn rows(layout: &'static Layout, bytes: &[u8]) -> Vec<(String, String)> {
        let context = Context::default();
        let mut fields = fields(layout);
        let shown = fields
            .iter_mut()
            .filter(|field| field.is_shown(bytes, context));
        let row = |field: &mut ReadableField| {
            let mut value = Line::default();
            field.value(&mut value, bytes, context);
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (field.name().to_owned(), value)
        };
        shown.map(row).collect()
    }
}

impl ReadableLayout {
    /// Appends the fields in one line.
    fn print(&mut self, line: &mut Line, bytes: &[u8], context: Context) {
        let mut is_first = true;
        for field in &mut self.fields {
            if field.is_shown(bytes, context) {
                field.print(line, bytes, context, is_first);
                is_first = false;
            }
        }
    }

    /// Appends the fields in lines of up to `width` columns, if no field is longer.
    fn print_wrapped(
        &mut self,
        line: &mut Line,
        bytes: &[u8],
        context: Context,
        width: usize,
        item: &mut Vec<u8>,
    ) {
        let mut column = self.layout.name.len().max(NAME);
        let mut is_first = true;
        for field in &mut self.fields {
            if !field.is_shown(bytes, context) {
                continue;
            }
            let start = line.len();
            field.print(line, bytes, context, is_first);
            column += line.len() - start;
            // A comma may follow.
            if column + 1 > width && !is_first {
                // The separator is a comma, which stays, and a blank.
                item.clear();
                item.extend_from_slice(line.as_bytes().get(start + 2..).unwrap_or_default());
                line.truncate(start + 1);
                line.byte(b'\n');
                line.text(BLANKS);
                line.byte(b' ');
                line.text(item);
                column = NAME + 1 + item.len();
            }
            is_first = false;
        }
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
    fn a_repeated_structure_prints_the_same_text_wherever_it_is() {
        let layout = ib_smp::PortInfo::LAYOUT;
        for width in [None, Some(80)] {
            let terminal = Terminal {
                width,
                ..Terminal::PLAIN
            };
            let mut printer = ReadablePrinter::new(terminal);
            let mut line = Line::default();
            let mut print = |byte: u8, context: Context| {
                let start = line.len();
                printer.structure(&mut line, layout, &[byte; 64], context);
                String::from_utf8(line.as_bytes()[start..].to_vec()).unwrap()
            };
            let first = print(1, Context::default());
            let other = print(2, Context::default());
            assert_ne!(first, other);
            assert_eq!(print(2, Context::default()), other);
            assert_eq!(print(1, Context::default()), first);
        }
        // The text depends on the context too.
        let layout = ib_smp::SmpLidRouted::LAYOUT;
        let mut printer = ReadablePrinter::new(Terminal::PLAIN);
        let mut line = Line::default();
        let mut len = |followed_at| {
            let context = Context {
                followed_at,
                ..Context::default()
            };
            let start = line.len();
            printer.structure(&mut line, layout, &[1; 256], context);
            line.len() - start
        };
        assert!(len(Some(64)) < len(None));
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
}
