//! The text before a value: separator and name of the field.

use crate::{Constant, Cursor};

/// A comma, the name and a blank; `0x` before hexadecimal digits.
#[derive(Debug)]
pub(super) struct Label {
    text: Box<str>,
    /// The text but for its last block.
    blocks: Box<[Constant]>,
    last: Constant,
    prefix: &'static str,
}

impl Label {
    /// The label of the field `name`, with `prefix` before its value.
    pub(super) fn new(name: &str, prefix: &'static str) -> Self {
        let text = format!(", {name} {prefix}");
        let mut blocks: Vec<Constant> = Constant::blocks(&text).collect();
        let last = blocks.pop().unwrap_or(Constant::EMPTY);
        Self {
            text: text.into(),
            blocks: blocks.into(),
            last,
            prefix,
        }
    }

    /// Text directly before the value, which belongs to it.
    pub(super) fn prefix(&self) -> &'static str {
        self.prefix
    }

    /// Room that the label and a number after it may touch.
    pub(super) fn room(&self) -> usize {
        self.text.len() + Cursor::STEP
    }

    /// Writes all but the block that it returns. The first field of a structure has no comma before it.
    #[inline(always)]
    pub(super) fn begin(&self, cursor: &mut Cursor<'_>, is_first: bool) -> &Constant {
        if is_first {
            let text = self.text.get(1..).unwrap_or_default();
            cursor.aside(|cursor| cursor.text(text.as_bytes()));
            return &Constant::EMPTY;
        }
        for block in &self.blocks {
            cursor.constant(block);
        }
        &self.last
    }
}
