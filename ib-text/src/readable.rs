//! Structures of the wire for a person: names and units beside numbers, lines as wide as the terminal.
//!
//! On a terminal lines are wrapped and the names of structures are bold; elsewhere a structure is one line, so that
//! other tools can search it. Reserved fields that are zero are left out.

mod dump;
mod field;

use ib_mad::MgmtClass;
use ib_wire::table::Layout;

pub use self::dump::dump;
use self::field::{ReadableField, fields};
use crate::Line;

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
#[derive(Debug)]
pub struct ReadablePrinter {
    terminal: Terminal,
    layouts: Vec<ReadableLayout>,
    /// An item that goes to the next line.
    item: Vec<u8>,
}

/// A layout with the meanings of its fields.
#[derive(Debug)]
struct ReadableLayout {
    layout: &'static Layout,
    fields: Vec<ReadableField>,
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
            item: Vec::new(),
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
            let fields = fields(layout);
            self.layouts.push(ReadableLayout { layout, fields });
            self.layouts.len() - 1
        });
        let Some(known) = self.layouts.get_mut(index) else {
            return;
        };
        self.terminal.name(line, layout.name);
        let mut column = layout.name.len().max(NAME);
        let mut is_first = true;
        for field in &mut known.fields {
            if !field.is_shown(bytes, context) {
                continue;
            }
            let separator: &[u8] = if is_first { b" " } else { b", " };
            line.text(separator);
            let start = line.len();
            field.print(line, bytes, context);
            let len = line.len() - start;
            column += separator.len() + len;
            // A comma may follow.
            if self.terminal.width.is_some_and(|width| column + 1 > width) && !is_first {
                self.item.clear();
                let item = line.as_bytes().get(start..).unwrap_or_default();
                self.item.extend_from_slice(item);
                line.truncate(start - 1);
                line.byte(b'\n');
                line.text(BLANKS);
                line.byte(b' ');
                line.text(&self.item);
                column = NAME + 1 + len;
            }
            is_first = false;
        }
        line.byte(b'\n');
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
}
