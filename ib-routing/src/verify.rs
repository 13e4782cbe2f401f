//! Verifies routes from any source: reachability, loops, hops, load and deadlock.
//!
//! Every switch's entry for every LID that a port owns is followed to its end. Routes of CA pairs are
//! counted on every channel they cross, and each pair of channels that follow each other, with its virtual
//! lane, is an edge of the channel dependency graph: a cycle in it can deadlock (Dally and Seitz, 1987).

pub mod balance;
pub mod certificate;
mod deadlock;
mod dropped;
mod multicast;
pub(crate) mod path_counts;
mod reach;
pub mod spread;
pub(crate) mod survey;
mod verdict;
pub(crate) mod walk;

use alloc::vec::Vec;

use ib_wire::{Lid, Vl};

pub(crate) use self::deadlock::highest_lane;
pub use self::{
    deadlock::Traffic,
    multicast::Group,
    path_counts::{LostPaths, PathCounts},
    verdict::{Defect, Permission, Verdict},
};
use self::{
    deadlock::{Dependencies, FoundDependencies, Lanes},
    dropped::DropCounts,
    reach::{ReachCounts, Sources},
    walk::{Block, PortTable, Target, Walk},
};
use crate::{
    algo::{dependency::Vertex, parallel},
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::LidMap,
    routes::Routes,
};

/// Result of [`verify()`]. Counts of pairs are of ordered pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VerifyReport {
    /// Pairs of LIDs of different CA (or router) ports.
    pub pairs: u64,
    /// (source port, destination LID) pairs of all end ports without a route, whether or not cables join them, and
    /// pairs whose packets a port drops. `unreachable_ca` of them are between CA ports.
    pub unreachable: u64,
    /// Those of `unreachable` that no cables join, so that no routes can connect them.
    pub disconnected: u64,
    /// Unreachable pairs of CA ports.
    pub unreachable_ca: u64,
    /// Those of `unreachable` that have a route, but whose service level a table on it maps to VL15, so that data is
    /// dropped.
    pub dropped: u64,
    /// (switch, LID) pairs whose route never ends.
    pub loops: u64,
    /// True if CA-to-CA traffic cannot deadlock.
    pub deadlock_free: bool,
    /// True if CA-to-CA traffic and traffic between CAs and switches together cannot deadlock.
    pub ca_switch_deadlock_free: bool,
    /// True if traffic between all LIDs, including switches' own, cannot deadlock.
    pub all_deadlock_free: bool,
    /// A cycle of the channel dependency graph of CA-to-CA traffic: channels and their lanes.
    pub cycle: Option<Vec<(ChannelIdx, Vl)>>,
    /// The proof, if there is no cycle: an order of all channels in which no CA's packet goes backwards.
    pub order: Option<Vec<Vertex>>,
    /// Edges of the channel dependency graph of CA-to-CA traffic.
    pub dependencies: usize,
    /// A cycle that only traffic from or to switches closes.
    pub management_cycle: Option<Vec<(ChannelIdx, Vl)>>,
    /// True if CA-to-CA traffic and the multicast groups together cannot deadlock. Equal to `deadlock_free` if no group
    /// was given.
    pub multicast_deadlock_free: bool,
    /// A cycle that goes through a multicast tree: channels and their lanes.
    pub multicast_cycle: Option<Vec<(ChannelIdx, Vl)>>,
    /// The proof for CA-to-CA traffic and multicast, if groups were given and there is no cycle.
    pub multicast_order: Option<Vec<Vertex>>,
    /// Number of virtual lanes that CA-to-CA traffic uses.
    pub vls: u8,
    /// Largest number of switch-to-switch links between a CA pair.
    pub max_hops: u32,
    /// Mean number of switch-to-switch links between CA pairs.
    pub mean_hops: f64,
    /// CA-pair routes on each directed switch-to-switch link.
    pub link_load: LinkLoad,
    /// The first few failures, for people.
    pub failures: Vec<RouteFailure>,
}

impl VerifyReport {
    /// Returns true if every pair has a route, no route loops, and routes between CAs cannot deadlock.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.unreachable == 0 && self.loops == 0 && self.deadlock_free
    }
}

/// Distribution of CA-pair routes over directed switch-to-switch links.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkLoad {
    /// Number of routes on the busiest link.
    pub max: u64,
    /// Mean number of routes over all links.
    pub mean: f64,
    /// Standard deviation of the number of routes over all links.
    pub stdev: f64,
    /// Number of routes by channel.
    pub by_channel: IdxVec<ChannelIdx, u64>,
}

/// One route that does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteFailure {
    /// The switch where the route starts.
    pub switch: SwitchIdx,
    /// The destination LID of the route.
    pub lid: Lid,
    /// The switch where the route ends or that it passes twice.
    pub at: SwitchIdx,
    /// The reason why the route does not arrive.
    pub end: RouteEnd,
}

/// The end of a route that does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteEnd {
    /// The route ends at a wrong or dead port.
    Dead,
    /// The route never ends: it loops.
    Loop,
    /// A port on the route maps the service level to VL15, so packets are dropped.
    Dropped,
}

/// LIDs of one switch that are followed together, at most: what is known of a switch for so many fills
/// two lines of a cache.
const RUN: usize = 32;

/// Inputs of every step of a verification.
struct Context<'a> {
    fabric: &'a Fabric,
    lids: &'a LidMap,
    routes: &'a Routes,
    table: PortTable,
    sources: Sources,
}

/// Verifies every route, on all available threads.
#[must_use]
pub fn verify(fabric: &Fabric, lids: &LidMap, routes: &Routes) -> VerifyReport {
    verify_on(0, fabric, lids, routes)
}

/// As [`verify()`], on this number of threads; 0 uses all available. The report does not depend on the number.
#[must_use]
pub fn verify_on(threads: usize, fabric: &Fabric, lids: &LidMap, routes: &Routes) -> VerifyReport {
    verify_with(threads, fabric, lids, routes, &[])
}

/// As [`verify_on`], with the multicast groups of the subnet, whose packets share the lanes of unicast packets.
#[must_use]
pub fn verify_with(
    threads: usize,
    fabric: &Fabric,
    lids: &LidMap,
    routes: &Routes,
    groups: &[Group<'_>],
) -> VerifyReport {
    let lanes = highest_lane(routes).max(multicast::highest_lane(routes.vl_map(), groups)) + 1;
    parallel::install(threads, fabric, || {
        let context = Context::new(fabric, lids, routes);
        let (counts, dependencies) = follow_all(threads, &context, lanes, |_| true);
        let mut report = VerifyReport {
            disconnected: verdict::disconnected(fabric, lids),
            ..VerifyReport::default()
        };
        counts.report(&mut report);
        dependencies.report(threads, fabric, routes, groups, &mut report);
        report
    })
}

impl<'a> Context<'a> {
    fn new(fabric: &'a Fabric, lids: &'a LidMap, routes: &'a Routes) -> Self {
        let (table, sources) = (PortTable::new(fabric), Sources::new(fabric, lids));
        // Four lines for each switch, and what is looked up.
        parallel::count(4 * fabric.num_switches() + fabric.channels().len());
        parallel::count(lids.destinations().len());
        Self {
            fabric,
            lids,
            routes,
            table,
            sources,
        }
    }
}

/// Follows the routes to all LIDs that a port owns and `select` names, and counts.
fn follow_all(
    threads: usize,
    context: &Context<'_>,
    lanes: u8,
    select: impl Fn(Lid) -> bool + Sync,
) -> (ReachCounts, Dependencies) {
    let Context { fabric, routes, .. } = *context;
    let blocks = routes.row_len() / Block::LIDS;
    let found = FoundDependencies::new(fabric, lanes, threads != 1);
    let parts = parallel::gather(
        threads,
        blocks,
        || Part::new(fabric, routes),
        |part, number| part.judge_block(context, &found, number * Block::LIDS, &select),
    );
    let (counts, lanes): (Vec<_>, Vec<_>) = parts
        .into_iter()
        .map(|part| (part.counts, part.lanes))
        .unzip();
    let counts = ReachCounts::sum(threads, fabric, counts);
    (counts, found.finish(lanes.iter()))
}

/// The work of one thread, and the space for it.
struct Part {
    block: Block,
    counts: ReachCounts,
    lanes: Lanes,
    /// Counts of dropped data; `None` if no table drops data.
    drops: Option<DropCounts>,
    walks: Walks,
}

/// Walks towards one LID, up to 16 and up to [`RUN`] LIDs at once. A switch's own LID is alone, and a leaf seldom has more
/// than 16 hosts. A walk that is larger than necessary would displace other data from the cache.
struct Walks {
    one: Walk<1>,
    few: Walk<16>,
    many: Walk<RUN>,
}

impl Part {
    fn new(fabric: &Fabric, routes: &Routes) -> Self {
        let part = Self {
            block: Block::new(fabric),
            counts: ReachCounts::new(fabric),
            lanes: Lanes::new(fabric, routes),
            drops: DropCounts::new(routes.vl_map(), fabric.num_switches()),
            walks: Walks {
                one: Walk::new(fabric),
                few: Walk::new(fabric),
                many: Walk::new(fabric),
            },
        };
        // A block takes 2 lines of each switch, walks 1, 3 and 6.
        parallel::count(12 * fabric.num_switches() + fabric.channels().len() / 16);
        part
    }

    /// Follows the routes to those LIDs of the block from `first` on that `select` names.
    fn judge_block(
        &mut self,
        context: &Context<'_>,
        found: &FoundDependencies,
        first: usize,
        select: impl Fn(Lid) -> bool,
    ) {
        let mut targets = targets(context.lids, first);
        targets.retain(|target| select(target.lid));
        if targets.is_empty() {
            return;
        }
        self.block.load(&context.table, context.routes, first);
        let together = |one: &Target<'_>, other: &Target<'_>| one.is_beside(other);
        let runs = targets.chunk_by(together).flat_map(|all| all.chunks(RUN));
        for run in runs {
            let judged = match run.len() {
                1 => self.judge(context, found, run, |walks| &mut walks.one),
                2..=16 => self.judge(context, found, run, |walks| &mut walks.few),
                _ => self.judge(context, found, run, |walks| &mut walks.many),
            };
            if !judged {
                for target in run.chunks(1) {
                    self.judge(context, found, target, |walks| &mut walks.one);
                }
            }
        }
    }

    /// Follows the routes to LIDs of one switch together. False if they have to be followed one by one.
    fn judge<const LIDS: usize>(
        &mut self,
        context: &Context<'_>,
        found: &FoundDependencies,
        run: &[Target<'_>],
        walk: impl FnOnce(&mut Walks) -> &mut Walk<LIDS>,
    ) -> bool {
        let of_switch = run.iter().any(Target::is_switch);
        let walk = walk(&mut self.walks);
        if !walk.follow(&context.table, &self.block, run) {
            return false;
        }
        self.counts.count(context, walk, run, of_switch);
        self.lanes.find(found, context, walk, run, of_switch);
        if let Some(drops) = &mut self.drops {
            for (at, target) in run.iter().enumerate() {
                self.counts.drop(drops.count(context, walk, at, target));
            }
        }
        true
    }
}

/// The LIDs of a block that ports own.
fn targets(lids: &LidMap, first: usize) -> Vec<Target<'_>> {
    let block = (first..first + Block::LIDS).map(|lid| Lid(lid as u16));
    let targets = block.map(|lid| Target {
        lid,
        owner: lids.owner(lid),
    });
    targets.filter(|target| target.owner.is_some()).collect()
}

/// Square root for targets without `std`: Newton's method from above.
pub(crate) fn square_root(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let mut root = if value < 1.0 { 1.0 } else { value };
    for _ in 0..1100 {
        let next = 0.5 * (root + value / root);
        if next >= root {
            break;
        }
        root = next;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::square_root;

    #[test]
    fn the_square_of_a_root_is_the_number() {
        for value in [1e-9, 0.25, 0.5, 1.0, 2.0, 3.0, 1e6, 1e18] {
            let root = square_root(value);
            assert!((root * root / value - 1.0).abs() < 1e-12, "{value}: {root}");
        }
        assert_eq!((square_root(0.0), square_root(-1.0)), (0.0, 0.0));
    }
}
