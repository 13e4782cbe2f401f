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

use alloc::{format, vec, vec::Vec};

use ib_wire::Lid;

use crate::{
    RoutingEngine,
    algo::{lanes, ways::senders},
    error::RouteError,
    fabric::{Fabric, PortRef},
    index::{ChannelIdx, Idx, IdxVec, SwitchIdx},
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
        run.route_target(target, lids, &mut routes);
    }
    if run.turned_back {
        lanes::layer_routes(fabric, lids, options, &mut routes)?;
    }
    Ok(routes)
}

/// The levels of a tree: leaves are 0, and every cable goes one level up or down.
struct Levels {
    level: IdxVec<SwitchIdx, u16>,
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
    let up = Lists::from_filter(fabric, |channel| {
        let channel = fabric.channel(channel);
        level[channel.to] > level[channel.from]
    });
    Ok(Levels { level, up })
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
    /// The channels down of each switch, by port.
    down: Lists,
    /// Where each channel ends.
    to: IdxVec<ChannelIdx, SwitchIdx>,
    /// Part of the fabric that a switch belongs to, from 1.
    part: IdxVec<SwitchIdx, u32>,
    /// Switches in the same part.
    part_size: IdxVec<SwitchIdx, u32>,
    roots: Roots,
    /// Destinations on each channel, chosen down by chains and up where there was a choice.
    load: IdxVec<ChannelIdx, u32>,
    /// The target of the fields below.
    target: Option<SwitchIdx>,
    /// Hops to the target by a path up and then down.
    hops: IdxVec<SwitchIdx, u16>,
    /// Whether the target is below (or is) the switch.
    above: IdxVec<SwitchIdx, bool>,
    /// Way down for switches above the target, way back for switches without a legal path.
    fixed: IdxVec<SwitchIdx, ChannelIdx>,
    queue: Vec<SwitchIdx>,
    chains: Vec<Chain>,
    /// Links down of the chains: the chain's number, the link.
    links: Vec<(usize, ChannelIdx)>,
    /// Whether a CA's route had to turn from down to up.
    turned_back: bool,
    senders: IdxVec<SwitchIdx, u64>,
}

/// Where switches without a legal path send: through one leaf of their part of the fabric.
struct Hubs {
    hub: IdxVec<SwitchIdx, Option<SwitchIdx>>,
    next: IdxVec<SwitchIdx, ChannelIdx>,
}

/// One LID of the target, and the root that its packets go up to.
#[derive(Clone, Copy)]
struct Chain {
    lid: Lid,
    root: u32,
    /// Destinations that took this root before.
    turn: u32,
}

/// The ways up from every switch to every root.
struct Roots {
    number: IdxVec<SwitchIdx, u32>,
    count: usize,
    /// By switch, then by root.
    ways: Vec<Way>,
    /// The channels where there are several.
    several: Vec<Vec<ChannelIdx>>,
    /// Destinations that take each root so far.
    served: Vec<u32>,
}

/// The channel up to a root.
#[derive(Clone, Copy)]
struct Way {
    first: ChannelIdx,
    /// Number of the list of all, from 1, where there are several; 0 where there is one.
    several: u32,
}

impl Roots {
    fn new(fabric: &Fabric, levels: &Levels, down: &Lists) -> Self {
        let is_root = |switch: &SwitchIdx| levels.up.of(*switch).is_empty();
        let roots: Vec<_> = fabric.switches().indices().filter(is_root).collect();
        let count = roots.len();
        let nothing = Way {
            first: NONE,
            several: 0,
        };
        let mut this = Self {
            number: IdxVec::filled(fabric.num_switches(), 0),
            count,
            ways: vec![nothing; count * fabric.num_switches()],
            several: Vec::new(),
            served: vec![0; count],
        };
        let mut met = IdxVec::filled(fabric.num_switches(), u32::MAX);
        let mut queue = Vec::new();
        for (number, &root) in roots.iter().enumerate() {
            this.number[root] = number as u32;
            queue.clear();
            queue.push(root);
            met[root] = number as u32;
            let mut at = 0;
            while let Some(&switch) = queue.get(at) {
                at += 1;
                for &channel in down.of(switch) {
                    let channel = fabric.channel(channel);
                    this.add(channel.to, number, channel.reverse);
                    if met[channel.to] != number as u32 {
                        met[channel.to] = number as u32;
                        queue.push(channel.to);
                    }
                }
            }
        }
        this
    }

    fn add(&mut self, switch: SwitchIdx, root: usize, up: ChannelIdx) {
        let Some(way) = self.ways.get_mut(switch.at() * self.count + root) else {
            return;
        };
        if way.first == NONE {
            way.first = up;
        } else if let Some(list) = self.several.get_mut((way.several as usize).wrapping_sub(1)) {
            list.push(up);
        } else {
            self.several.push(vec![way.first, up]);
            way.several = self.several.len() as u32;
        }
    }

    /// The ways from one switch, by root.
    #[inline]
    fn from(&self, switch: SwitchIdx) -> &[Way] {
        let start = switch.at() * self.count;
        self.ways.get(start..start + self.count).unwrap_or_default()
    }

    #[inline]
    fn up(&self, ways: &[Way], root: u32, turn: u32) -> ChannelIdx {
        let Some(way) = ways.get(root as usize) else {
            return NONE;
        };
        match self.several.get((way.several as usize).wrapping_sub(1)) {
            Some(list) => list
                .get(turn as usize % list.len())
                .copied()
                .unwrap_or(NONE),
            None => way.first,
        }
    }
}

impl<'a> Run<'a> {
    fn new(fabric: &'a Fabric, lids: &LidMap, levels: &'a Levels) -> Self {
        let switches = fabric.num_switches();
        let down = Lists::from_filter(fabric, |channel| {
            let channel = fabric.channel(channel);
            levels.level[channel.to] < levels.level[channel.from]
        });
        let (part, part_size) = find_parts(fabric);
        Self {
            fabric,
            levels,
            roots: Roots::new(fabric, levels, &down),
            down,
            to: fabric.channels().iter().map(|channel| channel.to).collect(),
            part,
            part_size,
            load: IdxVec::filled(fabric.channels().len(), 0),
            target: None,
            hops: IdxVec::filled(switches, ILLEGAL),
            above: IdxVec::filled(switches, false),
            fixed: IdxVec::filled(switches, NONE),
            queue: Vec::new(),
            chains: Vec::new(),
            links: Vec::new(),
            turned_back: false,
            senders: senders(fabric, lids),
        }
    }

    /// The first leaf of each part is its hub; parts that a broken tree splits have several.
    fn hubs(&mut self, order: &[SwitchIdx]) -> Hubs {
        let switches = self.fabric.num_switches();
        let (hub, next) = (
            IdxVec::filled(switches, None),
            IdxVec::filled(switches, NONE),
        );
        let mut hubs = Hubs { hub, next };
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
        if self
            .target
            .is_some_and(|sibling| self.are_siblings(sibling, target))
        {
            self.move_to_sibling(target);
            return;
        }
        self.find_legal(target);
        if self.queue.len() == self.part_size[target] as usize {
            return;
        }
        let lost = |run: &Self, switch: SwitchIdx| {
            run.hops[switch] == ILLEGAL && run.part[switch] == run.part[target]
        };
        let mut switches = self
            .fabric
            .switches()
            .indices()
            .filter(|&switch| lost(self, switch));
        let by_hub =
            switches.all(|switch| hubs.hub[switch].is_some_and(|hub| self.hops[hub] != ILLEGAL));
        if by_hub {
            for switch in self.fabric.switches().indices() {
                if lost(self, switch) {
                    self.fixed[switch] = hubs.next[switch];
                }
            }
        } else {
            self.find_way_back();
        }
    }

    /// The shortest way to a switch with a legal path, whatever its turns.
    fn find_way_back(&mut self) {
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

    /// Whether two leaves have the same switches above them, so that paths to both differ below only.
    fn are_siblings(&self, a: SwitchIdx, b: SwitchIdx) -> bool {
        let above = |switch| self.levels.up.of(switch).iter().map(|&up| self.to[up]);
        let leaves = self.down.of(a).is_empty() && self.down.of(b).is_empty();
        leaves && self.hops[b] != ILLEGAL && above(a).eq(above(b))
    }

    fn move_to_sibling(&mut self, target: SwitchIdx) {
        if let Some(old) = self.target.replace(target) {
            self.above[old] = false;
            self.hops[old] = self.hops[target];
        }
        self.above[target] = true;
        self.hops[target] = 0;
        for &up in self.levels.up.of(target).iter().rev() {
            self.fixed[self.to[up]] = self.fabric.channel(up).reverse;
        }
    }

    /// Hops by paths that go up and then down: from the target outwards, nearest first.
    fn find_legal(&mut self, target: SwitchIdx) {
        self.hops.fill(ILLEGAL);
        self.above.fill(false);
        self.fixed.fill(NONE);
        self.target = Some(target);
        self.hops[target] = 0;
        self.above[target] = true;
        self.queue.clear();
        self.queue.push(target);
        let mut at = 0;
        while let Some(&switch) = self.queue.get(at) {
            at += 1;
            let hops = self.hops[switch] + 1;
            if self.above[switch] {
                for &up in self.levels.up.of(switch) {
                    let higher = self.to[up];
                    if self.hops[higher] == ILLEGAL {
                        self.above[higher] = true;
                        self.hops[higher] = hops;
                        self.fixed[higher] = self.fabric.channel(up).reverse;
                        self.queue.push(higher);
                    }
                }
            }
            for &down in self.down.of(switch) {
                let lower = self.to[down];
                if self.hops[lower] == ILLEGAL {
                    self.hops[lower] = hops;
                    self.queue.push(lower);
                }
            }
        }
    }

    /// Gives every LID of the target its chain of ancestors, and every switch its ports.
    fn route_target(&mut self, target: SwitchIdx, lids: &LidMap, routes: &mut Routes) {
        self.chains.clear();
        self.links.clear();
        for end in lids.at_switch(target) {
            for lid in end.range.iter() {
                self.choose_chain(target, lid, u32::from(!end.is_switch()));
            }
        }
        let has_cas = self.senders[target] > 0;
        for switch in self.fabric.switches().indices() {
            let fixed = self.fixed[switch];
            let legal = self.hops[switch] != ILLEGAL;
            if switch == target || (fixed == NONE && !legal) {
                continue;
            }
            self.turned_back |= !legal && has_cas && self.senders[switch] > 0;
            let row = routes.lft_mut(switch);
            if let Some(channel) = self.fabric.channels().find(fixed) {
                for chain in &self.chains {
                    set(row, chain.lid, channel.port.0);
                }
            } else {
                self.route_up(switch, row);
            }
        }
        for &(chain, down) in &self.links {
            let channel = self.fabric.channel(down);
            if let Some(chain) = self.chains.get(chain) {
                routes.set_port(channel.from, chain.lid, channel.port);
            }
        }
    }

    /// Chooses the least used link down at every level, from the target to a root.
    fn choose_chain(&mut self, target: SwitchIdx, lid: Lid, count: u32) {
        let mut root = target;
        while let Some(down) = self.least_loaded_down(root) {
            self.load[down] += count;
            self.links.push((self.chains.len(), down));
            root = self.fabric.channel(down).from;
        }
        let root = self.roots.number[root];
        let served = self.roots.served.get_mut(root as usize);
        let turn = served.map_or(0, |served| {
            *served += count;
            *served - count
        });
        self.chains.push(Chain { lid, root, turn });
    }

    /// The channel that comes down to `switch` with the fewest destinations on it.
    fn least_loaded_down(&self, switch: SwitchIdx) -> Option<ChannelIdx> {
        let ups = self.levels.up.of(switch).iter();
        ups.map(|&up| self.fabric.channel(up).reverse)
            .min_by_key(|&down| self.load[down])
    }

    /// Sends every LID up towards its root, or where that is no way or a detour, by another way up:
    /// the least used where CAs send, any above.
    fn route_up(&mut self, switch: SwitchIdx, row: &mut [u8]) {
        let hops = self.hops[switch];
        let ways = self.roots.from(switch);
        let ups = self.levels.up.of(switch);
        for chain in &self.chains {
            let mut up = self.roots.up(ways, chain.root, chain.turn);
            if up == NONE && self.senders[switch] == 0 && !ups.is_empty() {
                let any = chain.turn as usize % ups.len();
                up = ups.get(any).copied().unwrap_or(NONE);
            }
            let nearer = self.to.find(up).is_some_and(|&to| self.hops[to] < hops);
            if !nearer {
                up = self.least_loaded_up(switch);
                if let Some(load) = self.load.find_mut(up) {
                    *load += 1;
                }
            }
            if let Some(channel) = self.fabric.channels().find(up) {
                set(row, chain.lid, channel.port.0);
            }
        }
    }

    fn least_loaded_up(&self, switch: SwitchIdx) -> ChannelIdx {
        let hops = self.hops[switch];
        let ups = self.levels.up.of(switch).iter().copied();
        ups.filter(|&up| self.hops[self.to[up]] < hops)
            .min_by_key(|&up| self.load[up])
            .unwrap_or(NONE)
    }
}

#[inline]
fn set(row: &mut [u8], lid: Lid, port: u8) {
    if let Some(entry) = row.get_mut(usize::from(lid.0)) {
        *entry = port;
    }
}

/// The part of the fabric that each switch belongs to, from 1, and how many switches that has.
fn find_parts(fabric: &Fabric) -> (IdxVec<SwitchIdx, u32>, IdxVec<SwitchIdx, u32>) {
    let mut part = IdxVec::filled(fabric.num_switches(), 0);
    let mut size = IdxVec::filled(fabric.num_switches(), 0);
    let (mut number, mut queue) = (0, Vec::new());
    for start in fabric.switches().indices() {
        if part[start] != 0 {
            continue;
        }
        number += 1;
        part[start] = number;
        queue.clear();
        queue.push(start);
        let mut at = 0;
        while let Some(&switch) = queue.get(at) {
            at += 1;
            for (_, channel) in fabric.channels_from(switch) {
                if part[channel.to] == 0 {
                    part[channel.to] = number;
                    queue.push(channel.to);
                }
            }
        }
        for &switch in &queue {
            size[switch] = queue.len() as u32;
        }
    }
    (part, size)
}
