//! The channels from one switch to another, which are candidates together or not at all.

use alloc::vec::Vec;

use super::OutPort;
use crate::{
    algo::frontiers::bits_of,
    index::{IdxVec, SwitchIdx},
};

/// Places among the channels of a switch: fewer than 256.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Places([u64; 4]);

impl Places {
    fn insert(&mut self, place: usize) {
        if let Some(word) = self.0.get_mut(place / 64) {
            *word |= 1 << (place % 64);
        }
    }

    /// Adds the places of `others`, if they are `wanted`: without a branch.
    #[inline]
    pub(super) fn add_if(&mut self, wanted: bool, others: &Self) {
        let mask = u64::from(wanted).wrapping_neg();
        for (word, other) in self.0.iter_mut().zip(others.0) {
            *word |= other & mask;
        }
    }

    /// Returns true if it holds exactly one place.
    #[inline]
    pub(super) fn is_single(&self) -> bool {
        let [a, b, c, d] = self.0;
        let (once, twice) = (a | b | c | d, a & b | c & d | (a | b) & (c | d));
        twice == 0 && once.is_power_of_two()
    }

    /// Calls `visit` with the places in order: loops in each other, where an iterator would have to
    /// remember its state between any two places.
    #[inline]
    pub(super) fn for_each(&self, mut visit: impl FnMut(usize)) {
        for (first, word) in (0..).step_by(64).zip(self.0) {
            for bit in bits_of(word) {
                visit(first + bit as usize);
            }
        }
    }
}

/// All channels of one class from a switch to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bundle {
    pub(super) to: SwitchIdx,
    pub(super) class: u8,
    pub(super) places: Places,
}

/// The bundles of every switch.
#[derive(Debug)]
pub(super) struct Bundles {
    bundles: Vec<Bundle>,
    /// End of each switch's bundles in the list.
    end: IdxVec<SwitchIdx, usize>,
}

impl Bundles {
    /// Bundles the channels of every switch: `out_ports` has those of each switch, sorted by class.
    pub(super) fn new<'a>(
        switches: usize,
        channels: usize,
        out_ports: impl Iterator<Item = &'a [OutPort]>,
    ) -> Self {
        let mut bundles: Vec<Bundle> = Vec::with_capacity(channels);
        // The latest bundle to each switch.
        let mut latest = IdxVec::filled(switches, usize::MAX);
        let end = out_ports.map(|out_ports| {
            let first = bundles.len();
            for (place, out_port) in out_ports.iter().enumerate() {
                let known = latest[out_port.to];
                let same = |bundle: &&mut Bundle| known >= first && bundle.class == out_port.class;
                if let Some(bundle) = bundles.get_mut(known).filter(same) {
                    bundle.places.insert(place);
                    continue;
                }
                latest[out_port.to] = bundles.len();
                let mut bundle = Bundle {
                    to: out_port.to,
                    class: out_port.class,
                    places: Places::default(),
                };
                bundle.places.insert(place);
                bundles.push(bundle);
            }
            bundles.len()
        });
        let end = end.collect();
        Self { bundles, end }
    }

    /// The bundles of a switch.
    #[inline]
    pub(super) fn of(&self, switch: SwitchIdx) -> &[Bundle] {
        let before = switch.0.checked_sub(1).map(SwitchIdx);
        let first = before.map_or(0, |before| self.end[before]);
        self.bundles
            .get(first..self.end[switch])
            .unwrap_or_default()
    }
}
