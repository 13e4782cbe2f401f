//! Sharing paths out over virtual lanes so that no lane's channel dependencies form a cycle.
//!
//! The paths towards one destination are a tree, so a lane takes trees and not single paths: from the
//! target outwards, a switch's path fits if the next switch's does and the one new dependency is
//! admitted. What does not fit goes to the next lane. Source: Domke, Hoefler and Nagel, "Deadlock-Free
//! Oblivious Routing for Arbitrary Topologies", 2011, for layering by cycles; the layers here are
//! filled in the order of destinations and never emptied again.

use alloc::{vec, vec::Vec};
use core::cmp::Reverse;

use ib_wire::{Lid, Sl};

use crate::{
    algo::{
        channel_graph::{ChannelGraph, DependencyLayout},
        descent::{Descent, Step, Tree, senders},
    },
    error::RouteError,
    fabric::Fabric,
    index::{ChannelIdx, Idx, IdxVec, SwitchIdx, TreeIdx},
    lid::LidMap,
    options::RouteOptions,
    routes::{Routes, SlTable},
    vl::VlMap,
};

/// The virtual lanes in use, each with its dependencies.
#[derive(Clone, Debug)]
pub struct Lanes<'a> {
    layout: &'a DependencyLayout,
    order: &'a [ChannelIdx],
    graphs: Vec<ChannelGraph<'a>>,
    max: usize,
    /// One more than the highest lane that a path has.
    used: u8,
    /// Lane of each switch of the tree at hand, or [`NO_LANE`].
    lane: IdxVec<TreeIdx, u8>,
    wanted: IdxVec<TreeIdx, bool>,
    fits: IdxVec<TreeIdx, bool>,
    /// Lanes that hold a whole path, a bit each.
    masks: IdxVec<TreeIdx, u16>,
    by_weight: Vec<(u64, Step)>,
}

/// No lane yet.
pub const NO_LANE: u8 = u8::MAX;

impl<'a> Lanes<'a> {
    /// No lane is in use yet; `max` may be, 16 at most. `order` is where every lane's order begins.
    #[must_use]
    pub fn new(layout: &'a DependencyLayout, order: &'a [ChannelIdx], max: u8) -> Self {
        Self {
            layout,
            order,
            graphs: Vec::new(),
            max: usize::from(max.min(16)),
            used: 1,
            lane: IdxVec::new(),
            wanted: IdxVec::new(),
            fits: IdxVec::new(),
            masks: IdxVec::new(),
            by_weight: Vec::new(),
        }
    }

    /// Number of lanes in use: at least 1.
    #[must_use]
    pub fn used(&self) -> u8 {
        self.used
    }

    /// The lane of each switch's path in the last tree, [`NO_LANE`] where none was asked for.
    #[must_use]
    pub fn lane(&self) -> &IdxVec<TreeIdx, u8> {
        &self.lane
    }

    /// Gives lanes to the paths of a tree from the switches that `sends` names.
    ///
    /// # Errors
    /// The number of switches left, if the lanes do not suffice.
    pub fn layer(
        &mut self,
        switches: &IdxVec<TreeIdx, SwitchIdx>,
        tree: &Tree,
        sends: impl Fn(SwitchIdx) -> bool,
    ) -> Result<(), usize> {
        self.lane.clear();
        self.wanted.clear();
        let mut left = 0_usize;
        for (at, &switch) in switches.iter_enumerated() {
            let wanted = at.0 > 0 && sends(switch);
            self.lane.push(if wanted { NO_LANE } else { 0 });
            self.wanted.push(wanted);
            left += usize::from(wanted);
        }
        for number in 0..self.max {
            if left == 0 {
                break;
            }
            left -= self.fill(number, tree);
        }
        for (at, &switch) in switches.iter_enumerated() {
            if at.0 > 0 && !sends(switch) {
                self.lane[at] = NO_LANE;
            }
        }
        if left == 0 { Ok(()) } else { Err(left) }
    }

    /// Writes the lanes of the last tree into service levels by switch and LID.
    pub fn note(
        &self,
        switches: &IdxVec<TreeIdx, SwitchIdx>,
        lid: Lid,
        row_len: usize,
        sls: &mut [Sl],
    ) {
        for (&switch, &lane) in switches.iter().zip(self.lane.iter()) {
            let entry = sls.get_mut(switch.at() * row_len + usize::from(lid.0));
            if let (Some(entry), true) = (entry, lane != NO_LANE) {
                *entry = Sl::try_new(lane).unwrap_or_default();
            }
        }
    }

    /// Puts as much of a tree as fits on one lane, and returns how many senders that are.
    fn fill(&mut self, number: usize, tree: &Tree) -> usize {
        if number == self.graphs.len() {
            self.graphs.push(ChannelGraph::new(self.layout, self.order));
        }
        let Some(graph) = self.graphs.get_mut(number) else {
            return 0;
        };
        // A switch is passed by the paths of those behind it, whether or not it sends itself.
        self.wanted.clear();
        for &lane in self.lane.iter() {
            self.wanted.push(lane == NO_LANE);
        }
        for (at, step) in tree.iter().rev() {
            if self.wanted[at] {
                self.wanted[step.next] = true;
            }
        }
        self.fits.clear();
        self.fits.push(true);
        let mut placed = 0;
        for (at, step) in tree.iter() {
            let fits = self.wanted[at]
                && self.fits[step.next]
                && (step.next.0 == 0 || graph.admit(step.channel, tree.step(step.next).channel));
            self.fits.push(fits);
            if fits && self.lane[at] == NO_LANE {
                self.lane[at] = number as u8;
                self.used = self.used.max(number as u8 + 1);
                placed += 1;
            }
        }
        placed
    }

    /// Chooses a tree that adds as few dependencies to the lanes as it can, and among those the
    /// lightest, and gives lanes to all of its paths.
    ///
    /// # Errors
    /// The number of switches left, if the lanes do not suffice.
    pub fn grow(
        &mut self,
        descent: &Descent,
        load: &IdxVec<ChannelIdx, u64>,
        tree: &mut Tree,
    ) -> Result<(), usize> {
        while self.graphs.len() < self.max {
            self.graphs.push(ChannelGraph::new(self.layout, self.order));
        }
        tree.reset(descent.switches().len());
        self.masks.clear();
        self.masks.push(u16::MAX >> (16 - self.max.clamp(1, 16)));
        let mut left = 0;
        for at in descent.switches().indices().skip(1) {
            let steps = descent.steps(at);
            let found = self
                .known(steps, load, tree)
                .or_else(|| self.longer(steps, load, tree))
                .or_else(|| self.anew(tree));
            match (found, steps.first()) {
                (Some((step, weight, mask)), _) => {
                    tree.take(at, step, weight);
                    self.masks.push(mask);
                }
                (None, step) => {
                    let step = step.copied().unwrap_or_default();
                    tree.take(at, step, tree.weight(step.next) + load[step.channel]);
                    self.masks.push(0);
                    left += 1;
                }
            }
        }
        self.lane.clear();
        for mask in self.masks.iter() {
            let lane = mask.trailing_zeros() as u8;
            self.lane.push(if lane < 16 { lane } else { NO_LANE });
            if lane < 16 {
                self.used = self.used.max(lane + 1);
            }
        }
        if left == 0 { Ok(()) } else { Err(left) }
    }

    /// The lightest step that adds no dependency.
    fn known(
        &self,
        steps: &[Step],
        load: &IdxVec<ChannelIdx, u64>,
        tree: &Tree,
    ) -> Option<(Step, u64, u16)> {
        let mut best: Option<(Step, u64, u16)> = None;
        for &step in steps {
            let weight = tree.weight(step.next) + load[step.channel];
            if best.is_some_and(|(_, lightest, _)| lightest <= weight) {
                continue;
            }
            let mut mask = self.masks[step.next];
            if step.next.0 > 0 {
                let next = tree.step(step.next).channel;
                for (number, graph) in self.graphs.iter().enumerate() {
                    if mask & 1 << number != 0 && !graph.contains(step.channel, next) {
                        mask &= !(1 << number);
                    }
                }
            }
            if mask != 0 {
                best = Some((step, weight, mask));
            }
        }
        best
    }

    /// The lightest step that adds one dependency, on the lowest lane where one is admitted.
    fn longer(
        &mut self,
        steps: &[Step],
        load: &IdxVec<ChannelIdx, u64>,
        tree: &Tree,
    ) -> Option<(Step, u64, u16)> {
        self.by_weight.clear();
        self.by_weight.extend(
            steps
                .iter()
                .map(|&step| (tree.weight(step.next) + load[step.channel], step)),
        );
        self.by_weight
            .sort_by_key(|&(weight, step)| (weight, step.channel));
        for (number, graph) in self.graphs.iter_mut().enumerate() {
            for &(weight, step) in &self.by_weight {
                let next = tree.step(step.next).channel;
                if self.masks[step.next] & 1 << number != 0 && graph.admit(step.channel, next) {
                    return Some((step, weight, 1 << number));
                }
            }
        }
        None
    }

    /// The lightest step whose whole path is admitted, on the lowest such lane.
    fn anew(&mut self, tree: &Tree) -> Option<(Step, u64, u16)> {
        for (number, graph) in self.graphs.iter_mut().enumerate() {
            for &(weight, first) in &self.by_weight {
                let (mut step, mut admitted) = (first, true);
                while admitted && step.next.0 > 0 {
                    let next = tree.step(step.next);
                    admitted = graph.admit(step.channel, next.channel);
                    step = next;
                }
                if admitted {
                    return Some((first, weight, 1 << number));
                }
            }
        }
        None
    }
}

/// Gives service levels to routes that are there already, so that no lane can deadlock.
///
/// CA traffic comes first and must fit; routes from and to switches share what is left, and lane 0
/// where nothing is.
///
/// # Errors
/// [`RouteError::TooFewVls`] if `options.vls()` lanes do not suffice for the paths between CAs.
pub fn layer_routes(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    routes: &mut Routes,
) -> Result<(), RouteError> {
    let senders = senders(fabric, lids);
    let (layout, order) = (
        DependencyLayout::new(fabric),
        up_down_order(fabric, &senders),
    );
    let mut lanes = Lanes::new(&layout, &order, options.vls());
    let mut sls = vec![Sl::ZERO; routes.row_len() * fabric.num_switches()];
    let mut trees = InstalledTree::new(fabric);
    for between_cas in [true, false] {
        for (target, end) in lids
            .destinations()
            .iter()
            .filter_map(|end| Some((end.switch?, end)))
        {
            if between_cas && end.is_switch() {
                continue;
            }
            for lid in end.range.iter() {
                trees.read(fabric, routes, target, lid);
                let sends = |switch| end.is_switch() || (senders[switch] > 0) == between_cas;
                let fits = lanes.layer(&trees.switches, &trees.tree, sends);
                if between_cas && fits.is_err() {
                    let (available, needed) = (options.vls(), u16::from(options.vls()) + 1);
                    let engine = routes.engine();
                    return Err(RouteError::TooFewVls {
                        engine,
                        available,
                        needed,
                    });
                }
                lanes.note(&trees.switches, lid, routes.row_len(), &mut sls);
            }
        }
    }
    let vls = lanes.used();
    if vls > 1 {
        routes.set_lanes(SlTable::BySwitch(sls), VlMap::default(), vls);
    }
    Ok(())
}

/// The tree that tables have for one LID: the switches by their hops, and their steps.
#[derive(Debug, Default)]
struct InstalledTree {
    switches: IdxVec<TreeIdx, SwitchIdx>,
    tree: Tree,
    place: IdxVec<SwitchIdx, TreeIdx>,
    /// The switches that send to a switch, as a linked list: the first of them, and the next.
    first_child: IdxVec<SwitchIdx, Option<SwitchIdx>>,
    sibling: IdxVec<SwitchIdx, Option<SwitchIdx>>,
    step: IdxVec<SwitchIdx, ChannelIdx>,
}

impl InstalledTree {
    fn new(fabric: &Fabric) -> Self {
        let switches = fabric.num_switches();
        Self {
            place: IdxVec::filled(switches, TreeIdx(0)),
            first_child: IdxVec::filled(switches, None),
            sibling: IdxVec::filled(switches, None),
            step: IdxVec::filled(switches, ChannelIdx(0)),
            ..Self::default()
        }
    }

    fn read(&mut self, fabric: &Fabric, routes: &Routes, target: SwitchIdx, lid: Lid) {
        self.first_child.fill(None);
        for switch in fabric
            .switches()
            .indices()
            .filter(|&switch| switch != target)
        {
            if let Some(channel) = fabric.channel_at(switch, routes.port(switch, lid)) {
                let to = fabric.channel(channel).to;
                self.step[switch] = channel;
                self.sibling[switch] = self.first_child[to];
                self.first_child[to] = Some(switch);
            }
        }
        self.switches.clear();
        self.place[target] = self.switches.push(target);
        let mut at = TreeIdx(0);
        while let Some(&switch) = self.switches.find(at) {
            at.0 += 1;
            let mut child = self.first_child[switch];
            while let Some(switch) = child {
                self.place[switch] = self.switches.push(switch);
                child = self.sibling[switch];
            }
        }
        self.tree.reset(self.switches.len());
        for (at, &switch) in self.switches.iter_enumerated().skip(1) {
            let channel = self.step[switch];
            let next = self.place[fabric.channel(channel).to];
            self.tree.take(at, Step { channel, next }, 0);
        }
    }
}

/// An order of all channels that agrees with up*/down* routing: channels up, the lowest first, then
/// channels down. Up is away from the switches where CAs send, and among equals towards the first
/// switch of the part of the fabric.
#[must_use]
pub fn up_down_order(fabric: &Fabric, senders: &IdxVec<SwitchIdx, u64>) -> Vec<ChannelIdx> {
    let switches = fabric.num_switches();
    let mut height = IdxVec::filled(switches, u32::MAX);
    let mut queue: Vec<SwitchIdx> = fabric
        .switches()
        .indices()
        .filter(|&switch| senders[switch] > 0)
        .collect();
    for &switch in &queue {
        height[switch] = 0;
    }
    flood(fabric, &mut queue, &mut height);
    let mut distance = IdxVec::filled(switches, u32::MAX);
    for root in fabric.switches().indices() {
        if distance[root] == u32::MAX {
            distance[root] = 0;
            queue.clear();
            queue.push(root);
            flood(fabric, &mut queue, &mut distance);
        }
    }
    let up = |switch: SwitchIdx| (Reverse(height[switch]), distance[switch], switch);
    let mut by_rank: Vec<SwitchIdx> = fabric.switches().indices().collect();
    by_rank.sort_by_key(|&switch| up(switch));
    let mut rank = IdxVec::filled(switches, 0_i64);
    for (at, &switch) in by_rank.iter().enumerate() {
        rank[switch] = at as i64 + 1;
    }
    let mut order: Vec<ChannelIdx> = fabric.channels().indices().collect();
    order.sort_by_key(|&channel| {
        let channel = fabric.channel(channel);
        let (from, to) = (rank[channel.from], rank[channel.to]);
        if to < from { -from } else { to }
    });
    order
}

/// Distances from the switches in `queue`, for switches that have none yet.
fn flood(fabric: &Fabric, queue: &mut Vec<SwitchIdx>, distance: &mut IdxVec<SwitchIdx, u32>) {
    let mut at = 0;
    while let Some(&switch) = queue.get(at) {
        at += 1;
        let there = distance[switch] + 1;
        for (_, channel) in fabric.channels_from(switch) {
            if distance[channel.to] == u32::MAX {
                distance[channel.to] = there;
                queue.push(channel.to);
            }
        }
    }
}
