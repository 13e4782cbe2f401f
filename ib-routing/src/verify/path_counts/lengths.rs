//! The lengths of all paths, to be looked up instead of followed.
//!
//! LIDs towards which all switches have paths of the same length share one column, as nearly all LIDs of a switch do where
//! paths are shortest. A LID without a column has to be followed.

use alloc::{sync::Arc, vec, vec::Vec};

use ib_wire::Lid;

/// Bytes of all columns together from which on no more are kept.
const MOST: usize = 1 << 25;

/// The column of a LID that has none.
const NONE: u32 = u32::MAX;

/// Number of links of the path from each switch to each LID. Clones share it until it is changed.
#[derive(Clone, Debug)]
pub(crate) struct PathLengths {
    switches: usize,
    /// Lengths by switch, one column after the other.
    columns: Arc<Vec<u8>>,
    /// The number of the column of each LID, or [`NONE`].
    column_of: Arc<Vec<u32>>,
}

impl PathLengths {
    /// No length is known yet, for so many switches and LIDs.
    pub(super) fn new(switches: usize, lids: usize) -> Self {
        Self {
            switches,
            columns: Arc::default(),
            column_of: Arc::new(vec![NONE; lids]),
        }
    }

    /// The lengths of the paths to a LID, by switch; `None` if they have to be measured.
    #[inline]
    pub(crate) fn of(&self, lid: Lid) -> Option<&[u8]> {
        let column = *self.column_of.get(usize::from(lid.0))?;
        if column == NONE {
            return None;
        }
        let start = column as usize * self.switches;
        self.columns.get(start..start + self.switches)
    }

    /// Enters the lengths of the paths to a LID, by switch.
    pub(super) fn enter(&mut self, lid: Lid, lengths: impl Iterator<Item = Option<u32>> + Clone) {
        let columns: &mut Vec<u8> = Arc::make_mut(&mut self.columns);
        let number = columns.len().checked_div(self.switches).unwrap_or(0);
        let last = number.checked_sub(1).map(|last| last * self.switches);
        let last = last.and_then(|start| columns.get(start..));
        let is_last = last.is_some_and(|last| {
            let both = last.iter().zip(lengths.clone());
            both.fold(true, |same, (&known, length)| {
                same & (length == Some(known.into()))
            })
        });
        let column = if is_last {
            number - 1
        } else {
            if columns.len() + self.switches > MOST {
                return;
            }
            let start = columns.len();
            columns.extend(lengths.map_while(|length| u8::try_from(length?).ok()));
            if columns.len() != start + self.switches {
                columns.truncate(start);
                return;
            }
            number
        };
        if let Some(entry) = Arc::make_mut(&mut self.column_of).get_mut(usize::from(lid.0)) {
            *entry = column as u32;
        }
    }

    /// Forgets the lengths of the paths to a LID: one of them has changed.
    pub(super) fn forget(&mut self, lid: Lid) {
        if self.of(lid).is_some()
            && let Some(entry) = Arc::make_mut(&mut self.column_of).get_mut(usize::from(lid.0))
        {
            *entry = NONE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(lengths: &[u32]) -> impl Iterator<Item = Option<u32>> + Clone {
        lengths.iter().copied().map(Some)
    }

    #[test]
    fn lids_with_equal_lengths_share_a_column() {
        let mut lengths = PathLengths::new(3, 8);
        assert_eq!(lengths.of(Lid(1)), None);
        for (lid, of) in [(1, [0, 1, 2]), (2, [0, 1, 2]), (3, [1, 0, 1])] {
            lengths.enter(Lid(lid), known(&of));
        }
        assert_eq!(lengths.columns.len(), 6);
        for lid in [1, 2] {
            assert_eq!(lengths.of(Lid(lid)), Some(&[0, 1, 2][..]));
        }
        assert_eq!(lengths.of(Lid(3)), Some(&[1, 0, 1][..]));
        let before = lengths.clone();
        lengths.forget(Lid(2));
        assert_eq!(lengths.of(Lid(2)), None);
        assert!(lengths.of(Lid(1)).is_some() && before.of(Lid(2)).is_some());
        assert_eq!(lengths.of(Lid(8)), None);
    }

    #[test]
    fn lids_with_paths_of_many_links_have_no_column() {
        let mut lengths = PathLengths::new(3, 8);
        lengths.enter(Lid(1), known(&[0, 255, 256]));
        assert_eq!(lengths.of(Lid(1)), None);
        lengths.enter(Lid(2), known(&[0, 254, 255]));
        assert_eq!(lengths.of(Lid(2)), Some(&[0, 254, 255][..]));
    }
}
