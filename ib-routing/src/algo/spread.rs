//! Shares the load of destinations over equally good channels: the common half of minhop and updn.
//!
//! 64 destination switches are routed at once, a bit for each. An engine says, wave by wave, which
//! switches are how far away ([`Levels`]); the channels that lead to a nearer wave are a switch's
//! candidates, and all LIDs of all destinations with the same candidates are dealt out together. The
//! farthest switches choose first, so that each knows how many sources its choice is for, and the
//! least loaded channel gets the next LID. OpenSM counts destinations instead, and so sends the
//! destinations that share a leaf's port over one port of the next switch too.
//!
//! Time O(channels * switches / 64 * levels + LIDs * switches).

mod batch;
mod bundle;
mod desk;
mod flows;
#[cfg(not(target_has_atomic = "64"))]
mod halves;
mod ring;
mod space;

use alloc::{collections::BTreeMap, vec, vec::Vec};

use ib_wire::{Guid, PortNum};

use self::{batch::Batch, bundle::Bundles, desk::Desk, flows::Flows, space::Space};
use crate::{
    algo::{
        parallel,
        random::Random,
        waves::{BATCH, Levels, shortest, shortest_by_weight},
    },
    engine::{self, SharedEngine},
    error::RouteError,
    fabric::{Channel, Fabric},
    index::{ChannelIdx, Idx, IdxVec, SwitchIdx},
    lid::{Destination, LidMap},
    options::RouteOptions,
    routes::Routes,
};

/// Entries of a fabric that is routed several times, to keep the best.
const SMALL: usize = 4096;

/// Searches that are kept at the same time, at most.
const SEARCHES: usize = 8;

/// Choices of a wave below which one thread is through before others have begun.
const FEW_CHOICES: u32 = 4096;

/// Attempts that begin with the knowledge of the one before. A fourth was seen to gain nothing.
const FORESIGHT: usize = 3;

/// Routes every LID over shortest paths, where a channel counts as many hops as `hop_weights` says.
///
/// # Errors
/// None.
pub fn spread_shortest(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    routes: &mut Routes,
) -> Result<(), RouteError> {
    if options.hop_weights.is_empty() {
        return spread(fabric, lids, options, None, routes, |targets| {
            Ok(shortest(fabric, targets))
        });
    }
    let weight = |channel: &Channel| {
        let end = (fabric.switch_guid(channel.from), channel.port);
        let weight = options.hop_weights.get(&end).copied().unwrap_or(1);
        // A way without hops could lead round in a circle; OpenSM has 8 bits too.
        u8::try_from(weight.max(1)).unwrap_or(u8::MAX)
    };
    let weights = fabric.channels().iter().map(weight).collect();
    spread(fabric, lids, options, Some(&weights), routes, |targets| {
        Ok(shortest_by_weight(fabric, targets, &weights))
    })
}

/// Routes every LID over candidates that `search` finds for its switch, and shares the load.
///
/// `classes` holds the class of every channel; without it all are of class 0.
///
/// # Errors
/// What `search` finds wrong.
pub fn spread(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    classes: Option<&IdxVec<ChannelIdx, u8>>,
    routes: &mut Routes,
    search: impl Fn(&[SwitchIdx]) -> Result<Levels, RouteError> + Sync,
) -> Result<(), RouteError> {
    let mut plan = Plan::new(fabric, lids, options, classes, routes.engine());
    let mut best = attempt(&plan, routes, &search)?;
    // Switches that choose for themselves alone can leave a channel far above the mean.
    if !plan.one_neighbour && !best.is_even() {
        let mut last = best.clone();
        for _ in 0..FORESIGHT {
            plan.foresee(&last);
            last = retry(&plan, &mut best, routes, &search)?;
        }
        plan.head_start.fill(0);
        // Where sources do not divide evenly, a switch that only counts destinations may do better, and
        // in a small fabric there is time for other orders of destinations too.
        let small = fabric.num_switches() * lids.num_lids() <= SMALL;
        let orders = if small && plan.guid_order.is_empty() {
            6
        } else {
            0
        };
        let mut random = Random::new(1);
        for number in 0..=orders {
            for count_only in [true, false] {
                if !best.is_even() && (number > 0 || count_only) {
                    plan.count_only = count_only;
                    retry(&plan, &mut best, routes, &search)?;
                }
            }
            random.shuffle(&mut plan.order);
        }
    }
    routes.set_exits(lids);
    Ok(())
}

/// The routes that an attempt left on each channel, in the order of [`Plan::ways`].
#[derive(Clone)]
struct Attempt {
    sent: Vec<u64>,
}

impl Attempt {
    fn max(&self) -> u64 {
        self.sent.iter().copied().max().unwrap_or(0)
    }

    /// Whether no attempt can gain much: the highest load is within 5 % of the mean.
    fn is_even(&self) -> bool {
        let sum: u64 = self.sent.iter().sum();
        let mean = sum / self.sent.len().max(1) as u64;
        self.max() * 20 <= mean * 21
    }
}

/// Routes all destinations once more, and keeps what is better.
fn retry(
    plan: &Plan<'_>,
    best: &mut Attempt,
    routes: &mut Routes,
    search: &(impl Fn(&[SwitchIdx]) -> Result<Levels, RouteError> + Sync),
) -> Result<Attempt, RouteError> {
    let mut other = Routes::new(routes.engine(), plan.fabric, plan.lids);
    let found = attempt(plan, &mut other, search)?;
    if found.max() < best.max() {
        best.clone_from(&found);
        *routes = other;
    }
    Ok(found)
}

/// Routes all destinations.
fn attempt(
    plan: &Plan<'_>,
    routes: &mut Routes,
    search: &(impl Fn(&[SwitchIdx]) -> Result<Levels, RouteError> + Sync),
) -> Result<Attempt, RouteError> {
    let (threads, row_len) = (plan.options.threads, routes.row_len());
    let (mut loads, mut sent) = (plan.head_start.clone(), vec![0; plan.ways.len()]);
    let mut desks = Desk::for_all(plan, &mut loads, &mut sent);
    let workers = parallel::workers(threads, desks.len());
    let mut flows = Flows::new(plan.fabric.num_switches(), workers);
    let mut space = Space::new(0);
    let batches: Vec<&[SwitchIdx]> = plan.order.chunks(BATCH).collect();
    // Searches know nothing of each other, so each worker makes one; what they find takes memory.
    for batches in batches.chunks(workers.clamp(1, SEARCHES)) {
        let levels = |at: usize| batches.get(at).map(|targets| search(targets));
        let found = parallel::map(threads, batches.len(), levels);
        for (targets, levels) in batches.iter().zip(found.into_iter().flatten()) {
            let batch = Batch::new(plan, targets, &mut flows);
            for wave in levels?.iter().rev() {
                let alone = workers == 1 || wave.choices() < FEW_CHOICES;
                parallel::rows(
                    if alone { 1 } else { threads },
                    &mut desks,
                    routes.rows_mut(),
                    row_len,
                    &mut space,
                    Space::new,
                    |space, desk, lft| desk.deal(plan, &batch, wave, space, lft),
                );
            }
        }
    }
    Ok(Attempt { sent })
}

/// A channel as its switch sees it.
#[derive(Clone, Copy, Debug)]
struct Way {
    to: SwitchIdx,
    port: PortNum,
    class: u8,
    /// Its routes do not count.
    ignored: bool,
}

/// What all batches share.
struct Plan<'a> {
    fabric: &'a Fabric,
    lids: &'a LidMap,
    options: &'a RouteOptions,
    /// Destination switches in the order in which they choose.
    order: Vec<SwitchIdx>,
    /// The ports of `options.guid_routing_order` with their places.
    guid_order: BTreeMap<Guid, usize>,
    /// LIDs of CAs at each switch: the sources of routes.
    sources: IdxVec<SwitchIdx, u16>,
    /// The channels of each switch, in the order in which equally loaded ones are tried: by class first, as
    /// waves name them.
    ways: Vec<Way>,
    bundles: Bundles,
    /// A number for the chassis of each switch: LIDs of one port shall use different ones. Empty where
    /// no port has several.
    system: IdxVec<SwitchIdx, u32>,
    /// Only channels to one neighbour are candidates: the first in the order of ports.
    one_neighbour: bool,
    /// No switch has a choice: there is one channel to each neighbour, and the first neighbour is taken.
    no_choice: bool,
    /// Load is the number of destinations, as in OpenSM, and not of the routes that come by.
    count_only: bool,
    /// Load that each channel begins with.
    head_start: Vec<u64>,
}

impl<'a> Plan<'a> {
    fn new(
        fabric: &'a Fabric,
        lids: &'a LidMap,
        options: &'a RouteOptions,
        classes: Option<&IdxVec<ChannelIdx, u8>>,
        engine: &SharedEngine,
    ) -> Self {
        let mut sources = IdxVec::filled(fabric.num_switches(), 0);
        let mut has_siblings = false;
        for destination in lids.destinations().iter() {
            let count = destination.range.lmc().lid_count();
            has_siblings |= count > 1;
            if let Some(switch) = destination.switch.filter(|_| !destination.is_switch()) {
                sources[switch] += count;
            }
        }
        let system = if has_siblings {
            number_systems(fabric)
        } else {
            IdxVec::new()
        };
        let ways = order_ways(fabric, options, classes);
        let bundles = Bundles::new(
            fabric.num_switches(),
            ways.len(),
            fabric.switches().indices().map(|switch| {
                let (first, end) = fabric.channel_range(switch);
                ways.get(first.at()..end.at()).unwrap_or_default()
            }),
        );
        let one_neighbour = *engine == engine::DOR;
        let mut plan = Self {
            fabric,
            lids,
            options,
            order: fabric.switches().indices().collect(),
            guid_order: options
                .guid_routing_order
                .iter()
                .copied()
                .zip(0..)
                .collect(),
            sources,
            head_start: vec![0; ways.len()],
            ways,
            bundles,
            system,
            one_neighbour,
            no_choice: one_neighbour && !has_parallel_channels(fabric),
            count_only: false,
        };
        if !plan.guid_order.is_empty() {
            let mut order = core::mem::take(&mut plan.order);
            order.sort_by_key(|&switch| {
                let places = lids.at_switch(switch).map(|port| plan.place_in_order(port));
                places.min().unwrap_or(usize::MAX)
            });
            plan.order = order;
        }
        plan
    }

    fn place_in_order(&self, port: &Destination) -> usize {
        let place = self.guid_order.get(&port.guid);
        place.copied().unwrap_or(usize::MAX)
    }

    /// The channels of a switch.
    #[inline]
    fn ways_from(&self, switch: SwitchIdx) -> &[Way] {
        let (first, end) = self.fabric.channel_range(switch);
        self.ways.get(first.at()..end.at()).unwrap_or_default()
    }

    /// Lets each switch see one switch ahead: a channel begins with half of the busiest load that the
    /// switch at its end had in the attempt before, and half of what it began with then.
    fn foresee(&mut self, last: &Attempt) {
        for (start, way) in self.head_start.iter_mut().zip(&self.ways) {
            let (first, end) = self.fabric.channel_range(way.to);
            let ahead = last.sent.get(first.at()..end.at()).unwrap_or_default();
            *start = *start / 2 + ahead.iter().copied().max().unwrap_or(0) / 2;
        }
    }

    /// What a LID counts that `flow` routes come by to.
    #[inline]
    fn weight(&self, is_ca: bool, flow: u16) -> u16 {
        match (is_ca, self.count_only) {
            (true, true) => 1,
            (true, false) => flow,
            (false, _) => u16::from(self.options.port_profile_switch_nodes),
        }
    }

    /// The destinations that have LIDs with a weight, if these have CAs.
    fn counted(&self, with_cas: u64) -> u64 {
        if self.looks_at_all() || self.options.port_profile_switch_nodes {
            return u64::MAX;
        }
        with_cas
    }

    /// Whether some port has several LIDs.
    fn has_siblings(&self) -> bool {
        !self.system.is_empty()
    }

    /// Whether each LID looks at every candidate, as no order of them lasts.
    fn looks_at_all(&self) -> bool {
        self.has_siblings() || self.options.port_shifting
    }
}

/// The channels of every switch by port, or in the order that the options ask for.
fn order_ways(
    fabric: &Fabric,
    options: &RouteOptions,
    classes: Option<&IdxVec<ChannelIdx, u8>>,
) -> Vec<Way> {
    let ways = fabric
        .channels()
        .iter_enumerated()
        .map(|(index, channel)| Way {
            to: channel.to,
            port: channel.port,
            class: classes.map_or(0, |classes| classes[index]),
            ignored: false,
        });
    let mut ways: Vec<Way> = ways.collect();
    for &(guid, port) in &options.ignore_ports {
        let switch = fabric.switch_by_guid(guid);
        let channel = switch.and_then(|switch| fabric.channel_at(switch, port));
        if let Some(way) = channel.and_then(|channel| ways.get_mut(channel.at())) {
            way.ignored = true;
        }
    }
    let mut random = options.scatter_ports.map(Random::new);
    if random.is_none() && options.port_order.is_empty() && classes.is_none() {
        return ways;
    }
    for switch in fabric.switches().indices() {
        let (first, end) = fabric.channel_range(switch);
        let ways = ways.get_mut(first.at()..end.at()).unwrap_or_default();
        if let Some(wish) = options.port_order.get(&fabric.switch_guid(switch)) {
            ways.sort_by_key(|way| {
                let place = wish.iter().position(|&port| port == way.port);
                place.unwrap_or(usize::MAX)
            });
        }
        if let Some(random) = &mut random {
            random.shuffle(ways);
        }
        ways.sort_by_key(|way| way.class);
    }
    ways
}

/// Whether two channels join the same switches in the same direction.
fn has_parallel_channels(fabric: &Fabric) -> bool {
    let mut met = IdxVec::filled(fabric.num_switches(), None);
    fabric.channels().iter().any(|channel| {
        let last = met[channel.to].replace(channel.from);
        last == Some(channel.from)
    })
}

/// A number for each switch, the same for switches of one chassis.
fn number_systems(fabric: &Fabric) -> IdxVec<SwitchIdx, u32> {
    let system = fabric.switches().iter().map(|&node| {
        let node = fabric.node(node);
        if node.system_image_guid == Guid::NONE {
            node.guid
        } else {
            node.system_image_guid
        }
    });
    let systems: Vec<Guid> = system.collect();
    let mut known = systems.clone();
    known.sort_unstable();
    let number = |guid: &Guid| known.partition_point(|other| other < guid) as u32;
    systems.iter().map(number).collect()
}
