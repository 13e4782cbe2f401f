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

use ib_wire::Guid;

use crate::{
    algo::{parallel, random::Random},
    fabric::Fabric,
    index::{ChannelIdx, Idx, IdxVec, SwitchIdx},
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};

/// Destination switches that are routed at once.
pub const BATCH: usize = 64;

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
pub fn spread(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    classes: Option<&IdxVec<ChannelIdx, u8>>,
    routes: &mut Routes,
    search: impl Fn(&[SwitchIdx]) -> Levels + Sync + Send,
) {
    let plan = Plan::new(fabric, lids, options, classes);
    // Lanes choose without looking at each other, each balanced in itself: their number depends on
    // the fabric alone, so that threads do not change the routes.
    let lanes = (fabric.num_switches() / 128).clamp(1, 4);
    let mut loads = vec![IdxVec::filled(fabric.channels().len(), 0u64); lanes];
    for round in plan.order.chunks(BATCH * lanes) {
        let batches: Vec<&[SwitchIdx]> = round.chunks(BATCH).collect();
        let results = parallel::map(options.threads, batches.len(), |lane| {
            let targets = batches.get(lane).copied().unwrap_or_default();
            let load = loads.get(lane).cloned().unwrap_or_default();
            let mut batch = Batch::new(&plan, targets, load, lane, lanes);
            for wave in search(targets).iter().rev() {
                batch.deal(wave);
            }
            (batch.load, batch.ports, batch.lids)
        });
        let row_len = routes.row_len();
        parallel::chunks(
            options.threads,
            routes.rows_mut(),
            row_len,
            |switch, row| {
                for (_, ports, lids) in &results {
                    copy_row(row, ports, lids, switch);
                }
            },
        );
        loads
            .iter_mut()
            .zip(results)
            .for_each(|(load, (new, ..))| *load = new);
    }
    routes.set_exits(lids);
}

/// Puts a batch's ports of one switch into its table, run by run.
fn copy_row(row: &mut [u8], ports: &[u8], lids: &[LidRun], switch: usize) {
    let columns = lids.last().map_or(0, |run| run.column + run.len);
    let ports = ports
        .get(switch * columns..(switch + 1) * columns)
        .unwrap_or_default();
    for run in lids {
        let from = ports
            .get(run.column..run.column + run.len)
            .unwrap_or_default();
        if let Some(to) = row.get_mut(run.lid..run.lid + run.len) {
            to.copy_from_slice(from);
        }
    }
}

/// Consecutive LIDs in consecutive columns of a batch.
#[derive(Clone, Copy, Debug)]
struct LidRun {
    column: usize,
    lid: usize,
    len: usize,
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
}

impl<'a> Plan<'a> {
    fn new(
        fabric: &'a Fabric,
        lids: &'a LidMap,
        options: &'a RouteOptions,
        classes: Option<&'a IdxVec<ChannelIdx, u8>>,
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

/// A candidate and the routes it carries.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    load: u64,
    tie: u32,
    channel: ChannelIdx,
    to: SwitchIdx,
    port: u8,
}

/// Destinations of one lane's batch, and what has been decided for them.
struct Batch<'a> {
    plan: &'a Plan<'a>,
    load: IdxVec<ChannelIdx, u64>,
    columns: Vec<Column>,
    /// Columns of each destination switch: from the first up to the second.
    spans: Vec<(usize, usize)>,
    lids: Vec<LidRun>,
    /// Sources whose routes pass a switch, a row of columns per switch.
    flows: Vec<u32>,
    /// The port chosen, in the same order.
    ports: Vec<u8>,
    has_siblings: bool,
    lane: usize,
    lanes: usize,
    masks: Vec<(ChannelIdx, u64)>,
    queue: Vec<Candidate>,
}

impl<'a> Batch<'a> {
    fn new(
        plan: &'a Plan<'a>,
        targets: &[SwitchIdx],
        load: IdxVec<ChannelIdx, u64>,
        lane: usize,
        lanes: usize,
    ) -> Self {
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
        let mut lids: Vec<LidRun> = Vec::new();
        for (at, column) in columns.iter().enumerate() {
            let lid = usize::from(column.lid);
            match lids.last_mut().filter(|run| run.lid + run.len == lid) {
                Some(run) => run.len += 1,
                None => lids.push(LidRun {
                    column: at,
                    lid,
                    len: 1,
                }),
            }
        }
        let size = columns.len() * plan.fabric.num_switches();
        Self {
            plan,
            load,
            has_siblings: columns.iter().any(|column| column.sibling),
            spans,
            lids,
            flows: vec![0; size],
            ports: vec![u8::MAX; size],
            columns,
            lane,
            lanes,
            masks: Vec::new(),
            queue: Vec::new(),
        }
    }

    /// Lets every switch that reaches destinations in this wave choose.
    fn deal(&mut self, wave: &Wave) {
        for switch in self.plan.fabric.switches().indices() {
            let mut left = wave.reached[switch];
            if left == 0 {
                continue;
            }
            self.masks.clear();
            for (index, channel) in self.plan.fabric.channels_from(switch) {
                let class = self.plan.classes.map_or(u8::MAX, |classes| classes[index]);
                let mask = wave.via[channel.to] & left;
                if mask != 0 && class & wave.classes != 0 {
                    self.masks.push((index, mask));
                }
            }
            while left != 0 {
                let first = left & left.wrapping_neg();
                let mut group = left;
                self.queue.clear();
                for &(index, mask) in &self.masks {
                    if mask & first == 0 {
                        group &= !mask;
                        continue;
                    }
                    group &= mask;
                    let channel = self.plan.fabric.channel(index);
                    self.queue.push(Candidate {
                        load: self.load[index],
                        tie: self.plan.rank[index],
                        channel: index,
                        to: channel.to,
                        port: channel.port.0,
                    });
                }
                left &= !group;
                self.sort_queue();
                match self.queue.as_slice() {
                    [] => {}
                    &[only] => self.send_all(switch, group, only),
                    _ if self.has_siblings => self.deal_apart(switch, group),
                    _ => self.deal_group(switch, group),
                }
            }
        }
    }

    /// Sorts the candidates, the least loaded first. Each lane begins ties at another place.
    fn sort_queue(&mut self) {
        let count = self.queue.len();
        if count < 2 {
            return;
        }
        let shift = (self.lane * count / self.lanes) as u32;
        for candidate in &mut self.queue {
            candidate.tie = candidate.tie.wrapping_sub(shift) & 0xff;
        }
        // Few, and nearly sorted: insertion beats anything cleverer.
        for at in 1..count {
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

    fn send_all(&mut self, switch: SwitchIdx, group: u64, only: Candidate) {
        let columns = self.columns.len();
        let sources = self.plan.sources[switch];
        let mut sum = 0;
        for (first, end) in spans_of(&self.spans, group) {
            let (here, there) = (switch.at() * columns, only.to.at() * columns);
            let ports = self.ports.get_mut(here + first..here + end);
            ports.unwrap_or_default().fill(only.port);
            for column in first..end {
                let is_ca = self.columns.get(column).is_some_and(|column| column.is_ca);
                if is_ca {
                    let flow = self.flows.get(here + column).copied().unwrap_or(0) + sources;
                    if let Some(next) = self.flows.get_mut(there + column) {
                        *next += flow;
                    }
                    sum += u64::from(flow);
                }
            }
        }
        if !self.plan.ignored[only.channel] {
            self.load[only.channel] += sum;
        }
    }

    /// Gives each LID of the group to the channel that is then the least loaded.
    fn deal_group(&mut self, switch: SwitchIdx, group: u64) {
        let columns = self.columns.len();
        let sources = self.plan.sources[switch];
        let here = switch.at() * columns;
        let count_switches = self.plan.options.port_profile_switch_nodes;
        // The queue grows at its end and shrinks at its front, `head`.
        let mut head = 0;
        for (first, end) in spans_of(&self.spans, group) {
            for column in first..end {
                let Some(&best) = self.queue.get(head) else {
                    return;
                };
                let is_ca = self.columns.get(column).is_some_and(|column| column.is_ca);
                let mut weight = u64::from(count_switches && !is_ca);
                if is_ca {
                    let flow = self.flows.get(here + column).copied().unwrap_or(0) + sources;
                    if let Some(next) = self.flows.get_mut(best.to.at() * columns + column) {
                        *next += flow;
                    }
                    weight = u64::from(flow);
                }
                if let Some(port) = self.ports.get_mut(here + column) {
                    *port = best.port;
                }
                // What nobody's route comes by must not move the others out of step.
                if weight == 0 || self.plan.ignored[best.channel] {
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
        for candidate in self.queue.get(head..).unwrap_or_default() {
            self.load[candidate.channel] = candidate.load;
        }
    }

    /// The same for ports with several LIDs: each next one through another chassis, else another
    /// switch, else over the least loaded channel.
    fn deal_apart(&mut self, switch: SwitchIdx, group: u64) {
        let columns = self.columns.len();
        let sources = self.plan.sources[switch];
        let here = switch.at() * columns;
        let mut used: Vec<SwitchIdx> = Vec::new();
        for (first, end) in spans_of(&self.spans, group) {
            for column in first..end {
                let Some(&entry) = self.columns.get(column) else {
                    continue;
                };
                if !entry.sibling {
                    used.clear();
                }
                let system = &self.plan.system;
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
                let mut weight = 0;
                if entry.is_ca {
                    let flow = self.flows.get(here + column).copied().unwrap_or(0) + sources;
                    if let Some(next) = self.flows.get_mut(best.to.at() * columns + column) {
                        *next += flow;
                    }
                    weight = u64::from(flow);
                }
                if !self.plan.ignored[best.channel] {
                    best.load += weight;
                }
                if let Some(port) = self.ports.get_mut(here + column) {
                    *port = best.port;
                }
            }
        }
        for candidate in &self.queue {
            self.load[candidate.channel] = candidate.load;
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
