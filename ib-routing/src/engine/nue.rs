//! Nue (`nue`): as short paths as any number of virtual lanes allows, even one.
//!
//! Works on any fabric, connected or not, on `options.nue_max_num_vls` lanes. Between no two LIDs a
//! packet can deadlock, those of switches included. If the lanes suffice for balanced shortest paths,
//! these are taken. Otherwise each destination is routed on one lane, in a search over its channel
//! dependency graph: a channel is taken only if the graph admits the dependency on the next one;
//! destinations are dealt to the lanes in turn. Every lane begins with the dependencies of a spanning
//! tree: these are the escape paths, and because of them the topological order always has a rising path
//! from every switch to every other. Where a switch finds no path, a neighbour takes another one; only where
//! that does not help, a destination takes rising paths alone. Where shortest paths would close cycles, one tree
//! per switch is sketched before, in two orders of the switches: the better sketch leaves its dependencies and its
//! loads to the trees of the LIDs. A large fat tree gets the trees of `sssp` instead. Searches are left for trees whose
//! paths of CAs the graph does not admit, and for paths of other switches. In the end the busiest channels are relieved as
//! far as the graphs admit it.
//! Time O(LIDs * channels) and a repair of the order per new dependency. Source: Domke, Hoefler and
//! Matsuoka, "Routing on the Dependency Graph: A New Approach to Deadlock-Free High-Performance
//! Routing", 2016.

mod escape;
mod paths;

use alloc::{sync::Arc, vec, vec::Vec};

use ib_wire::{Sl, random::SplitMix64};

use self::{
    escape::Escape,
    paths::{BalancedTrees, Paths, Sketch, Start},
};
use crate::{
    algo::{
        balance::{is_even, max_load, rounds},
        channel_graph::{ChannelGraph, DependencyLayout, SearchOrder},
        choices::Choices,
        demands::Demands,
        lanes::channels_up_and_down,
        layered::{self, LayeredConfig, Objective, TreeStrategy},
        parallel,
        shortest_path_dag::ShortestPathDag,
    },
    engine::{self, Guarantees, RoutingEngine},
    error::RouteError,
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::LidMap,
    options::RouteOptions,
    routes::{Routes, SlTable},
    vl::VlMap,
};
/// The engine `nue`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nue;

impl RoutingEngine for Nue {
    fn name(&self) -> &'static str {
        "nue"
    }

    fn guarantees(&self, _: &RouteOptions) -> Guarantees {
        Guarantees {
            any_fabric: true,
            deadlock_free: true,
            ..Guarantees::NONE
        }
    }

    /// # Errors
    /// None: a spanning tree of every part of the fabric always has room on a lane.
    fn route(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<Routes, RouteError> {
        let vls = options.nue_max_num_vls.clamp(1, options.vls());
        if vls > 1 {
            let config = LayeredConfig {
                engine: &engine::NUE,
                tree_per_switch: false,
                strategies: [&[TreeStrategy::Balanced], &[]],
                objective: Objective::Load,
                with_switches: true,
                count_switches: options.nue_include_switches,
                first_lane: 0,
                lanes: vls,
            };
            if let Ok(routes) = layered::route(fabric, lids, options, config) {
                return Ok(routes);
            }
        }
        Ok(parallel::install(options.threads, fabric, || {
            searched(fabric, lids, options, vls)
        }))
    }
}

/// Routes with each destination on one of so many lanes.
fn searched(fabric: &Fabric, lids: &LidMap, options: &RouteOptions, vls: u8) -> Routes {
    let mut routes = Routes::new_on(options.threads, &engine::NUE, fabric, lids);
    routes.set_exits(lids);
    let dag = ShortestPathDag::new(fabric, options);
    let demands = |tree_per_switch| {
        let mut demands = Demands::new(fabric, lids, tree_per_switch);
        if options.nue_include_switches {
            demands.count_switches();
        }
        demands
    };
    let (sketched, demands) = (demands(true), demands(false));
    let found = arrange(options.threads, fabric, &dag, sketched, &demands, vls);
    found
        .choices
        .install(options.threads, fabric, &demands.trees, &mut routes);
    if vls > 1 {
        let mut sls = vec![Sl::ZERO; routes.row_len()];
        for (demand, &lane) in demands.trees.iter().zip(&found.lanes) {
            for lid in &demand.lids {
                if let Some(sl) = sls.get_mut(usize::from(lid.0)) {
                    *sl = Sl::try_new(lane).unwrap_or_default();
                }
            }
        }
        routes.set_lanes(SlTable::ByDestination(sls), VlMap::default(), vls);
    }
    routes
}

/// One in so many trees may leave the shortest paths before another order is tried.
const PATIENCE: usize = 256;

/// Sketches in a round, of which the best is taken.
const SKETCHES: usize = 2;

/// No channel.
const NONE: ChannelIdx = ChannelIdx(u32::MAX);

/// Paths to all LIDs.
struct Arrangement {
    choices: Choices,
    load: IdxVec<ChannelIdx, u64>,
    /// The lane of each tree.
    lanes: Vec<u8>,
}

/// A switch that paths lead to.
#[derive(Clone, Copy, Debug)]
struct Target {
    switch: SwitchIdx,
    /// The number of the target.
    number: usize,
    /// The first of the trees to it, and the end of them.
    first: usize,
    end: usize,
    /// LIDs there that count.
    weight: u64,
}

/// All targets of the trees, by number.
fn targets(demands: &Demands) -> Vec<Target> {
    let mut first = 0;
    let trees = demands
        .trees
        .chunk_by(|one, next| one.target == next.target);
    let targets = trees.enumerate().filter_map(|(number, trees)| {
        let begin = first;
        first += trees.len();
        trees.first().map(|tree| Target {
            switch: tree.target,
            number,
            first: begin,
            end: first,
            weight: trees.iter().map(|tree| tree.weight).sum(),
        })
    });
    targets.collect()
}

/// Finds paths in several orders of the destinations, as many as there is time for, and takes the
/// best. The order decides which dependencies are admitted: where cycles are met, targets that are
/// neighbours, one after the other, leave the last of them little. So does the root of the escape
/// paths. Both are chosen by a [sketch](Sketch) of `sketched`, with one tree per switch, in every round but the
/// first.
///
/// A large fabric like a fat tree, where switches with CAs are not joined, gets [balanced trees](BalancedTrees) instead,
/// if there is one lane.
fn arrange(
    threads: usize,
    fabric: &Fabric,
    dag: &ShortestPathDag,
    sketched: Demands,
    demands: &Demands,
    vls: u8,
) -> Arrangement {
    let is_direct = demands.is_direct(fabric);
    let start = LaneStart {
        fabric,
        layout: Arc::new(DependencyLayout::new(fabric)),
        vls,
        search_order: if is_direct {
            SearchOrder::BreadthFirst
        } else {
            SearchOrder::DepthFirst
        },
    };
    let roots = escape::roots(fabric, &demands.senders);
    let sketcher = Sketcher {
        threads,
        start: &start,
        demands: sketched,
        roots: &roots,
    };
    let mut targets = targets(demands);
    let rounds = rounds(demands.trees.len() * fabric.num_switches());
    if rounds == 1 && !is_direct {
        let mut lanes = start.lanes(&roots);
        if let [lane] = lanes.as_mut_slice() {
            let trees = BalancedTrees::new(threads, fabric, dag, demands, &start.layout, lane);
            let (paths, trees) = (Paths::new(fabric, demands), Start::Trees(trees));
            let found = paths.find_all(threads, dag, &targets, trees, &mut lanes, usize::MAX);
            if let Some(found) = found {
                return found;
            }
        }
    }
    let mut random = SplitMix64::new(1);
    let mut best: Option<Arrangement> = None;
    for round in 0..rounds.max(2) {
        // On a large fabric the first round is for trees, where shortest paths meet no cycle.
        let patience = if round == 0 && rounds == 1 {
            demands.trees.len() / PATIENCE
        } else {
            usize::MAX
        };
        let sketched = match round {
            0 => None,
            _ => sketcher.best(dag, &mut targets, &mut random),
        };
        let (known, mut lanes) = match sketched {
            Some((sketch, lanes)) => (Start::Sketch(sketch), lanes),
            None => (Start::Nothing, start.lanes(&roots)),
        };
        let paths = Paths::new(fabric, demands);
        let found = paths.find_all(threads, dag, &targets, known, &mut lanes, patience);
        let Some(found) = found else {
            continue;
        };
        let enough = is_even(&found.load) || patience < usize::MAX;
        if best
            .as_ref()
            .is_none_or(|best| max_load(&found.load) < max_load(&best.load))
        {
            best = Some(found);
        }
        if enough {
            break;
        }
    }
    best.unwrap_or_else(|| Arrangement {
        choices: Choices::new(fabric, &[]),
        load: IdxVec::new(),
        lanes: Vec::new(),
    })
}

/// Makes sketches.
struct Sketcher<'a> {
    /// As in [`RouteOptions`].
    threads: usize,
    start: &'a LaneStart<'a>,
    /// One tree for all CAs at a switch.
    demands: Demands,
    roots: &'a [SwitchIdx],
}

impl<'a> Sketcher<'a> {
    /// The sketch with the least loaded busiest channel, the lanes with its dependencies, and `targets` in its
    /// order. Threads make all sketches side by side; one thread gives one up that cannot be the best.
    fn best(
        &self,
        dag: &ShortestPathDag,
        targets: &mut [Target],
        random: &mut SplitMix64,
    ) -> Option<(Sketch, Vec<ChannelGraph>)> {
        // Trees to switches that do not count stay last: they carry next to nothing.
        let to_cas = targets.partition_point(|target| target.weight > 0);
        let mut order = targets.to_vec();
        let begin = |number| {
            if let Some(to_cas) = order.get_mut(..to_cas) {
                random.shuffle(to_cas);
            }
            let mut roots = self.roots.to_vec();
            if number % 2 == 1 {
                let other = random.below(roots.len());
                roots.swap(0, other);
            }
            let order = order.clone();
            Beginning { order, roots }
        };
        let beginnings: Vec<Beginning> = (0..SKETCHES).map(begin).collect();
        let mut made = Vec::new();
        if parallel::workers(self.threads, self.start.fabric.num_switches()) > 1 {
            let sketch = |at| self.sketch(dag, beginnings.get(at)?, u64::MAX);
            made = parallel::map(self.threads, beginnings.len(), sketch);
        }
        let mut made = made.into_iter();
        let mut best: Option<(Sketch, Vec<ChannelGraph>)> = None;
        for beginning in &beginnings {
            let limit = best.as_ref().map_or(u64::MAX, |(best, _)| best.max);
            let sketch = match made.next() {
                Some(sketch) => sketch.filter(|(sketch, _)| sketch.max < limit),
                None => self.sketch(dag, beginning, limit),
            };
            if let Some(sketch) = sketch {
                best = Some(sketch);
                targets.copy_from_slice(&beginning.order);
            }
        }
        best
    }

    /// A sketch, and the lanes with its dependencies; `None` if a channel bears `limit` routes.
    fn sketch(
        &self,
        dag: &ShortestPathDag,
        beginning: &Beginning,
        limit: u64,
    ) -> Option<(Sketch, Vec<ChannelGraph>)> {
        let mut lanes = self.start.lanes(&beginning.roots);
        let paths = Paths::new(self.start.fabric, &self.demands);
        let sketch = paths.sketch(dag, &beginning.order, &mut lanes, limit)?;
        Some((sketch, lanes))
    }
}

/// The order and the roots that a sketch begins with.
struct Beginning {
    /// The order of the targets.
    order: Vec<Target>,
    /// The roots of escape paths, the one to take first.
    roots: Vec<SwitchIdx>,
}

/// The facts that the lanes of all rounds begin with.
struct LaneStart<'a> {
    fabric: &'a Fabric,
    layout: Arc<DependencyLayout>,
    vls: u8,
    search_order: SearchOrder,
}

impl LaneStart<'_> {
    /// Lanes that admit escape paths towards the first of `roots`.
    fn lanes(&self, roots: &[SwitchIdx]) -> Vec<ChannelGraph> {
        let escape = Escape::new(self.fabric, roots);
        // Up is towards the root, so that neither escape paths nor up*/down* paths contradict the order.
        let order = channels_up_and_down(self.fabric, &escape.order);
        let lane = ChannelGraph::new(&self.layout, &order);
        let mut lane = lane.with_search_order(self.search_order);
        escape.admit(self.fabric, &mut lane);
        vec![lane; usize::from(self.vls)]
    }
}
