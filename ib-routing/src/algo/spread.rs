//! Shares the load of destinations over equally good channels: the common half of minhop and updn.
//!
//! 64 destination switches are routed at once, a bit for each. An engine says, level by level, which
//! switches are how many hops away ([`Levels`]); the channels that lead one level down are a switch's
//! candidates, and all LIDs of all destinations with the same candidates are dealt out together. The
//! farthest switches choose first, so that each knows how many sources its choice is for, and the
//! least loaded channel gets the next LID. OpenSM counts destinations instead, and so sends the
//! destinations that share a leaf's port over one port of the next switch too.
//!
//! Time O(channels * switches / 64 * levels + LIDs * switches).

use alloc::{vec, vec::Vec};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use ib_wire::Guid;

use crate::{
    algo::{parallel, random::Random},
    engine::RoutingEngine,
    error::RouteError,
    fabric::Fabric,
    index::{ChannelIdx, Idx, IdxVec, SwitchIdx},
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};

/// Destination switches that are routed at once.
pub const BATCH: usize = 64;

/// Entries of a fabric that is routed several times, to keep the best.
const SMALL: usize = 4096;

/// A set of destinations of the batch per switch.
pub type Sets = IdxVec<SwitchIdx, u64>;

/// One step of an engine's search.
#[derive(Clone, Debug)]
pub struct Wave {
    /// The destinations that each switch reaches in this step.
    pub reached: Sets,
    /// The destinations that a next switch must have for a channel to it to be a candidate.
    pub via: Sets,
    /// The classes of channels that are candidates.
    pub classes: u8,
}

/// Steps of a search, the nearest first.
pub type Levels = Vec<Wave>;

/// All waves of a breadth-first search over all channels: shortest paths.
#[must_use]
pub fn shortest(fabric: &Fabric, targets: &[SwitchIdx]) -> Levels {
    let mut frontier = start(fabric, targets);
    let mut reached = frontier.clone();
    let mut levels = Levels::new();
    loop {
        let next = step(fabric, &frontier, &reached, |_| true);
        if next.iter().all(|&bits| bits == 0) {
            return levels;
        }
        for (all, &new) in reached.iter_mut().zip(next.iter()) {
            *all |= new;
        }
        levels.push(Wave {
            reached: next.clone(),
            via: frontier,
            classes: u8::MAX,
        });
        frontier = next;
    }
}

/// The sets at distance 0: every target has its own bit.
#[must_use]
pub fn start(fabric: &Fabric, targets: &[SwitchIdx]) -> Sets {
    let mut sets = IdxVec::filled(fabric.num_switches(), 0);
    for (bit, &target) in targets.iter().take(BATCH).enumerate() {
        sets[target] |= 1 << bit;
    }
    sets
}

/// What each switch newly reaches over one channel to a switch of `frontier`.
#[must_use]
pub fn step(
    fabric: &Fabric,
    frontier: &Sets,
    reached: &Sets,
    usable: impl Fn(ChannelIdx) -> bool,
) -> Sets {
    let channels = fabric.switches().indices().map(|switch| {
        let mut bits = 0;
        for (index, channel) in fabric.channels_from(switch) {
            if usable(index) {
                bits |= frontier[channel.to];
            }
        }
        bits & !reached[switch]
    });
    channels.collect()
}

/// Routes every LID over candidates that `search` finds for its switch, and shares the load.
///
/// `classes` holds a bit mask per channel; a channel is a candidate in waves that share a bit with it.
///
/// # Errors
/// What `search` finds wrong.
pub fn spread(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    classes: Option<&IdxVec<ChannelIdx, u8>>,
    routes: &mut Routes,
    mut search: impl FnMut(&[SwitchIdx]) -> Result<Levels, RouteError>,
) -> Result<(), RouteError> {
    let mut plan = Plan::new(fabric, lids, options, classes, routes.engine());
    let mut best = attempt(&plan, routes, &mut search)?;
    // Where sources do not divide evenly, a switch that only counts destinations may do better, and in
    // a small fabric there is time for other orders of destinations too.
    let small = fabric.num_switches() * lids.num_lids() <= SMALL;
    let orders = if small && options.guid_routing_order.is_empty() {
        6
    } else {
        0
    };
    let mut random = Random::new(1);
    for number in 0..=orders {
        for count_only in [true, false] {
            let even = best.max * 20 <= best.mean * 21;
            if plan.one_neighbour || even || (number == 0 && !count_only) {
                continue;
            }
            plan.count_only = count_only;
            let mut other = Routes::new(routes.engine(), fabric, lids);
            let found = attempt(&plan, &mut other, &mut search)?;
            if found.max < best.max {
                (best, *routes) = (found, other);
            }
        }
        random.shuffle(&mut plan.order);
    }
    routes.set_exits(lids);
    Ok(())
}

/// The load of an attempt.
struct Attempt {
    max: u64,
    mean: u64,
}

/// Routes all destinations.
fn attempt(
    plan: &Plan<'_>,
    routes: &mut Routes,
    search: &mut impl FnMut(&[SwitchIdx]) -> Result<Levels, RouteError>,
) -> Result<Attempt, RouteError> {
    let row_len = routes.row_len();
    let mut desks: Vec<Desk> = plan
        .fabric
        .switches()
        .indices()
        .map(|switch| Desk::new(switch, plan.fabric.channels_from(switch).len()))
        .collect();
    let mut flows = Vec::new();
    for targets in plan.order.chunks(BATCH) {
        let batch = Batch::new(plan, targets, &mut flows);
        for wave in search(targets)?.iter().rev() {
            parallel::rows(
                plan.options.threads,
                &mut desks,
                routes.rows_mut(),
                row_len,
                |desk, lft| {
                    desk.deal(plan, &batch, wave, lft);
                },
            );
        }
    }
    let loads = || desks.iter().flat_map(|desk| &desk.routes);
    let max = loads().copied().max().unwrap_or(0);
    let count = loads().count().max(1) as u64;
    Ok(Attempt {
        max,
        mean: loads().sum::<u64>() / count,
    })
}

/// What all batches share.
struct Plan<'a> {
    fabric: &'a Fabric,
    lids: &'a LidMap,
    options: &'a RouteOptions,
    classes: Option<&'a IdxVec<ChannelIdx, u8>>,
    /// Destination switches in the order in which they choose.
    order: Vec<SwitchIdx>,
    /// LIDs of CAs at each switch: the sources of routes.
    sources: IdxVec<SwitchIdx, u32>,
    /// Place of each channel among those of its switch, for ties.
    rank: IdxVec<ChannelIdx, u32>,
    /// Channels whose routes do not count.
    ignored: IdxVec<ChannelIdx, bool>,
    /// A number for the chassis of each switch: LIDs of one port shall use different ones.
    system: IdxVec<SwitchIdx, u32>,
    /// Only channels to one neighbour are candidates: the first in the order of ports.
    one_neighbour: bool,
    /// Load is the number of destinations, as in OpenSM, and not of the routes that come by.
    count_only: bool,
}

impl<'a> Plan<'a> {
    fn new(
        fabric: &'a Fabric,
        lids: &'a LidMap,
        options: &'a RouteOptions,
        classes: Option<&'a IdxVec<ChannelIdx, u8>>,
        engine: RoutingEngine,
    ) -> Self {
        let mut sources = IdxVec::filled(fabric.num_switches(), 0);
        for destination in lids
            .destinations()
            .iter()
            .filter(|destination| !destination.is_switch())
        {
            if let Some(switch) = destination.switch {
                sources[switch] += u32::from(destination.range.lmc().lid_count());
            }
        }
        let mut order: Vec<SwitchIdx> = fabric.switches().indices().collect();
        if !options.guid_routing_order.is_empty() {
            order.sort_by_key(|&switch| {
                let places = lids
                    .at_switch(switch)
                    .map(|port| place_in_order(options, port.guid));
                places.min().unwrap_or(usize::MAX)
            });
        }
        let mut rank = IdxVec::filled(fabric.channels().len(), 0);
        let mut random = options.scatter_ports.map(Random::new);
        for switch in fabric.switches().indices() {
            let wish = options.port_order.get(&fabric.switch_guid(switch));
            let mut channels: Vec<_> = fabric.channels_from(switch).collect();
            channels.sort_by_key(|(_, channel)| {
                wish.and_then(|ports| ports.iter().position(|&port| port == channel.port))
                    .unwrap_or(usize::MAX)
            });
            if let Some(random) = &mut random {
                random.shuffle(&mut channels);
            }
            for (place, (channel, _)) in (0..).zip(channels) {
                rank[channel] = place;
            }
        }
        let mut ignored = IdxVec::filled(fabric.channels().len(), false);
        for &(guid, port) in &options.ignore_ports {
            let switch = fabric.switch_by_guid(guid);
            if let Some(channel) = switch.and_then(|switch| fabric.channel_at(switch, port)) {
                ignored[channel] = true;
            }
        }
        let one_neighbour = engine == RoutingEngine::Dor;
        let systems: Vec<Guid> = fabric
            .switches()
            .iter()
            .map(|&node| {
                let node = fabric.node(node);
                if node.system_image_guid == Guid::NONE {
                    node.guid
                } else {
                    node.system_image_guid
                }
            })
            .collect();
        let mut known = systems.clone();
        known.sort_unstable();
        let system = systems
            .iter()
            .map(|guid| known.partition_point(|other| other < guid) as u32);
        let system = system.collect();
        Self {
            fabric,
            lids,
            options,
            classes,
            order,
            sources,
            rank,
            ignored,
            system,
            one_neighbour,
            count_only: false,
        }
    }
}

fn place_in_order(options: &RouteOptions, guid: Guid) -> usize {
    let listed = options
        .guid_routing_order
        .iter()
        .position(|&listed| listed == guid);
    listed.unwrap_or(usize::MAX)
}

/// One LID to route.
#[derive(Clone, Copy, Debug)]
struct Column {
    lid: u16,
    /// Its destination is a CA: sources are counted.
    is_ca: bool,
    /// Its port has the LID before it too: another path is wanted.
    sibling: bool,
}

/// Destinations that are routed at once, and how many routes pass a switch on the way to each.
struct Batch<'a> {
    columns: Vec<Column>,
    /// Columns of each destination switch: from the first up to the second.
    spans: Vec<(usize, usize)>,
    /// A row of columns per switch. Switches that choose at the same time add to those nearer to the
    /// destination, in any order.
    flows: &'a [AtomicU32],
    has_siblings: bool,
    /// One thread does all.
    alone: bool,
}

impl<'a> Batch<'a> {
    fn new(plan: &Plan<'_>, targets: &[SwitchIdx], flows: &'a mut Vec<AtomicU32>) -> Self {
        let (mut columns, mut spans) = (Vec::new(), Vec::new());
        for &target in targets {
            let first = columns.len();
            let mut ports: Vec<_> = plan.lids.at_switch(target).collect();
            if !plan.options.guid_routing_order.is_empty() {
                ports.sort_by_key(|port| place_in_order(plan.options, port.guid));
            }
            for port in ports {
                let is_ca = !port.is_switch();
                columns.extend(port.range.iter().map(|lid| Column {
                    lid: lid.0,
                    is_ca,
                    sibling: lid != port.range.base(),
                }));
            }
            spans.push((first, columns.len()));
        }
        flows.clear();
        for &sources in plan.sources.iter() {
            flows.extend(
                columns
                    .iter()
                    .map(|column| AtomicU32::new(u32::from(column.is_ca) * sources)),
            );
        }
        let has_siblings = columns.iter().any(|column| column.sibling);
        let alone = plan.options.threads == 1;
        Self {
            columns,
            spans,
            flows,
            has_siblings,
            alone,
        }
    }

    /// The columns of a destination, and the routes that pass `switch` on the way to each.
    fn lids(
        &self,
        switch: SwitchIdx,
        first: usize,
        end: usize,
    ) -> impl Iterator<Item = (usize, &Column, u32)> {
        let row = switch.at() * self.columns.len();
        let columns = self.columns.get(first..end).unwrap_or_default();
        let flows = self.flows.get(row + first..row + end).unwrap_or_default();
        let lids = columns.iter().zip(flows).enumerate();
        lids.map(move |(at, (column, flow))| (first + at, column, flow.load(Relaxed)))
    }

    /// Adds the routes that a switch sends on to the next.
    #[inline]
    fn send(&self, to: SwitchIdx, column: usize, flow: u32) {
        if let Some(next) = self.flows.get(to.at() * self.columns.len() + column) {
            if self.alone {
                // Nobody else adds: no need for a locked instruction.
                next.store(next.load(Relaxed) + flow, Relaxed);
            } else {
                next.fetch_add(flow, Relaxed);
            }
        }
    }
}

/// A candidate and the routes it carries.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    load: u64,
    tie: u32,
    to: SwitchIdx,
    port: u8,
    ignored: bool,
    /// Place among the channels of the switch.
    place: u8,
}

/// Where one switch chooses: what its channels carry, and room to work in.
struct Desk {
    switch: SwitchIdx,
    load: Vec<u64>,
    /// The routes on each channel.
    routes: Vec<u64>,
    masks: Vec<(u8, Candidate, u64)>,
    queue: Vec<Candidate>,
}

impl Desk {
    fn new(switch: SwitchIdx, channels: usize) -> Self {
        Self {
            switch,
            load: vec![0; channels],
            routes: vec![0; channels],
            masks: Vec::new(),
            queue: Vec::new(),
        }
    }

    /// Lets the switch choose for the destinations that it reaches in this wave.
    fn deal(&mut self, plan: &Plan<'_>, batch: &Batch<'_>, wave: &Wave, lft: &mut [u8]) {
        let mut left = wave.reached[self.switch];
        if left == 0 {
            return;
        }
        self.masks.clear();
        for ((index, channel), place) in plan.fabric.channels_from(self.switch).zip(0..) {
            let class = plan.classes.map_or(u8::MAX, |classes| classes[index]);
            let mask = wave.via[channel.to] & left;
            if mask != 0 && class & wave.classes != 0 {
                let candidate = Candidate {
                    load: 0,
                    tie: plan.rank[index],
                    to: channel.to,
                    port: channel.port.0,
                    ignored: plan.ignored[index],
                    place,
                };
                self.masks.push((place, candidate, mask));
            }
        }
        while left != 0 {
            let first = left & left.wrapping_neg();
            let mut group = left;
            self.queue.clear();
            for &(place, candidate, mask) in &self.masks {
                if mask & first == 0 {
                    group &= !mask;
                    continue;
                }
                group &= mask;
                let load = self.load.get(usize::from(place)).copied().unwrap_or(0);
                self.queue.push(Candidate { load, ..candidate });
            }
            left &= !group;
            if plan.one_neighbour {
                let first = self.queue.iter().min_by_key(|candidate| candidate.tie);
                if let Some(to) = first.map(|first| first.to) {
                    self.queue.retain(|candidate| candidate.to == to);
                }
            }
            match self.queue.as_slice() {
                [] => {}
                &[only] => self.send_all(batch, group, only, lft, plan.count_only),
                _ if batch.has_siblings => self.deal_apart(plan, batch, group, lft),
                _ => {
                    self.sort_queue();
                    self.deal_group(plan, batch, group, lft);
                }
            }
        }
    }

    /// Sorts the candidates, the least loaded first. They are few and nearly sorted: insertion beats
    /// anything cleverer.
    fn sort_queue(&mut self) {
        for at in 1..self.queue.len() {
            let mut place = at;
            while place > 0
                && let Some([before, here]) = self.queue.get(place - 1..=place)
                && (here.load, here.tie) < (before.load, before.tie)
            {
                self.queue.swap(place - 1, place);
                place -= 1;
            }
        }
    }

    fn send_all(
        &mut self,
        batch: &Batch<'_>,
        group: u64,
        only: Candidate,
        lft: &mut [u8],
        count_only: bool,
    ) {
        let (mut sum, mut lids) = (0, 0);
        for (first, end) in spans_of(&batch.spans, group) {
            for (at, column, flow) in batch.lids(self.switch, first, end) {
                if let Some(entry) = lft.get_mut(usize::from(column.lid)) {
                    *entry = only.port;
                }
                if flow != 0 {
                    batch.send(only.to, at, flow);
                    sum += u64::from(flow);
                }
                lids += u64::from(column.is_ca);
            }
        }
        let place = usize::from(only.place);
        if let Some(routes) = self.routes.get_mut(place) {
            *routes += sum;
        }
        if let Some(load) = self.load.get_mut(place).filter(|_| !only.ignored) {
            *load += if count_only { lids } else { sum };
        }
    }

    /// Gives each LID of the group to the channel that is then the least loaded.
    fn deal_group(&mut self, plan: &Plan<'_>, batch: &Batch<'_>, group: u64, lft: &mut [u8]) {
        let count_switches = plan.options.port_profile_switch_nodes;
        // The queue grows at its end and shrinks at its front, `head`.
        let mut head = 0;
        for (first, end) in spans_of(&batch.spans, group) {
            for (at, column, flow) in batch.lids(self.switch, first, end) {
                let Some(&best) = self.queue.get(head) else {
                    return;
                };
                if let Some(entry) = lft.get_mut(usize::from(column.lid)) {
                    *entry = best.port;
                }
                if flow != 0 {
                    batch.send(best.to, at, flow);
                    if let Some(routes) = self.routes.get_mut(usize::from(best.place)) {
                        *routes += u64::from(flow);
                    }
                }
                let counted = if plan.count_only {
                    u64::from(column.is_ca)
                } else {
                    u64::from(flow)
                };
                let weight = counted + u64::from(count_switches && !column.is_ca);
                // What nobody's route comes by must not move the others out of step.
                if weight == 0 || best.ignored {
                    continue;
                }
                head += 1;
                let after = Candidate {
                    load: best.load + weight,
                    ..best
                };
                self.queue.push(after);
                let mut place = self.queue.len() - 1;
                while place > head
                    && let Some(before) = self.queue.get(place - 1)
                    && before.load > after.load
                {
                    self.queue.swap(place - 1, place);
                    place -= 1;
                }
            }
        }
        self.keep_loads(head);
    }

    /// The same for ports with several LIDs: each next one through another chassis, else another
    /// switch, else over the least loaded channel.
    fn deal_apart(&mut self, plan: &Plan<'_>, batch: &Batch<'_>, group: u64, lft: &mut [u8]) {
        let system = &plan.system;
        let mut used: Vec<SwitchIdx> = Vec::new();
        for (first, end) in spans_of(&batch.spans, group) {
            for (at, column, flow) in batch.lids(self.switch, first, end) {
                if !column.sibling {
                    used.clear();
                }
                let best = self.queue.iter_mut().min_by_key(|candidate| {
                    let to = candidate.to;
                    let systems = used
                        .iter()
                        .filter(|&&other| system[other] == system[to])
                        .count();
                    let switches = used.iter().filter(|&&other| other == to).count();
                    (systems, switches, candidate.load, candidate.tie)
                });
                let Some(best) = best else { continue };
                used.push(best.to);
                batch.send(best.to, at, flow);
                if let Some(routes) = self.routes.get_mut(usize::from(best.place)) {
                    *routes += u64::from(flow);
                }
                if !best.ignored {
                    best.load += if plan.count_only {
                        u64::from(column.is_ca)
                    } else {
                        u64::from(flow)
                    };
                }
                if let Some(entry) = lft.get_mut(usize::from(column.lid)) {
                    *entry = best.port;
                }
            }
        }
        self.keep_loads(0);
    }

    fn keep_loads(&mut self, head: usize) {
        for candidate in self.queue.get(head..).unwrap_or_default() {
            if let Some(load) = self.load.get_mut(usize::from(candidate.place)) {
                *load = candidate.load;
            }
        }
    }
}

/// Columns of the destinations in a set.
fn spans_of(spans: &[(usize, usize)], mut group: u64) -> impl Iterator<Item = (usize, usize)> + '_ {
    core::iter::from_fn(move || {
        let bit = group.trailing_zeros() as usize;
        group &= group.wrapping_sub(1);
        spans.get(bit).copied().filter(|_| bit < BATCH)
    })
}
