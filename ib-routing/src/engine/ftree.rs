//! Fat-tree routing (`ftree`): up to a common ancestor, then down, without contention for shifts.
//!
//! Needs a tree of levels: cables join neighbouring levels only. CAs sit on leaves (level 0); trees may
//! be oversubscribed, pruned or degraded. Each destination gets a chain of ancestors from its leaf to
//! one root, the least used link at every level, and everybody sends up towards that root: on a whole
//! tree every link down serves as many destinations as any other, and a shift of the CAs in the order
//! of their LIDs loads no link twice. CA traffic turns from up to down only, so one virtual lane does;
//! switches that no such path joins (roots, mostly) talk through one leaf. Time O(LIDs * switches).
//! Source: Zahavi, Johnson, Kerbyson and Lang, "Optimized InfiniBand fat-tree routing for shift
//! all-to-all communication patterns", 2010; Bogdanski et al., "sFtree", 2012, for switch traffic.

use alloc::{format, vec::Vec};

use ib_wire::Lid;

use crate::{
    RoutingEngine,
    algo::{descent::senders, lanes},
    error::RouteError,
    fabric::{Fabric, PortRef},
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};

/// # Errors
/// [`RouteError::Topology`] names the first switch with a cable that does not join neighbouring
/// levels, and [`RouteError::NoRoot`] says that `options.roots` names no switch.
pub fn route(fabric: &Fabric, lids: &LidMap, options: &RouteOptions) -> Result<Routes, RouteError> {
    let levels = find_levels(fabric, lids, options)?;
    check_levels(fabric, &levels)?;
    let mut routes = Routes::new(RoutingEngine::FatTree, fabric, lids);
    routes.set_exits(lids);
    let mut run = Run::new(fabric, lids, &levels);
    let order = leaf_order(fabric, lids, &levels);
    let hubs = run.hubs(&order);
    for &target in &order {
        run.aim(target, &hubs);
        for end in lids.at_switch(target) {
            for lid in end.range.iter() {
                run.route_lid(target, lid, end.is_switch(), &mut routes);
            }
        }
    }
    if run.turned_back {
        lanes::layer_routes(fabric, lids, options, &mut routes)?;
    }
    Ok(routes)
}

/// The levels of a tree: leaves are 0, and every cable goes one level up or down.
struct Levels {
    level: IdxVec<SwitchIdx, u16>,
    /// All switches, the highest first.
    top_down: Vec<SwitchIdx>,
    /// The channels up of each switch, by port.
    up: Lists,
}

/// A list of channels per switch.
#[derive(Default)]
struct Lists {
    first: IdxVec<SwitchIdx, u32>,
    channels: Vec<ChannelIdx>,
}

impl Lists {
    fn from_filter(fabric: &Fabric, keep: impl Fn(ChannelIdx) -> bool) -> Self {
        let mut lists = Self::default();
        for switch in fabric.switches().indices() {
            lists.first.push(lists.channels.len() as u32);
            let kept = fabric.channels_from(switch).map(|(channel, _)| channel);
            lists.channels.extend(kept.filter(|&channel| keep(channel)));
        }
        lists.first.push(lists.channels.len() as u32);
        lists
    }

    #[inline]
    fn of(&self, switch: SwitchIdx) -> &[ChannelIdx] {
        let (start, end) = (self.first[switch], self.first[SwitchIdx(switch.0 + 1)]);
        self.channels
            .get(start as usize..end as usize)
            .unwrap_or_default()
    }
}

/// Level of a switch that no search has met.
const NO_LEVEL: u16 = u16::MAX;

/// Levels by the distance from the roots that the caller names, else from the switches with compute
/// nodes. A part of the fabric without either begins at its first switch.
fn find_levels(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
) -> Result<Levels, RouteError> {
    let mut level = IdxVec::filled(fabric.num_switches(), NO_LEVEL);
    if !options.roots.is_empty() {
        let roots: Vec<_> = options
            .roots
            .iter()
            .filter_map(|&guid| switch_named(fabric, guid))
            .collect();
        if roots.is_empty() {
            let (engine, what) = (
                RoutingEngine::FatTree,
                "none of the GUIDs belongs to a node here",
            );
            return Err(RouteError::NoRoot { engine, what });
        }
        spread(fabric, &roots, &mut level);
        let depth = level
            .iter()
            .copied()
            .filter(|&rank| rank != NO_LEVEL)
            .max()
            .unwrap_or(0);
        for rank in level.iter_mut().filter(|rank| **rank != NO_LEVEL) {
            *rank = depth - *rank;
        }
    }
    let is_leaf = |switch: &SwitchIdx| {
        lids.at_switch(*switch).any(|end| {
            let listed = &options.compute_nodes;
            !end.is_switch() && (listed.is_empty() || listed.contains(&end.guid))
        })
    };
    let leaves = fabric.switches().indices().filter(is_leaf);
    let leaves: Vec<_> = leaves.filter(|&leaf| level[leaf] == NO_LEVEL).collect();
    spread(fabric, &leaves, &mut level);
    for switch in fabric.switches().indices() {
        if level[switch] == NO_LEVEL {
            spread(fabric, &[switch], &mut level);
        }
    }
    let mut top_down: Vec<_> = fabric.switches().indices().collect();
    top_down.sort_by_key(|&switch| core::cmp::Reverse(level[switch]));
    let up = Lists::from_filter(fabric, |channel| {
        let channel = fabric.channel(channel);
        level[channel.to] > level[channel.from]
    });
    Ok(Levels {
        level,
        top_down,
        up,
    })
}

/// Distances from `starts`, for switches that have none.
fn spread(fabric: &Fabric, starts: &[SwitchIdx], level: &mut IdxVec<SwitchIdx, u16>) {
    let mut queue = starts.to_vec();
    for &start in starts {
        level[start] = 0;
    }
    let mut at = 0;
    while let Some(&switch) = queue.get(at) {
        at += 1;
        for (_, channel) in fabric.channels_from(switch) {
            if level[channel.to] == NO_LEVEL {
                level[channel.to] = level[switch] + 1;
                queue.push(channel.to);
            }
        }
    }
}

/// The switch with a node GUID, or the one that a CA with that node or port GUID is cabled to.
fn switch_named(fabric: &Fabric, guid: ib_wire::Guid) -> Option<SwitchIdx> {
    let node = fabric
        .node_by_guid(guid)
        .or_else(|| Some(fabric.port_by_guid(guid)?.node))?;
    fabric.switch_of(node).or_else(|| {
        let mut ports = fabric.node(node).end_ports();
        ports.find_map(|(port, _)| Some(fabric.attachment(PortRef { node, port })?.0))
    })
}

/// Every cable must join neighbouring levels.
fn check_levels(fabric: &Fabric, levels: &Levels) -> Result<(), RouteError> {
    for channel in fabric.channels().iter() {
        let (from, to) = (levels.level[channel.from], levels.level[channel.to]);
        if from.abs_diff(to) != 1 {
            return Err(RouteError::Topology {
                engine: RoutingEngine::FatTree,
                switch: fabric.switch_guid(channel.from),
                what: format!(
                    "port {} leads from level {from} to level {to} (switch {}), expected a \
                     neighbouring level; if CAs sit above the leaves, name the roots",
                    channel.port.0,
                    fabric.switch_guid(channel.to),
                ),
            });
        }
    }
    Ok(())
}

/// The switches in the order in which they choose their links: leaves by their lowest CA LID, then
/// the rest.
fn leaf_order(fabric: &Fabric, lids: &LidMap, levels: &Levels) -> Vec<SwitchIdx> {
    let mut order: Vec<_> = fabric.switches().indices().collect();
    order.sort_by_key(|&switch| {
        let first = lids
            .at_switch(switch)
            .find(|end| !end.is_switch())
            .map(|end| end.range.base());
        (levels.level[switch], first.is_none(), first, switch)
    });
    order
}

/// Hops of a switch that no path up and then down joins to the target.
const ILLEGAL: u16 = u16::MAX;

/// No channel.
const NONE: ChannelIdx = ChannelIdx(u32::MAX);

struct Run<'a> {
    fabric: &'a Fabric,
    levels: &'a Levels,
    /// Part of the fabric that a switch belongs to.
    part: IdxVec<SwitchIdx, u32>,
    /// Channels up that lead to a root, per root; made when first needed.
    towards: IdxVec<SwitchIdx, Option<Lists>>,
    /// Destinations that take the root so far.
    served: IdxVec<SwitchIdx, u32>,
    /// Destinations on each channel, chosen down by chains and up where there was a choice.
    load: IdxVec<ChannelIdx, u32>,
    /// Hops to the target by a path up and then down.
    hops: IdxVec<SwitchIdx, u16>,
    /// Whether the target is below (or is) the switch.
    above: IdxVec<SwitchIdx, bool>,
    /// Way down for switches above the target, way back for switches without a legal path.
    fixed: IdxVec<SwitchIdx, ChannelIdx>,
    queue: Vec<SwitchIdx>,
    /// Whether a CA's route had to turn from down to up.
    turned_back: bool,
    senders: IdxVec<SwitchIdx, u64>,
}

/// Where switches without a legal path send: through one leaf of their part of the fabric.
struct Hubs {
    hub: IdxVec<SwitchIdx, Option<SwitchIdx>>,
    next: IdxVec<SwitchIdx, ChannelIdx>,
}

impl<'a> Run<'a> {
    fn new(fabric: &'a Fabric, lids: &LidMap, levels: &'a Levels) -> Self {
        let switches = fabric.num_switches();
        let mut part = IdxVec::filled(switches, NO_LEVEL);
        let mut parts = IdxVec::filled(switches, 0);
        let mut number = 0;
        for switch in fabric.switches().indices() {
            if part[switch] == NO_LEVEL {
                number += 1;
                let before: Vec<_> = part.iter().copied().collect();
                spread(fabric, &[switch], &mut part);
                for (at, old) in fabric.switches().indices().zip(before) {
                    if old == NO_LEVEL && part[at] != NO_LEVEL {
                        parts[at] = number;
                    }
                }
            }
        }
        Self {
            fabric,
            levels,
            part: parts,
            towards: fabric.switches().iter().map(|_| None).collect(),
            served: IdxVec::filled(switches, 0),
            load: IdxVec::filled(fabric.channels().len(), 0),
            hops: IdxVec::filled(switches, ILLEGAL),
            above: IdxVec::filled(switches, false),
            fixed: IdxVec::filled(switches, NONE),
            queue: Vec::new(),
            turned_back: false,
            senders: senders(fabric, lids),
        }
    }

    /// The first leaf of each part is its hub; parts that a broken tree splits have several.
    fn hubs(&mut self, order: &[SwitchIdx]) -> Hubs {
        let switches = self.fabric.num_switches();
        let mut hubs = Hubs {
            hub: IdxVec::filled(switches, None),
            next: IdxVec::filled(switches, NONE),
        };
        for &leaf in order {
            if hubs.hub[leaf].is_some() {
                continue;
            }
            self.find_legal(leaf);
            for switch in self.fabric.switches().indices() {
                if self.hops[switch] == ILLEGAL || hubs.hub[switch].is_some() {
                    continue;
                }
                hubs.hub[switch] = Some(leaf);
                hubs.next[switch] = if self.above[switch] {
                    self.fixed[switch]
                } else {
                    self.least_loaded_up(switch)
                };
            }
        }
        hubs
    }

    /// Everything about paths to `target` that its LIDs share.
    fn aim(&mut self, target: SwitchIdx, hubs: &Hubs) {
        self.find_legal(target);
        let lost = |run: &Self, switch: SwitchIdx| {
            run.hops[switch] == ILLEGAL && run.part[switch] == run.part[target]
        };
        let (mut any, mut by_hub) = (false, true);
        for switch in self.fabric.switches().indices() {
            if lost(self, switch) {
                any = true;
                let hub = hubs.hub[switch];
                by_hub &= hub.is_some_and(|hub| self.hops[hub] != ILLEGAL);
            }
        }
        if !any {
            return;
        }
        if by_hub {
            for switch in self.fabric.switches().indices() {
                if lost(self, switch) {
                    self.fixed[switch] = hubs.next[switch];
                }
            }
            return;
        }
        // The shortest way to a switch with a legal path, whatever its turns.
        self.queue.clear();
        let legal = self
            .fabric
            .switches()
            .indices()
            .filter(|&switch| self.hops[switch] != ILLEGAL);
        self.queue.extend(legal);
        let mut at = 0;
        while let Some(&switch) = self.queue.get(at) {
            at += 1;
            for (_, channel) in self.fabric.channels_from(switch) {
                if self.hops[channel.to] == ILLEGAL && self.fixed[channel.to] == NONE {
                    self.fixed[channel.to] = channel.reverse;
                    self.queue.push(channel.to);
                }
            }
        }
    }

    /// Hops by paths that go up and then down.
    fn find_legal(&mut self, target: SwitchIdx) {
        self.hops.fill(ILLEGAL);
        self.above.fill(false);
        self.fixed.fill(NONE);
        self.hops[target] = 0;
        self.above[target] = true;
        self.queue.clear();
        self.queue.push(target);
        let mut at = 0;
        while let Some(&switch) = self.queue.get(at) {
            at += 1;
            for &up in self.levels.up.of(switch) {
                let channel = self.fabric.channel(up);
                if !self.above[channel.to] {
                    self.above[channel.to] = true;
                    self.hops[channel.to] = self.hops[switch] + 1;
                    self.queue.push(channel.to);
                    self.fixed[channel.to] = channel.reverse;
                }
            }
        }
        for &switch in &self.levels.top_down {
            if self.above[switch] {
                continue;
            }
            let ups = self.levels.up.of(switch).iter();
            let nearest = ups.map(|&up| self.hops[self.fabric.channel(up).to]).min();
            self.hops[switch] = nearest.map_or(ILLEGAL, |hops| hops.saturating_add(1));
        }
    }

    /// Gives one LID its chain of ancestors and every switch its port.
    fn route_lid(&mut self, target: SwitchIdx, lid: Lid, is_switch: bool, routes: &mut Routes) {
        let mut root = target;
        self.queue.clear();
        while let Some(down) = self.least_loaded_down(root) {
            self.load[down] += u32::from(!is_switch);
            root = self.fabric.channel(down).from;
            self.fixed[root] = down;
        }
        let turn = self.served[root];
        self.served[root] += u32::from(!is_switch);
        if self.towards[root].is_none() {
            self.towards[root] = Some(self.lists_towards(root));
        }
        for switch in self.fabric.switches().indices() {
            let fixed = self.fixed[switch];
            let channel = if fixed != NONE {
                self.turned_back |=
                    !is_switch && self.hops[switch] == ILLEGAL && self.senders[switch] > 0;
                fixed
            } else if switch == target || self.hops[switch] == ILLEGAL {
                continue;
            } else {
                self.up_towards(switch, root, turn)
            };
            if let Some(channel) = self.fabric.channels().find(channel) {
                routes.set_port(switch, lid, channel.port);
            }
        }
    }

    /// The channel that comes down to `switch` with the fewest destinations on it.
    fn least_loaded_down(&self, switch: SwitchIdx) -> Option<ChannelIdx> {
        let ups = self.levels.up.of(switch).iter();
        ups.map(|&up| self.fabric.channel(up).reverse)
            .min_by_key(|&down| self.load[down])
    }

    /// The way up towards the destination's root, or where that is none or a detour, the least used.
    fn up_towards(&mut self, switch: SwitchIdx, root: SwitchIdx, turn: u32) -> ChannelIdx {
        let ups = self.towards[root]
            .as_ref()
            .map_or(&[][..], |lists| lists.of(switch));
        let at = if ups.len() > 1 {
            turn as usize % ups.len()
        } else {
            0
        };
        if let Some(&up) = ups.get(at)
            && self.hops[self.fabric.channel(up).to] < self.hops[switch]
        {
            return up;
        }
        let up = self.least_loaded_up(switch);
        if let Some(load) = self.load.find_mut(up) {
            *load += 1;
        }
        up
    }

    fn least_loaded_up(&self, switch: SwitchIdx) -> ChannelIdx {
        let hops = self.hops[switch];
        let ups = self.levels.up.of(switch).iter().copied();
        ups.filter(|&up| self.hops[self.fabric.channel(up).to] < hops)
            .min_by_key(|&up| self.load[up])
            .unwrap_or(NONE)
    }

    /// The channels up that lead to `root`.
    fn lists_towards(&mut self, root: SwitchIdx) -> Lists {
        let mut below = IdxVec::filled(self.fabric.num_switches(), false);
        below[root] = true;
        for &switch in &self.levels.top_down {
            let mut ups = self.levels.up.of(switch).iter();
            below[switch] |= ups.any(|&up| below[self.fabric.channel(up).to]);
        }
        Lists::from_filter(self.fabric, |channel| {
            let channel = self.fabric.channel(channel);
            below[channel.to] && self.levels.level[channel.to] > self.levels.level[channel.from]
        })
    }
}
