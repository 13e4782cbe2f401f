//! Counters of which nearly all stay below 2^16.
//!
//! There is one for each pair of channels that meet, so they are half as large as the largest number needs. The upper
//! halves are an array of their own, which is there only if a counter has ever needed it.

use alloc::borrow::Cow;
use core::ops::Range;

use crate::algo::overlay::{Overlay, PAGE};

/// Bits of the lower half of a counter.
const HALF: u32 = u16::BITS;

/// Counters, which are changed beside a shared original.
#[derive(Clone, Debug)]
pub(super) struct Counters {
    low: Overlay,
    high: Option<Overlay>,
}

impl Counters {
    /// `len` counters of 0.
    pub(super) fn zeros(len: usize) -> Self {
        Self {
            low: Overlay::zeros(len),
            high: None,
        }
    }

    /// Number of counters.
    pub(super) fn len(&self) -> usize {
        self.low.len()
    }

    /// Returns true if a counter is not 0. There is none past the end.
    #[inline]
    pub(super) fn is_used(&self, at: usize) -> bool {
        self.low.get(at).is_some_and(|low| low > 0) || upper(self.high.as_ref(), at) > 0
    }

    /// Adds `count`, which is not 0, to a counter, and returns whether it was 0.
    #[inline]
    pub(super) fn add(&mut self, at: usize, count: u32) -> bool {
        let len = self.len();
        let Some(low) = self.low.get_mut(at) else {
            return false;
        };
        add(low, &mut self.high, len, at, count)
    }

    /// Takes `count`, which is not 0, from a counter, and returns whether it is 0 now and was not before.
    #[inline]
    pub(super) fn remove(&mut self, at: usize, count: u32) -> bool {
        let Some(low) = self.low.get_mut(at) else {
            return false;
        };
        let high = upper(self.high.as_ref(), at);
        let was = u32::from(*low) | u32::from(high) << HALF;
        let left = was.saturating_sub(count);
        *low = left as u16;
        let left_high = (left >> HALF) as u16;
        if left_high != high
            && let Some(high) = self.high.as_mut().and_then(|high| high.get_mut(at))
        {
            *high = left_high;
        }
        was > 0 && left == 0
    }

    /// All counters, to add to most of them: without a copy of the pages that are written.
    pub(super) fn all(&mut self) -> AllCounters<'_> {
        AllCounters {
            low: self.low.all_mut(),
            high: &mut self.high,
        }
    }

    /// The numbers, to read many of them.
    pub(super) fn numbers(&self) -> Numbers<'_> {
        Numbers {
            low: self.low.entries(),
            high: self.high.as_ref().map(Overlay::entries),
        }
    }

    /// Adds the bits of a page of counters, the upper half to the lower one, to those of `page`: what stays 0 is 0.
    #[inline]
    pub(super) fn add_bits(&self, start: usize, page: &mut [u16; PAGE]) {
        for half in core::iter::once(&self.low).chain(&self.high) {
            for (bits, more) in page.iter_mut().zip(half.page(start)) {
                *bits |= more;
            }
        }
    }

    fn halves_mut(&mut self) -> impl Iterator<Item = &mut Overlay> {
        core::iter::once(&mut self.low).chain(&mut self.high)
    }

    /// Makes the numbers those that clones share from now on.
    pub(super) fn merge(&mut self) {
        self.halves_mut().for_each(Overlay::merge);
    }

    /// As [`merge`](Self::merge), if so much was changed that a clone would copy a good part of the numbers.
    pub(super) fn merge_many(&mut self) {
        self.halves_mut().for_each(Overlay::merge_many);
    }

    /// Undoes all changes since the last merge.
    pub(super) fn revert(&mut self) {
        self.halves_mut().for_each(Overlay::revert);
    }
}

/// All counters, to add to.
pub(super) struct AllCounters<'a> {
    low: &'a mut [u16],
    high: &'a mut Option<Overlay>,
}

impl AllCounters<'_> {
    /// As [`Counters::add`].
    #[inline]
    pub(super) fn add(&mut self, at: usize, count: u32) -> bool {
        let len = self.low.len();
        let Some(low) = self.low.get_mut(at) else {
            return false;
        };
        add(low, self.high, len, at, count)
    }
}

/// The numbers of all counters.
pub(super) struct Numbers<'a> {
    low: Cow<'a, [u16]>,
    high: Option<Cow<'a, [u16]>>,
}

impl Numbers<'_> {
    /// The counters of a range that are not 0, with their places in the range.
    pub(super) fn used(&self, range: Range<usize>) -> impl Iterator<Item = (usize, u32)> {
        let low = self.low.get(range.clone()).unwrap_or_default();
        let high = self.high.as_ref().and_then(|high| high.get(range));
        let numbers = low.iter().enumerate().map(move |(at, &low)| {
            let high = high.and_then(|high| high.get(at));
            let high = high.map_or(0, |&high| u32::from(high) << HALF);
            (at, high | u32::from(low))
        });
        numbers.filter(|(_, count)| *count > 0)
    }
}

/// Adds `count`, which is not 0, to one of `len` counters by its lower half, and returns whether it was 0.
#[inline]
fn add(low: &mut u16, high: &mut Option<Overlay>, len: usize, at: usize, count: u32) -> bool {
    let is_new = *low == 0;
    let sum = u32::from(*low) + count;
    *low = sum as u16;
    let carry = (sum >> HALF) as u16;
    if carry > 0 || is_new && high.is_some() {
        return add_carry(high, len, at, carry) && is_new;
    }
    is_new
}

/// Adds to the upper half of a counter, and returns whether it was 0.
#[cold]
fn add_carry(high: &mut Option<Overlay>, len: usize, at: usize, carry: u16) -> bool {
    if carry == 0 {
        return upper(high.as_ref(), at) == 0;
    }
    let high = high.get_or_insert_with(|| Overlay::zeros(len));
    let Some(half) = high.get_mut(at) else {
        return false;
    };
    let was = *half;
    *half = was.saturating_add(carry);
    was == 0
}

/// The upper half of a counter.
#[inline]
fn upper(high: Option<&Overlay>, at: usize) -> u16 {
    high.and_then(|high| high.get(at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    const LEN: usize = 2 * PAGE + 3;

    /// The twin: one number of 32 bits for each counter.
    struct Plain([u32; LEN]);

    impl Plain {
        fn add(&mut self, at: usize, count: u32) -> bool {
            self.0[at] += count;
            self.0[at] == count
        }

        fn remove(&mut self, at: usize, count: u32) -> bool {
            let was = self.0[at];
            self.0[at] = was.saturating_sub(count);
            was > 0 && self.0[at] == 0
        }
    }

    fn assert_same(counters: &Counters, plain: &Plain) {
        let places = plain.0.iter().copied().enumerate();
        let used: Vec<_> = places.filter(|(_, count)| *count > 0).collect();
        assert_eq!(counters.numbers().used(0..LEN).collect::<Vec<_>>(), used);
        for (at, &count) in plain.0.iter().enumerate() {
            assert_eq!(counters.is_used(at), count > 0);
            let mut page = [0; PAGE];
            counters.add_bits(at / PAGE * PAGE, &mut page);
            assert_eq!(page[at % PAGE] > 0, count > 0);
        }
        assert!(!counters.is_used(LEN));
    }

    fn changes() -> impl Strategy<Value = Vec<(bool, usize, u32)>> {
        let count = prop_oneof![1..5_u32, 65_530..65_545_u32, 1..300_000_u32];
        prop::collection::vec((any::<bool>(), 0..LEN, count), 0..40)
    }

    proptest! {
        #[test]
        fn counters_are_plain_numbers(first in changes(), then in changes()) {
            let (mut counters, mut plain) = (Counters::zeros(LEN), Plain([0; LEN]));
            for &(_, at, count) in &first {
                prop_assert_eq!(counters.all().add(at % 5, count), plain.add(at % 5, count));
            }
            assert_same(&counters, &plain);
            counters.merge();
            let before = (counters.clone(), Plain(plain.0));
            for &(adds, at, count) in &then {
                let at = at % 70;
                match adds {
                    true => prop_assert_eq!(counters.add(at, count), plain.add(at, count)),
                    false => prop_assert_eq!(counters.remove(at, count), plain.remove(at, count)),
                }
            }
            assert_same(&counters, &plain);
            assert_same(&before.0, &before.1);
            let mut merged = counters.clone();
            merged.merge();
            assert_same(&merged, &plain);
            counters.revert();
            assert_same(&counters, &before.1);
        }
    }
}
