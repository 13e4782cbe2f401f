//! Trees of shortest paths towards all LIDs, balanced against each other.
//!
//! The first pass chooses each tree by the load of those before it, so the early ones choose blindly.
//! The second takes one tree after the other out again and chooses it anew by the load of all
//! others. Then the busiest channels are [relieved](Hotspots). On small fabrics both are done several
//! times, and the best round counts. Source: Hoefler, Schneider and Lumsdaine, "Optimized Routing for
//! Large-Scale InfiniBand Networks", 2009, for the first pass.

use alloc::vec::Vec;

use ib_wire::random::SplitMix64;

use crate::{
    algo::{
        choices::Choices,
        demands::{Demand, Demands},
        hotspots::Hotspots,
        shortest_path_dag::{DagTo, ShortestPathDag, Tree},
    },
    fabric::Fabric,
    index::{ChannelIdx, Idx, IdxVec, SwitchIdx},
};

/// Choices that there is time for on a small fabric, in all rounds together: about a millisecond.
const EFFORT: usize = 1 << 14;

/// Rounds at most: later ones find hardly anything better.
const ROUNDS: usize = 32;

/// Rounds that a fabric of some hundred CAs is worth.
const FEW_ROUNDS: usize = 4;

/// Choices of a large fabric, where one round must do.
const LARGE: usize = 1 << 16;

/// How many rounds of so many choices there is time for.
#[must_use]
pub fn rounds(choices: usize) -> usize {
    if choices > LARGE {
        return 1;
    }
    (EFFORT / choices.max(1)).clamp(FEW_ROUNDS, ROUNDS)
}

/// Detours that there is time for in a round.
#[must_use]
pub fn room(choices: usize) -> usize {
    choices.max(EFFORT / rounds(choices))
}

/// Whether nothing can gain much: the highest load is within 2 % of the mean of used channels.
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

/// A chosen tree for every demand, and the load of all together.
#[derive(Clone, Debug)]
pub struct Balance<'a> {
    fabric: &'a Fabric,
    dag: &'a ShortestPathDag,
    demands: &'a Demands,
    choices: Choices,
    load: IdxVec<ChannelIdx, u64>,
    to: IdxVec<ChannelIdx, SwitchIdx>,
    weight: IdxVec<SwitchIdx, u64>,
    flow: IdxVec<SwitchIdx, u64>,
}

impl<'a> Balance<'a> {
    /// Chooses trees by load.
    #[must_use]
    pub fn new(fabric: &'a Fabric, dag: &'a ShortestPathDag, demands: &'a Demands) -> Self {
        let mut balance = Self::empty(fabric, dag, demands);
        let mut order: Vec<usize> = (0..demands.trees.len()).collect();
        balance.choose(&order, false);
        if is_even(&balance.load) {
            return balance;
        }
        let mut best = (
            max_load(&balance.load),
            balance.choices.clone(),
            balance.load.clone(),
        );
        let mut random = SplitMix64::new(1);
        for round in 0..rounds(balance.choices.len()) {
            if round > 0 {
                // Another order leads to another arrangement.
                random.shuffle(&mut order);
            }
            balance.choose(&order, true);
            balance.relieve();
            let max = max_load(&balance.load);
            if max < best.0 {
                best = (max, balance.choices.clone(), balance.load.clone());
            }
            if is_even(&balance.load) {
                break;
            }
        }
        (_, balance.choices, balance.load) = best;
        balance
    }

    /// Chooses the first channel everywhere, by port. Where the ports of all switches are numbered
    /// alike, as on grids, paths keep an order of dimensions by that and depend on few lanes.
    #[must_use]
    pub fn by_port(fabric: &'a Fabric, dag: &'a ShortestPathDag, demands: &'a Demands) -> Self {
        let mut balance = Self::empty(fabric, dag, demands);
        let none = balance.load.clone();
        for (number, demand) in demands.trees.iter().enumerate() {
            let row = balance.choices.row_mut(number);
            let towards = dag.towards(demand.target);
            towards.lightest(
                demand.target,
                &none,
                &mut balance.weight,
                |node, next_hop| {
                    if let Some(choice) = row.get_mut(node.switch.at()) {
                        *choice = node.place_of(next_hop.channel);
                    }
                },
            );
            balance.flow.refill(demands.senders.iter().copied());
            let load = &mut balance.load;
            send(
                towards,
                row,
                &balance.to,
                &mut balance.flow,
                |channel, routes| {
                    load[channel] += routes * demand.weight;
                },
            );
        }
        balance
    }

    fn empty(fabric: &'a Fabric, dag: &'a ShortestPathDag, demands: &'a Demands) -> Self {
        let switches = fabric.num_switches();
        Self {
            fabric,
            dag,
            demands,
            choices: Choices::new(fabric, demands.trees.len()),
            load: IdxVec::filled(fabric.channels().len(), 0),
            to: fabric.channels().iter().map(|channel| channel.to).collect(),
            weight: IdxVec::filled(switches, 0),
            flow: IdxVec::filled(switches, 0),
        }
    }

    /// Routes on every channel.
    #[must_use]
    pub fn load(&self) -> &IdxVec<ChannelIdx, u64> {
        &self.load
    }

    /// The channel that each switch takes in each tree.
    #[must_use]
    pub fn choices(&self) -> &Choices {
        &self.choices
    }

    /// Reads a tree.
    pub fn read(&self, number: usize, tree: &mut Tree) {
        let Some(demand) = self.demands.trees.get(number) else {
            return;
        };
        tree.reset(self.fabric, demand.target);
        for node in self.dag.towards(demand.target).nodes() {
            if let Some(channel) = self.choices.channel(number, node.switch) {
                tree.take(node.switch, channel);
            }
        }
    }

    /// Chooses the trees in this order, for the first time or `again`.
    fn choose(&mut self, order: &[usize], again: bool) {
        let Self {
            choices,
            load,
            flow,
            weight,
            to,
            ..
        } = self;
        for &number in order {
            let Some(demand) = self.demands.trees.get(number) else {
                continue;
            };
            let row = choices.row_mut(number);
            let &Demand {
                target,
                weight: lids,
                ..
            } = demand;
            let towards = self.dag.towards(target);
            if again && lids > 0 {
                flow.refill(self.demands.senders.iter().copied());
                send(towards, row, to, flow, |channel, routes| {
                    load[channel] -= routes * lids;
                });
            }
            towards.lightest(target, load, weight, |node, next_hop| {
                if let Some(choice) = row.get_mut(node.switch.at()) {
                    *choice = node.place_of(next_hop.channel);
                }
            });
            if lids > 0 {
                flow.refill(self.demands.senders.iter().copied());
                send(towards, row, to, flow, |channel, routes| {
                    load[channel] += routes * lids;
                });
            }
        }
    }

    /// Takes routes from the busiest channels, as long as paths stay shortest.
    fn relieve(&mut self) {
        let relief = Hotspots {
            fabric: self.fabric,
            dag: self.dag,
            demands: self.demands,
            slack: 0,
            room: room(self.choices.len()),
        };
        relief.run(&mut self.choices, &mut self.load, |_, _, _| true);
    }
}

/// Sends the routes `flow` along the choices of a tree, the farthest switch first: `carry` gets what
/// each channel carries.
#[inline]
fn send(
    towards: DagTo<'_>,
    choices: &[u8],
    to: &IdxVec<ChannelIdx, SwitchIdx>,
    flow: &mut IdxVec<SwitchIdx, u64>,
    mut carry: impl FnMut(ChannelIdx, u64),
) {
    for node in towards.nodes().rev() {
        let choice = choices.get(node.switch.at()).copied().unwrap_or_default();
        let channel = node.channel(choice);
        let routes = flow[node.switch];
        carry(channel, routes);
        flow[to[channel]] += routes;
    }
}
