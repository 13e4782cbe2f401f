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
    growth::{Cleared, Growth, NEVER, Others, Place},
    lanes::Lanes,
    repairer::{Reader, Repairer},
    rule::Rule,
};
use crate::{
    algo::up_down::{DOWN, UP},
    fabric::Channel,
    index::{ChannelIdx, SwitchIdx},
    lid::Destination,
    routes::SlTable,
    verify::walk::{LOOP, NO_CHANNEL},
};

/// Switches that wait to join, the one with the shortest path first, with the length of this path.
pub(super) type Waiting = BinaryHeap<Reverse<(u32, SwitchIdx)>>;

/// Paths that a switch may take, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
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
        let SlTable::ByDestination(sls) = self.routes.sls() else {
            return self.grow(&mut growth, lanes);
        };
        if growth.num_found() != 1 {
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
        let (end, switches) = ((destination, root, lid), self.fabric.num_switches());
        let mut growth = Growth::new(end, &[], Others::NONE, switches, Cleared::default());
        for &switch in reader.walk.order.iter().rev() {
            if self.is_cut_off(root, switch, reader) || reader.hops(switch) >= LOOP {
                continue;
            }
            let channel = reader.next(switch);
            if channel == NO_CHANNEL {
                growth.enter(switch, 0, NO_CHANNEL);
            } else if let Some((length, _)) = growth.found(reader.table.to(channel)) {
                growth.enter(switch, length + self.weight(channel), channel);
            }
        }
        let joined = |&switch: &SwitchIdx| self.parts[switch] == self.parts[root];
        let cut_off: Vec<SwitchIdx> = growth.unknown().filter(joined).collect();
        growth.cut_off(cut_off.into_iter());
        growth
    }

    /// Takes away the load of paths that are only too long, which the switches give up.
    fn unload(&mut self, growth: &Growth<'_>, reader: &Reader) {
        if growth.destination.is_switch() {
            return;
        }
        let arrives = |switch: &&SwitchIdx| reader.hops(**switch) < LOOP;
        for &switch in growth.were_cut_off().iter().filter(arrives) {
            let path: Vec<ChannelIdx> = self.path_from(reader.next(switch), growth.lid).collect();
            for channel in path {
                self.load[channel] -= self.senders[switch];
            }
        }
    }

    /// Gives the switches `cut_off` a path: all those whose path to `lid` is gone, in their order. The others
    /// have theirs, which begin with the channel that `in_place` gives, [`NO_CHANNEL`] at the end. None of these passes one
    /// that is cut off.
    pub(crate) fn reconnect_these(
        &mut self,
        destination: &Destination,
        lid: Lid,
        cut_off: &[SwitchIdx],
        in_place: &dyn Fn(SwitchIdx) -> ChannelIdx,
        lanes: &mut Lanes,
    ) -> Result<(), RepairError> {
        let Some(root) = destination.switch else {
            return Ok(());
        };
        let switches = self.fabric.num_switches();
        let memory = core::mem::take(&mut self.memory);
        let known = self.lengths.clone();
        let lengths = known.as_ref().and_then(|known| known.of(lid));
        let others = Others {
            next: in_place,
            lengths: lengths.unwrap_or_default(),
        };
        let mut growth = Growth::new((destination, root, lid), cut_off, others, switches, memory);
        let by_destination = matches!(self.routes.sls(), SlTable::ByDestination(_));
        if by_destination && cut_off.len() + 1 == switches {
            // No switch reaches the LID, so its lane would be chosen anew, and that cannot be undone.
            return Err(self.deadlock(&growth, root));
        }
        growth.enter(root, 0, NO_CHANNEL);
        let result = self.grow(&mut growth, lanes);
        self.memory = growth.clear();
        result
    }

    /// Measures the path of a switch that has one, and those of all switches on it.
    fn measure_path(&self, growth: &mut Growth<'_>, switch: SwitchIdx) {
        let to = |channel| self.fabric.channel(channel).to;
        growth.measure(switch, to, |channel| self.weight(channel));
    }

    fn grow(&mut self, growth: &mut Growth<'_>, lanes: &mut Lanes) -> Result<(), RepairError> {
        let phases: &[Phase] = match self.rule {
            Rule::UpDown(_) => &[Phase::Down, Phase::Up, Phase::Any],
            Rule::Shortest | Rule::Free => &[Phase::Down],
        };
        for &phase in phases {
            if growth.is_whole() {
                return Ok(());
            }
            let mut open = core::mem::take(&mut self.open);
            open.clear();
            for at in 0..growth.were_cut_off().len() {
                if let Some(&switch) = growth.were_cut_off().get(at)
                    && growth.is_cut_off(switch)
                {
                    self.wait(growth, phase, switch, 0, &mut open);
                }
            }
            while let Some(Reverse((length, switch))) = open.pop() {
                if !growth.is_cut_off(switch) {
                    continue;
                }
                let Some(channel) = self.choose(growth, phase, switch, length, lanes) else {
                    if matches!(self.rule, Rule::Shortest) {
                        return Err(self.deadlock(growth, switch));
                    }
                    self.wait(growth, phase, switch, length + 1, &mut open);
                    continue;
                };
                let mut joined = Vec::new();
                let mut last = Some((switch, channel, length));
                while let Some((switch, channel, length)) = last {
                    self.join(growth, switch, channel, length);
                    if !growth.is_whole() {
                        self.invite(growth, phase, switch, lanes, &mut joined, &mut open);
                    }
                    last = joined.pop();
                }
            }
            self.open = open;
        }
        let mut cut_off = growth.were_cut_off().iter().copied();
        match cut_off.find(|&switch| growth.is_cut_off(switch)) {
            None => Ok(()),
            Some(switch) if matches!(self.rule, Rule::UpDown(_)) => Err(RepairError::NoPath {
                from: self.fabric.switch_guid(switch),
                to: growth.lid,
            }),
            Some(switch) => Err(self.deadlock(growth, switch)),
        }
    }

    /// Lets a switch that is cut off wait for the shortest path of at least `least` links, if there is one.
    fn wait(
        &self,
        growth: &mut Growth<'_>,
        phase: Phase,
        switch: SwitchIdx,
        least: u32,
        open: &mut Waiting,
    ) {
        let mut shortest = NEVER;
        let mut offer = |length: u32| {
            if (least..shortest).contains(&length) {
                shortest = length;
            }
        };
        let channels = self.fabric.channels_from(switch);
        if self.takes_all() && growth.knows_lengths() {
            // A plain loop: all neighbors of each switch that is cut off are examined here.
            for (_, channel) in channels {
                debug_assert!(self.has_known_length(growth, channel.to));
                offer(growth.length(channel.to).map_or(NEVER, |length| length + 1));
            }
        } else {
            for (index, channel) in channels {
                if growth.is_unmeasured(channel.to) {
                    self.measure_path(growth, channel.to);
                }
                debug_assert!(self.has_known_length(growth, channel.to));
                if let Some(length) = growth.length(channel.to) {
                    offer(self.length_by(growth, phase, (index, channel), length));
                }
            }
        }
        growth.wait_for(switch, shortest);
        if shortest != NEVER {
            open.push(Reverse((shortest, switch)));
        }
    }

    fn has_known_length(&self, growth: &Growth<'_>, switch: SwitchIdx) -> bool {
        growth.has_known_length(switch, |next| self.fabric.channel(next).to)
    }

    /// Returns true if a switch may join by any of its channels, each of which adds one link to the path.
    pub(super) fn takes_all(&self) -> bool {
        let has_directions = matches!(self.rule, Rule::UpDown(_));
        !has_directions && self.dead.is_empty() && self.has_unit_lengths()
    }

    /// Offers a path over a switch that has just joined to the neighbors that are cut off. Those that stay with it are added
    /// to `joined`; the others wait, if no shorter path waits for them already.
    fn invite(
        &self,
        growth: &mut Growth<'_>,
        phase: Phase,
        switch: SwitchIdx,
        lanes: &mut Lanes,
        joined: &mut Vec<(SwitchIdx, ChannelIdx, u32)>,
        open: &mut Waiting,
    ) {
        let Some(rest) = growth.length(switch) else {
            return;
        };
        for (_, channel) in self.fabric.channels_from(switch) {
            let (back, from) = (channel.reverse, channel.to);
            let Place::CutOff { waits } = growth.place(from) else {
                continue;
            };
            let ends = self.fabric.channel(back);
            let length = self.length_by(growth, phase, (back, ends), rest);
            if length == NEVER {
                continue;
            }
            if self.may_follow(growth, back, lanes) {
                joined.push((from, back, length));
            } else if length < waits {
                growth.wait_for(from, length);
                open.push(Reverse((length, from)));
            }
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
        self.admit_path(growth, mask, channel, lanes)
    }

    /// The length of the path of a switch that is cut off, if it joins by a channel; [`NEVER`] if it may not join by it.
    /// `rest` is the length of the path at the channel's end.
    #[inline]
    pub(super) fn length_by(
        &self,
        growth: &Growth<'_>,
        phase: Phase,
        (index, channel): (ChannelIdx, &Channel),
        rest: u32,
    ) -> u32 {
        let is_allowed = match self.rule {
            Rule::UpDown(classes) => self.allows(growth, phase, classes[index], channel),
            Rule::Shortest | Rule::Free => true,
        };
        if is_allowed && self.dead.iter().all(|&dead| dead != index) {
            rest.saturating_add(self.weight(index))
        } else {
            NEVER
        }
    }

    /// Returns true if Up*/Down* routing lets a switch join by a channel of this class in this phase.
    #[inline(never)]
    fn allows(&self, growth: &Growth<'_>, phase: Phase, class: u8, channel: &Channel) -> bool {
        match phase {
            Phase::Down => class == DOWN && !self.is_up(growth.next(channel.to)),
            Phase::Up => class == UP,
            Phase::Any => {
                let between_cas = self.senders[channel.from] > 0 && self.senders[growth.root] > 0;
                !between_cas || self.options.connect_roots
            }
        }
    }

    /// Adds the dependencies of the path that begins with a channel, on each lane in `mask`; false if one of them would
    /// close a cycle.
    pub(super) fn admit_path(
        &self,
        growth: &Growth<'_>,
        mask: u16,
        first: ChannelIdx,
        lanes: &mut Lanes,
    ) -> bool {
        let to = self.fabric.channel(first).to;
        // The rest of the path was admitted when the switch there joined, or for the routes that are kept.
        let rest = self.protected_lanes(lanes, to, growth.destination, growth.lid);
        let is_known = !growth.is_unsafe() && mask & !rest == 0;
        let links = if is_known { 2 } else { usize::MAX };
        let path = || self.growing_path(growth, first);
        let admitted = lanes.admit_path(mask, path().take(links));
        debug_assert!(!admitted || lanes.admit_path(mask, path()));
        admitted
    }

    /// The path that begins with a channel, whose end has a path.
    #[inline]
    pub(super) fn growing_path(
        &self,
        growth: &Growth<'_>,
        first: ChannelIdx,
    ) -> impl Iterator<Item = ChannelIdx> {
        let mut last = None;
        core::iter::from_fn(move || {
            let next = match last {
                None => first,
                Some(last) => growth.next(self.fabric.channel(last).to),
            };
            last = (next != NO_CHANNEL).then_some(next);
            last
        })
        .fuse()
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
            let mut next = channel;
            while next != NO_CHANNEL {
                self.load[next] += self.senders[switch];
                next = growth.next(self.fabric.channel(next).to);
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
