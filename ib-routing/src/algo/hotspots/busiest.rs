//! The busiest channel, found again after a few loads have changed.

use alloc::{vec, vec::Vec};

use crate::index::{ChannelIdx, Idx, IdxVec};

/// Channels whose highest load is kept. There are about as many changed channels between two searches, and each makes one
/// block be searched.
const BLOCK: usize = 64;

/// The highest load of each [`BLOCK`] of channels.
pub(super) struct Busiest {
    blocks: Vec<Block>,
}

/// The highest load of some channels that follow each other; `None` if one may have changed.
type Block = Option<u64>;

impl Busiest {
    /// Nothing is known of the loads of so many channels.
    pub(super) fn new(channels: usize) -> Self {
        Self {
            blocks: vec![None; channels.div_ceil(BLOCK)],
        }
    }

    /// Notes that a channel's load changes.
    #[inline]
    pub(super) fn note_change(&mut self, channel: ChannelIdx) {
        if let Some(block) = self.blocks.get_mut(channel.at() / BLOCK) {
            *block = None;
        }
    }

    /// The first of the busiest channels, and its load.
    pub(super) fn find(&mut self, load: &IdxVec<ChannelIdx, u64>) -> Option<(ChannelIdx, u64)> {
        let loads = load.as_slice().chunks(BLOCK);
        let highest = |loads: &[u64]| loads.iter().copied().max().unwrap_or_default();
        let mut busiest: Option<(usize, u64)> = None;
        for ((number, block), loads) in self.blocks.iter_mut().enumerate().zip(loads.clone()) {
            let here = *block.get_or_insert_with(|| highest(loads));
            if busiest.is_none_or(|(_, load)| load < here) {
                busiest = Some((number, here));
            }
        }
        let (number, load) = busiest?;
        let mut loads = loads.skip(number);
        let at = loads.next()?.iter().position(|&here| here == load)?;
        Some((ChannelIdx::new(number * BLOCK + at), load))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The reference is a search through all loads.
        #[test]
        fn the_busiest_channel_is_the_first_with_the_highest_load(
            mut load in prop::collection::vec(0..20_u64, 1..300),
            changes in prop::collection::vec((any::<prop::sample::Index>(), 0..20_u64), 0..30),
        ) {
            let mut busiest = Busiest::new(load.len());
            for (at, new) in changes {
                let (highest, first) = load.iter().zip((0..).map(std::cmp::Reverse)).max().unwrap();
                let loads = load.clone().into();
                prop_assert_eq!(busiest.find(&loads), Some((ChannelIdx(first.0), *highest)));
                let at = at.index(load.len());
                busiest.note_change(ChannelIdx::new(at));
                load[at] = new;
            }
        }
    }
}
