//! A layout, or one field of it, compiled into what prints it.

use ib_wire::table::{Field, FieldKind, Layout};

use super::{
    Style,
    printers::{self, Printer},
};
use crate::{Constant, Cursor, Line, constant::Label as _, value::Value};

/// Prints the fields of a structure: constant text and values by turns.
#[derive(Debug)]
pub struct FieldFormat {
    steps: Vec<Step>,
    /// Room that the whole may touch.
    room: usize,
    /// The same steps as code, if there is any.
    printer: Option<Printer>,
}

/// A value, and the text before it.
#[derive(Debug)]
struct Step {
    /// Everything since the value before, or the next part of it.
    before: Constant,
    value: Value,
}

impl FieldFormat {
    /// Prints a structure with all of its fields: the object `{"name":..,"offset":..,"fields":{..}}` in JSON, else the
    /// name, `field value, ...` and the end of the line.
    pub fn of_layout(style: Style, layout: &Layout) -> Self {
        let mut compiler = Compiler::new(style, layout);
        let close = match style {
            Style::Json => {
                let before = format!("{{\"name\":\"{}\",\"offset\":", layout.name);
                compiler.step(&before, Value::Offset, ",\"fields\":{");
                "}}"
            }
            Style::Plain => {
                compiler.text = format!("{:<8} ", layout.name);
                "\n"
            }
        };
        compiler.fields(layout, 0);
        FieldFormat {
            printer: printers::of(style, layout),
            ..compiler.finish(close)
        }
    }

    /// Prints the values of some fields of `layout` without their names, each after its own text.
    pub fn of_fields<'a>(
        style: Style,
        layout: &Layout,
        fields: impl IntoIterator<Item = (&'a str, &'a Field)>,
    ) -> Self {
        let mut compiler = Compiler::new(style, layout);
        for (before, field) in fields {
            compiler.text.push_str(before);
            compiler.value(field);
        }
        compiler.finish("")
    }

    /// Room that printing may touch.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Appends the structure of `bytes`, all of them, which is at `offset`.
    #[inline]
    pub fn print(&self, line: &mut Line, offset: usize, bytes: &[u8]) {
        let mut cursor = line.room(self.room);
        cursor.apart(|room| match self.printer {
            Some(print) => print(room, offset, bytes),
            None => self.print_steps(room, offset, bytes),
        });
        let len = cursor.len();
        line.advance(len);
    }

    /// Prints step after step; returns the length of the text.
    ///
    /// It is not inlined: apart from its caller, the loop has more registers.
    #[inline(never)]
    fn print_steps(&self, room: &mut [u8], offset: usize, bytes: &[u8]) -> usize {
        let mut cursor = Cursor::new(room);
        self.write(&mut cursor, offset, bytes);
        cursor.len()
    }

    /// Writes the structure of `bytes`, all of them, which is at `offset`, into [`room`](Self::room).
    #[inline(always)]
    pub fn write(&self, cursor: &mut Cursor<'_>, offset: usize, bytes: &[u8]) {
        for step in &self.steps {
            step.value.print(cursor, &step.before, offset, bytes);
        }
    }
}

/// Turns a layout into steps.
struct Compiler {
    style: Style,
    /// Length of the outermost structure.
    len: usize,
    /// Constant text since the last value.
    text: String,
    steps: Vec<Step>,
}

impl Compiler {
    fn new(style: Style, layout: &Layout) -> Self {
        Self {
            style,
            len: layout.len,
            text: String::new(),
            steps: Vec::new(),
        }
    }

    /// The compiled format, with `close` at its end.
    fn finish(mut self, close: &str) -> FieldFormat {
        self.text.push_str(close);
        self.flush();
        let steps = self.steps.iter();
        let longest: usize = steps
            .map(|step| step.before.len() + step.value.longest())
            .sum();
        FieldFormat {
            steps: self.steps,
            room: longest + Cursor::STEP,
            printer: None,
        }
    }

    /// The fields of a structure at bit `at`.
    fn fields(&mut self, layout: &Layout, at: usize) {
        for (index, field) in layout.fields.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            match self.style {
                Style::Json => {
                    self.text
                        .push_str(&format!("{separator}\"{}\":", field.name));
                }
                Style::Plain => {
                    let blank = if index == 0 { "" } else { " " };
                    self.text
                        .push_str(&format!("{separator}{blank}{} ", field.name));
                }
            }
            let field = Field {
                bit_offset: at + field.bit_offset,
                ..*field
            };
            self.value(&field);
        }
    }

    /// The value of a field, its bit offset counted from the start of the outermost structure.
    fn value(&mut self, field: &Field) {
        let (start, len) = ((field.bit_offset / 8) as u32, (field.bits / 8) as u32);
        match field.kind {
            FieldKind::Uint => {
                let number = Value::of_number(field, self.len);
                if field.bits <= 32 {
                    self.step("", number, "");
                } else {
                    self.quoted("0x", number);
                }
            }
            FieldKind::Gid => self.quoted("", Value::Gid { start }),
            FieldKind::Bytes => {
                let prefix = if field.is_reserved() { "0x" } else { "" };
                self.quoted(prefix, Value::Bytes { start, len });
            }
            FieldKind::Text => self.step("\"", Value::Text { start, len }, "\""),
            FieldKind::Struct(layout) => {
                self.text.push('{');
                self.fields(layout, field.bit_offset);
                self.text.push('}');
            }
            FieldKind::Array {
                element_bits,
                element,
            } => {
                self.text.push('[');
                self.elements(field, element_bits, *element);
                self.text.push(']');
            }
        }
    }

    /// The elements of `array`, each of this width and kind.
    fn elements(&mut self, array: &Field, element_bits: usize, kind: FieldKind) {
        let separator = match self.style {
            Style::Json => b',',
            Style::Plain => b' ',
        };
        let count = array.bits.checked_div(element_bits).unwrap_or(0);
        let are_bytes = element_bits == 8 && array.bit_offset.is_multiple_of(8);
        // Bytes are a list, all but the last one, which no separator follows.
        let listed = match kind {
            FieldKind::Uint if are_bytes => count.saturating_sub(1),
            _ => 0,
        };
        if listed > 0 {
            let (start, len) = ((array.bit_offset / 8) as u32, listed as u32);
            let list = Value::List {
                start,
                len,
                separator,
            };
            self.step("", list, "");
        }
        for index in listed..count {
            if index > listed {
                self.text.push(separator.into());
            }
            self.value(&Field {
                name: "",
                bit_offset: array.bit_offset + index * element_bits,
                bits: element_bits,
                kind,
            });
        }
    }

    /// A value that is a string in JSON.
    fn quoted(&mut self, prefix: &str, value: Value) {
        match self.style {
            Style::Json => self.step(&format!("\"{prefix}"), value, "\""),
            Style::Plain => self.step(prefix, value, ""),
        }
    }

    fn step(&mut self, before: &str, value: Value, after: &str) {
        self.text.push_str(before);
        self.flush();
        // The last block of the text takes the value.
        match self.steps.last_mut() {
            Some(step) if matches!(step.value, Value::Nothing) => step.value = value,
            _ => self.steps.push(Step {
                before: Constant::EMPTY,
                value,
            }),
        }
        self.text.push_str(after);
    }

    /// Adds the constant text since the last value.
    fn flush(&mut self) {
        let blocks = Constant::blocks(&self.text).map(|before| Step {
            before,
            value: Value::Nothing,
        });
        self.steps.extend(blocks);
        self.text.clear();
    }
}

#[cfg(test)]
mod tests;
