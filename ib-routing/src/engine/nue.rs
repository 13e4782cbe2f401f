//! Nue (`nue`): paths chosen inside the channel dependency graph, for any number of virtual lanes.
//!
//! Works on any fabric, connected or not, with one lane or more. A path takes a channel only if the
//! dependency that this adds leaves the lane's graph acyclic, so deadlock cannot arise, between
//! switches neither; destinations are dealt to the lanes in turn. Every lane begins with the
//! dependencies of a spanning tree: these are the escape paths, and because of them the topological
//! order always has a rising path from every switch to every other. Where the search for short paths
//! gets stuck, a destination takes rising paths alone. Time O(LIDs * channels) and a repair of the
//! order per new dependency. Source: Domke, Hoefler and Matsuoka, "Routing on the Dependency Graph: A
//! New Approach to Deadlock-Free High-Performance Routing", 2016.

use alloc::{vec, vec::Vec};

use ib_wire::{Lid, Sl};

use crate::{
    RoutingEngine,
    algo::{
        channel_graph::{ChannelGraph, DependencyLayout},
        lanes::up_down_order,
        ways::{Towards, Ways, senders},
    },
    error::RouteError,
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::LidMap,
    options::RouteOptions,
    routes::{Routes, SlTable},
    vl::VlMap,
};

/// # Errors
/// None: one lane suffices on every fabric.
pub fn route(fabric: &Fabric, lids: &LidMap, options: &RouteOptions) -> Result<Routes, RouteError> {
    let mut routes = Routes::new(RoutingEngine::Nue, fabric, lids);
    routes.set_exits(lids);
    let vls = options.nue_max_num_vls.clamp(1, options.vls());
    let mut paths = Paths::new(fabric, lids);
    let (layout, order) = (
        DependencyLayout::new(fabric),
        up_down_order(fabric, &paths.senders),
    );
    let mut lane = ChannelGraph::new(&layout, &order);
    admit_escape_paths(fabric, &mut lane);
    let mut lanes = vec![lane; usize::from(vls)];
    let mut sls = vec![Sl::ZERO; routes.row_len()];
    let ways = Ways::new(fabric, options);
    let mut turn = 0;
    for target in fabric.switches().indices() {
        let number = turn % lanes.len();
        turn += usize::from(paths.senders[target] > 0);
        let Some(lane) = lanes.get_mut(number) else {
            break;
        };
        for end in lids.at_switch(target) {
            for lid in end.range.iter() {
                paths.find(ways.towards(target), lane, target);
                if !end.is_switch() {
                    paths.add_load();
                }
                paths.install(lid, &mut routes);
                if let Some(sl) = sls.get_mut(usize::from(lid.0)) {
                    *sl = Sl::try_new(number as u8).unwrap_or_default();
                }
            }
        }
    }
    if vls > 1 {
        routes.set_lanes(SlTable::ByDestination(sls), VlMap::default(), vls);
    }
    Ok(routes)
}

/// Admits what the paths along a spanning tree of every part of the fabric depend on.
///
/// A tree has no cycle of channels but by turning back, so all of it is admitted.
fn admit_escape_paths(fabric: &Fabric, lane: &mut ChannelGraph<'_>) {
    let mut parent = IdxVec::filled(fabric.num_switches(), NONE);
    let mut met = IdxVec::filled(fabric.num_switches(), false);
    let mut queue = Vec::new();
    for root in fabric.switches().indices() {
        if met[root] {
            continue;
        }
        met[root] = true;
        queue.clear();
        queue.push(root);
        let mut at = 0;
        while let Some(&switch) = queue.get(at) {
            at += 1;
            for (_, channel) in fabric.channels_from(switch) {
                if !met[channel.to] {
                    met[channel.to] = true;
                    parent[channel.to] = channel.reverse;
                    queue.push(channel.to);
                }
            }
        }
    }
    let in_tree = |channel: ChannelIdx| {
        let ends = fabric.channel(channel);
        parent[ends.from] == channel || parent[ends.to] == ends.reverse
    };
    for first in fabric
        .channels()
        .indices()
        .filter(|&channel| in_tree(channel))
    {
        let ends = fabric.channel(first);
        for (second, _) in fabric.channels_from(ends.to) {
            if second != ends.reverse && in_tree(second) {
                lane.admit(first, second);
            }
        }
    }
}

/// No channel.
const NONE: ChannelIdx = ChannelIdx(u32::MAX);

/// The paths towards one LID.
struct Paths<'a> {
    fabric: &'a Fabric,
    senders: IdxVec<SwitchIdx, u64>,
    load: IdxVec<ChannelIdx, u64>,
    /// The channel each switch takes, and where it leads.
    channel: IdxVec<SwitchIdx, ChannelIdx>,
    hops: IdxVec<SwitchIdx, u32>,
    weight: IdxVec<SwitchIdx, u64>,
    flow: IdxVec<SwitchIdx, u64>,
    /// Switches with a path, in the order in which they got it: next hops come first.
    settled: Vec<SwitchIdx>,
    stuck: Vec<SwitchIdx>,
    backwards: Vec<ChannelIdx>,
}

/// Hops of a switch that has no path yet.
const UNSETTLED: u32 = u32::MAX;

impl<'a> Paths<'a> {
    fn new(fabric: &'a Fabric, lids: &LidMap) -> Self {
        let switches = fabric.num_switches();
        Self {
            fabric,
            senders: senders(fabric, lids),
            load: IdxVec::filled(fabric.channels().len(), 0),
            channel: IdxVec::filled(switches, NONE),
            hops: IdxVec::filled(switches, UNSETTLED),
            weight: IdxVec::filled(switches, 0),
            flow: IdxVec::filled(switches, 0),
            settled: Vec::new(),
            stuck: Vec::new(),
            backwards: Vec::new(),
        }
    }

    fn find(&mut self, ways: Towards<'_>, lane: &mut ChannelGraph<'_>, target: SwitchIdx) {
        self.begin(target);
        self.stuck.clear();
        for visit in ways.visits() {
            let steps = ways.steps(visit).iter().map(|step| step.channel);
            if !self.take_lightest(visit.switch, steps, lane) {
                self.stuck.push(visit.switch);
            }
        }
        if !self.free_stuck(lane) {
            self.climb(lane, target);
        }
    }

    fn begin(&mut self, target: SwitchIdx) {
        self.hops.fill(UNSETTLED);
        self.hops[target] = 0;
        self.weight[target] = 0;
        self.channel[target] = NONE;
        self.settled.clear();
        self.settled.push(target);
    }

    fn settle(&mut self, switch: SwitchIdx, channel: ChannelIdx) {
        let next = self.fabric.channel(channel).to;
        self.channel[switch] = channel;
        self.hops[switch] = self.hops[next] + 1;
        self.weight[switch] = self.weight[next] + self.load[channel];
        self.settled.push(switch);
    }

    /// Takes the shortest, then lightest of `channels` whose dependency is admitted.
    fn take_lightest(
        &mut self,
        switch: SwitchIdx,
        channels: impl Iterator<Item = ChannelIdx> + Clone,
        lane: &mut ChannelGraph<'_>,
    ) -> bool {
        loop {
            let mut best = (UNSETTLED, u64::MAX, NONE);
            for channel in channels.clone() {
                let next = self.fabric.channel(channel).to;
                let weight = self.weight[next] + self.load[channel];
                let found = (self.hops[next], weight, channel);
                if found < best
                    && (self.channel[next] == NONE || !lane.refuses(channel, self.channel[next]))
                {
                    best = found;
                }
            }
            let (hops, _, channel) = best;
            if hops == UNSETTLED {
                return false;
            }
            if hops == 0 || lane.admit(channel, self.channel[self.fabric.channel(channel).to]) {
                self.settle(switch, channel);
                return true;
            }
        }
    }

    /// Looks for any way on from switches that found no shortest one; false if some have none.
    fn free_stuck(&mut self, lane: &mut ChannelGraph<'_>) -> bool {
        let mut stuck = core::mem::take(&mut self.stuck);
        loop {
            let before = stuck.len();
            let fabric = self.fabric;
            stuck.retain(|&switch| {
                let channels = fabric.channels_from(switch).map(|(channel, _)| channel);
                let channels: Vec<_> = channels.collect();
                !self.take_lightest(switch, channels.iter().copied(), lane)
            });
            if stuck.is_empty() || stuck.len() == before {
                break;
            }
        }
        self.stuck = stuck;
        self.stuck.is_empty()
    }

    /// Paths that rise in the topological order: a pass over the channels from the last place to the
    /// first gives every switch the highest channel that leads to one with a path already. A later
    /// channel replaces it if it is a shorter way and nobody has come to depend on the first.
    fn climb(&mut self, lane: &mut ChannelGraph<'_>, target: SwitchIdx) {
        self.begin(target);
        let mut backwards = core::mem::take(&mut self.backwards);
        lane.list_backwards(&mut backwards);
        let fabric = self.fabric;
        let mut used = IdxVec::filled(fabric.num_switches(), false);
        for &channel in &backwards {
            let ends = fabric.channel(channel);
            let hops = self.hops[ends.to];
            if hops == UNSETTLED || used[ends.from] || ends.from == target {
                continue;
            }
            if hops + 1 < self.hops[ends.from] {
                used[ends.to] = true;
                self.hops[ends.from] = hops + 1;
                self.channel[ends.from] = channel;
            }
        }
        self.backwards = backwards;
        self.settled.clear();
        let reached = fabric
            .switches()
            .indices()
            .filter(|&switch| self.hops[switch] != UNSETTLED);
        self.settled.extend(reached);
        let hops = &self.hops;
        self.settled.sort_by_key(|&switch| hops[switch]);
        for at in 1..self.settled.len() {
            let Some(&switch) = self.settled.get(at) else {
                break;
            };
            let channel = self.channel[switch];
            let next = fabric.channel(channel).to;
            self.weight[switch] = self.weight[next] + self.load[channel];
            if next != target {
                lane.admit(channel, self.channel[next]);
            }
        }
    }

    fn add_load(&mut self) {
        for &switch in &self.settled {
            self.flow[switch] = self.senders[switch];
        }
        for &switch in self.settled.iter().skip(1).rev() {
            let channel = self.channel[switch];
            let flow = self.flow[switch];
            self.load[channel] += flow;
            self.flow[self.fabric.channel(channel).to] += flow;
        }
    }

    fn install(&self, lid: Lid, routes: &mut Routes) {
        for &switch in self.settled.iter().skip(1) {
            routes.set_port(switch, lid, self.fabric.channel(self.channel[switch]).port);
        }
    }
}
