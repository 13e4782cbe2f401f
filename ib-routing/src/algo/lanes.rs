//! Sharing paths out over virtual lanes so that no lane's channel dependencies form a cycle.
//!
//! The paths towards one destination are a tree, so a lane takes trees and not single paths: from the
//! target outwards, a switch's path fits if the next switch's does and the one new dependency is admitted.
//! A path that does not fit goes to the next lane. Source: Domke, Hoefler and Nagel, "Deadlock-Free
//! Oblivious Routing for Arbitrary Topologies", 2011, for layering by cycles; the layers here are filled in
//! the order of destinations and never emptied again.

mod forecast;
mod installed;
mod order;
mod walk;

use alloc::{sync::Arc, vec::Vec};
use core::mem;

pub(crate) use self::forecast::{Forecast, ForecastSpace};
use self::walk::{Layered, Walk};
pub use self::{
    installed::layer_routes,
    order::{LaneOrders, channels_up_and_down, up_down_order},
};
use crate::{
    algo::{
        channel_graph::{ChannelGraph, DependencyLayout, DependencySet},
        parallel,
        shortest_path_dag::{DagTo, NextHop, Tree},
    },
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
};

/// The virtual lanes in use, each with its dependencies.
#[derive(Clone, Debug)]
pub struct Lanes<'a> {
    layout: &'a Arc<DependencyLayout>,
    orders: &'a LaneOrders,
    graphs: Vec<ChannelGraph>,
    max: usize,
    /// One more than the highest lane that a path has.
    used: u8,
    /// Number of dependencies that lanes refused, each counted once.
    refusals: usize,
    to: IdxVec<ChannelIdx, SwitchIdx>,
    /// The tree at hand.
    walk: Walk,
    /// Lanes that hold a whole path, a bit each.
    masks: IdxVec<SwitchIdx, u16>,
    /// Load along each path.
    weights: IdxVec<SwitchIdx, u64>,
    by_weight: Vec<(u64, NextHop)>,
}

/// No lane yet.
pub const NO_LANE: u8 = u8::MAX;

impl<'a> Lanes<'a> {
    /// No lane is in use yet; `max` may be, 16 at most. `orders` is where the lanes' orders begin.
    #[must_use]
    pub fn new(
        fabric: &Fabric,
        layout: &'a Arc<DependencyLayout>,
        orders: &'a LaneOrders,
        max: u8,
    ) -> Self {
        let switches = fabric.num_switches();
        Self {
            layout,
            orders,
            graphs: Vec::new(),
            max: usize::from(max.min(16)),
            used: 1,
            refusals: 0,
            to: fabric.channels().iter().map(|channel| channel.to).collect(),
            walk: Walk::new(switches),
            masks: IdxVec::filled(switches, 0),
            weights: IdxVec::filled(switches, 0),
            by_weight: Vec::new(),
        }
    }

    /// Number of lanes in use: at least 1.
    #[must_use]
    pub fn used(&self) -> u8 {
        self.used
    }

    /// Number of dependencies that lanes refused in [`layer`](Self::layer), each counted once.
    #[must_use]
    pub(crate) fn refusals(&self) -> usize {
        self.refusals
    }

    /// Lane of each switch's path in the last tree, or [`NO_LANE`].
    #[must_use]
    pub fn of_tree(&self) -> &IdxVec<SwitchIdx, u8> {
        &self.walk.lane
    }

    /// Gives lanes to the paths of a tree that begin at `senders`, the nearest first.
    ///
    /// # Errors
    /// The number of switches left, if the lanes do not suffice.
    pub fn layer(&mut self, tree: &Tree, senders: &[SwitchIdx]) -> Result<(), usize> {
        parallel::count(tree.order().len());
        let mut walk = mem::take(&mut self.walk);
        let to = mem::take(&mut self.to);
        let layered = walk.layer(&to, tree, self.max, senders, |lane, from, to| {
            self.admit(lane, from, to)
        });
        (self.walk, self.to) = (walk, to);
        self.layered(layered)
    }

    /// Takes note of the lanes that a tree needs.
    fn layered(&mut self, Layered { left, used }: Layered) -> Result<(), usize> {
        self.used = self.used.max(used);
        if left == 0 { Ok(()) } else { Err(left) }
    }

    /// Makes graphs for so many lanes at least.
    #[inline]
    fn open(&mut self, lanes: usize) {
        while self.graphs.len() < lanes {
            let order = self.orders.of(self.graphs.len());
            self.graphs.push(ChannelGraph::new(self.layout, order));
        }
    }

    /// Adds a dependency to a lane; false if the lane would then have a cycle.
    #[inline]
    fn admit(&mut self, lane: usize, from: ChannelIdx, to: ChannelIdx) -> bool {
        self.open(lane + 1);
        let Some(graph) = self.graphs.get_mut(lane) else {
            return false;
        };
        if graph.contains(from, to) {
            return true;
        }
        if graph.refuses(from, to) {
            return false;
        }
        let admitted = graph.admit(from, to);
        self.refusals += usize::from(!admitted);
        admitted
    }

    /// Gives the first lane all of some dependencies, if they form no cycle, and returns true. Otherwise nothing changes.
    /// No lane may be in use yet.
    pub(crate) fn begin_with(&mut self, dependencies: &DependencySet) -> bool {
        let mut graph = ChannelGraph::new(self.layout, self.orders.of(0));
        let fits = graph.admit_all(dependencies);
        if fits {
            self.graphs = Vec::from([graph]);
        }
        fits
    }

    /// The dependencies of the first lane, once it is in use.
    pub(crate) fn first(&mut self) -> Option<&mut ChannelGraph> {
        self.graphs.first_mut()
    }

    /// Chooses a tree that adds as few dependencies to the lanes as it can, and among those the
    /// lightest, and gives lanes to all of its paths.
    ///
    /// # Errors
    /// The number of switches left, if the lanes do not suffice.
    pub fn grow(
        &mut self,
        fabric: &Fabric,
        dag: DagTo<'_>,
        target: SwitchIdx,
        load: &IdxVec<ChannelIdx, u64>,
        tree: &mut Tree,
    ) -> Result<(), usize> {
        self.open(self.max);
        tree.reset(fabric, target);
        parallel::count(dag.switches().len());
        self.walk.lane.fill(NO_LANE);
        self.masks[target] = u16::MAX >> (16 - self.max.clamp(1, 16));
        self.weights[target] = 0;
        let mut left = 0;
        for switch in dag.switches() {
            let next_hops = dag.next_hops(switch);
            let found = self
                .known(next_hops, load, tree)
                .or_else(|| self.longer(next_hops, load, tree))
                .or_else(|| self.anew(tree));
            let (next_hop, weight, mask) = match (found, next_hops.first()) {
                (Some(found), _) => found,
                (None, next_hop) => {
                    left += 1;
                    let next_hop = next_hop.copied().unwrap_or_default();
                    (next_hop, self.weight(next_hop, load), 0)
                }
            };
            tree.take(switch, next_hop.channel);
            self.weights[switch] = weight;
            self.masks[switch] = mask;
            let lane = mask.trailing_zeros() as u8;
            if lane < 16 {
                self.walk.lane[switch] = lane;
                self.used = self.used.max(lane + 1);
            }
        }
        if left == 0 { Ok(()) } else { Err(left) }
    }

    /// Load of the path that begins with a next hop.
    fn weight(&self, next_hop: NextHop, load: &IdxVec<ChannelIdx, u64>) -> u64 {
        self.weights[next_hop.to()] + load[next_hop.channel]
    }

    /// The lightest next hop that adds no dependency.
    fn known(
        &self,
        next_hops: &[NextHop],
        load: &IdxVec<ChannelIdx, u64>,
        tree: &Tree,
    ) -> Option<(NextHop, u64, u16)> {
        let mut best: Option<(NextHop, u64, u16)> = None;
        for &next_hop in next_hops {
            let weight = self.weight(next_hop, load);
            if best.is_some_and(|(_, lightest, _)| lightest <= weight) {
                continue;
            }
            let mut mask = self.masks[next_hop.to()];
            if next_hop.to() != tree.target() {
                let next = tree.channel(next_hop.to());
                for (number, graph) in self.graphs.iter().enumerate() {
                    if mask & 1 << number != 0 && !graph.contains(next_hop.channel, next) {
                        mask &= !(1 << number);
                    }
                }
            }
            if mask != 0 {
                best = Some((next_hop, weight, mask));
            }
        }
        best
    }

    /// The lightest next hop that adds one dependency, on the lowest lane where one is admitted.
    fn longer(
        &mut self,
        next_hops: &[NextHop],
        load: &IdxVec<ChannelIdx, u64>,
        tree: &Tree,
    ) -> Option<(NextHop, u64, u16)> {
        let mut by_weight = mem::take(&mut self.by_weight);
        by_weight.clear();
        by_weight.extend(
            next_hops
                .iter()
                .map(|&next_hop| (self.weight(next_hop, load), next_hop)),
        );
        by_weight.sort_by_key(|&(weight, next_hop)| (weight, next_hop.channel));
        self.by_weight = by_weight;
        for (number, graph) in self.graphs.iter_mut().enumerate() {
            for &(weight, next_hop) in &self.by_weight {
                let next = tree.channel(next_hop.to());
                if self.masks[next_hop.to()] & 1 << number != 0
                    && graph.admit(next_hop.channel, next)
                {
                    return Some((next_hop, weight, 1 << number));
                }
            }
        }
        None
    }

    /// The lightest next hop whose whole path is admitted, on the lowest such lane.
    fn anew(&mut self, tree: &Tree) -> Option<(NextHop, u64, u16)> {
        for (number, graph) in self.graphs.iter_mut().enumerate() {
            for &(weight, next_hop) in &self.by_weight {
                let (mut channel, mut here, mut admitted) = (next_hop.channel, next_hop.to(), true);
                while admitted && here != tree.target() {
                    let next = tree.channel(here);
                    admitted = graph.admit(channel, next);
                    (channel, here) = (next, self.to[next]);
                }
                if admitted {
                    return Some((next_hop, weight, 1 << number));
                }
            }
        }
        None
    }
}
