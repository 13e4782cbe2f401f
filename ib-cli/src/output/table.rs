//! Aligned columns: a head line, numbers to the right, text to the left, two or more blanks between.

use std::io::{self, Write};

/// Blanks between two columns.
const GAP: usize = 3;

/// A table that is collected, then printed.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these heads.
    pub fn new<'h>(heads: impl IntoIterator<Item = &'h str>) -> Self {
        Self {
            rows: vec![heads.into_iter().map(str::to_owned).collect()],
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) -> &mut Self {
        self.rows.push(cells.into_iter().collect());
        self
    }

    /// Prints the rows; a column whose cells below the head are all numbers is aligned to the right.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let column = |index| {
            self.rows
                .iter()
                .filter_map(move |row: &Vec<String>| row.get(index))
        };
        let widths: Vec<usize> = (0..columns)
            .map(|index| {
                column(index)
                    .map(|cell| cell.chars().count())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let numbers: Vec<bool> = (0..columns)
            .map(|index| column(index).skip(1).all(|cell| is_number(cell)))
            .collect();
        // One write for the whole table: standard output would write each line by itself.
        let mut text = String::new();
        for row in &self.rows {
            // Blanks that wait for a cell after them: a line does not end in blanks.
            let mut blanks = 0;
            for (index, cell) in row.iter().enumerate() {
                let width = widths.get(index).copied().unwrap_or(0);
                let padding = width.saturating_sub(cell.chars().count());
                let is_number = numbers.get(index).copied().unwrap_or(false);
                let (before, after) = match is_number {
                    true => (padding, 0),
                    false => (0, padding),
                };
                blanks += before;
                if !cell.is_empty() {
                    text.extend(std::iter::repeat_n(' ', blanks));
                    text.push_str(cell);
                    blanks = 0;
                }
                blanks += after + GAP;
            }
            text.push('\n');
        }
        out.write_all(text.as_bytes())
    }
}

fn is_number(cell: &str) -> bool {
    !cell.is_empty()
        && cell
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'-' | b'%'))
}

#[cfg(test)]
mod tests {
    use super::*;

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
