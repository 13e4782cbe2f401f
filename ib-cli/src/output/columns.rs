//! Chosen fields of packets and datagrams, one column each: what `ib decode --fields` prints.
//!
//! The choice is compiled once: which structures matter, and what prints a field of them. Of a case
//! only the places of its structures are noted, and nothing but the chosen fields is read.

use ib_wire::table::Layout;

use super::{
    fields::{Plan, Style},
    line::{Constant, Line},
};
use crate::field_name::FieldName;

/// The columns of a table of fields.
#[derive(Debug)]
pub struct Columns {
    columns: Vec<Column>,
    /// Room that a line may touch whose values stand alone.
    room: usize,
    /// The layouts that were seen, and which columns have fields of them.
    known: Vec<(&'static Layout, Vec<usize>)>,
    /// Where the search for the next layout starts: headers come in the same order again and again.
    next: usize,
    /// What stands before the first value of a case, and behind the last one.
    around: [Constant; 2],
    style: Style,
}

#[derive(Debug)]
struct Column {
    layout: &'static Layout,
    /// Everything between the value before and this one.
    before: Constant,
    /// Prints that and the value.
    plan: Plan,
    /// Prints the value alone.
    value: Plan,
    /// Where the case has the structure: several times at most in a stack of VLAN tags or a table.
    places: Vec<usize>,
}

impl Columns {
    /// Columns of these fields.
    pub fn new(style: Style, fields: &[FieldName]) -> Self {
        let column = |(index, name): (usize, &FieldName)| {
            let before = match style {
                Style::Json => format!("{}\"{name}\":", if index == 0 { "" } else { "," }),
                Style::Plain => if index == 0 { "" } else { "\t" }.to_owned(),
            };
            Column {
                layout: name.layout,
                before: Constant::new(&before),
                plan: Plan::of_field(style, &before, name.layout, name.field),
                value: Plan::of_field(style, "", name.layout, name.field),
                places: Vec::new(),
            }
        };
        let columns: Vec<Column> = fields.iter().enumerate().map(column).collect();
        let room: usize = columns.iter().map(|column| column.plan.room()).sum();
        Self {
            columns,
            room: room + Constant::new("").touched() * 2,
            known: Vec::new(),
            next: 0,
            around: match style {
                Style::Json => ["{", "}\n"],
                Style::Plain => ["", "\n"],
            }
            .map(Constant::new),
            style,
        }
    }

    /// Begins a case.
    #[inline]
    pub fn clear(&mut self) {
        self.next = 0;
        for column in &mut self.columns {
            column.places.clear();
        }
    }

    /// The case has a structure of this layout at `offset`.
    #[inline]
    pub fn see(&mut self, layout: &'static Layout, offset: usize) {
        let is_it = |(known, _): &(&'static Layout, _)| std::ptr::eq(*known, layout);
        let index = if self.known.get(self.next).is_some_and(is_it) {
            self.next
        } else {
            let position = self.known.iter().position(is_it);
            position.unwrap_or_else(|| self.learn(layout))
        };
        self.next = index + 1;
        let Some((_, wanted)) = self.known.get(index) else {
            return;
        };
        for &column in wanted {
            if let Some(column) = self.columns.get_mut(column) {
                column.places.push(offset);
            }
        }
    }

    /// Appends the line of the case. A structure that the case lacks leaves its columns empty, one that
    /// it has several times fills them with several values.
    #[inline]
    pub fn print(&self, line: &mut Line, case: &[u8]) {
        let [open, close] = &self.around;
        let mut pen = line.room(self.room);
        pen.constant(open);
        for column in &self.columns {
            let &[offset] = column.places.as_slice() else {
                return self.print_any(line, case);
            };
            column.plan.write(&mut pen, column.structure(case, offset));
        }
        pen.constant(close);
        let len = pen.len();
        line.advance(len);
    }

    /// As [`print`](Self::print), for columns with no value or with several.
    fn print_any(&self, line: &mut Line, case: &[u8]) {
        let [open, close] = &self.around;
        line.constant(open);
        for column in &self.columns {
            line.constant(&column.before);
            match (self.style, column.places.as_slice()) {
                (Style::Plain, []) => {}
                (Style::Json, []) => line.text(b"null"),
                (Style::Json, several @ [_, _, ..]) => {
                    line.byte(b'[');
                    column.values(line, case, several);
                    line.byte(b']');
                }
                (_, places) => column.values(line, case, places),
            }
        }
        line.constant(close);
    }

    #[cold]
    fn learn(&mut self, layout: &'static Layout) -> usize {
        // One layout may stand at several addresses: its name is its identity.
        let columns = self.columns.iter().enumerate();
        let wanted = columns.filter(|(_, column)| column.layout.name == layout.name);
        let wanted = wanted.map(|(index, _)| index).collect();
        self.known.push((layout, wanted));
        self.known.len() - 1
    }
}

impl Column {
    /// The structure at `offset` of the case.
    #[inline]
    fn structure<'a>(&self, case: &'a [u8], offset: usize) -> &'a [u8] {
        let structure = case.get(offset..offset + self.layout.len);
        structure.unwrap_or_default()
    }

    fn values(&self, line: &mut Line, case: &[u8], offsets: &[usize]) {
        for (index, &offset) in offsets.iter().enumerate() {
            if index > 0 {
                line.byte(b',');
            }
            self.value.print(line, self.structure(case, offset));
        }
    }
}
