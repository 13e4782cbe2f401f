//! Nue (`nue`): as short paths as any number of virtual lanes allows, even one.
//!
//! Works on any fabric, connected or not, on `options.nue_max_num_vls` lanes. Between no two LIDs a
//! packet can deadlock, those of switches included. If the lanes suffice for balanced shortest paths,
//! these are taken. Otherwise each destination is routed on one lane, in a search over its channel
//! dependency graph: a channel is taken only if the graph admits the dependency on the next one;
//! destinations are dealt to the lanes in turn. Every lane begins with the dependencies of a spanning
//! tree: these are the escape paths, and because of them the topological order always has a rising path
//! from every switch to every other. Where the search for short paths gets stuck, a destination takes
//! rising paths alone. In the end the busiest channels are relieved as far as the graphs admit it.
//! Time O(LIDs * channels) and a repair of the order per new dependency. Source: Domke, Hoefler and
//! Matsuoka, "Routing on the Dependency Graph: A New Approach to Deadlock-Free High-Performance
//! Routing", 2016.

mod escape;
mod paths;

use alloc::{vec, vec::Vec};

use ib_wire::{Sl, random::SplitMix64};

use self::{escape::Escape, paths::Paths};
use crate::{
    algo::{
        balance::{is_even, max_load, rounds},
        channel_graph::{ChannelGraph, DependencyLayout},
        choices::Choices,
        demands::Demands,
        lanes::channels_up_and_down,
        layered::{self, LayeredConfig, Objective, TreeStrategy},
        shortest_path_dag::ShortestPathDag,
    },
    engine::{self, Guarantees, RoutingEngine},
    error::RouteError,
    fabric::Fabric,
    index::{ChannelIdx, IdxVec},
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
                first_lane: 0,
                lanes: vls,
            };
            if let Ok(routes) = layered::route(fabric, lids, options, config) {
                return Ok(routes);
            }
        }
        let mut routes = Routes::new(&engine::NUE, fabric, lids);
        routes.set_exits(lids);
        let dag = ShortestPathDag::new(fabric, options);
        let demands = Demands::new(fabric, lids, false);
        let found = arrange(fabric, &dag, &demands, vls);
        found
            .choices
            .install(fabric, &dag, &demands.trees, &mut routes);
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
        Ok(routes)
    }
}

/// One in so many trees may leave the shortest paths before another order is tried.
const PATIENCE: usize = 256;

/// No channel.
const NONE: ChannelIdx = ChannelIdx(u32::MAX);

/// Paths to all LIDs.
struct Arrangement {
    choices: Choices,
    load: IdxVec<ChannelIdx, u64>,
    /// The lane of each tree.
    lanes: Vec<u8>,
}

/// Finds paths in several orders of the destinations, as many as there is time for, and takes the
/// best. The order decides which dependencies are admitted: where cycles are met, targets that are
/// neighbours, one after the other, leave the last of them little. So does the root of the escape
/// paths, and every other round has another one.
fn arrange(fabric: &Fabric, dag: &ShortestPathDag, demands: &Demands, vls: u8) -> Arrangement {
    let layout = DependencyLayout::new(fabric);
    let roots = escape::roots(fabric, &demands.senders);
    let mut targets = Vec::new();
    let mut first = 0;
    for trees in demands
        .trees
        .chunk_by(|one, next| one.target == next.target)
    {
        targets.push((first, first + trees.len()));
        first += trees.len();
    }
    // Trees to switches without CAs stay last: they carry next to nothing.
    let to_cas = demands.trees.partition_point(|tree| tree.weight > 0);
    let to_cas = targets.partition_point(|&(first, _)| first < to_cas);
    let rounds = rounds(demands.trees.len() * fabric.num_switches());
    let mut random = SplitMix64::new(1);
    let mut best: Option<Arrangement> = None;
    for round in 0..rounds.max(2) {
        // On a large fabric the first round is for trees, where shortest paths meet no cycle.
        let patience = if round == 0 && rounds == 1 {
            demands.trees.len() / PATIENCE
        } else {
            usize::MAX
        };
        if let (1.., Some(targets)) = (round, targets.get_mut(..to_cas)) {
            random.shuffle(targets);
        }
        let mut roots = roots.clone();
        if round % 2 == 1 {
            let other = random.below(roots.len());
            roots.swap(0, other);
        }
        let escape = Escape::new(fabric, &roots);
        // Up is towards the root, so that neither escape paths nor up*/down* paths contradict the order.
        let order = channels_up_and_down(fabric, &escape.order);
        let mut lane = ChannelGraph::new(&layout, &order);
        escape.admit(fabric, &mut lane);
        let mut lanes = vec![lane; usize::from(vls)];
        let paths = Paths::new(fabric, demands);
        let Some(found) = paths.find_all(dag, &targets, &mut lanes, patience) else {
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
