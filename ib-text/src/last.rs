//! The structure that was printed before: one with the same bytes, as most addresses of a capture are, is copied.

use std::ops::Range;

/// Structures longer than this are never equal, but for the emptiest ones: they are not compared.
const LONGEST: usize = 64;

/// The structure of a layout that was printed before, and its text, which is in the line.
///
/// `K` is what the text depends on besides the bytes.
#[derive(Debug, Default)]
pub(crate) struct Last<K> {
    key: K,
    bytes: Vec<u8>,
    text: Range<usize>,
}

impl<K: PartialEq> Last<K> {
    /// Place of the text in the line, if this structure is the one that was printed before.
    #[inline]
    pub(crate) fn find(&self, key: &K, structure: &[u8]) -> Option<Range<usize>> {
        let is_it = !structure.is_empty() && self.key == *key && self.bytes == structure;
        is_it.then(|| self.text.clone())
    }

    /// The structure has been printed at `text` of the line.
    #[inline]
    pub(crate) fn keep(&mut self, key: K, structure: &[u8], text: Range<usize>) {
        if structure.len() <= LONGEST {
            self.key = key;
            self.bytes.clear();
            self.bytes.extend_from_slice(structure);
            self.text = text;
        }
    }

    /// The line is cleared.
    pub(crate) fn forget(&mut self) {
        self.bytes.clear();
    }
}
