//! Chooses the channel by which a switch joins the paths to a LID.

use alloc::vec::Vec;

use super::{growth::Growth, lanes::Lanes, reconnect::Phase, repairer::Repairer};
use crate::{
    fabric::Channel,
    index::{ChannelIdx, SwitchIdx},
    verify::walk::NO_CHANNEL,
};

impl Repairer<'_> {
    /// The channel by which a switch joins: its old one if that is permitted, else the least loaded one on its own
    /// lane, else one on another lane. Where no CA sends, a channel that may deadlock is better than none.
    pub(super) fn choose(
        &mut self,
        growth: &mut Growth<'_>,
        phase: Phase,
        switch: SwitchIdx,
        length: u32,
        lanes: &mut Lanes,
    ) -> Option<ChannelIdx> {
        let lid = growth.lid;
        let joins = |channel: ChannelIdx, ends: &Channel| {
            let rest = growth.length(ends.to);
            rest.is_some_and(|rest| self.length_by(growth, phase, (channel, ends), rest) == length)
        };
        let mask = self.protected_lanes(lanes, switch, growth.destination, lid);
        let now = self
            .fabric
            .channel_at(switch, self.routes.port(switch, lid));
        let now = now.filter(|&channel| joins(channel, self.fabric.channel(channel)));
        // Most switches lost a cable farther along their path, so they keep their entry.
        if let Some(channel) = now.filter(|&channel| self.admit_path(growth, mask, channel, lanes))
        {
            return Some(channel);
        }
        let mut candidates = core::mem::take(&mut self.candidates);
        self.list_candidates(growth, phase, switch, length, &mut candidates);
        let chosen = self.choose_among(growth, (switch, mask, now), &mut candidates, lanes);
        self.candidates = candidates;
        chosen
    }

    /// The channels by which a switch has a path of this length, each with its load.
    fn list_candidates(
        &self,
        growth: &Growth<'_>,
        phase: Phase,
        switch: SwitchIdx,
        length: u32,
        candidates: &mut Vec<(u64, ChannelIdx)>,
    ) {
        candidates.clear();
        let channels = self.fabric.channels_from(switch);
        // Plain loops: most of what the switches cost that cannot keep their entry is spent here.
        if let Some(rest) = length.checked_sub(1).filter(|_| self.takes_all()) {
            for (channel, ends) in channels {
                if growth.length(ends.to) == Some(rest) {
                    candidates.push((self.load[channel], channel));
                }
            }
            return;
        }
        for (channel, ends) in channels {
            if let Some(rest) = growth.length(ends.to)
                && self.length_by(growth, phase, (channel, ends), rest) == length
            {
                candidates.push((self.load[channel], channel));
            }
        }
    }

    /// As [`choose`](Self::choose), for a switch whose packets are protected on the lanes in `mask`. `now` is its old channel,
    /// if that is among the candidates; it was refused.
    fn choose_among(
        &mut self,
        growth: &mut Growth<'_>,
        (switch, mask, now): (SwitchIdx, u16, Option<ChannelIdx>),
        candidates: &mut [(u64, ChannelIdx)],
        lanes: &mut Lanes,
    ) -> Option<ChannelIdx> {
        // The best one is permitted in most cases, so the others are not sorted before.
        if now.is_none()
            && let Some(channel) = self.least_busy(growth, candidates)
            && self.admit_path(growth, mask, channel, lanes)
        {
            return Some(channel);
        }
        let mut channels: Vec<_> = candidates
            .iter()
            .map(|&(load, channel)| {
                let busiest = self.busiest_on(growth, channel);
                (Some(channel) != now, busiest, load, channel)
            })
            .collect();
        channels.sort_unstable();
        // The first one was refused.
        let mut others = channels.iter().skip(1).map(|&(.., channel)| channel);
        let own = others.find(|&channel| self.admit_path(growth, mask, channel, lanes));
        if own.is_some() {
            return own;
        }
        if let Some(at) = self.sl_entry(switch, growth.lid) {
            for &(.., channel) in &channels {
                for sl in self.new_sls() {
                    if self.admit_path(growth, 1 << self.lane(sl), channel, lanes) {
                        self.set_level(at, sl);
                        return Some(channel);
                    }
                }
            }
        }
        let between_cas = self.senders[switch] > 0 && !growth.destination.is_switch();
        let first = channels.first().filter(|_| !between_cas);
        let &(.., channel) = first?;
        growth.note_unsafe();
        Some(channel)
    }

    /// The channel of those given, each with its load, whose path is the least busy one: by its highest load, then by the load
    /// of the channel. The ends of all have paths.
    fn least_busy(
        &self,
        growth: &Growth<'_>,
        channels: &mut [(u64, ChannelIdx)],
    ) -> Option<ChannelIdx> {
        // The one that is the least busy itself is followed first: it is often the best one, and then the others are not
        // followed far.
        let first = channels.iter().enumerate().min_by_key(|&(_, key)| key);
        if let Some((first, _)) = first {
            channels.swap(0, first);
        }
        let mut best = (u64::MAX, u64::MAX, NO_CHANNEL);
        for &mut (load, channel) in channels {
            let (mut busiest, mut next) = (load, channel);
            // A path is followed as long as it can still be the best one.
            while (busiest, load, channel) < best {
                next = growth.next(self.fabric.channel(next).to);
                if next == NO_CHANNEL {
                    best = (busiest, load, channel);
                    break;
                }
                busiest = busiest.max(self.load[next]);
            }
        }
        let (.., channel) = best;
        (channel != NO_CHANNEL).then_some(channel)
    }

    /// The highest load on the path that begins with a channel, whose end has a path.
    fn busiest_on(&self, growth: &Growth<'_>, first: ChannelIdx) -> u64 {
        let path = self.growing_path(growth, first);
        path.fold(0, |busiest, channel| busiest.max(self.load[channel]))
    }
}
