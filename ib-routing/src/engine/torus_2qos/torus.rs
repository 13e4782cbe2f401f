//! The torus with its switches in place.

use alloc::{vec, vec::Vec};

use super::coordinates::{AXES, Coordinates, Radix};
use crate::{
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
};

/// The places of switches and the directions of channels.
#[derive(Clone, Debug)]
pub(super) struct Torus {
    radix: [Radix; AXES],
    place: IdxVec<SwitchIdx, Coordinates>,
    /// By place: x is the fastest.
    at: Vec<Option<SwitchIdx>>,
    /// Axis and direction of each channel.
    direction: IdxVec<ChannelIdx, Option<Direction>>,
    /// By switch and direction: the parallel channels.
    links: IdxVec<SwitchIdx, [Vec<ChannelIdx>; 2 * AXES]>,
}

/// Axis times two, plus one if downwards.
pub(super) type Direction = u8;

pub(super) const fn direction(axis: usize, up: bool) -> Direction {
    (axis as u8) * 2 + !up as u8
}

pub(super) const fn opposite(direction: Direction) -> Direction {
    direction ^ 1
}

impl Torus {
    /// A torus without switches.
    pub(super) fn empty(fabric: &Fabric, radix: [Radix; AXES]) -> Self {
        let places = radix.iter().map(|radix| usize::from(radix.size()));
        Self {
            radix,
            place: IdxVec::filled(fabric.num_switches(), Coordinates::default()),
            at: vec![None; places.product()],
            direction: IdxVec::filled(fabric.channels().len(), None),
            links: IdxVec::filled(fabric.num_switches(), Default::default()),
        }
    }

    /// Puts a switch in its place; refuses if another one has it.
    pub(super) fn put(&mut self, switch: SwitchIdx, place: Coordinates) -> bool {
        self.place[switch] = place;
        match self.at.get_mut(index(&self.radix, &place)) {
            Some(entry @ None) => {
                *entry = Some(switch);
                true
            }
            _ => false,
        }
    }

    /// Notes where a channel of a switch leads.
    pub(super) fn set_direction(
        &mut self,
        channel: ChannelIdx,
        from: SwitchIdx,
        towards: Direction,
    ) {
        self.direction[channel] = Some(towards);
        if let Some(links) = self.links[from].get_mut(usize::from(towards)) {
            links.push(channel);
        }
    }

    pub(super) fn radix(&self, axis: usize) -> Radix {
        self.radix.get(axis).copied().unwrap_or_default()
    }

    pub(super) fn coordinates_of(&self, switch: SwitchIdx) -> Coordinates {
        self.place[switch]
    }

    pub(super) fn switch_at(&self, place: &Coordinates) -> Option<SwitchIdx> {
        self.at.get(index(&self.radix, place)).copied().flatten()
    }

    pub(super) fn axis(&self, channel: ChannelIdx) -> Option<u8> {
        self.direction[channel].map(|direction| direction / 2)
    }

    pub(super) fn link(&self, switch: SwitchIdx, axis: usize, up: bool) -> &[ChannelIdx] {
        let links = self.links[switch].get(usize::from(direction(axis, up)));
        links.map_or(&[], Vec::as_slice)
    }

    pub(super) fn has_failed_switch(&self) -> bool {
        self.at.contains(&None)
    }
}

/// The number of a place.
fn index(radix: &[Radix; AXES], place: &Coordinates) -> usize {
    let axes = radix.iter().enumerate().rev();
    axes.fold(0, |index, (axis, radix)| {
        index * usize::from(radix.size()) + usize::from(place.get(axis))
    })
}
