//! Trees chosen by several threads, each for a part of the switches.
//!
//! A switch chooses by the loads of its own channels, by the weights of switches nearer to the target, and by the routes
//! that come from switches farther away. In a fat tree the routes from different pods meet at its roots, and then in the
//! pod of the target. So each thread first chooses for its own pods, for which it needs nothing of the others. Then the
//! threads exchange how many routes come to the roots, and each chooses for some of these. At last they exchange how many go
//! on to the pod of the target, and each chooses for all switches there by itself: that is little work, and so all threads have
//! the loads by which they weigh switches for the next tree. The trees are those that one thread chooses.

mod exchange;
mod roles;

use alloc::vec::Vec;
use core::{iter, ops::Range};

use self::{
    exchange::Exchange,
    roles::{Role, Roles},
};
use super::{
    parts::Parts,
    tree_chooser::{Pass, SIDE_BY_SIDE, TreeChooser, Visit},
};
use crate::{
    algo::{
        choices::{Choice, ChoiceBlock},
        parallel::Lockstep,
        shortest_path_dag::ShortestPathDag,
    },
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
};

impl Pass {
    /// The work on a group of trees, in this order.
    const fn works(self) -> &'static [Work] {
        match self {
            Self::First => &[Work::ChooseFirst],
            Self::ByLoad => &[Work::Choose],
            Self::Again => &[Work::TakeBack, Work::Choose],
        }
    }
}

/// Work on a group of trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// [`TreeChooser::weigh`] and [`TreeChooser::assign`].
    Choose,
    /// [`TreeChooser::assign_first`].
    ChooseFirst,
    /// [`TreeChooser::unassign`].
    TakeBack,
}

impl Work {
    /// Does the work at switches whose next hops have been weighed, in this order.
    #[inline(always)]
    fn at(
        self,
        chooser: &mut TreeChooser,
        visit: Visit<'_>,
        switches: impl Iterator<Item = SwitchIdx>,
    ) {
        match self {
            Self::Choose => chooser.assign(visit, switches),
            Self::ChooseFirst => chooser.assign_first(visit, switches),
            Self::TakeBack => chooser.unassign(visit, switches),
        }
    }
}

/// A step of all parts. Each part begins it, waits until all have begun it, and then ends it.
#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    /// The parts prepare for trees to the target of this visit.
    Target(Visit<'a>),
    /// Each part chooses for its own switches, and then for its own roots.
    Tree(Visit<'a>, Work),
    /// Each part chooses for all switches behind the roots.
    BehindRoots(Visit<'a>, Work),
}

impl<'a> Step<'a> {
    /// The steps of some visits.
    fn of(pass: Pass, visits: &[Visit<'a>]) -> Vec<Self> {
        let mut steps = Vec::new();
        for visits in visits.chunk_by(|one, next| one.group.target == next.group.target) {
            steps.extend(visits.first().map(|&visit| Self::Target(visit)));
            for &visit in visits {
                steps.extend(
                    pass.works().iter().flat_map(|&work| {
                        [Self::Tree(visit, work), Self::BehindRoots(visit, work)]
                    }),
                );
            }
        }
        steps
    }
}

/// Chooses trees by parts of the switches.
#[derive(Debug)]
pub(super) struct Divided {
    parts: Vec<Part>,
    shared: Shared,
    lockstep: Lockstep,
}

/// Data that all parts read.
#[derive(Debug)]
struct Shared {
    part_of: IdxVec<SwitchIdx, usize>,
    roles: Roles,
    exchange: Exchange,
}

impl Divided {
    /// Visits of the first run, which one thread makes, and of the others: it takes little time beside them to let threads start.
    const RUNS: [usize; 2] = [8, 256];

    /// Choosers for parts of a fabric where routes meet early, for trees of `dag`. All threads of this pool are
    /// `threads`.
    pub(super) fn new(
        threads: usize,
        fabric: &Fabric,
        dag: &ShortestPathDag,
        senders: &IdxVec<SwitchIdx, u64>,
        parts: Parts,
    ) -> Self {
        let Parts { part_of, count } = parts;
        let part = |number| Part::new(fabric, senders, &part_of, number);
        Self {
            parts: (0..count).map(part).collect(),
            shared: Shared {
                roles: Roles::new(threads, fabric, dag, senders, &part_of),
                exchange: Exchange::new(fabric.num_switches(), fabric.channels().len(), count),
                part_of,
            },
            lockstep: Lockstep::default(),
        }
    }

    /// Routes on every channel.
    pub(super) fn load(&self, fabric: &Fabric) -> IdxVec<ChannelIdx, u64> {
        let loads: Vec<_> = self.parts.iter().map(|part| part.chooser.load()).collect();
        let channels = fabric.channels().iter_enumerated();
        let load = channels.map(|(index, channel)| {
            let load = loads.get(self.shared.part_of[channel.from]);
            load.map_or(0, |load| load[index])
        });
        load.collect()
    }

    /// Sets the routes on every channel.
    pub(super) fn set_load(&mut self, load: &IdxVec<ChannelIdx, u64>) {
        for part in &mut self.parts {
            part.chooser.set_load(load);
            part.is_outdated.fill(false);
        }
    }

    /// Makes visits one after the other, in each of which all threads take part.
    pub(super) fn pass(&mut self, pass: Pass, visits: &[Visit<'_>]) {
        let [mut len, later] = Self::RUNS;
        let mut visits = visits;
        while !visits.is_empty() {
            let (now, rest) = visits.split_at(len.min(visits.len()));
            (visits, len) = (rest, later);
            let steps = Step::of(pass, now);
            let Self {
                parts,
                shared,
                lockstep,
                ..
            } = self;
            lockstep.run(parts, now.len(), steps.len() + 1, |part, stage| {
                let before = stage.checked_sub(1);
                if let Some((before, &step)) = before.and_then(|at| Some((at, steps.get(at)?))) {
                    part.end(step, before, shared);
                }
                if let Some(&step) = steps.get(stage) {
                    part.begin(step, stage, shared);
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
    /// Routes start at the switches of this part alone.
    chooser: TreeChooser,
    /// The switches of this part.
    switches: Vec<Range<SwitchIdx>>,
    /// For each switch, whether the loads of its channels may have changed since all parts had them.
    is_outdated: IdxVec<SwitchIdx, bool>,
    /// The switches towards the target at hand.
    lists: Lists,
    /// Choices for common switches of other parts, which write them.
    foreign: [Choice; SIDE_BY_SIDE],
}

/// Switches by their roles towards a target. Each list has the nearest first.
#[derive(Debug, Default)]
struct Lists {
    /// Switches that this part weighs first: those of `own` and of `common`.
    weighed: Vec<SwitchIdx>,
    /// The number of these up to the end of each distance.
    level_ends: Vec<usize>,
    /// Switches of this part with the role [`Own`](Role::Own).
    own: Vec<SwitchIdx>,
    /// All switches with the role [`Common`](Role::Common).
    common: Vec<SwitchIdx>,
    /// The places of the roots in `common`: the switches of the distance that has most of them, as the roots of a fat tree.
    /// There are too many for each part to choose for all of them, so each chooses for its own.
    roots: Range<usize>,
    /// The places, from that of the first root on, of the common switches for which this part chooses up to the roots: its own
    /// roots, and all that are farther away.
    up_to_roots: Vec<usize>,
    /// Switches of this part with the role [`Unused`](Role::Unused).
    unused: Vec<SwitchIdx>,
    /// Switches for which all parts choose, and whose loads some parts lack.
    outdated: Vec<SwitchIdx>,
}

impl Lists {
    fn clear(&mut self) {
        let Self {
            weighed,
            level_ends,
            own,
            common,
            roots,
            up_to_roots,
            unused,
            outdated,
        } = self;
        *roots = 0..0;
        up_to_roots.clear();
        for list in [weighed, own, common, unused, outdated] {
            list.clear();
        }
        level_ends.clear();
    }

    /// The switches to weigh, by their distances.
    fn levels(&self) -> impl Iterator<Item = &[SwitchIdx]> {
        let mut start = 0;
        self.level_ends.iter().map(move |&end| {
            let level = self.weighed.get(start..end).unwrap_or_default();
            start = end;
            level
        })
    }

    /// The common switches nearer to the target than the roots.
    fn common_behind_roots(&self) -> &[SwitchIdx] {
        self.common.get(..self.roots.start).unwrap_or_default()
    }

    /// The roots and the common switches farther away.
    fn common_from_roots(&self) -> &[SwitchIdx] {
        self.common.get(self.roots.start..).unwrap_or_default()
    }

    /// The next hops of the roots, each with its root.
    fn channels_of_roots<'a>(
        &self,
        visit: Visit<'a>,
    ) -> impl Iterator<Item = (SwitchIdx, ChannelIdx)> {
        let roots = self.common.get(self.roots.clone()).unwrap_or_default();
        roots.iter().flat_map(move |&root| {
            let next_hops = visit.towards.next_hops(root).iter();
            next_hops.map(move |next_hop| (root, next_hop.channel))
        })
    }
}

impl Part {
    fn new(
        fabric: &Fabric,
        senders: &IdxVec<SwitchIdx, u64>,
        part_of: &IdxVec<SwitchIdx, usize>,
        number: usize,
    ) -> Self {
        let own_senders = senders.iter_enumerated().map(|(switch, &senders)| {
            let is_own = part_of[switch] == number;
            if is_own { senders } else { 0 }
        });
        Self {
            number,
            chooser: TreeChooser::new(fabric, &own_senders.collect(), false),
            switches: ranges(part_of, number),
            is_outdated: IdxVec::filled(fabric.num_switches(), false),
            lists: Lists::default(),
            foreign: Default::default(),
        }
    }

    /// Does the work of a step that needs nothing of this step from the other parts, and writes the numbers with which these end
    /// it.
    fn begin(&mut self, step: Step<'_>, stage: usize, shared: &Shared) {
        match step {
            Step::Target(visit) => self.begin_target(visit, shared),
            Step::Tree(visit, work) => {
                self.choose_own(visit, work, shared);
                let switches = self.lists.common_from_roots();
                self.write_routes(visit, switches, stage, &shared.exchange);
            }
            Step::BehindRoots(visit, _) => {
                let next = self.lists.common_behind_roots();
                self.write_routes(visit, next, stage, &shared.exchange);
                self.write_root_loads(visit, stage, shared);
            }
        }
    }

    /// Does the rest of a step that all parts have begun in `stage`.
    fn end(&mut self, step: Step<'_>, stage: usize, shared: &Shared) {
        match step {
            Step::Target(_) => self.read_loads(shared),
            Step::Tree(visit, work) => self.choose_up_to_roots(visit, work, stage, shared),
            Step::BehindRoots(visit, work) => {
                self.read_root_loads(visit, stage, shared);
                self.choose_behind_roots(visit, work, stage, shared);
            }
        }
    }

    /// Chooses for the own switches, all of whose routes come from own switches.
    fn choose_own(&mut self, visit: Visit<'_>, work: Work, shared: &Shared) {
        let Self { chooser, lists, .. } = self;
        if work == Work::Choose {
            chooser.begin_weights(visit);
            for level in lists.levels() {
                chooser.weigh(visit, level);
            }
        }
        chooser.begin_at(visit.group, &self.switches);
        for &switch in &lists.common {
            if shared.part_of[switch] != self.number {
                chooser.clear_flow(switch);
            }
        }
        work.at(chooser, visit, lists.own.iter().rev().copied());
        if work != Work::TakeBack {
            for &switch in &lists.unused {
                visit.choose_unused(switch);
            }
        }
    }

    /// Chooses for the own roots, and for all common switches farther away.
    fn choose_up_to_roots(&mut self, visit: Visit<'_>, work: Work, stage: usize, shared: &Shared) {
        let Self {
            number,
            chooser,
            lists,
            foreign,
            ..
        } = self;
        let choose_common = chooser_of_common(*number, foreign, shared);
        let switches = lists.common_from_roots();
        for routes in shared.exchange.routes_of_others(stage, *number) {
            for &place in &lists.up_to_roots {
                if let Some(&switch) = switches.get(place) {
                    chooser.add_flow(switch, routes.at(place, visit.group.count));
                }
            }
        }
        for &place in lists.up_to_roots.iter().rev() {
            if let Some(&switch) = switches.get(place) {
                choose_common(visit, work, chooser, switch);
            }
        }
    }

    /// Chooses for all common switches behind the roots.
    fn choose_behind_roots(&mut self, visit: Visit<'_>, work: Work, stage: usize, shared: &Shared) {
        let Self {
            number,
            chooser,
            lists,
            foreign,
            ..
        } = self;
        let choose_common = chooser_of_common(*number, foreign, shared);
        let switches = lists.common_behind_roots();
        for routes in shared.exchange.routes_of_others(stage, *number) {
            for (place, &switch) in switches.iter().enumerate() {
                chooser.add_flow(switch, routes.at(place, visit.group.count));
            }
        }
        for &switch in switches.iter().rev() {
            choose_common(visit, work, chooser, switch);
        }
    }

    /// Writes how many routes come from this part to each of some switches, for the other parts.
    fn write_routes(
        &self,
        visit: Visit<'_>,
        switches: &[SwitchIdx],
        stage: usize,
        exchange: &Exchange,
    ) {
        let routes = switches.iter().map(|&switch| self.chooser.flow(switch));
        exchange.set_routes(stage, self.number, visit.group.count, routes);
    }

    /// Writes the loads of the own roots.
    fn write_root_loads(&self, visit: Visit<'_>, stage: usize, shared: &Shared) {
        let is_own = |switch| shared.part_of[switch] == self.number;
        let channels = self.lists.channels_of_roots(visit).enumerate();
        for (place, (_, channel)) in channels.filter(|(_, (root, _))| is_own(*root)) {
            let load = self.chooser.load_of(channel);
            shared.exchange.set_root_load(stage, place, load);
        }
    }

    /// Reads the loads of roots that the other parts wrote in a stage.
    fn read_root_loads(&mut self, visit: Visit<'_>, stage: usize, shared: &Shared) {
        let is_own = |switch| shared.part_of[switch] == self.number;
        let channels = self.lists.channels_of_roots(visit).enumerate();
        for (place, (_, channel)) in channels.filter(|(_, (root, _))| !is_own(*root)) {
            let load = shared.exchange.root_load(stage, place);
            self.chooser.set_load_of(channel, load);
        }
    }

    /// Lists the switches by their roles towards a target, and writes the own loads that other parts lack.
    fn begin_target(&mut self, visit: Visit<'_>, shared: &Shared) {
        let Self {
            number,
            lists,
            is_outdated,
            chooser,
            ..
        } = self;
        let Shared {
            part_of,
            roles,
            exchange,
        } = shared;
        lists.clear();
        let roles = roles.towards(visit.towards.batch());
        for level in visit.towards.levels() {
            let first_common = lists.common.len();
            for &switch in level {
                let is_own = part_of[switch] == *number;
                match roles.of(switch) {
                    Role::Own => {
                        is_outdated[switch] = true;
                        if is_own {
                            lists.weighed.push(switch);
                            lists.own.push(switch);
                        }
                    }
                    Role::Common => {
                        lists.weighed.push(switch);
                        lists.common.push(switch);
                        if is_outdated[switch] {
                            is_outdated[switch] = false;
                            lists.outdated.push(switch);
                        }
                    }
                    Role::Unused if is_own => lists.unused.push(switch),
                    Role::Unused => {}
                }
            }
            lists.level_ends.push(lists.weighed.len());
            let level = first_common..lists.common.len();
            if lists.roots.len() < level.len() {
                lists.roots = level;
            }
        }
        let roots = lists.roots.len();
        let from_roots = lists.common.iter().skip(lists.roots.start);
        let chosen = from_roots.enumerate().filter(|&(place, &switch)| {
            let is_farther = place >= roots;
            is_farther || part_of[switch] == *number
        });
        lists.up_to_roots.extend(chosen.map(|(place, _)| place));
        for &switch in &lists.outdated {
            if part_of[switch] == *number {
                for (channel, load) in chooser.loads_of(switch) {
                    exchange.set_load(channel, *load);
                }
            }
        }
    }

    /// Reads the loads that the other parts wrote.
    fn read_loads(&mut self, shared: &Shared) {
        for &switch in &self.lists.outdated {
            if shared.part_of[switch] != self.number {
                for (channel, load) in self.chooser.loads_of(switch) {
                    *load = shared.exchange.load(channel);
                }
            }
        }
    }
}

/// Chooses for a switch in a part of this number. The choices are written by the part of the switch alone: the others need
/// its loads, which change only if routes pass it.
fn chooser_of_common<'a>(
    number: usize,
    foreign: &'a [Choice],
    shared: &'a Shared,
) -> impl Fn(Visit<'a>, Work, &mut TreeChooser, SwitchIdx) {
    move |mut visit, work, chooser, switch| {
        if shared.part_of[switch] != number {
            if !chooser.has_routes(switch) {
                return;
            }
            if work != Work::TakeBack {
                visit.choices = ChoiceBlock::for_all(foreign, visit.group.count);
            }
        }
        work.at(chooser, visit, iter::once(switch));
    }
}

/// The switches of a part, as ranges.
fn ranges(part_of: &IdxVec<SwitchIdx, usize>, number: usize) -> Vec<Range<SwitchIdx>> {
    let mut ranges: Vec<Range<SwitchIdx>> = Vec::new();
    let own = part_of.iter_enumerated().filter(|&(_, &of)| of == number);
    for (switch, _) in own {
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
