//! The paths towards one LID while a repair reconnects switches.

use alloc::vec::Vec;

use ib_wire::Lid;

use crate::{
    index::{ChannelIdx, Idx, IdxVec, SwitchIdx},
    lid::Destination,
    verify::walk::NO_CHANNEL,
};

/// The state of a switch's path towards the LID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing: the path was not measured. Its length may be known beforehand.
    Unknown,
    /// The switch has no path, although cables join it with the destination. `waits` is the length of the shortest path that
    /// it waits for; [`NEVER`] if there is none.
    CutOff { waits: u32 },
    /// The switch has a path. `next` is its first channel, [`NO_CHANNEL`] at the destination.
    Found { length: u32, next: ChannelIdx },
}

/// The length that no path has.
pub(super) const NEVER: u32 = u32::MAX;

/// The paths in place of the switches that are not cut off.
#[derive(Clone, Copy)]
pub(super) struct Others<'d> {
    /// The first channel; [`NO_CHANNEL`] at the destination.
    pub(super) next: &'d dyn Fn(SwitchIdx) -> ChannelIdx,
    /// The length, by switch; empty if the lengths have to be measured.
    pub(super) lengths: &'d [u8],
}

impl Others<'_> {
    /// No path.
    pub(super) const NONE: Self = Self {
        next: &|_| NO_CHANNEL,
        lengths: &[],
    };
}

/// The paths towards one LID, as far as they are found.
pub(super) struct Growth<'d> {
    /// The owner of the LID.
    pub(super) destination: &'d Destination,
    /// The owner's switch.
    pub(super) root: SwitchIdx,
    /// The LID that the paths lead to.
    pub(super) lid: Lid,
    others: Others<'d>,
    places: IdxVec<SwitchIdx, Place>,
    /// The switches that were cut off at the beginning.
    cut_off: Vec<SwitchIdx>,
    /// The switches whose path was found, or measured, since the beginning.
    found: Vec<SwitchIdx>,
    /// Number of switches that are still cut off.
    left: usize,
    is_unsafe: bool,
}

/// The memory of a growth, empty: the next one uses it again.
#[derive(Clone, Debug, Default)]
pub(super) struct Cleared {
    places: IdxVec<SwitchIdx, Place>,
    cut_off: Vec<SwitchIdx>,
    found: Vec<SwitchIdx>,
}

impl<'d> Growth<'d> {
    /// No path is known yet, and these switches have none. `others` are the paths of the others. `memory`
    /// may be of another fabric; this one has so many switches.
    pub(super) fn new(
        (destination, root, lid): (&'d Destination, SwitchIdx, Lid),
        cut_off: &[SwitchIdx],
        others: Others<'d>,
        switches: usize,
        memory: Cleared,
    ) -> Self {
        let Cleared {
            mut places,
            cut_off: memory,
            found,
        } = memory;
        if places.len() != switches {
            places = IdxVec::filled(switches, Place::Unknown);
        }
        let mut growth = Self {
            destination,
            root,
            lid,
            others,
            places,
            cut_off: memory,
            found,
            left: 0,
            is_unsafe: false,
        };
        growth.cut_off(cut_off.iter().copied());
        growth
    }

    /// Enters switches that have no path. Nothing is known of them yet.
    pub(super) fn cut_off(&mut self, switches: impl Iterator<Item = SwitchIdx>) {
        for switch in switches {
            self.places[switch] = Place::CutOff { waits: NEVER };
            self.cut_off.push(switch);
            self.left += 1;
        }
    }

    /// The switches of which nothing is known.
    pub(super) fn unknown(&self) -> impl Iterator<Item = SwitchIdx> + '_ {
        let places = self.places.iter_enumerated();
        let unknown = places.filter(|&(_, &place)| place == Place::Unknown);
        unknown.map(|(switch, _)| switch)
    }

    /// The switches that were cut off at the beginning.
    pub(super) fn were_cut_off(&self) -> &[SwitchIdx] {
        &self.cut_off
    }

    /// Number of switches whose path is known.
    pub(super) const fn num_found(&self) -> usize {
        self.found.len()
    }

    /// Returns true if no switch is cut off any more.
    pub(super) const fn is_whole(&self) -> bool {
        self.left == 0
    }

    /// Returns true if a switch took a path that may deadlock, because there is no other.
    pub(super) const fn is_unsafe(&self) -> bool {
        self.is_unsafe
    }

    /// Records that a switch takes a path that may deadlock.
    pub(super) fn note_unsafe(&mut self) {
        self.is_unsafe = true;
    }

    /// The state of a switch's path.
    #[inline]
    pub(super) fn place(&self, switch: SwitchIdx) -> Place {
        self.places[switch]
    }

    /// Lets a switch that is cut off wait for a path of this length; [`NEVER`] if there is none.
    #[inline]
    pub(super) fn wait_for(&mut self, switch: SwitchIdx, length: u32) {
        self.places[switch] = Place::CutOff { waits: length };
    }

    /// Measures the path of a switch of which nothing is known, and those of all switches on it. `to` is the switch at the end
    /// of a channel, and `weight` the length of one.
    #[inline]
    pub(super) fn measure(
        &mut self,
        switch: SwitchIdx,
        to: impl Fn(ChannelIdx) -> SwitchIdx,
        weight: impl Fn(ChannelIdx) -> u32,
    ) {
        let first = self.found.len();
        let mut here = switch;
        // The lengths are entered on the way back.
        while self.place(here) == Place::Unknown {
            let channel = (self.others.next)(here);
            if channel == NO_CHANNEL {
                break;
            }
            self.enter(here, NEVER, channel);
            here = to(channel);
        }
        let mut length = self.found(here).map_or(NEVER, |(length, _)| length);
        for &switch in self.found.get(first..).unwrap_or_default().iter().rev() {
            if let Place::Found {
                length: known,
                next,
            } = &mut self.places[switch]
            {
                length = length.saturating_add(weight(*next));
                *known = length;
            }
        }
    }

    /// Returns true if the path of a switch has to be measured before its length is known.
    #[inline]
    pub(super) fn is_unmeasured(&self, switch: SwitchIdx) -> bool {
        self.others.lengths.is_empty() && self.places[switch] == Place::Unknown
    }

    /// The length of a switch's path, if it has a path and its length is known.
    #[inline]
    pub(super) fn length(&self, switch: SwitchIdx) -> Option<u32> {
        match self.places[switch] {
            Place::Found { length, .. } => Some(length),
            Place::Unknown => self.others.lengths.get(switch.at()).copied().map(u32::from),
            Place::CutOff { .. } => None,
        }
    }

    /// Returns true if the lengths of the paths in place were known beforehand, so that none has to be measured.
    pub(super) const fn knows_lengths(&self) -> bool {
        !self.others.lengths.is_empty()
    }

    /// Returns false if the path of a switch has another length than was known beforehand. `to` is the switch at the end of a
    /// channel.
    pub(super) fn has_known_length(
        &self,
        switch: SwitchIdx,
        to: impl Fn(ChannelIdx) -> SwitchIdx,
    ) -> bool {
        let after = |here: &SwitchIdx| {
            let next = self.next(*here);
            (next != NO_CHANNEL).then(|| to(next))
        };
        let links = || core::iter::successors(Some(switch), after).skip(1).count();
        let known = self
            .length(switch)
            .filter(|_| !self.others.lengths.is_empty());
        known.is_none_or(|known| known as usize == links())
    }

    /// Returns true if a switch has no path.
    #[inline]
    pub(super) fn is_cut_off(&self, switch: SwitchIdx) -> bool {
        matches!(self.places[switch], Place::CutOff { .. })
    }

    /// The length of a switch's path and its first channel, if it has a path.
    #[inline]
    pub(super) fn found(&self, switch: SwitchIdx) -> Option<(u32, ChannelIdx)> {
        match self.places[switch] {
            Place::Found { length, next } => Some((length, next)),
            _ => None,
        }
    }

    /// The first channel of a switch's path; [`NO_CHANNEL`] at the destination and if it has none.
    #[inline]
    pub(super) fn next(&self, switch: SwitchIdx) -> ChannelIdx {
        match self.places[switch] {
            Place::Found { next, .. } => next,
            Place::CutOff { .. } => NO_CHANNEL,
            Place::Unknown => (self.others.next)(switch),
        }
    }

    /// Enters the path of a switch.
    #[inline]
    pub(super) fn enter(&mut self, switch: SwitchIdx, length: u32, next: ChannelIdx) {
        self.left -= usize::from(self.is_cut_off(switch));
        self.places[switch] = Place::Found { length, next };
        self.found.push(switch);
    }

    /// Takes the memory back, of a growth that began without any path.
    pub(super) fn clear(mut self) -> Cleared {
        for &switch in self.found.iter().chain(&self.cut_off) {
            self.places[switch] = Place::Unknown;
        }
        self.found.clear();
        self.cut_off.clear();
        Cleared {
            places: self.places,
            cut_off: self.cut_off,
            found: self.found,
        }
    }
}
