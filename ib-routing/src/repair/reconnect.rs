//! Reconnects the switches that lost their path to those that still have one.
//!
//! Towards one LID the kept entries form a tree around its owner, and broken pieces beside it. Switches of the pieces
//! join the tree one by one, those with the shortest path first. A switch keeps its entry if no path is shorter, and
//! otherwise takes the least loaded channel.

use alloc::{collections::BinaryHeap, vec::Vec};
use core::cmp::Reverse;

use ib_wire::Lid;

use super::{
    RepairError,
    lanes::Lanes,
    repairer::{Reader, Repairer},
    rule::Rule,
};
use crate::{
    algo::up_down::{DOWN, UP},
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::Destination,
    routes::SlTable,
    verify::walk::{LOOP, NO_CHANNEL},
};

/// The paths towards one LID, as far as they are found.
struct Growth<'d> {
    destination: &'d Destination,
    root: SwitchIdx,
    lid: Lid,
    /// Length of each switch's path; [`OUTSIDE`] if it has none.
    length: IdxVec<SwitchIdx, u32>,
    /// The first channel of each switch's path; [`NO_CHANNEL`] at the destination and if it has none.
    next: IdxVec<SwitchIdx, ChannelIdx>,
    /// The switches without a path at the beginning, although cables join them with the destination.
    cut_off: Vec<SwitchIdx>,
    /// The switches whose path was found, or measured, since the beginning.
    found: Vec<SwitchIdx>,
}

/// The memory of a growth, empty: the next one uses it again.
#[derive(Clone, Debug, Default)]
pub(super) struct Cleared {
    length: IdxVec<SwitchIdx, u32>,
    next: IdxVec<SwitchIdx, ChannelIdx>,
    found: Vec<SwitchIdx>,
}

impl Growth<'_> {
    /// Enters the path of a switch.
    fn enter(&mut self, switch: SwitchIdx, length: u32, next: ChannelIdx) {
        self.length[switch] = length;
        self.next[switch] = next;
        self.found.push(switch);
    }

    /// Takes the memory back, of a growth that began without any path.
    fn clear(mut self) -> Cleared {
        for &switch in &self.found {
            self.length[switch] = OUTSIDE;
            self.next[switch] = NO_CHANNEL;
        }
        self.found.clear();
        Cleared {
            length: self.length,
            next: self.next,
            found: self.found,
        }
    }

    /// The path that begins with a channel, whose end has a path.
    fn path<'a>(
        &'a self,
        fabric: &'a Fabric,
        first: ChannelIdx,
    ) -> impl Iterator<Item = ChannelIdx> + 'a {
        let mut next = first;
        core::iter::from_fn(move || {
            let here = (next != NO_CHANNEL).then_some(next)?;
            next = self.next[fabric.channel(here).to];
            Some(here)
        })
    }
}

/// The length that means that there is no path.
const OUTSIDE: u32 = u32::MAX;

/// Paths that a switch may take, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Down only, or any path where channels have no direction.
    Down,
    /// Up first.
    Up,
    /// Down and up again, between switches where no CA sends.
    Any,
}

impl Repairer<'_> {
    /// Gives every switch that cables join with the owner of `lid` a path.
    pub(super) fn reconnect(
        &mut self,
        destination: &Destination,
        lid: Lid,
        reader: &mut Reader,
        lanes: &mut Lanes,
    ) -> Result<(), RepairError> {
        let Some(root) = destination.switch else {
            return Ok(());
        };
        reader.follow(self, Some(destination), lid);
        let mut growth = self.kept(destination, root, lid, reader);
        self.unload(&growth, reader);
        let is_new = growth
            .length
            .iter()
            .filter(|&&length| length != OUTSIDE)
            .count()
            == 1;
        let SlTable::ByDestination(sls) = self.routes.sls() else {
            return self.grow(&mut growth, lanes);
        };
        if !is_new {
            return self.grow(&mut growth, lanes);
        }
        // No switch has a path yet, so any lane may be chosen.
        let (mut sls, mut last) = (sls.clone(), None);
        for sl in self.new_sls() {
            if let Some(entry) = sls.get_mut(usize::from(lid.0)) {
                *entry = sl;
            }
            let (vl_map, vls) = (self.routes.vl_map().clone(), self.routes.vls());
            self.routes
                .set_lanes(SlTable::ByDestination(sls.clone()), vl_map, vls);
            let before = (self.routes.clone(), self.load.clone());
            let mut growth = self.kept(destination, root, lid, reader);
            match self.grow(&mut growth, lanes) {
                Ok(()) => return Ok(()),
                Err(reason) => ((self.routes, self.load), last) = (before, Some(reason)),
            }
        }
        last.map_or(Ok(()), Err)
    }

    /// The paths that stay.
    fn kept<'d>(
        &self,
        destination: &'d Destination,
        root: SwitchIdx,
        lid: Lid,
        reader: &Reader,
    ) -> Growth<'d> {
        let switches = self.fabric.num_switches();
        let mut growth = Growth {
            destination,
            root,
            lid,
            length: IdxVec::filled(switches, OUTSIDE),
            next: IdxVec::filled(switches, NO_CHANNEL),
            cut_off: Vec::new(),
            found: Vec::new(),
        };
        for &switch in reader.walk.order.iter().rev() {
            if self.is_cut_off(root, switch, reader) || reader.hops(switch) >= LOOP {
                continue;
            }
            let channel = reader.next(switch);
            growth.length[switch] = if channel == NO_CHANNEL {
                0
            } else {
                growth.next[switch] = channel;
                growth.length[reader.table.to(channel)].saturating_add(self.weight(channel))
            };
        }
        let lengths = growth.length.iter_enumerated();
        let outside = lengths.filter(|&(_, &length)| length == OUTSIDE);
        let joined = |&switch: &SwitchIdx| self.parts[switch] == self.parts[root];
        growth.cut_off = outside.map(|(switch, _)| switch).filter(joined).collect();
        growth
    }

    /// Takes away the load of paths that are only too long, which the switches give up.
    fn unload(&mut self, growth: &Growth<'_>, reader: &Reader) {
        if growth.destination.is_switch() {
            return;
        }
        let arrives = |switch: &&SwitchIdx| reader.hops(**switch) < LOOP;
        for &switch in growth.cut_off.iter().filter(arrives) {
            let path: Vec<ChannelIdx> = self.path_from(reader.next(switch), growth.lid).collect();
            for channel in path {
                self.load[channel] -= self.senders[switch];
            }
        }
    }

    /// Gives the switches `cut_off` a path: all those whose path to `lid` is gone, in their order. The others
    /// have theirs, and none of these passes one that is cut off.
    pub(crate) fn reconnect_these(
        &mut self,
        destination: &Destination,
        lid: Lid,
        cut_off: &[SwitchIdx],
        lanes: &mut Lanes,
    ) -> Result<(), RepairError> {
        let Some(root) = destination.switch else {
            return Ok(());
        };
        let switches = self.fabric.num_switches();
        let mut memory = core::mem::take(&mut self.memory);
        if memory.length.len() != switches {
            memory.length = IdxVec::filled(switches, OUTSIDE);
            memory.next = IdxVec::filled(switches, NO_CHANNEL);
        }
        let mut growth = Growth {
            destination,
            root,
            lid,
            length: memory.length,
            next: memory.next,
            cut_off: cut_off.into(),
            found: memory.found,
        };
        let by_destination = matches!(self.routes.sls(), SlTable::ByDestination(_));
        if by_destination && cut_off.len() + 1 == switches {
            // No switch reaches the LID, so its lane would be chosen anew, and that cannot be undone.
            return Err(self.deadlock(&growth, root));
        }
        growth.enter(root, 0, NO_CHANNEL);
        let mut path = Vec::new();
        for &switch in cut_off {
            for (_, channel) in self.fabric.channels_from(switch) {
                let is_measured = growth.length[channel.to] != OUTSIDE;
                if !is_measured && cut_off.binary_search(&channel.to).is_err() {
                    self.measure_path(&mut growth, channel.to, &mut path);
                }
            }
        }
        let result = self.grow(&mut growth, lanes);
        self.memory = growth.clear();
        result
    }

    /// Measures the path of a switch that has one, and those of all switches on it.
    fn measure_path(
        &self,
        growth: &mut Growth<'_>,
        switch: SwitchIdx,
        path: &mut Vec<(SwitchIdx, ChannelIdx)>,
    ) {
        path.clear();
        let mut here = switch;
        while growth.length[here] == OUTSIDE && path.len() < self.fabric.num_switches() {
            let port = self.routes.port(here, growth.lid);
            let Some(channel) = self.fabric.channel_at(here, port) else {
                return;
            };
            path.push((here, channel));
            here = self.fabric.channel(channel).to;
        }
        let mut length = growth.length[here];
        for &(switch, channel) in path.iter().rev() {
            length = length.saturating_add(self.weight(channel));
            growth.enter(switch, length, channel);
        }
    }

    fn grow(&mut self, growth: &mut Growth<'_>, lanes: &mut Lanes) -> Result<(), RepairError> {
        let phases: &[Phase] = match self.rule {
            Rule::UpDown(_) => &[Phase::Down, Phase::Up, Phase::Any],
            Rule::Shortest | Rule::Free => &[Phase::Down],
        };
        for &phase in phases {
            let mut open = BinaryHeap::new();
            let mut left = false;
            for &switch in &growth.cut_off {
                if growth.length[switch] == OUTSIDE {
                    left = true;
                    open.extend(self.next_length(growth, phase, switch, 0));
                }
            }
            if !left {
                return Ok(());
            }
            while let Some(Reverse((length, switch))) = open.pop() {
                if growth.length[switch] != OUTSIDE {
                    continue;
                }
                let Some(channel) = self.choose(growth, phase, switch, length, lanes) else {
                    if matches!(self.rule, Rule::Shortest) {
                        return Err(self.deadlock(growth, switch));
                    }
                    open.extend(self.next_length(growth, phase, switch, length + 1));
                    continue;
                };
                let mut joined = Vec::from([(switch, channel, length)]);
                while let Some((switch, channel, length)) = joined.pop() {
                    self.join(growth, switch, channel, length);
                    for (_, channel) in self.fabric.channels_from(switch) {
                        let (back, from) = (channel.reverse, channel.to);
                        if growth.length[from] != OUTSIDE || !self.allows(growth, phase, back) {
                            continue;
                        }
                        let length = length + self.weight(back);
                        if self.may_follow(growth, back, lanes) {
                            joined.push((from, back, length));
                        } else {
                            open.push(Reverse((length, from)));
                        }
                    }
                }
            }
        }
        let mut cut_off = growth.cut_off.iter().copied();
        let lost = cut_off.find(|&switch| growth.length[switch] == OUTSIDE);
        match lost {
            None => Ok(()),
            Some(switch) if matches!(self.rule, Rule::UpDown(_)) => Err(RepairError::NoPath {
                from: self.fabric.switch_guid(switch),
                to: growth.lid,
            }),
            Some(switch) => Err(self.deadlock(growth, switch)),
        }
    }

    /// Returns true if a switch that came through one that has just joined stays with it: where paths need not be
    /// the shortest, a longer one in place is better than a shorter one elsewhere.
    fn may_follow(&self, growth: &Growth<'_>, channel: ChannelIdx, lanes: &mut Lanes) -> bool {
        let (from, lid) = (self.fabric.channel(channel), growth.lid);
        if !matches!(self.rule, Rule::Free) || self.routes.port(from.from, lid) != from.port {
            return false;
        }
        let mask = self.protected_lanes(lanes, from.from, growth.destination, lid);
        lanes.admit_path(mask, growth.path(self.fabric, channel))
    }

    /// The shortest path of a switch that has a length of at least `least` links.
    fn next_length(
        &self,
        growth: &Growth<'_>,
        phase: Phase,
        switch: SwitchIdx,
        least: u32,
    ) -> Option<Reverse<(u32, SwitchIdx)>> {
        let mut shortest = OUTSIDE;
        for (index, channel) in self.fabric.channels_from(switch) {
            if self.allows(growth, phase, index) {
                let length = growth.length[channel.to] + self.weight(index);
                if (least..shortest).contains(&length) {
                    shortest = length;
                }
            }
        }
        (shortest != OUTSIDE).then_some(Reverse((shortest, switch)))
    }

    /// Returns true if a switch outside may join by `channel`.
    fn allows(&self, growth: &Growth<'_>, phase: Phase, channel: ChannelIdx) -> bool {
        let ends = self.fabric.channel(channel);
        if growth.length[ends.to] == OUTSIDE || self.dead.contains(&channel) {
            return false;
        }
        match (self.rule, phase) {
            (Rule::UpDown(classes), Phase::Down) => {
                classes[channel] == DOWN && !self.is_up(growth.next[ends.to])
            }
            (Rule::UpDown(classes), Phase::Up) => classes[channel] == UP,
            (Rule::UpDown(_), Phase::Any) => {
                let between_cas = self.senders[ends.from] > 0 && self.senders[growth.root] > 0;
                !between_cas || self.options.connect_roots
            }
            _ => true,
        }
    }

    /// The channel by which a switch joins: its old one if that is permitted, else the least loaded one on its own
    /// lane, else one on another lane. Where no CA sends, a channel that may deadlock is better than none.
    fn choose(
        &mut self,
        growth: &Growth<'_>,
        phase: Phase,
        switch: SwitchIdx,
        length: u32,
        lanes: &mut Lanes,
    ) -> Option<ChannelIdx> {
        let lid = growth.lid;
        let joins = |channel: ChannelIdx| {
            let to = self.fabric.channel(channel).to;
            self.allows(growth, phase, channel)
                && growth.length[to] + self.weight(channel) == length
        };
        let mask = self.protected_lanes(lanes, switch, growth.destination, lid);
        let path = |channel| growth.path(self.fabric, channel);
        let now = self
            .fabric
            .channel_at(switch, self.routes.port(switch, lid));
        let now = now.filter(|&channel| joins(channel));
        // Most switches lost a cable farther along their path, so they keep their entry.
        if let Some(channel) = now.filter(|&channel| lanes.admit_path(mask, path(channel))) {
            return Some(channel);
        }
        let mut channels = Vec::with_capacity(self.fabric.channels_from(switch).len());
        for (channel, _) in self.fabric.channels_from(switch) {
            if joins(channel) {
                let busiest = self.busiest_on(growth, channel);
                channels.push((Some(channel) != now, busiest, self.load[channel], channel));
            }
        }
        channels.sort_unstable();
        let own = channels
            .iter()
            .find(|&&(.., channel)| lanes.admit_path(mask, path(channel)));
        if let Some(&(.., channel)) = own {
            return Some(channel);
        }
        if let Some(at) = self.sl_entry(switch, lid) {
            for &(.., channel) in &channels {
                for sl in self.new_sls() {
                    if lanes.admit_path(1 << self.lane(sl), path(channel)) {
                        self.set_level(at, sl);
                        return Some(channel);
                    }
                }
            }
        }
        let between_cas = self.senders[switch] > 0 && !growth.destination.is_switch();
        channels
            .first()
            .filter(|_| !between_cas)
            .map(|&(.., channel)| channel)
    }

    /// The highest load on the path that begins with a channel, whose end has a path.
    fn busiest_on(&self, growth: &Growth<'_>, first: ChannelIdx) -> u64 {
        let (mut busiest, mut next) = (0, first);
        while next != NO_CHANNEL {
            busiest = busiest.max(self.load[next]);
            next = growth.next[self.fabric.channel(next).to];
        }
        busiest
    }

    /// Writes the entry of a switch that has found a path.
    fn join(
        &mut self,
        growth: &mut Growth<'_>,
        switch: SwitchIdx,
        channel: ChannelIdx,
        length: u32,
    ) {
        growth.enter(switch, length, channel);
        let port = self.fabric.channel(channel).port;
        self.set_port(switch, growth.lid, port);
        if !growth.destination.is_switch() && self.senders[switch] > 0 {
            for channel in growth.path(self.fabric, channel) {
                self.load[channel] += self.senders[switch];
            }
        }
    }

    /// Returns true if the rule is Up*/Down* and the channel goes up. [`NO_CHANNEL`] does not.
    fn is_up(&self, channel: ChannelIdx) -> bool {
        matches!(self.rule, Rule::UpDown(classes) if classes.find(channel) == Some(&UP))
    }

    fn deadlock(&self, growth: &Growth<'_>, switch: SwitchIdx) -> RepairError {
        RepairError::Deadlock {
            from: self.fabric.switch_guid(switch),
            to: growth.lid,
        }
    }
}
