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
    #[inline]
    fn one(place: u8) -> Self {
        let mut places = Self::default();
        places.add_if(true, place);
        places
    }

    /// Adds one place, if it is `wanted`: without a branch.
    #[inline]
    fn add_if(&mut self, wanted: bool, place: u8) {
        if let Some(word) = self.0.get_mut(usize::from(place / 64)) {
            *word |= u64::from(wanted) << (place % 64);
        }
    }

    /// Adds the places of `others`, if they are `wanted`: without a branch.
    #[inline]
    fn add_all_if(&mut self, wanted: bool, others: &Self) {
        let mask = u64::from(wanted).wrapping_neg();
        for (word, other) in self.0.iter_mut().zip(others.0) {
            *word |= other & mask;
        }
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
///
/// There may be as many of them as channels, and most have one channel, so only the places of the others are sets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bundle {
    pub(super) to: SwitchIdx,
    /// Index among the sets of places, or [`ONE`].
    set: u32,
    pub(super) class: u8,
    /// The first place.
    place: u8,
}

/// No set of places: the bundle has one.
const ONE: u32 = u32::MAX;

/// The bundles of every switch.
#[derive(Debug)]
pub(super) struct Bundles {
    bundles: Vec<Bundle>,
    /// The places of the bundles that have several.
    sets: Vec<Places>,
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
        let mut sets: Vec<Places> = Vec::new();
        // The latest bundle to each switch.
        let mut latest = IdxVec::filled(switches, usize::MAX);
        let end = out_ports.map(|out_ports| {
            let first = bundles.len();
            for (place, out_port) in (0..=u8::MAX).zip(out_ports) {
                let known = latest[out_port.to];
                let same = |bundle: &&mut Bundle| known >= first && bundle.class == out_port.class;
                if let Some(bundle) = bundles.get_mut(known).filter(same) {
                    if bundle.set == ONE {
                        bundle.set = sets.len() as u32;
                        sets.push(Places::one(bundle.place));
                    }
                    if let Some(places) = sets.get_mut(bundle.set as usize) {
                        places.add_if(true, place);
                    }
                    continue;
                }
                latest[out_port.to] = bundles.len();
                bundles.push(Bundle {
                    to: out_port.to,
                    set: ONE,
                    class: out_port.class,
                    place,
                });
            }
            bundles.len()
        });
        let end = end.collect();
        Self { bundles, sets, end }
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

    /// The places of a bundle.
    #[inline]
    pub(super) fn places(&self, bundle: &Bundle) -> Places {
        match bundle.only() {
            Some(place) => Places::one(place),
            None => self.set(bundle),
        }
    }

    /// Adds the places of a bundle to `places`, if they are `wanted`.
    #[inline]
    pub(super) fn add_if(&self, wanted: bool, bundle: &Bundle, places: &mut Places) {
        match bundle.only() {
            Some(place) => places.add_if(wanted, place),
            None => places.add_all_if(wanted, &self.set(bundle)),
        }
    }

    /// The places of a bundle that has several.
    #[inline]
    fn set(&self, bundle: &Bundle) -> Places {
        let set = self.sets.get(bundle.set as usize);
        set.copied().unwrap_or_default()
    }
}

impl Bundle {
    /// The place of its only channel; `None` if it has several.
    #[inline]
    pub(super) fn only(&self) -> Option<u8> {
        (self.set == ONE).then_some(self.place)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use ib_wire::PortNum;

    use super::*;

    #[test]
    fn channels_to_one_switch_of_one_class_are_a_bundle() {
        let out_port = |to, class| OutPort {
            to: SwitchIdx(to),
            port: PortNum(1),
            class,
            ignored: false,
        };
        // Switch 0 has 100 channels to switch 1 and one to switch 2; of those of switch 2 to 0, two are of another class.
        let mut first = vec![out_port(1, 0); 100];
        first.insert(70, out_port(2, 0));
        let last = [out_port(0, 0), out_port(0, 1), out_port(0, 1)];
        let all: [&[OutPort]; 3] = [&first, &[], &last];
        let bundles = Bundles::new(3, 104, all.into_iter());
        let of = |switch| {
            let all = bundles.of(SwitchIdx(switch)).iter().map(|bundle| {
                let mut places = Vec::new();
                bundles
                    .places(bundle)
                    .for_each(|place| places.push(place as u8));
                assert_eq!(bundle.only().is_some(), places.len() == 1);
                let (mut added, mut seen) = (Places::one(255), Vec::new());
                bundles.add_if(false, bundle, &mut added);
                bundles.add_if(true, bundle, &mut added);
                added.for_each(|place| seen.push(place as u8));
                assert_eq!(seen, [&places[..], &[255]].concat());
                (bundle.to.0, bundle.class, places)
            });
            all.collect::<Vec<_>>()
        };
        let to_1 = (0..70).chain(71..101).collect();
        assert_eq!(of(0), [(1, 0, to_1), (2, 0, vec![70])]);
        assert!(of(1).is_empty());
        assert_eq!(of(2), [(0, 0, vec![0]), (0, 1, vec![1, 2])]);
    }
}
