//! Shortest paths shared out over virtual lanes: what DFSSSP, LASH and Nue have in common.
//!
//! Trees of shortest paths are chosen by one of several strategies, and each path gets the lowest lane
//! whose channel dependencies stay acyclic. Which strategies are tried, and which result is taken, is the
//! engine's [`LayeredConfig`].

mod layering;
mod limits;

use alloc::{boxed::Box, sync::Arc, vec::Vec};

use ib_wire::Sl;

use self::{layering::Layering, limits::Limits};
use crate::{
    algo::{
        balance::{Balance, max_load},
        channel_graph::DependencyLayout,
        choices::Choices,
        demands::Demands,
        lanes::{LaneOrders, Lanes, NO_LANE},
        parallel,
        shortest_path_dag::{ShortestPathDag, Tree},
        tree_lanes::TreeLanes,
    },
    engine::SharedEngine,
    error::RouteError,
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
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
    /// Trees reuse the turns of earlier ones: more load, fewer lanes. It is of no use where balanced trees fit one lane.
    ReuseTurns,
}

/// The measure of the best of several results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// The lowest load.
    Load,
    /// The lowest load on no more lanes than [`TreeStrategy::ByPort`] needs for the paths that must fit.
    LoadOnFewLanes,
    /// The fewest lanes for the paths that must fit, then the lowest load.
    Lanes,
}

/// An engine's use of [`route()`].
#[derive(Clone, Copy, Debug)]
pub struct LayeredConfig {
    /// The engine, for errors and as the origin of the routes.
    pub engine: &'static SharedEngine,
    /// One tree for all LIDs at a switch, and not one for each.
    pub tree_per_switch: bool,
    /// The strategies to try first, and those to try if all of these need too many lanes. Among equal results the first
    /// strategy counts. [`TreeStrategy::Balanced`] is the first of all, and [`TreeStrategy::ReuseTurns`] the last.
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
        threads: options.threads,
        fabric,
        lids,
        dag: ShortestPathDag::new(fabric, options),
        layout: Arc::new(DependencyLayout::new(fabric)),
        orders: LaneOrders::new(fabric, &demands.senders),
        demands,
    };
    let routes = parallel::install(options.threads, fabric, || {
        run.found().map(|found| run.routes(found))
    });
    routes.ok_or_else(|| RouteError::TooFewVls {
        engine: config.engine.name(),
        available: config.lanes,
        needed: u16::from(config.lanes) + 1,
    })
}

/// Trees that fit the lanes.
struct Found<'a> {
    strategy: TreeStrategy,
    /// The highest of all channels.
    load: u64,
    trees: Trees<'a>,
    layers: Layers,
}

impl Found<'_> {
    /// Returns true if the trees were chosen by load and fit one lane, so that no others need fewer.
    fn is_by_load_on_one_lane(&self) -> bool {
        self.strategy == TreeStrategy::Balanced && self.layers.counted == 1
    }
}

/// The lanes of all paths.
struct Layers {
    /// Number of lanes that the paths which must fit use: it is what the objective counts.
    counted: u8,
    /// Number of lanes in use.
    used: u8,
    of_trees: TreeLanes,
}

/// A result for each of some strategies; `None` where the lanes do not suffice, or where it cannot be taken.
type Results<'a> = Vec<Option<Found<'a>>>;

enum Trees<'a> {
    Balanced(Box<Balance<'a>>),
    Grown(Choices),
}

impl Trees<'_> {
    fn choices(&self) -> &Choices {
        match self {
            Self::Balanced(balance) => balance.choices(),
            Self::Grown(choices) => choices,
        }
    }
}

struct Run<'a> {
    config: LayeredConfig,
    /// As in [`RouteOptions`].
    threads: usize,
    fabric: &'a Fabric,
    lids: &'a LidMap,
    dag: ShortestPathDag,
    demands: Demands,
    layout: Arc<DependencyLayout>,
    orders: LaneOrders,
}

impl Run<'_> {
    /// The best result of the first strategies, or else that of the others; `None` if the lanes suffice for none.
    fn found(&self) -> Option<Found<'_>> {
        let [first, rest] = self.config.strategies;
        if self.is_side_by_side() {
            let (first, rest) = self.side_by_side(first, rest);
            return self.best(first).or_else(|| self.best(rest));
        }
        let found = self.best(self.in_turn(first));
        found.or_else(|| self.best(self.in_turn(rest)))
    }

    /// Returns true if threads had better look at all strategies at the same time.
    ///
    /// Trees of direct networks often need too many lanes, and threads have little to share while that is found out.
    fn is_side_by_side(&self) -> bool {
        let workers = parallel::workers(self.threads, self.fabric.num_switches());
        workers > 1 && self.demands.is_direct(self.fabric)
    }

    /// The number of strategies that threads look at side by side until the result is found.
    fn num_side_by_side(&self) -> usize {
        match self.is_side_by_side() {
            true => self.config.strategies.iter().map(|of| of.len()).sum(),
            false => 1,
        }
    }

    /// The results of the first strategies, and of the others: none where the first have one.
    fn side_by_side(
        &self,
        first: &[TreeStrategy],
        rest: &[TreeStrategy],
    ) -> (Results<'_>, Results<'_>) {
        let (of_first, of_rest) = (Limits::new(), Limits::new());
        let mut results = parallel::map(self.threads, first.len() + rest.len(), |at| {
            let Some(&strategy) = first.get(at) else {
                return self.result(*rest.get(at - first.len())?, 1, &of_rest);
            };
            let found = self.result(strategy, 1, &of_first)?;
            of_rest.end();
            Some(found)
        });
        let others = results.split_off(first.len());
        (results, others)
    }

    /// The results of some strategies, one after the other. On most networks that are not direct the first one ends the search:
    /// trees that are chosen by load fit one lane there.
    fn in_turn(&self, strategies: &[TreeStrategy]) -> Results<'_> {
        let limits = Limits::new();
        let workers = parallel::workers(self.threads, self.fabric.num_switches());
        let strategies = strategies.iter();
        let results = strategies.map(|&strategy| self.result(strategy, workers, &limits));
        results.collect()
    }

    /// The best of some results by the configuration's objective.
    fn best<'a>(&self, results: Results<'a>) -> Option<Found<'a>> {
        let mut results: Vec<Found<'_>> = results.into_iter().flatten().collect();
        let by_port = results
            .iter()
            .find(|found| found.strategy == TreeStrategy::ByPort);
        let lanes = self.most_lanes(by_port);
        let reuses = |found: &Found<'_>| found.strategy == TreeStrategy::ReuseTurns;
        // Trees that reuse turns may have been chosen side by side with those that make them needless.
        let fits_one = results.iter().any(Found::is_by_load_on_one_lane);
        results.retain(|found| found.layers.counted <= lanes && !(fits_one && reuses(found)));
        results
            .into_iter()
            .min_by_key(|found| self.rank(found.layers.counted, found.load))
    }

    /// The most lanes that a result may use, by that of [`TreeStrategy::ByPort`].
    fn most_lanes(&self, by_port: Option<&Found<'_>>) -> u8 {
        match (self.config.objective, by_port) {
            (Objective::LoadOnFewLanes, Some(found)) => found.layers.counted,
            _ => u8::MAX,
        }
    }

    /// The measure of a result: the lowest is the best, and the first among equals.
    fn rank(&self, lanes: u8, load: u64) -> (u8, u64) {
        match self.config.objective {
            Objective::Load | Objective::LoadOnFewLanes => (0, load),
            Objective::Lanes => (lanes, load),
        }
    }

    /// The result of a strategy, within the limits, which it lowers. Up to `workers` threads choose its trees.
    fn result(&self, strategy: TreeStrategy, workers: usize, limits: &Limits) -> Option<Found<'_>> {
        let found = match self.balance(strategy, workers) {
            Some(balance) => self.layer(strategy, balance, limits),
            None => self.reuse_turns(limits),
        };
        self.limit(strategy, found.as_ref(), limits);
        found
    }

    /// Lowers the limits by a result. They are limits of trees that reuse turns, which come last.
    fn limit(&self, strategy: TreeStrategy, found: Option<&Found<'_>>, limits: &Limits) {
        if strategy == TreeStrategy::ByPort {
            limits.set_lanes(self.most_lanes(found));
        }
        if let Some(found) = found.filter(|found| found.is_by_load_on_one_lane()) {
            limits.set_load_on_one_lane(found.load);
        }
        let most_lanes = match self.config.objective {
            Objective::LoadOnFewLanes => limits.lanes(),
            Objective::Load | Objective::Lanes => Some(u8::MAX),
        };
        if let (Some(found), Some(most_lanes)) = (found, most_lanes)
            && found.layers.counted <= most_lanes
        {
            limits.lower_rank(self.rank(found.layers.counted, found.load));
        }
    }

    /// Chooses trees without a look at lanes; `None` if that is not what the strategy does.
    fn balance(&self, strategy: TreeStrategy, workers: usize) -> Option<Balance<'_>> {
        let (fabric, dag, demands) = (self.fabric, &self.dag, &self.demands);
        match strategy {
            TreeStrategy::Balanced => Some(Balance::new(workers, fabric, dag, demands)),
            TreeStrategy::ByPort => Some(Balance::by_port(workers, fabric, dag, demands)),
            TreeStrategy::ReuseTurns => None,
        }
    }

    /// No lane is in use yet.
    fn lanes(&self) -> Lanes<'_> {
        Lanes::new(self.fabric, &self.layout, &self.orders, self.config.lanes)
    }

    /// Gives lanes to chosen trees; `None` if the lanes do not suffice, or if the result becomes needless.
    fn layer<'a>(
        &'a self,
        strategy: TreeStrategy,
        balance: Balance<'a>,
        limits: &Limits,
    ) -> Option<Found<'a>> {
        let load = max_load(&balance.load());
        if limits.have_one_lane_below(load) {
            return None;
        }
        let layers = Layering::new(self, &balance, limits).layer()?;
        Some(Found {
            strategy,
            load,
            trees: Trees::Balanced(Box::new(balance)),
            layers,
        })
    }

    /// Chooses trees that reuse the turns of earlier ones; `None` if the lanes do not suffice, or if the result would
    /// exceed the limits.
    fn reuse_turns(&self, limits: &Limits) -> Option<Found<'_>> {
        let Self {
            config,
            fabric,
            demands,
            ..
        } = self;
        let mut lanes = self.lanes();
        let mut choices = Choices::new(fabric, &demands.trees);
        let mut of_trees = TreeLanes::new(demands.trees.len());
        let mut counted = 1;
        let mut load = IdxVec::filled(fabric.channels().len(), 0);
        let mut highest = 0;
        let (mut tree, mut flow) = (Tree::default(), IdxVec::new());
        for (number, demand) in demands.trees.iter().enumerate() {
            let towards = self.dag.towards(demand.target);
            let fits = lanes.grow(fabric, towards, demand.target, &load, &mut tree);
            if fits.is_err() && (demand.is_to_cas || config.with_switches) {
                return None;
            }
            tree.send(fabric, &demands.senders, &mut flow, |channel, routes| {
                load[channel] += routes * demand.weight;
                highest = highest.max(load[channel]);
            });
            let must_fit = |switch: SwitchIdx| {
                config.with_switches || demand.is_to_cas && demands.senders[switch] > 0
            };
            let here = lanes.of_tree().iter_enumerated();
            let here = here.filter(|&(switch, &lane)| lane != NO_LANE && must_fit(switch));
            counted = here.fold(counted, |most, (_, &lane)| most.max(lane + 1));
            // Neither lanes nor load become less with more trees.
            let is_allowed = limits.allow(counted, self.rank(counted, highest));
            if limits.have_one_lane() || !is_allowed {
                return None;
            }
            for &switch in tree.order() {
                choices.set(number, switch, tree.channel(switch));
            }
            of_trees.note(number, lanes.of_tree());
        }
        Some(Found {
            strategy: TreeStrategy::ReuseTurns,
            load: highest,
            trees: Trees::Grown(choices),
            layers: Layers {
                counted,
                used: lanes.used(),
                of_trees,
            },
        })
    }

    /// Writes the tables.
    fn routes(&self, found: Found<'_>) -> Routes {
        let Self {
            config,
            threads,
            fabric,
            demands,
            ..
        } = self;
        let mut routes = Routes::new_on(*threads, config.engine, fabric, self.lids);
        routes.set_exits(self.lids);
        let Found { trees, layers, .. } = found;
        let choices = trees.choices();
        choices.install(*threads, fabric, &demands.trees, &mut routes);
        // The service levels take as much memory as the choices.
        drop(trees);
        let start = Sl::try_new(config.first_lane).unwrap_or_default();
        let sls = if layers.used > 1 {
            SlTable::BySwitch(layers.of_trees.service_levels(
                *threads,
                start,
                fabric.num_switches(),
                routes.row_len(),
                demands.trees.iter().map(|demand| &demand.lids[..]),
            ))
        } else {
            SlTable::Uniform(start)
        };
        routes.set_lanes(sls, VlMap::default(), config.first_lane + layers.used);
        routes
    }
}
