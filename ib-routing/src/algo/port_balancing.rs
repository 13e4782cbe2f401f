//! Balances the load of destinations over equally good channels: the common part of minhop, dor and updn.
//!
//! 64 destination switches are routed at once, a bit for each. An engine searches from these and returns
//! the switches at each distance ([`Frontiers`]). The channels that lead to a nearer frontier are a
//! switch's candidates, and all LIDs of all destinations with the same candidates are assigned together.
//! The farthest switches choose first, so that every switch knows the number of sources whose routes its
//! choice moves, and the least loaded channel gets the next LID. OpenSM counts destinations instead, and
//! so sends the destinations that share a leaf's port over one port of the next switch too.
//!
//! # Example
//!
//! Leaf switches A and B are both joined to spine switches S and T. A has three CAs; B has two, with the
//! LIDs 4 and 5.
//!
//! ```text
//! 3 CAs - A -- S -- B - LIDs 4 and 5      frontier 1 of B: S, T
//!          \-- T --/                      frontier 2 of B: A
//! ```
//!
//! 1. A is the farthest and chooses first. Its candidates are the channels to S and to T, with a load of 0
//!    each, and each LID is for 3 sources. LID 4 goes to S, whose load becomes 3 and which moves after T in
//!    the queue; LID 5 goes to T. The flows are then: 3 routes pass S towards LID 4, and 3 pass T towards LID
//!    5.
//! 2. S and T have one candidate each, their channel to B. From S it carries 3 routes (to LID 4) and from
//!    T 3 routes (to LID 5); LID 5 at S and LID 4 at T add no load, as no source's routes pass there.
//!
//! The highest load of a channel is 3 of 6 routes. If A had no CAs, its choice would not count: no
//! route would pass S and T.
//!
//! Time O(channels * switches / 64 * frontiers + LIDs * switches).

mod batch;
mod bundle;
mod candidate_queue;
mod choice;
mod flows;
mod listed_first;
mod packed;
mod port_balancer;
mod scratch;
#[cfg(not(target_has_atomic = "64"))]
mod split_atomic;

use alloc::{collections::BTreeMap, vec, vec::Vec};
use core::ops::RangeInclusive;

use ib_wire::{Guid, Lid, PortNum, random::SplitMix64};

use self::{
    batch::Batch, bundle::Bundles, flows::Flows, port_balancer::PortBalancer, scratch::Scratch,
};
use crate::{
    algo::{
        frontiers::{BATCH, Frontiers, shortest, shortest_by_weight},
        parallel::{self, Spaces},
    },
    engine::{self, SharedEngine},
    error::RouteError,
    fabric::{Channel, Fabric},
    index::{ChannelIdx, Idx, IdxVec, SwitchIdx},
    lid::{Destination, LidMap},
    options::RouteOptions,
    routes::Routes,
};

/// Number of table entries up to which a fabric is routed several times, to keep the best result.
const SMALL: usize = 4096;

/// Searches that are kept at the same time, at most.
const SEARCHES: usize = 8;

/// Table entries and channels of a frontier below which one thread ends before others have begun.
const LITTLE_WORK: usize = 2_048;

/// Attempts that begin with the loads of the one before. In measurements a fourth gained nothing.
const LOOKAHEAD_ATTEMPTS: usize = 3;

/// Returns true if an option or ports with several LIDs ask for a rule that holds at each switch: a certain order of
/// its ports, ports that do not count, or LIDs of one port that part.
#[must_use]
pub fn chooses_by_port(lids: &LidMap, options: &RouteOptions) -> bool {
    let has_siblings = |end: &Destination| end.range.lmc().lid_count() > 1;
    !options.port_order.is_empty()
        || !options.ignore_ports.is_empty()
        || !options.guid_routing_order.is_empty()
        || options.scatter_ports.is_some()
        || options.port_shifting
        || options.port_profile_switch_nodes
        || lids.destinations().iter().any(has_siblings)
}

/// Routes every LID over shortest paths, where a channel counts as many hops as `hop_weights` says.
///
/// # Errors
/// None.
pub fn route_shortest(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    routes: &mut Routes,
) -> Result<(), RouteError> {
    if options.hop_weights.is_empty() {
        return route(fabric, lids, options, None, routes, |targets| {
            Ok(shortest(options.threads, fabric, targets))
        });
    }
    let weight = |channel: &Channel| {
        let end = (fabric.switch_guid(channel.from), channel.port);
        let weight = options.hop_weights.get(&end).copied().unwrap_or(1);
        // A channel of length 0 could close a loop; OpenSM has 8 bits too.
        u8::try_from(weight.max(1)).unwrap_or(u8::MAX)
    };
    let weights = fabric.channels().iter().map(weight).collect();
    route(fabric, lids, options, Some(&weights), routes, |targets| {
        Ok(shortest_by_weight(
            options.threads,
            fabric,
            targets,
            &weights,
        ))
    })
}

/// Routes every LID over candidates that `search` finds for its switch, and balances the load.
///
/// `classes` holds the class of every channel; without it all are of class 0.
///
/// # Errors
/// Those of `search`.
pub fn route(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    classes: Option<&IdxVec<ChannelIdx, u8>>,
    routes: &mut Routes,
    search: impl Fn(&[SwitchIdx]) -> Result<Frontiers, RouteError> + Sync,
) -> Result<(), RouteError> {
    if options.guid_routing_order_no_scatter
        && options.scatter_ports.is_some()
        && !options.guid_routing_order.is_empty()
    {
        listed_first::route(fabric, lids, options, classes, routes, &search)?;
        routes.set_exits(lids);
        return Ok(());
    }
    let mut inputs = Inputs::new(fabric, lids, options, classes, routes.engine());
    let mut best = attempt(&inputs, routes, &search)?;
    // Switches that choose without regard to the next ones can leave a channel far above the mean.
    if !inputs.one_neighbour && !best.is_even() {
        let mut last = best.clone();
        for _ in 0..LOOKAHEAD_ATTEMPTS {
            inputs.look_ahead(&last);
            last = retry(&inputs, &mut best, routes, &search)?;
        }
        inputs.initial_load.fill(0);
        // Where sources do not divide evenly, a switch that only counts destinations may do better, and
        // in a small fabric there is time for other orders of destinations too.
        let small = fabric.num_switches() * lids.num_lids() <= SMALL;
        let orders = if small && inputs.guid_order.is_empty() {
            6
        } else {
            0
        };
        let mut random = SplitMix64::new(1);
        for number in 0..=orders {
            for count_only in [true, false] {
                if !best.is_even() && (number > 0 || count_only) {
                    inputs.count_only = count_only;
                    retry(&inputs, &mut best, routes, &search)?;
                }
            }
            random.shuffle(&mut inputs.order);
        }
    }
    routes.set_exits(lids);
    Ok(())
}

/// The number that an attempt gave each channel, in the order of [`Inputs::out_ports`].
#[derive(Clone)]
struct Attempt {
    /// Routes that pass.
    sent: Vec<u64>,
    /// Load at the end.
    loads: Vec<u64>,
}

impl Attempt {
    fn max(&self) -> u64 {
        self.sent.iter().copied().max().unwrap_or(0)
    }

    /// Returns true if no attempt can gain much: the highest load is within 5 % of the mean.
    fn is_even(&self) -> bool {
        parallel::count(self.sent.len() / 4);
        let sum: u64 = self.sent.iter().sum();
        let mean = sum / self.sent.len().max(1) as u64;
        self.max() * 20 <= mean * 21
    }
}

/// Routes all destinations once more, and keeps the better result.
fn retry(
    inputs: &Inputs<'_>,
    best: &mut Attempt,
    routes: &mut Routes,
    search: &Search<'_>,
) -> Result<Attempt, RouteError> {
    let mut other = Routes::new_shared(routes.engine(), inputs.fabric, inputs.lids);
    let found = attempt(inputs, &mut other, search)?;
    if found.max() < best.max() {
        best.clone_from(&found);
        *routes = other;
    }
    Ok(found)
}

/// The search for the candidates of some destination switches. It is called once for many routes, and the rest is compiled
/// once for all engines.
type Search<'a> = dyn Fn(&[SwitchIdx]) -> Result<Frontiers, RouteError> + Sync + 'a;

/// Routes all destinations.
fn attempt(
    inputs: &Inputs<'_>,
    routes: &mut Routes,
    search: &Search<'_>,
) -> Result<Attempt, RouteError> {
    let threads = inputs.options.threads;
    let (mut loads, mut sent) = (inputs.initial_load.clone(), vec![0; inputs.out_ports.len()]);
    let mut balancers = PortBalancer::for_all(inputs, &mut loads, &mut sent);
    let workers = parallel::workers(threads, balancers.len());
    let mut flows = Flows::new(inputs.fabric.num_switches(), workers);
    let mut spaces = Spaces::new(workers, Scratch::new);
    let batches: Vec<&[SwitchIdx]> = inputs.order.chunks(BATCH).collect();
    let lids = batches.iter().map(|targets| inputs.lids_of(targets));
    let mut writer = routes.writer(threads, lids);
    let mut numbers = 0..batches.len();
    // Searches are independent, so each worker makes one; their results take memory, so their number is
    // bounded.
    for batches in batches.chunks(workers.clamp(1, SEARCHES)) {
        let prepare = |at: usize| {
            let targets = batches.get(at)?;
            let batch = Batch::new(inputs, targets, writer.layout());
            Some((batch, search(targets)))
        };
        let prepared = parallel::map(threads, batches.len(), prepare);
        for ((batch, frontiers), number) in prepared.into_iter().flatten().zip(&mut numbers) {
            writer.begin(number);
            flows.begin(threads, batch.ca_columns());
            for frontier in frontiers?.iter().rev() {
                let alone = workers == 1 || batch.work(frontier, inputs) < LITTLE_WORK;
                let range = frontier.range();
                let (rows, row_len) = writer.rows_mut();
                let entries = range.start * row_len..range.end * row_len;
                parallel::rows_with(
                    if alone { 1 } else { threads },
                    balancers.get_mut(range).unwrap_or_default(),
                    rows.get_mut(entries).unwrap_or_default(),
                    row_len,
                    &mut spaces,
                    |scratch, balancer, lft| {
                        balancer.assign(inputs, &batch, &flows, frontier, scratch, lft)
                    },
                );
            }
            writer.end(number);
        }
    }
    writer.finish();
    drop(balancers);
    Ok(Attempt { sent, loads })
}

/// A channel as its switch sees it.
#[derive(Clone, Copy, Debug)]
struct OutPort {
    to: SwitchIdx,
    port: PortNum,
    class: u8,
    /// Its routes do not count.
    ignored: bool,
}

/// The ports that one pass routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Share {
    All,
    /// Those of `guid_routing_order`.
    Listed,
    /// All but those.
    Others,
}

/// Inputs of all batches.
struct Inputs<'a> {
    fabric: &'a Fabric,
    lids: &'a LidMap,
    options: &'a RouteOptions,
    /// Destination switches in the order in which they choose.
    order: Vec<SwitchIdx>,
    /// The ports of `options.guid_routing_order` with their places.
    guid_order: BTreeMap<Guid, usize>,
    /// The ports that are routed.
    share: Share,
    /// LIDs of CAs at each switch: the sources of routes.
    sources: IdxVec<SwitchIdx, u16>,
    /// The channels of each switch, in the order in which equally loaded ones are tried: by class first,
    /// the class being that of [`Frontier::via`](crate::algo::frontiers::Frontier::via).
    out_ports: Vec<OutPort>,
    bundles: Bundles,
    /// A number for the chassis of each switch: LIDs of one port shall use different ones. Empty where
    /// no port has several.
    system: IdxVec<SwitchIdx, u32>,
    /// Only channels to one neighbour are candidates: the first in the order of ports.
    one_neighbour: bool,
    /// No switch has a choice: there is one channel to each neighbour, and the first neighbour is taken.
    no_choice: bool,
    /// Load is the number of destinations, as in OpenSM, and not that of the routes that pass.
    count_only: bool,
    /// Load that each channel begins with.
    initial_load: Vec<u64>,
}

impl<'a> Inputs<'a> {
    fn new(
        fabric: &'a Fabric,
        lids: &'a LidMap,
        options: &'a RouteOptions,
        classes: Option<&IdxVec<ChannelIdx, u8>>,
        engine: &SharedEngine,
    ) -> Self {
        // Sources, channels by port, and bundles of them.
        parallel::count(lids.destinations().len() + 2 * fabric.channels().len());
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
        let out_ports = order_out_ports(fabric, options, classes);
        let bundles = Bundles::new(
            fabric.num_switches(),
            out_ports.len(),
            fabric.switches().indices().map(|switch| {
                let (first, end) = fabric.channel_range(switch);
                out_ports.get(first.at()..end.at()).unwrap_or_default()
            }),
        );
        let one_neighbour = *engine == engine::DOR;
        let mut inputs = Self {
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
            share: Share::All,
            sources,
            initial_load: vec![0; out_ports.len()],
            out_ports,
            bundles,
            system,
            one_neighbour,
            no_choice: one_neighbour && !has_parallel_channels(fabric),
            count_only: false,
        };
        if !inputs.guid_order.is_empty() {
            let mut order = core::mem::take(&mut inputs.order);
            order.sort_by_key(|&switch| {
                let places = lids
                    .at_switch(switch)
                    .map(|port| inputs.place_in_order(port));
                places.min().unwrap_or(usize::MAX)
            });
            inputs.order = order;
        }
        inputs
    }

    fn place_in_order(&self, port: &Destination) -> usize {
        let place = self.guid_order.get(&port.guid);
        place.copied().unwrap_or(usize::MAX)
    }

    /// Returns true if the LIDs of a port are routed.
    fn is_routed(&self, port: &Destination) -> bool {
        match self.share {
            Share::All => true,
            Share::Listed => self.guid_order.contains_key(&port.guid),
            Share::Others => !self.guid_order.contains_key(&port.guid),
        }
    }

    /// The ranges of LIDs that are routed to some destination switches.
    fn lids_of(&self, targets: &[SwitchIdx]) -> impl Iterator<Item = RangeInclusive<Lid>> {
        let ports = targets
            .iter()
            .flat_map(|&target| self.lids.at_switch(target));
        let ports = ports.filter(|port| self.is_routed(port));
        ports.map(|port| port.range.base()..=port.range.last())
    }

    /// The channels of a switch.
    #[inline]
    fn out_ports_of(&self, switch: SwitchIdx) -> &[OutPort] {
        let (first, end) = self.fabric.channel_range(switch);
        self.out_ports.get(first.at()..end.at()).unwrap_or_default()
    }

    /// Looks one switch ahead: a channel begins with half of the busiest load that the
    /// switch at its end had in the attempt before, and half of what it began with then.
    fn look_ahead(&mut self, last: &Attempt) {
        for (start, out_port) in self.initial_load.iter_mut().zip(&self.out_ports) {
            let (first, end) = self.fabric.channel_range(out_port.to);
            let ahead = last.sent.get(first.at()..end.at()).unwrap_or_default();
            *start = *start / 2 + ahead.iter().copied().max().unwrap_or(0) / 2;
        }
    }

    /// Weight of a LID to which `flow` routes pass.
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
        if self.scans_all_candidates() || self.options.port_profile_switch_nodes {
            return u64::MAX;
        }
        with_cas
    }

    /// Returns true if some port has several LIDs.
    fn has_siblings(&self) -> bool {
        !self.system.is_empty()
    }

    /// Returns true if each LID compares all candidates, as no order of them lasts.
    fn scans_all_candidates(&self) -> bool {
        self.has_siblings() || self.options.port_shifting
    }
}

/// The channels of every switch by port, or in the order that the options ask for.
fn order_out_ports(
    fabric: &Fabric,
    options: &RouteOptions,
    classes: Option<&IdxVec<ChannelIdx, u8>>,
) -> Vec<OutPort> {
    let out_ports = fabric
        .channels()
        .iter_enumerated()
        .map(|(index, channel)| OutPort {
            to: channel.to,
            port: channel.port,
            class: classes.map_or(0, |classes| classes[index]),
            ignored: false,
        });
    let mut out_ports: Vec<OutPort> = out_ports.collect();
    for &(guid, port) in &options.ignore_ports {
        let switch = fabric.switch_by_guid(guid);
        let channel = switch.and_then(|switch| fabric.channel_at(switch, port));
        if let Some(out_port) = channel.and_then(|channel| out_ports.get_mut(channel.at())) {
            out_port.ignored = true;
        }
    }
    let mut random = options.scatter_ports.map(SplitMix64::new);
    if random.is_none() && options.port_order.is_empty() && classes.is_none() {
        return out_ports;
    }
    for switch in fabric.switches().indices() {
        let (first, end) = fabric.channel_range(switch);
        let out_ports = out_ports.get_mut(first.at()..end.at()).unwrap_or_default();
        if let Some(wish) = options.port_order.get(&fabric.switch_guid(switch)) {
            out_ports.sort_by_key(|out_port| {
                let place = wish.iter().position(|&port| port == out_port.port);
                place.unwrap_or(usize::MAX)
            });
        }
        if let Some(random) = &mut random {
            random.shuffle(out_ports);
        }
        out_ports.sort_by_key(|out_port| out_port.class);
    }
    out_ports
}

/// Returns true if two channels join the same switches in the same direction.
fn has_parallel_channels(fabric: &Fabric) -> bool {
    let mut met = IdxVec::filled(fabric.num_switches(), None);
    fabric.channels().iter().any(|channel| {
        let last = met[channel.to].replace(channel.from);
        last == Some(channel.from)
    })
}

/// A number for each switch: switches of one chassis have the same.
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

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use ib_wire::{Guid, PortNum};

    use crate::{
        LidOptions,
        fabric::{FabricBuilder, NewNode, NodeType, PortRef},
        lid::LidMap,
        options::RouteOptions,
        routes::Routes,
        verify::verify,
    };

    #[test]
    fn the_worked_example_of_the_module_holds() {
        let mut builder = FabricBuilder::new();
        let mut guid = 0;
        let mut node = |type_, num_ports| {
            guid += 1;
            let (guid, new) = (Guid(guid), NewNode::default());
            let node = NewNode {
                type_,
                guid,
                num_ports,
                ..new
            };
            builder.add_node(node).unwrap()
        };
        let [a, s, t, b] = [5, 2, 2, 4].map(|ports| node(NodeType::SWITCH, ports));
        let cas: Vec<_> = (0..5).map(|_| node(NodeType::CA, 1)).collect();
        let mut ports = [0; 4];
        let mut next = |at: usize, switch| {
            ports[at] += 1;
            PortRef {
                node: switch,
                port: PortNum(ports[at]),
            }
        };
        let cables = [
            (next(0, a), next(1, s)),
            (next(0, a), next(2, t)),
            (next(3, b), next(1, s)),
            (next(3, b), next(2, t)),
        ];
        for (one, other) in cables {
            builder.add_link(one, other).unwrap();
        }
        for (at, &ca) in cas.iter().enumerate() {
            let switch = if at < 3 { next(0, a) } else { next(3, b) };
            let end = PortRef {
                node: ca,
                port: PortNum(1),
            };
            builder.port_mut(end).unwrap().guid = Guid(100 + at as u64);
            builder.add_link(switch, end).unwrap();
        }
        let fabric = builder.build();
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        let options = RouteOptions::default();
        let mut routes = Routes::new(&crate::engine::MINHOP, &fabric, &lids);
        super::route_shortest(&fabric, &lids, &options, &mut routes).unwrap();
        let switch = fabric.switch_of(a).unwrap();
        let of = |ca| {
            let range = lids.range_of(PortRef {
                node: ca,
                port: PortNum(1),
            });
            routes.port(switch, range.unwrap().base())
        };
        assert_eq!((of(cas[3]), of(cas[4])), (PortNum(1), PortNum(2)));
        let report = verify(&fabric, &lids, &routes);
        let loads: Vec<u64> = fabric
            .channels_from(switch)
            .map(|(channel, _)| report.link_load.by_channel[channel])
            .collect();
        assert_eq!(loads, [3, 3]);
        assert!(report.is_clean());
    }
}
