//! Chosen fields of packets and datagrams, one column each: what `ib decode --fields` prints.
//!
//! The choice is compiled once: which structures matter, and what prints a field of them. Of a case
//! only the places of its structures are noted, and nothing but the chosen fields is read.

use ib_wire::table::Layout;

use crate::{Constant, Cursor, FieldFormat, FieldName, Line, Style, by_layout::ByLayout};

/// The columns of a table of fields.
#[derive(Debug)]
pub struct Columns {
    columns: Vec<Column>,
    /// The same columns; neighbours of one structure are in one run.
    runs: Vec<Run>,
    /// Room that a line may touch if it holds only values.
    room: usize,
    /// The structures that have columns, by their names.
    wanted: Vec<Wanted>,
    /// Index of each layout in `wanted`, if it has columns.
    known: ByLayout<Option<usize>>,
    /// Text before the first value of a case, and after the last one.
    around: [Constant; 2],
    style: Style,
}

/// A structure that has columns.
#[derive(Debug)]
struct Wanted {
    layout: &'static Layout,
    /// The places where the case has it: several at most in a stack of VLAN tags or a table.
    places: Vec<usize>,
}

#[derive(Debug)]
struct Column {
    /// Index of the field in [`Columns::wanted`].
    wanted: usize,
    /// Everything between the value before and this one.
    before: Box<str>,
    /// Prints the value alone.
    value: FieldFormat,
}

/// Columns of one structure.
#[derive(Debug)]
struct Run {
    /// Its index in [`Columns::wanted`].
    wanted: usize,
    /// Prints the values, each after its text.
    format: FieldFormat,
}

impl Columns {
    /// Columns of these fields.
    pub fn new(style: Style, fields: &[FieldName]) -> Self {
        let mut wanted: Vec<Wanted> = Vec::new();
        for name in fields {
            if position(&wanted, name.layout).is_none() {
                wanted.push(Wanted {
                    layout: name.layout,
                    places: Vec::new(),
                });
            }
        }
        let before = |(index, name): (usize, &FieldName)| match style {
            Style::Json => format!("{}\"{name}\":", if index == 0 { "" } else { "," }),
            Style::Plain => if index == 0 { "" } else { "\t" }.to_owned(),
        };
        let before: Vec<String> = fields.iter().enumerate().map(before).collect();
        let columns: Vec<(&FieldName, &str)> = fields
            .iter()
            .zip(before.iter().map(String::as_str))
            .collect();
        let column = |&(name, before): &(&FieldName, &str)| {
            Some(Column {
                wanted: position(&wanted, name.layout)?,
                before: before.into(),
                value: FieldFormat::of_fields(style, name.layout, [("", name.field)]),
            })
        };
        let of_one_structure =
            |(a, _): &(&FieldName, _), (b, _): &(&FieldName, _)| a.layout.name == b.layout.name;
        let run = |run: &[(&FieldName, &str)]| {
            let layout = run.first()?.0.layout;
            let fields = run.iter().map(|(name, before)| (*before, name.field));
            Some(Run {
                wanted: position(&wanted, layout)?,
                format: FieldFormat::of_fields(style, layout, fields),
            })
        };
        let runs: Vec<Run> = columns.chunk_by(of_one_structure).filter_map(run).collect();
        let around = match style {
            Style::Json => ["{", "}\n"],
            Style::Plain => ["", "\n"],
        };
        let values: usize = runs.iter().map(|run| run.format.room()).sum();
        let room = values + around.len() * Cursor::STEP;
        Self {
            columns: columns.iter().filter_map(column).collect(),
            runs,
            room,
            wanted,
            known: ByLayout::default(),
            around: around.map(Constant::of),
            style,
        }
    }

    /// Begins a case.
    #[inline]
    pub fn clear(&mut self) {
        for wanted in &mut self.wanted {
            wanted.places.clear();
        }
    }

    /// The case has a structure of this layout at `offset`.
    #[inline]
    pub fn see(&mut self, layout: &'static Layout, offset: usize) {
        let index = || position(&self.wanted, layout);
        if let Some(&mut Some(wanted)) = self.known.get(layout, index)
            && let Some(wanted) = self.wanted.get_mut(wanted)
        {
            wanted.places.push(offset);
        }
    }

    /// Appends the line of the case. A structure that the case lacks leaves its columns empty, one that
    /// it has several times fills them with several values.
    #[inline]
    pub fn print(&self, line: &mut Line, case: &[u8]) {
        let [open, close] = &self.around;
        let mut cursor = line.room(self.room);
        cursor.constant(open);
        for run in &self.runs {
            let Some((wanted, &[offset])) = self.places(run.wanted) else {
                return self.print_any(line, case);
            };
            run.format
                .write(&mut cursor, offset, wanted.structure(case, offset));
        }
        cursor.constant(close);
        let len = cursor.len();
        line.advance(len);
    }

    /// As [`print`](Self::print), for columns with no value or with several.
    fn print_any(&self, line: &mut Line, case: &[u8]) {
        let [open, close] = &self.around;
        line.constant(open);
        for column in &self.columns {
            line.text(column.before.as_bytes());
            let (wanted, places) = match self.places(column.wanted) {
                Some((wanted, places @ [_, ..])) => (wanted, places),
                _ if self.style == Style::Json => {
                    line.text(b"null");
                    continue;
                }
                _ => continue,
            };
            let is_list = self.style == Style::Json && places.len() > 1;
            if is_list {
                line.byte(b'[');
            }
            for (index, &offset) in places.iter().enumerate() {
                if index > 0 {
                    line.byte(b',');
                }
                let structure = wanted.structure(case, offset);
                column.value.print(line, offset, structure);
            }
            if is_list {
                line.byte(b']');
            }
        }
        line.constant(close);
    }

    /// A structure that has columns, and its places in the case.
    #[inline(always)]
    fn places(&self, wanted: usize) -> Option<(&Wanted, &[usize])> {
        let wanted = self.wanted.get(wanted)?;
        Some((wanted, wanted.places.as_slice()))
    }
}

impl Wanted {
    /// The structure at `offset` of the case.
    #[inline]
    fn structure<'a>(&self, case: &'a [u8], offset: usize) -> &'a [u8] {
        let structure = case.get(offset..offset + self.layout.len);
        structure.unwrap_or_default()
    }
}

/// The index of `layout`. The same layout may have several addresses: its name is its identity.
fn position(wanted: &[Wanted], layout: &Layout) -> Option<usize> {
    let is_it = |wanted: &Wanted| wanted.layout.name == layout.name;
    wanted.iter().position(is_it)
}
