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
pub(crate) mod kept;

use alloc::{vec, vec::Vec};

use ib_wire::Lid;

use self::changes::{affected, same_places};
use super::{
    Context, LinkLoad, Target, VerifyReport,
    deadlock::{highest_lane, lanes_of, uniform_lane},
    dropped::DROP,
    reach::link_load,
    targets,
    walk::{Block, LOOP, NO_CHANNEL, Walk},
};
use crate::{
    algo::dependency::{DependencyCounts, DependencyGraph, Vertex},
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::{Destination, LidMap},
    repair::RoutesInUse,
    routes::{Routes, SlTable},
};

/// LIDs of one switch that are counted together.
const RUN: usize = 16;

/// Number of paths that use each channel and each dependency, of routes that are verified.
#[derive(Clone, Debug)]
pub struct PathCounts {
    lanes: u8,
    /// CA-pair routes on each channel.
    load: IdxVec<ChannelIdx, u32>,
    /// Number of (switch with CAs, LID of a CA) pairs by the number of links between them.
    hops: Vec<u64>,
    /// Number of (switch with CAs, LID of a CA) pairs by lane, if there is a link between them.
    by_lane: [u64; 16],
    /// The dependencies of traffic between CAs, between CAs and switches, and between switches.
    users: [DependencyCounts; 3],
    /// For the first kind of traffic, the first two, and all three: a topological order of their dependencies, or a
    /// cycle.
    orders: [Result<Vec<Vertex>, Vec<Vertex>>; 3],
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
        let mut counts = Self {
            lanes,
            load: IdxVec::filled(fabric.channels().len(), 0),
            hops: Vec::new(),
            by_lane: [0; 16],
            users: [none.empty(), none.empty(), none],
            orders: [const { Ok(Vec::new()) }; 3],
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
        counts.count_all(&Context::new(fabric, lids, routes))?;
        for level in 0..counts.orders.len() {
            counts.find_order(fabric, level);
        }
        Some(counts)
    }

    /// The counts after a change of the fabric, the routes or both, from `old` (the input of these counts) to `new`.
    ///
    /// `None` if switches, ports with LIDs or their cables have changed, or if some path does not arrive any more:
    /// then the routes have to be verified in full.
    #[must_use]
    pub fn updated(&self, old: RoutesInUse<'_>, new: RoutesInUse<'_>) -> Option<Self> {
        let channels = same_places(old, new)?;
        let mut counts = self.renumbered(new.fabric, &channels);
        let mut update = Update::new(&mut counts);
        let identity = |channel| Some(channel);
        let renumber = |channel| channels.find(channel).copied().flatten();
        for (lid, owner, switches) in affected(old, new, &channels, self.lanes)? {
            for switch in switches {
                update.path(old, switch, lid, owner, false, renumber)?;
                update.path(new, switch, lid, owner, true, identity)?;
            }
            update.counts.examined += 1;
        }
        let added = update.added;
        counts.keep_orders(self, new.fabric, &channels, &added);
        Some(counts)
    }

    /// These counts by the channels of another fabric, without those on channels that are gone, and without an order.
    fn renumbered(
        &self,
        fabric: &Fabric,
        channels: &IdxVec<ChannelIdx, Option<ChannelIdx>>,
    ) -> Self {
        let none = DependencyCounts::new(fabric, self.lanes);
        let mut counts = Self {
            lanes: self.lanes,
            load: IdxVec::filled(fabric.channels().len(), 0),
            hops: self.hops.clone(),
            by_lane: self.by_lane,
            users: [none.empty(), none.empty(), none],
            orders: [const { Ok(Vec::new()) }; 3],
            report: self.report.clone(),
            examined: 0,
        };
        for (&channel, &load) in channels.iter().zip(self.load.iter()) {
            if let Some(channel) = channel {
                counts.load[channel] = load;
            }
        }
        for (users, renumbered) in self.users.iter().zip(&mut counts.users) {
            users.renumber(channels, renumbered);
        }
        counts
    }

    /// The report that a full verification of the same routes gives; of several orders or cycles it may name another.
    #[must_use]
    pub fn report(&self) -> VerifyReport {
        let sum: u64 = self.load.iter().copied().map(u64::from).sum();
        let reached = self.report.pairs - self.report.unreachable_ca;
        let [between_cas, with_switches, all] = &self.orders;
        let cycle = |order: &Result<_, Vec<Vertex>>| order.clone().err().map(lanes_of);
        let used = self.by_lane.iter().filter(|paths| **paths > 0).count();
        VerifyReport {
            deadlock_free: between_cas.is_ok(),
            multicast_deadlock_free: between_cas.is_ok(),
            ca_switch_deadlock_free: with_switches.is_ok(),
            all_deadlock_free: all.is_ok(),
            cycle: cycle(between_cas),
            order: between_cas.clone().ok(),
            dependencies: self.users.first().map_or(0, DependencyCounts::num_used),
            management_cycle: cycle(with_switches).or_else(|| cycle(all)),
            vls: (used as u8).max(1),
            max_hops: self.max_hops(),
            mean_hops: match reached {
                0 => 0.0,
                reached => sum as f64 / reached as f64,
            },
            link_load: link_load(self.load.iter().copied().map(u64::from).collect()),
            ..self.report.clone()
        }
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

    fn note_hops(&mut self, hops: usize, adds: bool) {
        if self.hops.len() <= hops {
            self.hops.resize(hops + 1, 0);
        }
        if let Some(pairs) = self.hops.get_mut(hops) {
            *pairs = if adds { *pairs + 1 } else { *pairs - 1 };
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
                    self.note_hops(hops as usize, true);
                    if hops > 0 {
                        self.note_lane(lane_of(context.routes, switch, target.lid), true);
                    }
                }
            }
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
        let [between_cas, with_switches, between_switches] = &mut self.users;
        let [of_cas, of_all] = match of_switch {
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
                    of_cas.add(channel, after, lane, cas);
                    of_all.add(channel, after, lane, switches);
                }
            }
        }
    }

    fn note_lane(&mut self, lane: u8, adds: bool) {
        if let Some(paths) = self.by_lane.get_mut(usize::from(lane)) {
            *paths = if adds { *paths + 1 } else { *paths - 1 };
        }
    }

    /// Keeps the topological orders and cycles of `before` that still hold, and finds the others anew. `added` are the
    /// new dependencies by kind of traffic.
    fn keep_orders(
        &mut self,
        before: &Self,
        fabric: &Fabric,
        channels: &IdxVec<ChannelIdx, Option<ChannelIdx>>,
        added: &[Vec<Edge>; 3],
    ) {
        let has_new = has_new(fabric, channels);
        for (level, was) in before.orders.iter().enumerate() {
            let kept = match was {
                Ok(order) if !has_new => {
                    let order = renumbered(order, channels);
                    let added = added.iter().take(level + 1).flatten();
                    agrees(fabric, self.lanes, &order, added).then_some(Ok(order))
                }
                Ok(_) => None,
                Err(cycle) => {
                    let is_whole = |now: &Vec<Vertex>| now.len() == cycle.len();
                    let cycle = Some(renumbered(cycle, channels)).filter(is_whole);
                    cycle.filter(|cycle| self.has_cycle(level, cycle)).map(Err)
                }
            };
            match (kept, self.orders.get_mut(level)) {
                (Some(kept), Some(order)) => *order = kept,
                _ => self.find_order(fabric, level),
            }
        }
    }

    /// Returns true if all dependencies of a cycle are in use.
    fn has_cycle(&self, level: usize, cycle: &[Vertex]) -> bool {
        let after = cycle.iter().cycle().skip(1);
        cycle.iter().zip(after).all(|(from, to)| {
            let mut kinds = self.users.iter().take(level + 1);
            kinds.any(|users| users.contains(from.channel, to.channel, from.lane))
        })
    }

    fn find_order(&mut self, fabric: &Fabric, level: usize) {
        let graph = self.graph(fabric, level);
        if let Some(order) = self.orders.get_mut(level) {
            *order = graph.order();
        }
    }

    /// The dependencies of the kinds of traffic up to `level`.
    fn graph(&self, fabric: &Fabric, level: usize) -> DependencyGraph {
        let mut graph = DependencyGraph::new(fabric, self.lanes);
        for users in self.users.iter().take(level + 1) {
            users.add_to(&mut graph);
        }
        graph
    }
}

/// Returns true if a fabric has channels that are none of the old fabric's.
fn has_new(fabric: &Fabric, channels: &IdxVec<ChannelIdx, Option<ChannelIdx>>) -> bool {
    channels.iter().flatten().count() < fabric.channels().len()
}

/// Vertices by the channels of another fabric, without those whose channel is gone.
fn renumbered(
    vertices: &[Vertex],
    channels: &IdxVec<ChannelIdx, Option<ChannelIdx>>,
) -> Vec<Vertex> {
    let there = vertices.iter().filter_map(|vertex| {
        let channel = channels.find(vertex.channel).copied().flatten()?;
        Some(Vertex { channel, ..*vertex })
    });
    there.collect()
}

/// A dependency: two channels and the lane.
type Edge = (ChannelIdx, ChannelIdx, u8);

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

/// Counts that are being updated.
struct Update<'c> {
    counts: &'c mut PathCounts,
    /// The dependencies that no path used before, by kind of traffic.
    added: [Vec<Edge>; 3],
    /// The dependencies that no path uses any more, by kind of traffic. A path that is added later may use them again.
    removed: [Vec<Edge>; 3],
    path: Vec<Option<ChannelIdx>>,
}

impl<'c> Update<'c> {
    fn new(counts: &'c mut PathCounts) -> Self {
        Self {
            counts,
            added: [const { Vec::new() }; 3],
            removed: [const { Vec::new() }; 3],
            path: Vec::new(),
        }
    }

    /// Adds the path from a switch to a LID, or takes it away; `None` if it does not arrive. `renumber` gives the
    /// channels' numbers in the new fabric.
    fn path(
        &mut self,
        on: RoutesInUse<'_>,
        switch: SwitchIdx,
        lid: Lid,
        owner: &Destination,
        adds: bool,
        renumber: impl Fn(ChannelIdx) -> Option<ChannelIdx>,
    ) -> Option<()> {
        self.path.clear();
        let mut here = switch;
        loop {
            let port = on.routes.port(here, lid);
            let Some(channel) = on.fabric.channel_at(here, port) else {
                let arrives = owner.switch == Some(here) && owner.exit == port;
                break arrives.then_some(())?;
            };
            if self.path.len() >= on.fabric.num_switches() {
                return None;
            }
            self.path.push(renumber(channel));
            here = on.fabric.channel(channel).to;
        }
        let routes = ca_lids(on.lids, switch);
        let lane = lane_of(on.routes, switch, lid);
        let between_cas = routes > 0 && !owner.is_switch();
        if between_cas {
            self.counts.note_hops(self.path.len(), adds);
            if !self.path.is_empty() {
                self.counts.note_lane(lane, adds);
            }
            for &channel in self.path.iter().flatten() {
                let load = &mut self.counts.load[channel];
                *load = if adds { *load + routes } else { *load - routes };
            }
        }
        let kind = usize::from(owner.is_switch());
        let edges = match adds {
            true => &mut self.added,
            false => &mut self.removed,
        };
        let kinds = self.counts.users.iter_mut().zip(edges).skip(kind);
        for ((users, edges), count) in kinds.zip([u32::from(routes > 0), 1]) {
            for pair in self.path.windows(2) {
                let &[Some(from), Some(to)] = pair else {
                    continue;
                };
                let changes = match adds {
                    true => users.add(from, to, lane, count),
                    false => users.remove(from, to, lane, count),
                };
                if changes {
                    edges.push((from, to, lane));
                }
            }
        }
        Some(())
    }
}

/// The lane of packets from a switch, or the CAs at it, to a LID.
fn lane_of(routes: &Routes, switch: SwitchIdx, lid: Lid) -> u8 {
    uniform_lane(routes, routes.sl_from(switch, lid))
}

/// LIDs of the CAs at a switch.
fn ca_lids(lids: &LidMap, switch: SwitchIdx) -> u32 {
    let cas = lids.at_switch(switch).filter(|end| !end.is_switch());
    cas.map(|end| u32::from(end.range.lmc().lid_count())).sum()
}

/// Returns true if dependencies lead forward in an order of all channels on all lanes.
fn agrees<'e>(
    fabric: &Fabric,
    lanes: u8,
    order: &[Vertex],
    added: impl Iterator<Item = &'e Edge>,
) -> bool {
    let lanes = usize::from(lanes);
    let mut places = vec![0_u32; fabric.channels().len() * lanes];
    let number = |channel: ChannelIdx, lane: u8| channel.0 as usize * lanes + usize::from(lane);
    for (at, vertex) in (1..).zip(order) {
        if let Some(place) = places.get_mut(number(vertex.channel, vertex.lane)) {
            *place = at;
        }
    }
    let place = |channel, lane| places.get(number(channel, lane)).copied().unwrap_or(0);
    let mut added = added;
    added.all(|&(from, to, lane)| place(from, lane) < place(to, lane))
}
