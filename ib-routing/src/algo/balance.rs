//! Trees of shortest paths towards all LIDs, balanced against each other.
//!
//! Each tree is chosen by the load of those before it, so the early ones would choose blindly. Where switches with CAs are
//! joined directly (tori, dragonflies), and where all CAs of a switch share one tree, a tree that is not yet chosen is
//! therefore expected to split its routes evenly over all shortest paths. If all channels bear alike then, as on tori, nothing
//! is better than that split, and every switch keeps as close to it as whole trees allow. If some channels bear more than
//! others in the end, the busiest are [relieved](Hotspots).
//!
//! A switch that no routes of a tree pass takes its first channel in it, and so do all switches in trees without routes, which
//! lead to switches: no load depends on these choices.
//!
//! On large fabrics several trees to one switch are chosen at once. Only where cables are missing each is chosen by itself.
//! On small fabrics there is time for more passes, in other orders: each takes one tree after the other out again, and
//! chooses it anew by the load of all others. The best pass counts. Source: Hoefler, Schneider and Lumsdaine, "Optimized
//! Routing for Large-Scale InfiniBand Networks", 2009, for the choice by the load of earlier trees.

mod divided;
mod even_split;
mod expected;
mod lightest;
mod lower_bound;
mod parts;
mod regular;
mod tree_chooser;

use alloc::{boxed::Box, vec::Vec};

use ib_wire::random::SplitMix64;

pub use self::regular::is_regular;
use self::{
    divided::Divided,
    expected::expect,
    lower_bound::lower_bound,
    parts::Parts,
    tree_chooser::{Group, Pass, SIDE_BY_SIDE, TreeChooser, Visit, grouped},
};
use crate::{
    algo::{
        choices::Choices,
        demands::Demands,
        hotspots::{AdmitAll, Hotspots},
        parallel,
        shortest_path_dag::{Fans, ShortestPathDag, Tree},
    },
    engine::SharedEngine,
    fabric::Fabric,
    index::{ChannelIdx, IdxVec},
    lid::LidMap,
    routes::Routes,
};

/// Choices that there is time for on a small fabric, in all rounds together: about a millisecond.
const EFFORT: usize = 1 << 14;

/// Rounds at most: later ones find hardly anything better.
const ROUNDS: usize = 32;

/// Rounds that a fabric of some hundred CAs is worth.
const FEW_ROUNDS: usize = 4;

/// Choices of a large fabric, where one round must do.
const LARGE: usize = 1 << 16;

/// The number of rounds of so many choices that there is time for.
#[must_use]
pub fn rounds(choices: usize) -> usize {
    if choices > LARGE {
        return 1;
    }
    (EFFORT / choices.max(1)).clamp(FEW_ROUNDS, ROUNDS)
}

/// Detours that there is time for in a round of so many choices. In a large network where routes do not [spread](Demands::spread)
/// most of the gain comes first, so that a third of them do.
#[must_use]
pub fn room(choices: usize, spread: bool) -> usize {
    match rounds(choices) {
        1 if !spread => choices / 3,
        rounds => choices.max(EFFORT / rounds),
    }
}

/// Returns true if nothing can gain much: the highest load is within 2 % of the mean of used channels.
#[must_use]
pub fn is_even(load: &IdxVec<ChannelIdx, u64>) -> bool {
    let used = load.iter().filter(|&&load| load > 0).count() as u64;
    let sum: u64 = load.iter().sum();
    max_load(load).saturating_mul(used).saturating_mul(100) <= sum.saturating_mul(102)
}

/// Routes on the busiest channel.
#[must_use]
pub fn max_load(load: &IdxVec<ChannelIdx, u64>) -> u64 {
    load.iter().copied().max().unwrap_or_default()
}

/// Routes each LID of a CA along a tree of its own that is chosen by load among the paths of `dag`, on as many threads as
/// `threads` says. The LIDs of a switch itself share the first tree of its CAs.
#[must_use]
pub fn route(
    threads: usize,
    engine: &SharedEngine,
    fabric: &Fabric,
    lids: &LidMap,
    dag: &ShortestPathDag,
) -> Routes {
    let mut routes = Routes::new_on(threads, engine, fabric, lids);
    routes.set_exits(lids);
    let demands = Demands::new(fabric, lids, false);
    let workers = parallel::workers(threads, fabric.num_switches());
    let balance = Balance::new(workers, fabric, dag, &demands);
    let choices = balance.choices();
    choices.install(threads, fabric, &demands.trees, &mut routes);
    routes
}

/// A chosen tree for every demand, and the load of all together.
#[derive(Debug)]
pub struct Balance<'a> {
    /// All threads of this pool.
    threads: usize,
    fabric: &'a Fabric,
    dag: &'a ShortestPathDag,
    demands: &'a Demands,
    /// Next hops of switches that have many; none where routes spread.
    fans: Fans,
    choices: Choices,
    chooser: Chooser,
}

/// The chooser of trees, with the load of those chosen so far.
#[derive(Debug)]
enum Chooser {
    /// One thread, for all switches.
    Whole(Box<TreeChooser>),
    /// Several threads. Where routes spread, the choice of a switch depends on those of all others, so no switches are divided.
    Divided(Box<Divided>),
}

impl Chooser {
    fn new(workers: usize, fabric: &Fabric, dag: &ShortestPathDag, demands: &Demands) -> Self {
        let (senders, spread) = (&demands.senders, demands.spread(fabric));
        let most = workers.min(fabric.num_switches() / parts::SMALLEST);
        if !spread && most > 1 {
            let parts = Parts::new(fabric, senders, most);
            if parts.count > 1 {
                return Self::Divided(Box::new(Divided::new(workers, fabric, dag, senders, parts)));
            }
        }
        Self::Whole(Box::new(TreeChooser::new(fabric, senders, spread)))
    }
}

impl<'a> Balance<'a> {
    /// Chooses trees by load, on up to `workers` threads of this pool.
    #[must_use]
    pub fn new(
        workers: usize,
        fabric: &'a Fabric,
        dag: &'a ShortestPathDag,
        demands: &'a Demands,
    ) -> Self {
        let mut balance = Self::empty(workers, fabric, dag, demands);
        let rounds = rounds(balance.choices.len());
        let (is_large, expects) = (rounds == 1, demands.spread(fabric));
        // Several trees at once are faster. Where the fabric is not even, they tend to take the same channels.
        let several = is_large && (expects || is_regular(fabric, &demands.senders));
        let side_by_side = if several { SIDE_BY_SIDE } else { 1 };
        let groups = balance.choose_unused(grouped(fabric, &demands.trees, side_by_side));
        if !(expects && is_large && balance.choose_evenly(&groups)) {
            balance.choose_by_load(&groups, expects);
        }
        let mut load = balance.load();
        if is_even(&load) || max_load(&load) <= lower_bound(fabric, demands) {
            return balance;
        }
        let mut groups = grouped(fabric, &demands.trees, 1);
        groups.retain(|group| group.weight > 0);
        let room = room(balance.choices.len(), expects);
        if is_large {
            if several && !expects {
                load.fill(0);
                balance.set_load(&load);
                balance.pass(Pass::ByLoad, &groups);
            }
            // Trees that knew what to expect leave little to gain, for which only small fabrics have the time.
            balance.relieve(if expects { room / 32 } else { room });
            return balance;
        }
        let mut best = (max_load(&load), balance.choices.clone(), load);
        let mut random = SplitMix64::new(1);
        for round in 0..rounds {
            if round > 0 {
                // Another order leads to another arrangement.
                random.shuffle(&mut groups);
            }
            if round > 0 || !expects {
                balance.pass(Pass::Again, &groups);
            }
            balance.relieve(room);
            load = balance.load();
            let max = max_load(&load);
            let enough = is_even(&load);
            let is_last = enough || round + 1 == rounds;
            if max < best.0 {
                if is_last {
                    return balance;
                }
                best = (max, balance.choices.clone(), load);
            }
            if is_last {
                break;
            }
        }
        balance.choices = best.1;
        balance.set_load(&best.2);
        balance
    }

    /// Chooses the first channel everywhere, by port, on up to `workers` threads of this pool. Where the ports of all
    /// switches are numbered alike, as on grids, paths keep an order of dimensions by that and depend on few lanes.
    #[must_use]
    pub fn by_port(
        workers: usize,
        fabric: &'a Fabric,
        dag: &'a ShortestPathDag,
        demands: &'a Demands,
    ) -> Self {
        let mut balance = Self::empty(workers, fabric, dag, demands);
        let groups = balance.choose_unused(grouped(fabric, &demands.trees, SIDE_BY_SIDE));
        balance.pass(Pass::First, &groups);
        balance
    }

    fn empty(
        workers: usize,
        fabric: &'a Fabric,
        dag: &'a ShortestPathDag,
        demands: &'a Demands,
    ) -> Self {
        Self {
            threads: workers,
            fabric,
            dag,
            demands,
            fans: if demands.spread(fabric) {
                Fans::default()
            } else {
                dag.fans(workers, fabric)
            },
            choices: Choices::new(fabric, &demands.trees),
            chooser: Chooser::new(workers, fabric, dag, demands),
        }
    }

    /// Routes on every channel.
    #[must_use]
    pub fn load(&self) -> IdxVec<ChannelIdx, u64> {
        match &self.chooser {
            Chooser::Whole(chooser) => chooser.load(),
            Chooser::Divided(divided) => divided.load(self.fabric),
        }
    }

    fn set_load(&mut self, load: &IdxVec<ChannelIdx, u64>) {
        match &mut self.chooser {
            Chooser::Whole(chooser) => chooser.set_load(load),
            Chooser::Divided(divided) => divided.set_load(load),
        }
    }

    /// The channel that each switch takes in each tree.
    #[must_use]
    pub fn choices(&self) -> &Choices {
        &self.choices
    }

    /// The same, without the rest.
    #[must_use]
    pub fn into_choices(self) -> Choices {
        self.choices
    }

    /// Reads a tree.
    pub fn read(&self, number: usize, tree: &mut Tree) {
        let Some(demand) = self.demands.trees.get(number) else {
            return;
        };
        tree.reset(self.fabric, demand.target);
        parallel::count(self.fabric.num_switches());
        for switch in self.dag.towards(demand.target).switches() {
            if let Some(channel) = self.choices.channel(number, switch) {
                tree.take(switch, channel);
            }
        }
    }

    /// Chooses the trees without routes, which are those to switches alone, on all threads. Returns the other groups.
    fn choose_unused(&mut self, mut groups: Vec<Group>) -> Vec<Group> {
        let threads = self.threads;
        let unused: Vec<Group> = groups.extract_if(.., |group| group.weight == 0).collect();
        let (_, visits) = self.visits(&unused);
        let visits: Vec<Visit<'_>> = visits.collect();
        parallel::gather(
            threads,
            visits.len(),
            || (),
            |(), at| {
                if let Some(visit) = visits.get(at) {
                    let switches = visit.towards.switches();
                    parallel::count(switches.len());
                    switches.for_each(|switch| visit.choose_unused(switch));
                }
            },
        );
        groups
    }

    /// Does the same with the trees of all groups, one after the other.
    fn pass(&mut self, pass: Pass, groups: &[Group]) {
        let (chooser, visits) = self.visits(groups);
        match chooser {
            Chooser::Whole(chooser) => visits.for_each(|visit| chooser.visit(pass, visit)),
            Chooser::Divided(divided) => divided.pass(pass, &visits.collect::<Vec<_>>()),
        }
    }

    /// The chooser, and the visits that choose the trees of groups.
    fn visits<'g>(
        &'g mut self,
        groups: &'g [Group],
    ) -> (&'g mut Chooser, impl Iterator<Item = Visit<'g>> + Clone) {
        let Self {
            dag,
            fans,
            choices,
            chooser,
            ..
        } = self;
        let (dag, fans, choices) = (*dag, &*fans, choices.shared());
        let visit = move |&group: &Group| Visit {
            group,
            towards: dag.towards(group.target),
            fans: fans.towards(group.target),
            choices: choices.block(group.first, group.count),
        };
        (chooser, groups.iter().map(visit))
    }

    /// Chooses all trees so that every switch keeps close to an even split, if that split loads all channels alike.
    /// If it does not, returns false, and no tree is chosen.
    fn choose_evenly(&mut self, groups: &[Group]) -> bool {
        // Channels that lead nearer to fewer switches than others get less of the split in nearly all cases: so most
        // fabrics need not be tried.
        if !is_even(&self.dag.uses(self.fabric)) {
            return false;
        }
        let (Chooser::Whole(chooser), visits) = self.visits(groups) else {
            return false;
        };
        for visit in visits {
            chooser.choose_evenly(visit);
        }
        let is_alike = is_even(&chooser.even_split());
        chooser.end_choosing_evenly(is_alike);
        is_alike
    }

    /// Chooses all trees by load, those that are not yet chosen being expected to split evenly if `expects`.
    fn choose_by_load(&mut self, groups: &[Group], expects: bool) {
        if !expects {
            return self.pass(Pass::ByLoad, groups);
        }
        let threads = self.threads;
        let (Chooser::Whole(chooser), visits) = self.visits(groups) else {
            return self.pass(Pass::ByLoad, groups);
        };
        let visits: Vec<Visit<'_>> = visits.collect();
        let shares = expect(threads, chooser, &visits);
        for (&visit, shares) in visits.iter().zip(shares) {
            chooser.choose_expected(visit, &shares);
        }
    }

    /// Takes routes from the busiest channels, as long as paths stay shortest.
    fn relieve(&mut self, room: usize) {
        let hotspots = Hotspots {
            threads: self.threads,
            fabric: self.fabric,
            dag: self.dag,
            demands: self.demands,
            slack: 0,
            room,
        };
        let mut load = self.load();
        hotspots.run(&mut self.choices, &mut load, AdmitAll);
        self.set_load(&load);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        engine,
        fabric::PortRef,
        generate::FabricSpec,
        lid::{LidMap, LidOptions},
        options::RouteOptions,
        routes::Routes,
        verify,
    };

    /// What was expected is taken back to the last fraction, and groups of trees count as single ones do.
    #[test]
    fn the_load_is_that_of_the_tables() {
        for spec in [
            "dragonfly:a=4,p=3,h=2",
            "torus:4x5,hosts=5",
            "fat-tree:radix=8,levels=3",
            "torus:16x16,hosts=2",
        ] {
            let fabric = spec.parse::<FabricSpec>().unwrap().build().unwrap();
            let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
            let demands = Demands::new(&fabric, &lids, false);
            let dag = ShortestPathDag::new(&fabric, &RouteOptions::default());
            let mut routes = Routes::new(&engine::SSSP, &fabric, &lids);
            routes.set_exits(&lids);
            let balance = Balance::new(1, &fabric, &dag, &demands);
            let choices = balance.choices();
            choices.install(1, &fabric, &demands.trees, &mut routes);
            let report = verify(&fabric, &lids, &routes);
            assert_eq!(report.unreachable, 0, "{spec}");
            assert_eq!(balance.load(), report.link_load.by_channel, "{spec}");
        }
    }

    /// Leaves of a fat tree with few pods bear more than other switches, and no choice changes that.
    #[test]
    fn no_load_is_below_the_bound_which_leaves_reach() {
        for (spec, is_reached) in [
            ("fat-tree:radix=12,levels=3,pods=7", true),
            ("fat-tree:radix=8,levels=4", true),
            ("torus:4x5,hosts=5", false),
            ("dragonfly:a=4,p=3,h=2", false),
            ("jellyfish:switches=30,degree=5,hosts=3", false),
        ] {
            let fabric = spec.parse::<FabricSpec>().unwrap().build().unwrap();
            let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
            let demands = Demands::new(&fabric, &lids, false);
            let dag = ShortestPathDag::new(&fabric, &RouteOptions::default());
            let max = max_load(&Balance::new(1, &fabric, &dag, &demands).load());
            let bound = lower_bound(&fabric, &demands);
            assert!(bound <= max, "{spec}: {bound}, but {max}");
            assert_eq!(bound == max, is_reached, "{spec}: {bound}, and {max}");
        }
    }

    /// No channel between two parts of a fabric bears anything.
    #[test]
    fn parts_that_are_not_joined_have_bounds_of_their_own() {
        let spec = "ring:switches=4,hosts=3".parse::<FabricSpec>().unwrap();
        let fabric = spec.build().unwrap();
        let ends = fabric.channels().iter();
        let cut = ends.filter(|channel| (channel.from.0 < 2) != (channel.to.0 < 2));
        let cut = cut.map(|channel| PortRef {
            node: fabric.switches()[channel.from],
            port: channel.port,
        });
        let fabric = fabric.without_cables(&cut.collect::<Vec<_>>());
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        let demands = Demands::new(&fabric, &lids, false);
        assert_eq!(lower_bound(&fabric, &demands), 9);
    }

    /// Whole trees come close to an even split if that split loads all channels alike.
    #[test]
    fn no_channel_of_a_torus_is_three_per_cent_above_the_mean() {
        let spec = "torus:8x8x8,hosts=2".parse::<FabricSpec>().unwrap();
        let fabric = spec.build().unwrap();
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        let demands = Demands::new(&fabric, &lids, false);
        let dag = ShortestPathDag::new(&fabric, &RouteOptions::default());
        let load = Balance::new(1, &fabric, &dag, &demands).load();
        let mean = load.iter().sum::<u64>() / load.len() as u64;
        let max = max_load(&load);
        assert!(max * 100 < mean * 103, "{max}, mean {mean}");
    }
}
