//! Service levels by pair of LIDs, as files and other managers have them.
//!
//! Sources at one switch mostly send alike, and LIDs may be few and high: a row holds the levels of all
//! sources that agree, and there is a column for each LID that was named.

use alloc::{vec, vec::Vec};

use ib_wire::{Lid, Sl};

/// No row, no column.
const NONE: u32 = u32::MAX;

/// A service level per pair of LIDs; 0 where nothing was said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairSls {
    /// By LID: its column as a destination.
    column_of: Vec<u32>,
    /// By LID: its row as a source.
    row_of: Vec<u32>,
    columns: usize,
    /// One row after the other.
    sls: Vec<Sl>,
}

impl PairSls {
    /// Columns for these destinations, no row yet.
    #[must_use]
    pub fn new(destinations: &[Lid]) -> Self {
        let len = destinations
            .iter()
            .max()
            .map_or(0, |lid| usize::from(lid.0) + 1);
        let mut column_of = vec![NONE; len];
        for (column, lid) in (0..).zip(destinations) {
            if let Some(entry) = column_of.get_mut(usize::from(lid.0)) {
                *entry = column;
            }
        }
        Self {
            column_of,
            columns: destinations.len(),
            ..Self::default()
        }
    }

    /// Adds a row with a level per destination, 0 for those that `sls` does not reach, and returns its
    /// number.
    pub fn add_row(&mut self, sls: impl IntoIterator<Item = Sl>) -> u32 {
        let row = self.sls.len().checked_div(self.columns).unwrap_or(0);
        let end = self.sls.len() + self.columns;
        self.sls.extend(sls.into_iter().take(self.columns));
        self.sls.resize(end, Sl::ZERO);
        row as u32
    }

    /// Lets a source send by the levels of a row.
    pub fn set_source(&mut self, source: Lid, row: u32) {
        let at = usize::from(source.0);
        if at >= self.row_of.len() {
            self.row_of.resize(at + 1, NONE);
        }
        if let Some(entry) = self.row_of.get_mut(at) {
            *entry = row;
        }
    }

    /// The level of packets from `source` to `destination`.
    #[must_use]
    pub fn sl(&self, source: Lid, destination: Lid) -> Sl {
        let find = |of: &[u32], lid: Lid| {
            let at = of.get(usize::from(lid.0)).copied();
            at.filter(|&at| at != NONE).map(|at| at as usize)
        };
        let place = find(&self.row_of, source).zip(find(&self.column_of, destination));
        let sl = place.and_then(|(row, column)| self.sls.get(row * self.columns + column));
        sl.copied().unwrap_or_default()
    }

    /// The levels of all rows.
    #[must_use]
    pub fn as_slice(&self) -> &[Sl] {
        &self.sls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_take_memory_by_what_was_said_and_not_by_the_highest_lid() {
        let sl = |sl| Sl::try_new(sl).expect("a level");
        let (low, high) = (Lid(1), Lid(0xbfff));
        let mut sls = PairSls::new(&[low, high]);
        let row = sls.add_row([sl(3), sl(4)]);
        for source in [low, high] {
            sls.set_source(source, row);
        }
        assert_eq!(sls.as_slice().len(), 2);
        assert_eq!((sls.sl(high, low), sls.sl(low, high)), (sl(3), sl(4)));
        assert_eq!((sls.sl(Lid(2), low), sls.sl(low, Lid(2))), (sl(0), sl(0)));
    }
}
