//! A structure that was read, as text and as JSON.

use std::io;

use ib_wire::table::{Fields, Layout};
use serde_json::{Value, json};

use ib_text::ReadablePrinter;

use crate::output::terminal;

/// The bytes of a structure.
pub(super) struct Structure {
    layout: &'static Layout,
    bytes: Vec<u8>,
}

impl Structure {
    /// The structure that the bytes begin with, if it is there as a whole.
    pub(super) fn whole(layout: &'static Layout, bytes: &[u8]) -> Vec<Self> {
        bytes.get(..layout.len).map_or_else(Vec::new, |bytes| {
            vec![Self {
                layout,
                bytes: bytes.to_vec(),
            }]
        })
    }

    fn fields(&self) -> Value {
        let fields = Fields {
            layout: self.layout,
            bytes: &self.bytes,
        };
        serde_json::to_value(fields).unwrap_or_default()
    }

    /// Name and fields.
    pub(super) fn json(&self) -> Value {
        json!({ "name": self.layout.name, "fields": self.fields() })
    }

    /// Prints a row a field: its name, its value, and what the value means.
    pub(super) fn print(&self, out: &mut impl io::Write) -> io::Result<()> {
        let rows = ReadablePrinter::rows(self.layout, &self.bytes);
        let names = rows.iter().map(|(name, _)| name.len());
        let name_width = names.max().unwrap_or(0) + GAP;
        writeln!(out, "{}", self.layout.name)?;
        let room = terminal::of_stdout().width;
        let room = room.map(|width| width.saturating_sub(name_width).max(NARROWEST));
        for (name, value) in rows {
            write!(out, "{name:<name_width$}")?;
            let mut column = 0;
            for (index, word) in value.split(' ').enumerate() {
                let len = word.chars().count();
                if room.is_some_and(|room| column > 0 && column + 1 + len > room) {
                    write!(out, "\n{:name_width$}{word}", "")?;
                    column = len;
                    continue;
                }
                let separator = if index == 0 { "" } else { " " };
                write!(out, "{separator}{word}")?;
                column += separator.len() + len;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

/// Blanks between the names and the values.
const GAP: usize = 3;

/// Fewest columns for values.
const NARROWEST: usize = 20;
