//! Values by layout: what a printer has compiled for each structure.

use ib_wire::table::Layout;

/// Bits of the hash of a layout's address.
const HASH_BITS: u32 = 6;

/// Number of hashes.
const HASHES: usize = 1 << HASH_BITS;

/// A value for each layout that was seen.
///
/// The address of a layout is its identity: the same layout at two addresses has two values. A hash of the address finds it.
#[derive(Debug)]
pub(crate) struct ByLayout<T> {
    entries: Vec<(&'static Layout, T)>,
    /// By hash: the index of the layout with this hash that was looked up last.
    recent: [usize; HASHES],
}

impl<T> Default for ByLayout<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            recent: [0; HASHES],
        }
    }
}

impl<T> ByLayout<T> {
    /// The value of `layout`, which `make` makes when the layout is seen for the first time.
    #[inline]
    pub(crate) fn get(
        &mut self,
        layout: &'static Layout,
        make: impl FnOnce() -> T,
    ) -> Option<&mut T> {
        let hash = hash_of_address(layout);
        let mut index = self.recent.get(hash).copied().unwrap_or_default();
        let recent = self.entries.get(index);
        if !recent.is_some_and(|(recent, _)| std::ptr::eq(*recent, layout)) {
            index = self.search(layout, hash, make);
        }
        self.entries.get_mut(index).map(|(_, value)| value)
    }

    /// The values of all layouts.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    /// Searches all layouts, adds a new one, and returns its index.
    #[cold]
    fn search(&mut self, layout: &'static Layout, hash: usize, make: impl FnOnce() -> T) -> usize {
        let mut entries = self.entries.iter();
        let index = entries.position(|(known, _)| std::ptr::eq(*known, layout));
        let index = index.unwrap_or_else(|| {
            self.entries.push((layout, make()));
            self.entries.len() - 1
        });
        if let Some(recent) = self.recent.get_mut(hash) {
            *recent = index;
        }
        index
    }
}

/// The top bits of the address's product by a constant (multiplicative hashing).
#[inline]
fn hash_of_address(layout: &'static Layout) -> usize {
    let address = std::ptr::from_ref(layout).addr() as u64;
    let product = address.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (product >> (u64::BITS - HASH_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dissect;

    /// There are more layouts than hashes, so that some share one.
    #[test]
    fn every_layout_has_a_value_of_its_own() {
        let mut values = ByLayout::default();
        let all: Vec<_> = dissect::layouts().collect();
        assert!(all.len() > HASHES);
        for round in [0, 1000] {
            for (index, layout) in all.iter().enumerate() {
                let value = values.get(layout, || round + index);
                assert_eq!(value.copied(), Some(index));
            }
        }
        assert_eq!(values.values_mut().count(), all.len());
    }
}
