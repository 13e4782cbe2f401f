//! Rows of 16-bit numbers, four to a word of 64 bits.
//!
//! A subnet has fewer than 2^16 LIDs, so a number of sources fits 16 bits, and no column carries into the
//! next one. One addition then does the work of four. Each function has a scalar counterpart in the tests.

use core::ops::Range;

/// Columns in a word.
pub(super) const COLUMNS: usize = 4;

/// Bits of a column in its word.
const COLUMN_BITS: usize = 16;

/// The word that has 1 in each column.
const EACH: u64 = 0x0001_0001_0001_0001;

/// The number `flow` at the place of a column in its word.
#[inline]
pub(super) const fn at_column(column: usize, flow: u16) -> u64 {
    (flow as u64) << (column % COLUMNS * COLUMN_BITS)
}

/// A word with `flow` in each column.
#[inline]
pub(super) const fn in_each(flow: u16) -> u64 {
    flow as u64 * EACH
}

/// The sum over the columns of a word.
#[inline]
pub(super) const fn sum_of(word: u64) -> u64 {
    const EVEN: u64 = 0x0000_ffff_0000_ffff;
    let pairs = (word & EVEN) + ((word >> COLUMN_BITS) & EVEN);
    (pairs & 0xffff_ffff) + (pairs >> 32)
}

/// The columns of a word in which a mask has bits, with their values in the word.
#[inline]
pub(super) fn columns_of(mut mask: u64, word: u64) -> impl Iterator<Item = (usize, u16)> {
    core::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let column = mask.trailing_zeros() as usize / COLUMN_BITS;
        mask &= !(0xffff << (column * COLUMN_BITS));
        Some((column, (word >> (column * COLUMN_BITS)) as u16))
    })
}

/// The words that hold a range of columns, each with a mask of the columns that are in the range.
#[inline]
pub(super) fn words_of(columns: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    let words = columns.start / COLUMNS..columns.end.div_ceil(COLUMNS);
    let (first, end) = (words.start, words.end);
    // Only the outermost words hold columns of others.
    let head = u64::MAX << (columns.start % COLUMNS * COLUMN_BITS);
    let tail = u64::MAX >> (columns.end.wrapping_neg() % COLUMNS * COLUMN_BITS);
    words.map(move |word| {
        let from = if word == first { head } else { u64::MAX };
        let to = if word + 1 == end { tail } else { u64::MAX };
        (word, from & to)
    })
}

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};

    use proptest::prelude::*;

    use super::*;

    /// The scalar counterpart of a row of words: one number for each column.
    fn unpack(words: &[u64]) -> Vec<u16> {
        let columns = |&word: &u64| (0..COLUMNS).map(move |at| (word >> (at * COLUMN_BITS)) as u16);
        words.iter().flat_map(columns).collect()
    }

    proptest! {
        #[test]
        fn a_word_is_four_numbers(word: u64, flow: u16, column in 0..COLUMNS) {
            let numbers = unpack(&[word]);
            prop_assert_eq!(sum_of(word), numbers.iter().map(|&number| u64::from(number)).sum::<u64>());
            prop_assert_eq!(unpack(&[in_each(flow)]), vec![flow; COLUMNS]);
            let mut one = vec![0; COLUMNS];
            one[column] = flow;
            prop_assert_eq!(unpack(&[at_column(column, flow)]), one);
        }

        #[test]
        fn columns_of_a_mask_come_in_order_with_their_numbers(mask: u64, word: u64) {
            let numbers = unpack(&[word]);
            let wanted: Vec<(usize, u16)> = (0..COLUMNS)
                .filter(|&at| unpack(&[mask])[at] != 0)
                .map(|at| (at, numbers[at]))
                .collect();
            prop_assert_eq!(columns_of(mask, word).collect::<Vec<_>>(), wanted);
        }

        #[test]
        fn words_of_a_range_cover_its_columns_and_no_others(start in 0..40_usize, len in 0..40_usize) {
            let mut row = vec![0; 20];
            for (word, mask) in words_of(start..start + len) {
                row[word] = mask;
            }
            for (column, &found) in unpack(&row).iter().enumerate() {
                let wanted = if (start..start + len).contains(&column) { u16::MAX } else { 0 };
                prop_assert_eq!(found, wanted, "column {}", column);
            }
        }
    }
}
