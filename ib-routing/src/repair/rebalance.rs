//! Moves routes from busy links to idle ones, up to a given number.
//!
//! One entry moves at a time, from the busiest link that has a better alternative: with it moves all
//! traffic that comes through the switch. The new path is as long as the old one, obeys the engine's
//! rule, and is less loaded afterwards than the old one was.

use alloc::vec::Vec;

use ib_wire::{Lid, PortNum};

use super::{
    lanes::{Lanes, Protected},
    repairer::{Reader, Repairer},
    rule::Rule,
};
use crate::{
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::Destination,
    verify::walk::{LOOP, NO_CHANNEL},
};

impl Repairer<'_> {
    /// Moves up to `most` entries; returns how many.
    pub(super) fn rebalance(&mut self, most: usize, reader: &mut Reader, lanes: &mut Lanes) -> u64 {
        let mut moved = 0;
        // Links without a better path for any of their routes. The list is cleared when a route moves.
        let mut stuck = IdxVec::<ChannelIdx, bool>::filled(self.load.len(), false);
        while moved < most {
            let channels = self.load.iter_enumerated().filter(|&(at, _)| !stuck[at]);
            let Some((busiest, _)) = channels.max_by_key(|&(at, &load)| (load, at)) else {
                break;
            };
            if self.load[busiest] == 0 {
                break;
            }
            if self.relieve(busiest, reader, lanes) {
                moved += 1;
            } else {
                stuck[busiest] = true;
            }
        }
        moved as u64
    }

    /// Moves one entry away from a channel, if one has a better path.
    fn relieve(&mut self, busy: ChannelIdx, reader: &mut Reader, lanes: &mut Lanes) -> bool {
        let lids = self.lids;
        let from = *self.fabric.channel(busy);
        for destination in lids.destinations().iter().filter(|end| !end.is_switch()) {
            for lid in destination.range.iter() {
                if self.routes.port(from.from, lid) != from.port {
                    continue;
                }
                let alternatives = self.alternatives(busy, from.from, lid);
                if alternatives.is_empty() {
                    continue;
                }
                reader.forget();
                reader.follow(self, Some(destination), lid);
                let (flow, mask) = self.passing(destination, lid, reader, lanes);
                let better = |&alternative: &ChannelIdx| {
                    self.load_of(alternative, lid) + flow[from.from] < self.load_of(busy, lid)
                };
                let found = alternatives
                    .into_iter()
                    .filter(better)
                    .find(|&alternative| {
                        self.admit_turn(alternative, from.from, lid, &mask, reader, lanes)
                    });
                if let Some(alternative) = found {
                    self.shift(busy, alternative, lid, flow[from.from]);
                    return true;
                }
            }
        }
        false
    }

    /// Other first channels of paths from `switch` that are as long, obey the same rule and carry less.
    fn alternatives(&self, busy: ChannelIdx, switch: SwitchIdx, lid: Lid) -> Vec<ChannelIdx> {
        let length = |first| -> u32 { self.path_from(first, lid).map(|at| self.weight(at)).sum() };
        let limit = self.load_of(busy, lid);
        let old = length(busy);
        let alternatives = self
            .fabric
            .channels_from(switch)
            .filter(|&(index, channel)| {
                let passes = self
                    .routes
                    .path(self.fabric, channel.to, lid)
                    .any(|(at, _)| at == switch);
                index != busy
                    && self.load[index] < limit
                    && !passes
                    && self.arrives(channel.to, lid)
                    && length(index) == old
                    && self.is_same_direction(busy, index, lid)
                    && self.load_of(index, lid) < limit
            });
        alternatives.map(|(index, _)| index).collect()
    }

    fn arrives(&self, switch: SwitchIdx, lid: Lid) -> bool {
        let owner = self.lids.owner(lid);
        let exit = owner.and_then(|owner| Some((owner.switch?, owner.exit)));
        exit.is_some() && self.routes.path(self.fabric, switch, lid).last() == exit
    }

    /// Returns true if packets that arrive in the direction of `busy` may go on by `channel`.
    fn is_same_direction(&self, busy: ChannelIdx, channel: ChannelIdx, lid: Lid) -> bool {
        let Rule::UpDown(classes) = self.rule else {
            return true;
        };
        let next = |channel| self.path_from(channel, lid).nth(1).map(|at| classes[at]);
        let falls = next(channel).is_none_or(|next| next == crate::algo::up_down::DOWN);
        classes[busy] == classes[channel] && (classes[channel] == crate::algo::up_down::UP || falls)
    }

    /// The highest load on a path, from its first channel on.
    fn load_of(&self, first: ChannelIdx, lid: Lid) -> u64 {
        let loads = self.path_from(first, lid).map(|at| self.load[at]);
        loads.max().unwrap_or(0)
    }

    /// LIDs of CAs whose packets to `lid` pass each switch, and the lanes to protect.
    fn passing(
        &self,
        destination: &Destination,
        lid: Lid,
        reader: &Reader,
        lanes: &Lanes,
    ) -> (IdxVec<SwitchIdx, u64>, IdxVec<SwitchIdx, u16>) {
        let mut flow = self.senders.clone();
        let switches = self.fabric.switches().indices();
        let mut mask: IdxVec<SwitchIdx, u16> = switches
            .map(|switch| self.protected_lanes(lanes, switch, destination, lid))
            .collect();
        for &switch in &reader.walk.order {
            let channel = reader.next(switch);
            if channel != NO_CHANNEL && reader.hops(switch) < LOOP {
                let (more, bits) = (flow[switch], mask[switch]);
                let to = reader.table.to(channel);
                flow[to] += more;
                mask[to] |= bits;
            }
        }
        (flow, mask)
    }

    /// Adds the dependencies that packets to `lid` would have if `switch` sent them by `alternative`; false
    /// if they could deadlock.
    fn admit_turn(
        &self,
        alternative: ChannelIdx,
        switch: SwitchIdx,
        lid: Lid,
        mask: &IdxVec<SwitchIdx, u16>,
        reader: &Reader,
        lanes: &mut Lanes,
    ) -> bool {
        let mut into = self.fabric.channels_from(switch).filter_map(|(_, out)| {
            let channel = self.fabric.channel(out.reverse);
            let here = reader.next(channel.from) == out.reverse;
            here.then_some((out.reverse, mask[channel.from]))
        });
        lanes.protected() == Protected::Nothing
            || (lanes.admit_path(mask[switch], self.path_from(alternative, lid))
                && into.all(|(channel, mask)| lanes.admit(mask, channel, alternative)))
    }

    /// Moves the entry and the load on the rest of the path.
    fn shift(&mut self, busy: ChannelIdx, alternative: ChannelIdx, lid: Lid, flow: u64) {
        let old: Vec<ChannelIdx> = self.path_from(busy, lid).collect();
        let new: Vec<ChannelIdx> = self.path_from(alternative, lid).collect();
        for channel in old {
            self.load[channel] -= flow;
        }
        for channel in new {
            self.load[channel] += flow;
        }
        let (switch, port): (SwitchIdx, PortNum) = {
            let channel = self.fabric.channel(alternative);
            (channel.from, channel.port)
        };
        self.routes.set_port(switch, lid, port);
    }
}
