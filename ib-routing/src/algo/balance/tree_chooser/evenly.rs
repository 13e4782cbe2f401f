//! Chooses trees that keep close to an even split, where that loads all channels alike.

use super::{TreeChooser, Visit, add_to, least, of_tree};
use crate::{
    algo::{balance::even_split::share, choices::Choice, shortest_path_dag::NextHop},
    index::{ChannelIdx, IdxVec, SwitchIdx},
};

/// The load of a channel beside that of an even split.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Split {
    /// Routes if all trees so far were split evenly.
    even: u64,
    /// Routes beyond those: fewer than 2^48, and their fraction.
    ahead: i64,
}

impl TreeChooser {
    /// Routes on every channel if all trees that [`choose_evenly`](Self::choose_evenly) chose were split evenly.
    pub(in crate::algo::balance) fn even_split(&self) -> IdxVec<ChannelIdx, u64> {
        let splits = self.splits.iter();
        splits.map(|split| split.even >> self.point).collect()
    }

    /// Adds what [`choose_evenly`](Self::choose_evenly) chose to the load if it is to stay.
    pub(in crate::algo::balance) fn end_choosing_evenly(&mut self, stays: bool) {
        for (load, split) in self.load.iter_mut().zip(self.splits.iter()) {
            if stays {
                *load += split.even.saturating_add_signed(split.ahead);
            }
        }
        self.splits.fill(Split::default());
    }

    /// Chooses the trees of a group in one pass, the farthest switches first: each takes the channel that is the
    /// least ahead of an even split of all trees so far, those that pass the next switch in the same tree included.
    ///
    /// This is for fabrics where an even split loads all channels alike, and needs no look at the loads behind.
    pub(in crate::algo::balance) fn choose_evenly(&mut self, visit: Visit<'_>) {
        self.begin(visit.group);
        self.expect_senders(visit.group);
        for switch in visit.towards.switches().rev() {
            let places = visit.choices.of(switch);
            let next_hops = visit.towards.next_hops(switch);
            // The lengths that are common on grids are known in advance, so that no loop is left of them.
            match next_hops.len() {
                1 => self.take_least_ahead::<1>(switch, next_hops, places),
                2 => self.take_least_ahead::<2>(switch, next_hops, places),
                3 => self.take_least_ahead::<3>(switch, next_hops, places),
                4 => self.take_least_ahead::<4>(switch, next_hops, places),
                5 => self.take_least_ahead::<5>(switch, next_hops, places),
                6 => self.take_least_ahead::<6>(switch, next_hops, places),
                _ => self.take_least_ahead_of(switch, next_hops, places),
            }
        }
    }

    /// Gives each tree the least ahead of `LEN` next hops.
    #[inline(always)]
    fn take_least_ahead<const LEN: usize>(
        &mut self,
        switch: SwitchIdx,
        next_hops: &[NextHop],
        places: &[Choice],
    ) {
        let Some(next_hops) = next_hops.first_chunk::<LEN>() else {
            return;
        };
        let part = share(self.expected[switch], LEN);
        let mut ahead = [0; LEN];
        for (ahead, next_hop) in ahead.iter_mut().zip(next_hops) {
            self.expected[next_hop.to()] += part;
            let split = &mut self.splits[next_hop.channel];
            split.even += part;
            *ahead = split.ahead - part as i64;
        }
        let routes = self.flow[switch];
        // What passes in one tree does not depend on where the others go.
        let passing = next_hops.map(|next_hop| self.flow[next_hop.to()]);
        for (tree, (place, routes)) in places.iter().zip(routes).enumerate() {
            let best = least(&ahead, &passing, tree);
            add_to(&mut ahead, best, routes);
            if let Some(next_hop) = next_hops.get(best) {
                place.take(next_hop.place());
                self.pass_on(next_hop, tree, routes);
            }
        }
        for (next_hop, ahead) in next_hops.iter().zip(ahead) {
            self.splits[next_hop.channel].ahead = ahead;
        }
    }

    /// As [`take_least_ahead`](Self::take_least_ahead), for any number of next hops.
    fn take_least_ahead_of(&mut self, switch: SwitchIdx, next_hops: &[NextHop], places: &[Choice]) {
        let part = share(self.expected[switch], next_hops.len());
        for next_hop in next_hops {
            self.expected[next_hop.to()] += part;
            let split = &mut self.splits[next_hop.channel];
            split.even += part;
            split.ahead -= part as i64;
        }
        let routes = self.flow[switch];
        for (tree, (place, routes)) in places.iter().zip(routes).enumerate() {
            let key = |next_hop: &&NextHop| {
                let passing = of_tree(&self.flow[next_hop.to()], tree);
                self.splits[next_hop.channel].ahead + passing as i64
            };
            if let Some(next_hop) = next_hops.iter().min_by_key(key) {
                self.splits[next_hop.channel].ahead += routes as i64;
                place.take(next_hop.place());
                self.pass_on(next_hop, tree, routes);
            }
        }
    }
}
