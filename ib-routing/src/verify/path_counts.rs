//! Path counts: a verification that is updated after a change instead of repeated.
//!
//! A report on routes without gaps is a sum over paths, one from every switch to every LID: each adds its CA pairs to the
//! load of its channels, and its dependencies to the channel dependency graph. So [`PathCounts`] keeps how many paths
//! use each channel and each dependency. After a change the paths that it affects are taken away as they were, and added as
//! they are: those from the switches whose entry changed, and from the switches upstream of these. The topological
//! order that proves freedom from deadlock is kept as well, as long as new dependencies agree with it.
//!
//! Routes that do not arrive everywhere, packets that change their lane, and service levels by pair are not counted:
//! verify these in full.
//! Time: O(table entries) to compare the tables, O(ports) for each affected path, and O(pairs of channels that meet) to
//! renumber the channels.

mod changes;
mod count_paths;
pub(crate) mod joined_paths;
pub(crate) mod kept;
pub(crate) mod lengths;
pub(crate) mod trial;
mod verdicts;

use alloc::{sync::Arc, vec::Vec};

use ib_wire::Lid;

pub use self::changes::LostPaths;
use self::{
    changes::{ChannelPlaces, affected, has_same_places},
    count_paths::{follow, for_each_run},
    joined_paths::JoinedPaths,
    lengths::PathLengths,
    verdicts::Verdicts,
};
pub(crate) use self::{
    changes::{has_same_lids, lost_paths},
    verdicts::{Edge, Edges},
};
use super::{
    Context, LinkLoad, Target, VerifyReport,
    deadlock::{highest_lane, lanes_of, uniform_lane},
    dropped::DROP,
    reach::link_load,
    targets,
    walk::{Block, LOOP, NO_CHANNEL, Walk},
};
use crate::{
    algo::dependency::{DependencyCounts, Vertex},
    fabric::{Fabric, lost::LostChannels},
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::LidMap,
    repair::RoutesInUse,
    routes::{BlockReader, Routes, SlTable},
};

/// LIDs of one switch that are counted together.
const RUN: usize = 16;

/// Number of lost channels from which on all channels get new numbers.
const MANY_LOST: usize = 64;

/// Number of paths that use each channel and each dependency, of routes that are verified.
///
/// Channels have the numbers of the fabric that was counted first. Channels that it has lost since keep theirs, with no
/// path on them; so an update after a loss changes only what the affected paths use, and a clone shares the rest.
#[derive(Clone, Debug)]
pub struct PathCounts {
    lanes: u8,
    /// The channels that the fabric has lost since it was counted first.
    lost: LostChannels,
    /// CA-pair routes on each channel.
    load: IdxVec<ChannelIdx, u32>,
    /// LIDs of the CAs at each switch.
    senders: Arc<IdxVec<SwitchIdx, u32>>,
    /// Number of (switch with CAs, LID of a CA) pairs by the number of links between them.
    hops: Vec<u64>,
    /// Number of (switch with CAs, LID of a CA) pairs by lane, if there is a link between them.
    by_lane: [u64; 16],
    lengths: PathLengths,
    /// The dependencies of traffic between CAs, between CAs and switches, and between switches.
    users: [DependencyCounts; 3],
    verdicts: Verdicts,
    /// The counts of pairs, which no change of complete routes changes.
    report: VerifyReport,
    examined: usize,
}

impl PathCounts {
    /// Counts the paths of routes whose full verification gave `report`; `None` if a path is missing, if packets
    /// may change their lane, or if service levels differ by pair.
    #[must_use]
    pub fn new(
        fabric: &Fabric,
        lids: &LidMap,
        routes: &Routes,
        report: &VerifyReport,
    ) -> Option<Self> {
        let map = routes.vl_map();
        let is_complete = report.unreachable == 0 && report.loops == 0 && report.dropped == 0;
        let is_plain = map.is_uniform() && map.highest().bits() != DROP;
        if !is_complete || !is_plain || matches!(routes.sls(), SlTable::ByPair(_)) {
            return None;
        }
        let lanes = highest_lane(routes) + 1;
        let none = DependencyCounts::new(fabric, lanes);
        let context = Context::new(fabric, lids, routes);
        let mut counts = Self {
            lanes,
            lost: LostChannels::default(),
            load: IdxVec::filled(fabric.channels().len(), 0),
            senders: Arc::new(context.sources.ca_lids.iter().copied().collect()),
            hops: Vec::new(),
            by_lane: [0; 16],
            lengths: PathLengths::new(fabric.num_switches(), routes.row_len()),
            users: [none.empty(), none.empty(), none],
            verdicts: Verdicts::new(fabric, lids),
            report: VerifyReport {
                cycle: None,
                order: None,
                management_cycle: None,
                multicast_order: None,
                multicast_cycle: None,
                failures: Vec::new(),
                link_load: LinkLoad::default(),
                ..report.clone()
            },
            examined: lids.num_lids(),
        };
        counts.count_all(&context)?;
        for users in &mut counts.users {
            users.merge();
        }
        counts.verdicts.find(&counts.users);
        Some(counts)
    }

    /// The counts after a change of the fabric, the routes or both, from `old` (the input of these counts) to `new`.
    ///
    /// `None` if switches, ports with LIDs or their cables have changed, or if some path does not arrive any more:
    /// then the routes have to be verified in full.
    #[must_use]
    pub fn updated(&self, old: RoutesInUse<'_>, new: RoutesInUse<'_>) -> Option<Self> {
        self.updated_by(old, new, None)
    }

    /// As [`updated`](Self::updated), in less time if `new` is a repair of `old` that found these lost paths.
    ///
    /// Pitfall: paths that another loss took, or that `old` does not have, make the counts wrong.
    #[must_use]
    pub fn updated_after(
        &self,
        old: RoutesInUse<'_>,
        new: RoutesInUse<'_>,
        lost: &LostPaths,
    ) -> Option<Self> {
        self.updated_by(old, new, Some(lost))
    }

    fn updated_by(
        &self,
        old: RoutesInUse<'_>,
        new: RoutesInUse<'_>,
        lost: Option<&LostPaths>,
    ) -> Option<Self> {
        if !has_same_places(old, new) {
            return None;
        }
        let places = ChannelPlaces::new(self, old.fabric, new.fabric);
        let mut counts = match &places {
            ChannelPlaces::Lost { lost, .. } => Self {
                lost: lost.clone(),
                ..self.clone()
            },
            ChannelPlaces::Renumbered { now, .. } => self.renumbered(new.fabric, new.lids, now),
        };
        counts.examined = 0;
        let mut edges = Edges::default();
        let (was, is) = (BlockReader::new(old.routes), BlockReader::new(new.routes));
        let none = JoinedPaths::new(new.fabric.num_switches());
        let (mut before, mut after) = (none.clone(), none);
        let affected = affected(old, new, &was, places.gone(), lost, self)?;
        // Where lanes differ by LID, so may those of a run.
        let is_one_lane = |routes: &Routes| matches!(routes.sls(), SlTable::Uniform(_));
        let is_joined = is_one_lane(old.routes) && is_one_lane(new.routes);
        for_each_run(old.lids, &affected, is_joined, |run| {
            let lid = run.first()?.lid;
            let lids = (old.lids.owner(lid)?, run.len());
            let of_old = |channel| places.of_old(channel).unwrap_or(NO_CHANNEL);
            let of_new = |channel| counts.lost.before(channel);
            if !follow(&mut before, (old.fabric, &was), (old.lids, run), of_old)?
                || !follow(&mut after, (new.fabric, &is), (old.lids, run), of_new)?
            {
                return Some(false);
            }
            let lane = |switch| lane_of(old.routes, switch, lid);
            counts.count_paths(&mut before, lids, lane, false, &mut edges);
            let lane = |switch| lane_of(new.routes, switch, lid);
            counts.count_paths(&mut after, lids, lane, true, &mut edges);
            if !after.are_as_long_as(&before) {
                run.iter().for_each(|of| counts.lengths.forget(of.lid));
            }
            counts.examined += run.len();
            Some(true)
        })?;
        if let ChannelPlaces::Renumbered { .. } = places {
            counts.verdicts.find(&counts.users);
        } else {
            let same = counts.verdicts.update(&counts.users, &edges);
            counts.verdicts.find_from(same, &counts.users, &edges);
        }
        for users in &mut counts.users {
            users.merge_many();
        }
        Some(counts)
    }

    /// These counts by the channels of another fabric, without those on channels that are gone. `now` says which channel
    /// each one of the present fabric is. The verdicts are not found yet.
    fn renumbered(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        now: &IdxVec<ChannelIdx, Option<ChannelIdx>>,
    ) -> Self {
        let none = DependencyCounts::new(fabric, self.lanes);
        let mut counts = Self {
            lost: LostChannels::default(),
            load: IdxVec::filled(fabric.channels().len(), 0),
            users: [none.empty(), none.empty(), none],
            verdicts: Verdicts::new(fabric, lids),
            senders: Arc::clone(&self.senders),
            hops: self.hops.clone(),
            lengths: self.lengths.clone(),
            report: self.report.clone(),
            ..*self
        };
        let now = |channel| self.lost.now(channel).and_then(|channel| now[channel]);
        let channels: IdxVec<_, _> = self.load.indices().map(now).collect();
        for (&channel, &load) in channels.iter().zip(self.load.iter()) {
            if let Some(channel) = channel {
                counts.load[channel] = load;
            }
        }
        for (users, renumbered) in self.users.iter().zip(&mut counts.users) {
            users.renumber(&channels, renumbered);
        }
        counts
    }

    /// The report that a full verification of the same routes gives; of several orders or cycles it may name another.
    #[must_use]
    pub fn report(&self) -> VerifyReport {
        let load = self.lost.left(&self.load);
        let load: IdxVec<ChannelIdx, u64> = load.iter().copied().map(u64::from).collect();
        let sum: u64 = load.iter().sum();
        let reached = self.report.pairs - self.report.unreachable_ca;
        let cycle = |kinds| Some(lanes_of(self.left(self.verdicts.cycle(kinds)?)));
        let order = self.verdicts.topological(self.lanes);
        let used = self.by_lane.iter().filter(|paths| **paths > 0).count();
        let [between_cas, ..] = &self.users;
        VerifyReport {
            deadlock_free: self.verdicts.is_free(1),
            multicast_deadlock_free: self.verdicts.is_free(1),
            ca_switch_deadlock_free: self.verdicts.is_free(2),
            all_deadlock_free: self.verdicts.is_free(3),
            cycle: cycle(1),
            order: order.map(|order| self.left(&order)),
            dependencies: between_cas.num_used(),
            management_cycle: cycle(2).or_else(|| cycle(3)),
            vls: (used as u8).max(1),
            max_hops: self.max_hops(),
            mean_hops: match reached {
                0 => 0.0,
                reached => sum as f64 / reached as f64,
            },
            link_load: link_load(load),
            ..self.report.clone()
        }
    }

    /// Vertices by the numbers that channels have in the fabric as it is, without those of lost channels.
    fn left(&self, vertices: &[Vertex]) -> Vec<Vertex> {
        let left = vertices.iter().filter_map(|vertex| {
            let channel = self.lost.now(vertex.channel)?;
            Some(Vertex { channel, ..*vertex })
        });
        left.collect()
    }

    /// Number of LIDs whose paths the last update followed; all LIDs if there was none.
    #[must_use]
    pub const fn examined(&self) -> usize {
        self.examined
    }

    fn max_hops(&self) -> u32 {
        let longest = self.hops.iter().rposition(|&pairs| pairs > 0);
        longest.unwrap_or(0) as u32
    }

    fn note_hops(&mut self, hops: usize, number: u32, adds: bool) {
        if self.hops.len() <= hops {
            self.hops.resize(hops + 1, 0);
        }
        if let Some(pairs) = self.hops.get_mut(hops) {
            *pairs = if adds {
                *pairs + u64::from(number)
            } else {
                *pairs - u64::from(number)
            };
        }
    }

    /// Counts the paths to all LIDs; `None` if one does not arrive.
    fn count_all(&mut self, context: &Context<'_>) -> Option<()> {
        let mut block = Block::new(context.fabric);
        let (mut one, mut many) = (
            Walk::<1>::new(context.fabric),
            Walk::<RUN>::new(context.fabric),
        );
        let (mut small, mut large) = (Carried::new(context), Carried::new(context));
        for first in (0..context.routes.row_len()).step_by(Block::LIDS) {
            let targets = targets(context.lids, first);
            block.load(&context.table, context.routes, first);
            let together = |one: &Target<'_>, other: &Target<'_>| one.is_beside(other);
            for run in targets.chunk_by(together).flat_map(|all| all.chunks(RUN)) {
                if run.len() > 1 && many.follow(&context.table, &block, run) {
                    self.count(context, &many, run, &mut large)?;
                    continue;
                }
                for target in run.chunks(1) {
                    one.follow(&context.table, &block, target);
                    self.count(context, &one, target, &mut small)?;
                }
            }
        }
        Some(())
    }

    /// Counts the paths to LIDs of one switch and kind; `None` if one does not arrive.
    fn count<const LIDS: usize>(
        &mut self,
        context: &Context<'_>,
        walk: &Walk<LIDS>,
        run: &[Target<'_>],
        carried: &mut Carried<LIDS>,
    ) -> Option<()> {
        let of_switch = run.iter().any(Target::is_switch);
        let of_sources = matches!(context.routes.sls(), SlTable::BySwitch(_));
        for (switch, hops) in walk.hops.iter_enumerated() {
            for (&hops, target) in hops.iter().zip(run) {
                if hops >= LOOP {
                    return None;
                }
                if context.sources.ca_lids[switch] > 0 && !of_switch {
                    self.note_hops(hops as usize, 1, true);
                    if hops > 0 {
                        self.note_lane(lane_of(context.routes, switch, target.lid), 1, true);
                    }
                }
            }
        }
        for (at, target) in run.iter().enumerate() {
            let hops = walk.hops.iter().map(|hops| hops.get(at).copied());
            self.lengths.enter(target.lid, hops);
        }
        // Where the lane depends on the source, the packets of one lane are followed after those of another.
        for number in 0..if of_sources { self.lanes } else { 1 } {
            let mut lanes = [number; LIDS];
            if !of_sources {
                for (lane, target) in lanes.iter_mut().zip(run) {
                    *lane = lane_of(context.routes, SwitchIdx(0), target.lid);
                }
            }
            carried.start(context, |switch, at| {
                let lid = run.get(at).map(|target| target.lid);
                !of_sources || lid.is_some_and(|lid| lane_of(context.routes, switch, lid) == number)
            });
            self.add_carried(context, walk, run.len(), of_switch, lanes, carried);
        }
        Some(())
    }

    /// Adds what the switches send on certain lanes.
    fn add_carried<const LIDS: usize>(
        &mut self,
        context: &Context<'_>,
        walk: &Walk<LIDS>,
        count: usize,
        of_switch: bool,
        lanes: [u8; LIDS],
        carried: &mut Carried<LIDS>,
    ) {
        let [between_cas, with_switches, between_switches] =
            self.users.each_mut().map(DependencyCounts::all);
        let [mut of_cas, mut of_all] = match of_switch {
            false => [between_cas, with_switches],
            true => [with_switches, between_switches],
        };
        for &switch in &walk.order {
            let (next, here) = (walk.next[switch], carried.0[switch]);
            let paths = next.iter().zip(here).zip(lanes).take(count).enumerate();
            for (at, ((&channel, [routes, switches, cas]), lane)) in paths {
                if channel == NO_CHANNEL || switches == 0 {
                    continue;
                }
                let to = context.table.to(channel);
                if !of_switch {
                    self.load[channel] += routes;
                }
                if let Some(carried) = carried.0[to].get_mut(at) {
                    let [more_routes, more_switches, more_cas] = carried;
                    *more_routes += routes;
                    *more_switches += switches;
                    *more_cas += cas;
                }
                let after = walk.next[to].get(at).copied().unwrap_or(NO_CHANNEL);
                if after != NO_CHANNEL {
                    let place = of_all.at(channel, after, lane);
                    of_cas.add(place, cas);
                    of_all.add(place, switches);
                }
            }
        }
    }

    fn note_lane(&mut self, lane: u8, number: u32, adds: bool) {
        if let Some(paths) = self.by_lane.get_mut(usize::from(lane)) {
            *paths = if adds {
                *paths + u64::from(number)
            } else {
                *paths - u64::from(number)
            };
        }
    }
}

/// By switch and LID: routes from LIDs of CAs, switches, and switches with CAs, whose packets pass here.
struct Carried<const LIDS: usize>(IdxVec<SwitchIdx, [[u32; 3]; LIDS]>);

impl<const LIDS: usize> Carried<LIDS> {
    fn new(context: &Context<'_>) -> Self {
        Self(IdxVec::filled(
            context.fabric.num_switches(),
            [[0; 3]; LIDS],
        ))
    }

    /// Begins with what the switches that `sends` names send to each LID.
    fn start(&mut self, context: &Context<'_>, sends: impl Fn(SwitchIdx, usize) -> bool) {
        let sources = context.sources.ca_lids.iter_enumerated();
        for (carried, (switch, &lids)) in self.0.iter_mut().zip(sources) {
            for (at, carried) in carried.iter_mut().enumerate() {
                *carried = match sends(switch, at) {
                    true => [lids, 1, u32::from(lids > 0)],
                    false => [0; 3],
                };
            }
        }
    }
}

/// The lane of packets from a switch, or the CAs at it, to a LID.
fn lane_of(routes: &Routes, switch: SwitchIdx, lid: Lid) -> u8 {
    uniform_lane(routes, routes.sl_from(switch, lid))
}
