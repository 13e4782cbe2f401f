//! Aligned columns: a head line, numbers to the right, text to the left, two or more blanks between.

use std::{
    borrow::Cow,
    io::{self, Write},
};

/// Blanks between two columns.
const GAP: usize = 3;

/// Blanks between two columns of a table that has to fit into a terminal.
const NARROW_GAP: usize = 2;

/// A table that is collected, then printed.
///
/// The texts of all cells lie one behind the other in one string: to allocate and free one for each of the hundred thousand
/// cells of a large fabric takes longer than to print them.
#[derive(Debug)]
pub struct Table {
    text: String,
    /// The end of each cell in `text`, row by row.
    ends: Vec<usize>,
    rows: Vec<Row>,
    columns: Vec<Column>,
    gap: usize,
    /// Columns of the terminal that it has to fit into, if it is to fit into one.
    width: Option<usize>,
}

#[derive(Debug)]
struct Row {
    cells: usize,
    /// A line below the row; empty: none.
    note: String,
}

/// A column, as far as it has cells.
#[derive(Clone, Copy, Debug)]
struct Column {
    /// The width of the widest cell.
    width: usize,
    /// True if all cells below the head are numbers.
    is_of_numbers: bool,
}

impl Table {
    /// A table with these heads.
    pub fn new<'h>(heads: impl IntoIterator<Item = &'h str>) -> Self {
        let mut table = Self {
            text: String::new(),
            ends: Vec::new(),
            rows: Vec::new(),
            columns: Vec::new(),
            gap: GAP,
            width: None,
        };
        table.row(heads.into_iter().map(str::to_owned));
        table
    }

    /// The same with less room between the columns, and with the cells of the first column cut so that no row is wider
    /// than a terminal of `width` columns, unless the other columns are.
    pub fn fitting(self, width: usize) -> Self {
        Self {
            gap: NARROW_GAP,
            width: Some(width),
            ..self
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) -> &mut Self {
        let is_head = self.rows.is_empty();
        let mut count = 0;
        for cell in cells {
            let width = cell.chars().count();
            let is_of_numbers = is_head || is_number(&cell);
            match self.columns.get_mut(count) {
                Some(column) => {
                    column.width = column.width.max(width);
                    column.is_of_numbers &= is_of_numbers;
                }
                None => self.columns.push(Column {
                    width,
                    is_of_numbers,
                }),
            }
            self.text.push_str(&cell);
            self.ends.push(self.text.len());
            count += 1;
        }
        self.rows.push(Row {
            cells: count,
            note: String::new(),
        });
        self
    }

    /// Adds a line below the row that was added last, unless it is empty.
    pub fn note(&mut self, note: String) -> &mut Self {
        if let Some(row) = self.rows.last_mut() {
            row.note = note;
        }
        self
    }

    /// Columns of the widest row.
    pub fn width(&self) -> usize {
        let gaps = self.columns.len().saturating_sub(1);
        let gaps = gaps.saturating_mul(self.gap);
        let widths = self.columns.iter().map(|column| column.width);
        widths.sum::<usize>().saturating_add(gaps)
    }

    /// Prints the rows; a column whose cells below the head are all numbers is aligned to the right.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let mut columns = self.columns.clone();
        if let (Some(width), Some(first)) = (self.width, columns.first_mut()) {
            let excess = self.width().saturating_sub(width);
            let cut = first.width.saturating_sub(excess);
            first.width = cut.max(NARROWEST).min(first.width);
        }
        let mut start = 0;
        let mut cells = self.ends.iter().map(|&end| {
            let cell = self.text.get(start..end).unwrap_or_default();
            start = end;
            cell
        });
        // One write for the whole table: standard output would write each line by itself.
        let mut text = String::new();
        for row in &self.rows {
            // Blanks that wait for a cell after them: a line does not end in blanks.
            let mut blanks = 0;
            for (column, cell) in columns.iter().zip(cells.by_ref().take(row.cells)) {
                let cell = shortened(cell, column.width);
                let padding = column.width.saturating_sub(cell.chars().count());
                let (before, after) = match column.is_of_numbers {
                    true => (padding, 0),
                    false => (0, padding),
                };
                blanks += before;
                if !cell.is_empty() {
                    text.extend(std::iter::repeat_n(' ', blanks));
                    text.push_str(&cell);
                    blanks = 0;
                }
                blanks += after + self.gap;
            }
            text.push('\n');
            if !row.note.is_empty() {
                text.extend(["    ", &row.note, "\n"]);
            }
        }
        out.write_all(text.as_bytes())
    }
}

/// The first column keeps this many characters.
const NARROWEST: usize = 12;

/// Characters that stay at the end of a cell that is cut: of a port, its number.
const END: usize = 5;

/// A cell in this many characters: what is cut out of its middle is `…`.
fn shortened(cell: &str, width: usize) -> Cow<'_, str> {
    let count = cell.chars().count();
    if count <= width {
        return Cow::Borrowed(cell);
    }
    let end = END.min(width.saturating_sub(1));
    let front = width.saturating_sub(end).saturating_sub(1);
    let front = cell.chars().take(front);
    let end = cell.chars().skip(count.saturating_sub(end));
    Cow::Owned(front.chain(['…']).chain(end).collect())
}

fn is_number(cell: &str) -> bool {
    !cell.is_empty()
        && cell
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'-' | b'%'))
        || is_scaled(cell)
}

/// Returns true if a cell is a text that [`scaled`] prints of a large number.
fn is_scaled(cell: &str) -> bool {
    let number = cell.strip_suffix(|last| SCALES.contains(&last));
    number.is_some_and(|number| number.parse::<f64>().is_ok())
}

/// Thousands, millions and so on.
const SCALES: [char; 6] = ['k', 'M', 'G', 'T', 'P', 'E'];

/// A number in at most six characters: three digits of a large one, with the letter of its thousands.
pub fn scaled(number: u64) -> String {
    let mut rest = number as f64;
    let mut scale = None;
    if number > 99_999 {
        for letter in SCALES {
            rest /= 1000.0;
            scale = Some(letter);
            if rest < 999.5 {
                break;
            }
        }
    }
    match scale {
        None => number.to_string(),
        Some(letter) if rest < 9.995 => format!("{rest:.2}{letter}"),
        Some(letter) if rest < 99.95 => format!("{rest:.1}{letter}"),
        Some(letter) => format!("{rest:.0}{letter}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_number_has_three_digits_and_a_letter() {
        let numbers = [
            (0, "0"),
            (99_999, "99999"),
            (100_000, "100k"),
            (999_499, "999k"),
            (999_500, "1.00M"),
            (12_345_678, "12.3M"),
            (u64::MAX, "18.4E"),
        ];
        for (number, expected) in numbers {
            assert_eq!(scaled(number), expected);
            assert!(is_number(expected), "{expected}");
        }
    }

    #[test]
    fn a_table_that_is_too_wide_has_its_first_column_cut_in_the_middle() {
        let mut table = Table::new(["port", "bytes"]);
        table.row(["a name that nobody should give:17".into(), "12".into()]);
        table.note("saturated".into());
        table.row(["leaf:1".into(), "7".into()]);
        assert_eq!(table.width(), 41);
        let mut out = Vec::new();
        table.fitting(25).print(&mut out).unwrap();
        let expected = "\
port                bytes
a name that …ve:17     12
    saturated
leaf:1                  7
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn numbers_stand_right_and_text_left() {
        let mut table = Table::new(["engine", "switches", "deadlock"]);
        table.row(["updn".into(), "12".into(), "none".into()]);
        table.row(["minhop".into(), "4".into(), "cycle".into()]);
        let mut out = Vec::new();
        table.print(&mut out).unwrap();
        let expected = "\
engine   switches   deadlock
updn           12   none
minhop          4   cycle
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
