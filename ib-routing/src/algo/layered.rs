//! Shortest paths shared out over virtual lanes: what DFSSSP, LASH and Nue have in common.
//!
//! Trees of shortest paths are chosen by one of several strategies, and each path gets the lowest lane
//! whose channel dependencies stay acyclic. Which strategies are tried, and which result is taken, is the
//! engine's [`LayeredConfig`].

use alloc::{sync::Arc, vec, vec::Vec};

use ib_wire::Sl;

use crate::{
    algo::{
        balance::{Balance, max_load},
        channel_graph::DependencyLayout,
        demands::Demands,
        lanes::{Lanes, up_down_order},
        parallel,
        shortest_path_dag::{ShortestPathDag, Tree},
    },
    engine::SharedEngine,
    error::RouteError,
    fabric::Fabric,
    index::{ChannelIdx, IdxVec},
    lid::LidMap,
    options::RouteOptions,
    routes::{Routes, SlTable},
    vl::VlMap,
};

/// The rule by which trees are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeStrategy {
    /// By load.
    Balanced,
    /// The first channel by port everywhere: dimension order, on grids.
    ByPort,
    /// Trees reuse the turns of earlier ones: more load, fewer lanes.
    ReuseTurns,
}

/// The measure of the best of several results. The first wins among equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// The lowest load.
    Load,
    /// The lowest load on no more lanes than [`TreeStrategy::ByPort`] needs.
    LoadOnFewLanes,
    /// The fewest lanes, then the lowest load.
    Lanes,
}

/// An engine's use of [`route()`].
#[derive(Clone, Copy, Debug)]
pub struct LayeredConfig {
    /// The engine, for errors and as the origin of the routes.
    pub engine: &'static SharedEngine,
    /// One tree for all LIDs at a switch, and not one for each.
    pub tree_per_switch: bool,
    /// The strategies to try first, and those to try if all of these need too many lanes.
    pub strategies: [&'static [TreeStrategy]; 2],
    /// The measure of the best result.
    pub objective: Objective,
    /// Paths from and to switches must fit too: they cannot share a lane with a cycle.
    pub with_switches: bool,
    /// Routes to switches count in the balance.
    pub count_switches: bool,
    /// The first service level (and lane) to use.
    pub first_lane: u8,
    /// Number of lanes from there on.
    pub lanes: u8,
}

/// Routes by shortest paths on as many lanes as they need.
///
/// # Errors
/// [`RouteError::TooFewVls`] if the lanes do not suffice.
pub fn route(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    config: LayeredConfig,
) -> Result<Routes, RouteError> {
    let mut demands = Demands::new(fabric, lids, config.tree_per_switch);
    if config.count_switches {
        demands.count_switches();
    }
    let run = Run {
        config,
        fabric,
        lids,
        dag: ShortestPathDag::new(fabric, options),
        layout: Arc::new(DependencyLayout::new(fabric)),
        order: up_down_order(fabric, &demands.senders),
        demands,
    };
    for strategies in config.strategies {
        let results = parallel::map(options.threads, strategies.len(), |at| {
            strategies.get(at).and_then(|&strategy| run.route(strategy))
        });
        if let Some(best) = config.best(results.into_iter().flatten().collect()) {
            return Ok(best);
        }
    }
    Err(RouteError::TooFewVls {
        engine: config.engine.name(),
        available: config.lanes,
        needed: u16::from(config.lanes) + 1,
    })
}

impl LayeredConfig {
    /// Chooses by the configuration's objective.
    fn best(&self, mut results: Vec<Found>) -> Option<Routes> {
        let by_port = results
            .iter()
            .find(|found| found.strategy == TreeStrategy::ByPort);
        let limit = by_port.map_or(u8::MAX, |found| found.routes.vls());
        if self.objective == Objective::LoadOnFewLanes {
            results.retain(|found| found.routes.vls() <= limit);
        }
        let lanes = |found: &Found| match self.objective {
            Objective::Load | Objective::LoadOnFewLanes => 0,
            Objective::Lanes => found.routes.vls(),
        };
        results
            .into_iter()
            .min_by_key(|found| (lanes(found), found.load))
            .map(|found| found.routes)
    }
}

/// Routes that fit the lanes.
struct Found {
    strategy: TreeStrategy,
    /// The highest of all channels.
    load: u64,
    routes: Routes,
}

struct Run<'a> {
    config: LayeredConfig,
    fabric: &'a Fabric,
    lids: &'a LidMap,
    dag: ShortestPathDag,
    demands: Demands,
    layout: Arc<DependencyLayout>,
    order: Vec<ChannelIdx>,
}

impl Run<'_> {
    /// Routes by trees that `strategy` chooses; `None` if the lanes do not suffice.
    fn route(&self, strategy: TreeStrategy) -> Option<Found> {
        let Self {
            config,
            fabric,
            demands,
            ..
        } = self;
        let mut routes = Routes::new(config.engine, fabric, self.lids);
        routes.set_exits(self.lids);
        let row_len = routes.row_len();
        let start = Sl::try_new(config.first_lane).unwrap_or_default();
        let mut sls = vec![start; row_len * fabric.num_switches()];
        let mut lanes = Lanes::new(fabric, &self.layout, &self.order, config.lanes);
        let balance = match strategy {
            TreeStrategy::Balanced => Some(Balance::new(fabric, &self.dag, demands)),
            TreeStrategy::ByPort => Some(Balance::by_port(fabric, &self.dag, demands)),
            TreeStrategy::ReuseTurns => None,
        };
        let none = || IdxVec::filled(fabric.channels().len(), 0);
        let mut load = balance.as_ref().map_or_else(none, Balance::load);
        let (mut tree, mut flow) = (Tree::default(), IdxVec::new());
        // Trees in which a switch without CAs has no lane yet.
        let mut open = Vec::new();
        for (number, demand) in demands.trees.iter().enumerate() {
            let to_ca = demand.is_to_cas;
            let fits = if let Some(balance) = &balance {
                balance.read(number, &mut tree);
                lanes.layer(&tree, |switch| !to_ca || demands.senders[switch] > 0)
            } else {
                let towards = self.dag.towards(demand.target);
                let fits = lanes.grow(fabric, towards, demand.target, &load, &mut tree);
                tree.send(fabric, &demands.senders, &mut flow, |channel, routes| {
                    load[channel] += routes * demand.weight;
                });
                fits
            };
            // Where lanes do not suffice for the little traffic from and to switches, it shares the first: the
            // routes still arrive, and the verification names the cycle.
            if fits.is_err() && (to_ca || config.with_switches) {
                return None;
            }
            if to_ca && !lanes.join(&tree) {
                open.push(number);
            }
            for &lid in &demand.lids {
                tree.install(fabric, lid, &mut routes);
                lanes.note(&tree, lid, start, row_len, &mut sls);
            }
        }
        for number in open {
            let (Some(demand), Some(balance)) = (demands.trees.get(number), &balance) else {
                break;
            };
            balance.read(number, &mut tree);
            let fits = lanes.layer(&tree, |switch| demands.senders[switch] == 0);
            if fits.is_err() && config.with_switches {
                return None;
            }
            for &lid in &demand.lids {
                lanes.note(&tree, lid, start, row_len, &mut sls);
            }
        }
        let vls = lanes.used();
        let sls = if vls > 1 {
            SlTable::BySwitch(sls)
        } else {
            SlTable::Uniform(start)
        };
        routes.set_lanes(sls, VlMap::default(), config.first_lane + vls);
        Some(Found {
            strategy,
            load: max_load(&load),
            routes,
        })
    }
}
