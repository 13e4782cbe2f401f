//! Printers of JSON: the steps of common layouts as code without a loop, which takes half as long.

#[rustfmt::skip]
mod steps;

use ib_wire::table::Layout;

use super::Style;
use crate::dissect;

/// Writes the structure of bytes, which is at an offset, into room for it; returns the length of the text.
pub(super) type Printer = fn(&mut [u8], usize, &[u8]) -> usize;

/// The printer of `layout`, if there is one.
pub(super) fn of(style: Style, layout: &Layout) -> Option<Printer> {
    // A layout of others may have the name of one of ours.
    let is_ours = || dissect::layouts().any(|ours| ours == layout);
    let mut printers = steps::PRINTERS.iter();
    let (_, printer) = printers.find(|(name, _)| *name == layout.name)?;
    (style == Style::Json && is_ours()).then_some(*printer)
}

/// A table of printers by the names of layouts, out of the length of each layout and its steps: constant text and the
/// value after it.
macro_rules! printers {
    ($($name:literal $len:literal { $($before:literal $value:expr;)* })*) => {
        &[$(($name, |room, offset, bytes| {
            let mut cursor = Cursor::new(room);
            // The compiler knows the length: no step looks for the end.
            let bytes = bytes.first_chunk().unwrap_or(&[0; $len]);
            $(const { $value }.print(&mut cursor, $before, offset, bytes);)*
            cursor.len()
        })),*]
    };
}
use printers;
