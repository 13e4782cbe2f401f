//! Loads and routes that parts of the switches exchange.

use alloc::vec::Vec;
use core::{
    iter,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use crate::{
    algo::balance::tree_chooser::{SIDE_BY_SIDE, TreeRoutes},
    index::{ChannelIdx, IdxVec},
};

/// Numbers that a part writes in one stage and other parts read in the next.
///
/// A barrier lies between the two stages. So no thread reads one half of a number.
#[derive(Debug)]
pub(super) struct Exchange {
    /// Routes on channels. They are written before the first tree to a target, so that a stage lies between the reading of some
    /// and the writing of others.
    loads: IdxVec<ChannelIdx, SharedU64>,
    /// The numbers of stages with an even number, and of those with an odd one: some parts may still read the numbers of one
    /// stage while others write those of the next.
    stages: [Stage; 2],
}

/// The numbers of a stage.
#[derive(Debug)]
struct Stage {
    /// For each part the routes that come from it to some switches, in each tree of a group.
    routes: Vec<Vec<SharedU64>>,
    /// Routes on the channels behind roots.
    root_loads: Vec<SharedU64>,
}

impl Exchange {
    pub(super) fn new(switches: usize, channels: usize, parts: usize) -> Self {
        fn numbers<T: FromIterator<SharedU64>>(len: usize) -> T {
            iter::repeat_with(SharedU64::default).take(len).collect()
        }
        let stage = || Stage {
            routes: (0..parts)
                .map(|_| numbers(switches * SIDE_BY_SIDE))
                .collect(),
            root_loads: numbers(channels),
        };
        Self {
            loads: numbers(channels),
            stages: [stage(), stage()],
        }
    }

    pub(super) fn load(&self, channel: ChannelIdx) -> u64 {
        self.loads[channel].get()
    }

    pub(super) fn set_load(&self, channel: ChannelIdx, load: u64) {
        self.loads[channel].set(load);
    }

    fn of(&self, stage: usize) -> &Stage {
        let [even, odd] = &self.stages;
        if stage.is_multiple_of(2) { even } else { odd }
    }

    pub(super) fn root_load(&self, stage: usize, place: usize) -> u64 {
        let load = self.of(stage).root_loads.get(place);
        load.map(SharedU64::get).unwrap_or_default()
    }

    pub(super) fn set_root_load(&self, stage: usize, place: usize, load: u64) {
        if let Some(shared) = self.of(stage).root_loads.get(place) {
            shared.set(load);
        }
    }

    /// The routes that each of the other parts than `part` wrote in a stage.
    pub(super) fn routes_of_others(
        &self,
        stage: usize,
        part: usize,
    ) -> impl Iterator<Item = PartRoutes<'_>> {
        let parts = self.of(stage).routes.iter().enumerate();
        let others = parts.filter(move |&(number, _)| number != part);
        others.map(|(_, routes)| PartRoutes(routes))
    }

    /// Writes the routes of a part to some switches, in the first `count` trees of a group.
    pub(super) fn set_routes<'r>(
        &self,
        stage: usize,
        part: usize,
        count: usize,
        routes: impl Iterator<Item = &'r TreeRoutes>,
    ) {
        if let Some(of_part) = self.of(stage).routes.get(part) {
            for (of_switch, routes) in of_part.chunks(count.max(1)).zip(routes) {
                for (shared, &routes) in of_switch.iter().zip(routes) {
                    shared.set(routes);
                }
            }
        }
    }
}

/// The routes that a part wrote, by the place of the switch to which they come.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartRoutes<'a>(&'a [SharedU64]);

impl<'a> PartRoutes<'a> {
    /// The routes to the switch at a place, in each of `count` trees.
    #[inline(always)]
    pub(super) fn at(self, place: usize, count: usize) -> impl Iterator<Item = u64> + use<'a> {
        let of_switch = self.0.get(place * count..(place + 1) * count);
        of_switch.unwrap_or_default().iter().map(SharedU64::get)
    }
}

/// A number in two halves: not all processors have atomics of 64 bits.
#[derive(Debug, Default)]
struct SharedU64([AtomicU32; 2]);

impl SharedU64 {
    #[inline]
    fn get(&self) -> u64 {
        let [low, high] = self.0.each_ref().map(|half| u64::from(half.load(Relaxed)));
        low | high << u32::BITS
    }

    #[inline]
    fn set(&self, number: u64) {
        let [low, high] = &self.0;
        low.store(number as u32, Relaxed);
        high.store((number >> u32::BITS) as u32, Relaxed);
    }
}
