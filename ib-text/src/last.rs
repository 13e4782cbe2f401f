//! The structure that was printed before: one with the same bytes, as most addresses of a capture are, is copied.

use std::{iter, ops::Range};

/// Structures longer than this are never equal, but for the emptiest ones: they are not compared.
const LONGEST: usize = 64;

/// The structure of a layout that was printed before, and its text, which is in the line.
///
/// `K` is what the text depends on besides the bytes.
#[derive(Debug)]
pub(crate) struct Last<K> {
    key: K,
    bytes: [u8; LONGEST],
    /// Length of the structure; zero if none was printed.
    len: usize,
    text: Range<usize>,
}

impl<K: Default> Default for Last<K> {
    fn default() -> Self {
        Self {
            key: K::default(),
            bytes: [0; LONGEST],
            len: 0,
            text: 0..0,
        }
    }
}

impl<K: PartialEq> Last<K> {
    /// Place of the text in the line, if this structure is the one that was printed before.
    #[inline]
    pub(crate) fn find(&self, key: &K, structure: &[u8]) -> Option<Range<usize>> {
        let last = self.bytes.get(..self.len).unwrap_or_default();
        let is_it = !last.is_empty() && self.key == *key && is_equal(last, structure);
        is_it.then(|| self.text.clone())
    }

    /// The structure has been printed at `text` of the line.
    #[inline]
    pub(crate) fn keep(&mut self, key: K, structure: &[u8], text: Range<usize>) {
        if let Some(bytes) = self.bytes.get_mut(..structure.len()) {
            bytes.copy_from_slice(structure);
            self.key = key;
            self.len = structure.len();
            self.text = text;
        }
    }

    /// The line is cleared.
    pub(crate) fn forget(&mut self) {
        self.len = 0;
    }
}

/// Compares structures, which have few words each: a call would take longer.
#[inline]
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let (one_words, one_rest) = one.as_chunks::<4>();
    let (other_words, other_rest) = other.as_chunks::<4>();
    one.len() == other.len()
        && iter::zip(one_words, other_words).all(|(one, other)| one == other)
        && iter::zip(one_rest, other_rest).all(|(one, other)| one == other)
}
