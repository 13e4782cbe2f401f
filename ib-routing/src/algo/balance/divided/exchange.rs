//! Weights and routes that parts of the switches exchange.

use alloc::vec::Vec;
use core::{
    iter,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use crate::{
    algo::balance::tree_chooser::{SIDE_BY_SIDE, TreeRoutes},
    index::{IdxVec, SwitchIdx},
};

/// Weights and routes of switches that have neighbours in other parts.
///
/// A barrier lies between the stage in which one thread writes and that in which others read. So no thread reads one half of
/// a number.
#[derive(Debug)]
pub(super) struct Exchange {
    weights: IdxVec<SwitchIdx, SharedU64>,
    /// For each part the routes that pass a switch and come from that part, in each tree.
    routes: Vec<IdxVec<SwitchIdx, [SharedU64; SIDE_BY_SIDE]>>,
}

impl Exchange {
    pub(super) fn new(switches: usize, parts: usize) -> Self {
        let routes = || iter::repeat_with(Default::default).take(switches).collect();
        Self {
            weights: iter::repeat_with(SharedU64::default)
                .take(switches)
                .collect(),
            routes: iter::repeat_with(routes).take(parts).collect(),
        }
    }

    pub(super) fn weight(&self, switch: SwitchIdx) -> u64 {
        self.weights[switch].get()
    }

    pub(super) fn set_weight(&self, switch: SwitchIdx, weight: u64) {
        self.weights[switch].set(weight);
    }

    /// Takes the routes that come to a switch from other parts than `part`: none from a part that has set none since the
    /// last time.
    pub(super) fn take_routes(
        &self,
        part: usize,
        switch: SwitchIdx,
    ) -> impl Iterator<Item = TreeRoutes> {
        let parts = self.routes.iter().enumerate();
        let others = parts.filter(move |&(number, _)| number != part);
        others.map(move |(_, routes)| routes[switch].each_ref().map(SharedU64::take))
    }

    /// Sets the routes that come to a switch from a part.
    pub(super) fn set_routes(&self, part: usize, switch: SwitchIdx, routes: TreeRoutes) {
        if let Some(of_part) = self.routes.get(part) {
            for (shared, routes) in of_part[switch].iter().zip(routes) {
                shared.set(routes);
            }
        }
    }
}

/// A number in two halves: not all processors have atomics of 64 bits.
#[derive(Debug, Default)]
struct SharedU64([AtomicU32; 2]);

impl SharedU64 {
    fn get(&self) -> u64 {
        let [low, high] = self.0.each_ref().map(|half| u64::from(half.load(Relaxed)));
        low | high << u32::BITS
    }

    /// The number, which is 0 from then on.
    fn take(&self) -> u64 {
        let number = self.get();
        if number != 0 {
            self.set(0);
        }
        number
    }

    fn set(&self, number: u64) {
        let [low, high] = &self.0;
        low.store(number as u32, Relaxed);
        high.store((number >> u32::BITS) as u32, Relaxed);
    }
}
