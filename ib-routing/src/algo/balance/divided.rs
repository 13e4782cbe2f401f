//! Trees chosen by several threads, each for a part of the switches.
//!
//! A switch chooses by the loads of its own channels, by the weights of switches nearer to the target, and by the routes
//! that come from switches farther away. So each thread keeps the loads of the channels that leave the switches of its
//! part. All threads work on the switches of one distance from the target at the same time, and then on those of the next.
//! In between they exchange the weights and the routes of switches with neighbours in other parts. The trees are those that
//! one thread chooses.

mod crossing;
mod exchange;

use alloc::vec::Vec;
use core::{iter::Copied, ops::Range, slice};

use self::{crossing::Crossing, exchange::Exchange};
use super::{
    parts,
    tree_chooser::{TreeChooser, Visit},
};
use crate::{
    algo::parallel::Lockstep,
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
};

/// The treatment of the trees of each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// Each switch takes its first channel.
    First,
    /// Trees are chosen by load.
    ByLoad,
    /// The load of chosen trees is taken back, and then they are chosen again.
    Again,
}

impl Pass {
    /// The work at the switches, in this order.
    const fn works(self) -> &'static [Work] {
        match self {
            Self::First => &[Work::AssignFirst],
            Self::ByLoad => &[Work::Weigh, Work::Assign],
            Self::Again => &[Work::Unassign, Work::Weigh, Work::Assign],
        }
    }
}

/// Work at all switches, one distance after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// [`TreeChooser::weigh`], the nearest switches first.
    Weigh,
    /// [`TreeChooser::assign`], the farthest switches first, as in what follows.
    Assign,
    /// [`TreeChooser::assign_first`].
    AssignFirst,
    /// [`TreeChooser::unassign`].
    Unassign,
}

/// Work on the switches of one distance.
#[derive(Clone, Copy, Debug)]
struct Step<'a> {
    visit: Visit<'a>,
    work: Work,
    level: usize,
}

impl<'a> Step<'a> {
    /// The steps of a visit.
    fn of(pass: Pass, visit: Visit<'a>) -> impl Iterator<Item = Self> {
        let levels = visit.towards.levels().len();
        pass.works().iter().flat_map(move |&work| {
            (0..levels).map(move |at| Self {
                visit,
                work,
                level: match work {
                    Work::Weigh => at,
                    _ => levels - 1 - at,
                },
            })
        })
    }

    /// Returns true if a part can go on from one step to the next while others are still busy with the first.
    ///
    /// Weights begin at the nearest switches, and need nothing but the target. Routes begin at the farthest, to which none
    /// come from others. And no weights are exchanged where routes are, so neither are written before they are read.
    fn is_followed_at_once(&self, next: &Self) -> bool {
        (self.work == Work::Weigh) != (next.work == Work::Weigh)
    }
}

/// Chooses trees by parts of the switches.
#[derive(Debug)]
pub(super) struct Divided {
    parts: Vec<Part>,
    part_of: IdxVec<SwitchIdx, usize>,
    exchange: Exchange,
    lockstep: Lockstep,
}

impl Divided {
    /// Visits of the first run, which one thread makes, and of the others: it takes little time beside them to let threads start.
    const RUNS: [usize; 2] = [8, 256];

    /// Choosers for so many parts of a network that is not direct.
    pub(super) fn new(fabric: &Fabric, senders: &IdxVec<SwitchIdx, u64>, parts: usize) -> Self {
        let part_of = parts::part_of(fabric, senders, parts);
        let part = |number| Part::new(fabric, senders, &part_of, number);
        Self {
            parts: (0..parts).map(part).collect(),
            exchange: Exchange::new(fabric.num_switches(), parts),
            part_of,
            lockstep: Lockstep::default(),
        }
    }

    /// Routes on every channel.
    pub(super) fn load(&self) -> IdxVec<ChannelIdx, u64> {
        let mut parts = self.parts.iter().map(|part| part.chooser.load());
        let mut load = parts.next().unwrap_or_default();
        for part in parts {
            // A channel has no load but in the part of its switch.
            for (load, part) in load.iter_mut().zip(part) {
                *load += part;
            }
        }
        load
    }

    /// Sets the routes on every channel.
    pub(super) fn set_load(&mut self, fabric: &Fabric, load: &IdxVec<ChannelIdx, u64>) {
        for part in &mut self.parts {
            let channels = fabric.channels().iter().zip(load.iter());
            let own = channels.map(|(channel, &load)| {
                let is_own = self.part_of[channel.from] == part.number;
                if is_own { load } else { 0 }
            });
            part.chooser.set_load(&own.collect());
        }
    }

    /// Makes visits one after the other.
    pub(super) fn pass(&mut self, pass: Pass, visits: &[Visit<'_>]) {
        let [mut len, later] = Self::RUNS;
        let mut visits = visits;
        while !visits.is_empty() {
            let (now, rest) = visits.split_at(len.min(visits.len()));
            (visits, len) = (rest, later);
            let steps = now.iter().flat_map(|&visit| Step::of(pass, visit));
            let steps: Vec<Step<'_>> = steps.collect();
            let stages = steps.chunk_by(Step::is_followed_at_once);
            let stages: Vec<&[Step<'_>]> = stages.collect();
            let Self {
                parts,
                exchange,
                lockstep,
                ..
            } = self;
            lockstep.run(parts, steps.len(), stages.len(), |part, stage| {
                for &step in stages.get(stage).copied().unwrap_or_default() {
                    part.work(step, exchange);
                }
            });
        }
    }
}

/// A part of the switches, and the chooser of its trees.
///
/// No cache line holds two parts, because the thread of each writes to it all the time.
#[derive(Debug)]
#[repr(align(128))]
struct Part {
    number: usize,
    /// Routes start at own switches alone, and only their channels have loads.
    chooser: TreeChooser,
    roles: IdxVec<SwitchIdx, Role>,
    /// The own switches and the neighbours: no others have routes.
    with_routes: Vec<Range<SwitchIdx>>,
    crossing: Crossing,
    /// The target of the last step.
    target: Option<SwitchIdx>,
    /// The own switches by their distance from the target.
    own: Levels,
    /// Those of them that are next hops of switches in other parts.
    boundary: Levels,
    /// Switches of other parts that are next hops of own ones.
    neighbours: Levels,
}

/// The relation of a switch to a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// It is in the part.
    Own,
    /// It is in the part, and a neighbour is not.
    Boundary,
    /// It is not in the part, and a neighbour is.
    Neighbour,
    /// Neither it nor a neighbour is in the part.
    Other,
}

impl Part {
    fn new(
        fabric: &Fabric,
        senders: &IdxVec<SwitchIdx, u64>,
        part_of: &IdxVec<SwitchIdx, usize>,
        number: usize,
    ) -> Self {
        let is_own = |switch: SwitchIdx| part_of[switch] == number;
        let role = |switch| {
            let mut neighbours = fabric.channels_from(switch).map(|(_, channel)| channel.to);
            let is_at_boundary = neighbours.any(|to| is_own(to) != is_own(switch));
            match (is_own(switch), is_at_boundary) {
                (true, false) => Role::Own,
                (true, true) => Role::Boundary,
                (false, true) => Role::Neighbour,
                (false, false) => Role::Other,
            }
        };
        let roles: IdxVec<SwitchIdx, Role> = fabric.switches().indices().map(role).collect();
        let of_own = |(switch, &senders)| if is_own(switch) { senders } else { 0 };
        let senders = senders.iter_enumerated().map(of_own).collect();
        Self {
            number,
            chooser: TreeChooser::new(fabric, &senders, false),
            with_routes: ranges(&roles, |role| role != Role::Other),
            crossing: Crossing::new(fabric, &roles),
            roles,
            target: None,
            own: Levels::default(),
            boundary: Levels::default(),
            neighbours: Levels::default(),
        }
    }

    /// Does the work of a step at this part's switches.
    fn work(&mut self, step: Step<'_>, exchange: &Exchange) {
        let visit = step.visit;
        self.list_levels(visit);
        match step.work {
            Work::Weigh => self.weigh(step, exchange),
            Work::Assign => self.send(step, exchange, |chooser, own| chooser.assign(visit, own)),
            Work::AssignFirst => {
                self.send(step, exchange, |chooser, own| {
                    chooser.assign_first(visit, own)
                });
            }
            Work::Unassign => {
                self.send(step, exchange, |chooser, own| chooser.unassign(visit, own));
            }
        }
    }

    fn weigh(&mut self, step: Step<'_>, exchange: &Exchange) {
        let Step { visit, level, .. } = step;
        match level.checked_sub(1) {
            None => self.chooser.begin_weights(visit),
            Some(nearer) => {
                for &switch in self.neighbours.level(nearer) {
                    self.chooser.set_weight(switch, exchange.weight(switch));
                }
            }
        }
        self.chooser.weigh(visit, self.own.level(level));
        for &switch in self.boundary.level(level) {
            exchange.set_weight(switch, self.chooser.weight(switch));
        }
    }

    /// Lets routes pass the switches of one distance as `send` does.
    #[inline(always)]
    fn send(
        &mut self,
        step: Step<'_>,
        exchange: &Exchange,
        send: impl FnOnce(&mut TreeChooser, Copied<slice::Iter<'_, SwitchIdx>>),
    ) {
        let level = step.level;
        // No routes come to the farthest switches.
        if level + 1 == self.own.len() {
            let group = step.visit.group;
            self.chooser.begin_at(group, &self.with_routes);
        } else {
            for &switch in self.boundary.level(level) {
                for routes in exchange.take_routes(self.number, switch) {
                    self.chooser.add_flow(switch, routes);
                }
            }
        }
        send(&mut self.chooser, self.own.level(level).iter().copied());
        if let Some(nearer) = level.checked_sub(1) {
            for &switch in self.neighbours.level(nearer) {
                exchange.set_routes(self.number, switch, self.chooser.flow(switch));
            }
        }
    }

    /// Lists the switches by their distance from the target, if it is another one than before.
    fn list_levels(&mut self, visit: Visit<'_>) {
        if self.target.replace(visit.group.target) == Some(visit.group.target) {
            return;
        }
        let Self {
            roles,
            crossing,
            own,
            boundary,
            neighbours,
            ..
        } = self;
        let batch = visit.towards.batch();
        crossing.set_batch(batch);
        for levels in [&mut *own, &mut *boundary, &mut *neighbours] {
            levels.clear();
        }
        for level in visit.towards.levels() {
            for &switch in level {
                match roles[switch] {
                    Role::Own => own.push(switch),
                    Role::Boundary => {
                        own.push(switch);
                        if crossing.lead_to(switch, batch) {
                            boundary.push(switch);
                        }
                    }
                    Role::Neighbour if crossing.lead_to(switch, batch) => neighbours.push(switch),
                    Role::Neighbour | Role::Other => {}
                }
            }
            for levels in [&mut *own, &mut *boundary, &mut *neighbours] {
                levels.end_level();
            }
        }
    }
}

/// Some switches by their distance from a target, the nearest first.
#[derive(Clone, Debug, Default)]
struct Levels {
    switches: Vec<SwitchIdx>,
    /// The number of switches up to the end of each distance.
    ends: Vec<usize>,
}

impl Levels {
    fn clear(&mut self) {
        self.switches.clear();
        self.ends.clear();
    }

    /// Adds a switch of the distance at hand.
    #[inline]
    fn push(&mut self, switch: SwitchIdx) {
        self.switches.push(switch);
    }

    /// Goes on to the next distance.
    fn end_level(&mut self) {
        self.ends.push(self.switches.len());
    }

    /// The number of distances.
    fn len(&self) -> usize {
        self.ends.len()
    }

    /// The switches of one distance.
    fn level(&self, number: usize) -> &[SwitchIdx] {
        let before = number
            .checked_sub(1)
            .and_then(|before| self.ends.get(before));
        let start = before.copied().unwrap_or_default();
        let end = self.ends.get(number).copied().unwrap_or_default();
        self.switches.get(start..end).unwrap_or_default()
    }
}

/// The switches that `is_wanted` says, as ranges.
fn ranges(
    roles: &IdxVec<SwitchIdx, Role>,
    is_wanted: impl Fn(Role) -> bool,
) -> Vec<Range<SwitchIdx>> {
    let mut ranges: Vec<Range<SwitchIdx>> = Vec::new();
    for (switch, _) in roles
        .iter_enumerated()
        .filter(|&(_, &role)| is_wanted(role))
    {
        let end = SwitchIdx(switch.0 + 1);
        match ranges.last_mut() {
            Some(last) if last.end == switch => last.end = end,
            _ => ranges.push(switch..end),
        }
    }
    ranges
}

#[cfg(test)]
mod tests;
