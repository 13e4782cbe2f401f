//! Local backtracking: where a switch has no path, a neighbour takes another one.

use super::{NONE, Paths, UNSETTLED, channels_from};
use crate::{
    algo::channel_graph::ChannelGraph,
    index::{ChannelIdx, SwitchIdx},
};

impl Paths<'_> {
    /// Finds paths from the switches that are stuck over neighbours that leave theirs; false if some are left.
    pub(super) fn backtrack(&mut self, lane: &mut ChannelGraph, target: SwitchIdx) -> bool {
        let fabric = self.fabric;
        let freed = self.free_stuck(|paths, switch| {
            paths.take_lightest(switch, channels_from(fabric, switch), lane)
                || channels_from(fabric, switch)
                    .any(|channel| paths.turn_end(channel, target, lane))
        });
        if freed {
            self.settle_again(target);
        }
        freed
    }

    /// Lets the switch at the end of a channel take another next hop, one that the channel admits, and its
    /// start the channel.
    fn turn_end(
        &mut self,
        channel: ChannelIdx,
        target: SwitchIdx,
        lane: &mut ChannelGraph,
    ) -> bool {
        let fabric = self.fabric;
        let ends = fabric.channel(channel);
        if self.from[ends.to].hops == UNSETTLED {
            return false;
        }
        let fitting = channels_from(fabric, ends.to).find(|&other| {
            let to = fabric.channel(other).to;
            other != self.from[ends.to].channel
                && self.from[to].hops != UNSETTLED
                && !lane.refuses(channel, other)
                && !self.passes(to, ends.to)
                && (to == target || lane.admit(other, self.from[to].channel))
                && self.follows_all(other, ends.to, lane)
                && lane.admit(channel, other)
        });
        if let Some(other) = fitting {
            self.from[ends.to].channel = other;
            self.settle(ends.from, channel);
        }
        fitting.is_some()
    }

    /// Returns true if a channel may follow all those on which paths lead to a switch.
    fn follows_all(&self, channel: ChannelIdx, switch: SwitchIdx, lane: &mut ChannelGraph) -> bool {
        let mut channels = self.fabric.channels_from(switch);
        channels.all(|(_, ends)| {
            self.from[ends.to].hops == UNSETTLED
                || self.from[ends.to].channel != ends.reverse
                || lane.admit(ends.reverse, channel)
        })
    }

    /// Returns true if the path from a switch passes another one.
    fn passes(&self, mut switch: SwitchIdx, other: SwitchIdx) -> bool {
        while switch != other && self.from[switch].channel != NONE {
            switch = self.fabric.channel(self.from[switch].channel).to;
        }
        switch == other
    }

    /// Lists the switches with a path anew, next hops first, by the channels that they take.
    pub(super) fn settle_again(&mut self, target: SwitchIdx) {
        let fabric = self.fabric;
        self.settled.clear();
        self.settled.push(target);
        let mut at = 0;
        while let Some(&switch) = self.settled.get(at) {
            at += 1;
            for (_, ends) in fabric.channels_from(switch) {
                let taken = self.from[ends.to].hops != UNSETTLED
                    && self.from[ends.to].channel == ends.reverse;
                if taken && ends.to != target {
                    self.settle(ends.to, ends.reverse);
                }
            }
        }
    }
}
