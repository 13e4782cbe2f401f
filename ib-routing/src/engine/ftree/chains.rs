//! Roots of the LIDs: the root to which each LID's packets go up, and the links by which they come down.

use alloc::{collections::BTreeSet, vec, vec::Vec};
use core::ops::Range;

use ib_wire::{Guid, PortNum};

use super::tree::Tree;
use crate::{
    index::{ChannelIdx, Idx, IdxVec, SwitchIdx},
    lid::{Destination, LidMap},
    options::RouteOptions,
    routes::Layout,
};

/// One LID, and the facts that decide its path up.
#[derive(Clone, Copy)]
pub(super) struct Chain {
    /// The switch that has it, or whose CA has it.
    pub(super) target: SwitchIdx,
    /// The place of its entry in the memory of a table.
    pub(super) place: usize,
    /// Its root and its turn on parallel links: a column of [`UpPorts`].
    pub(super) slot: u32,
}

/// The chains of a group of targets.
#[derive(Clone, Default)]
pub(super) struct Chains {
    /// The target of each chain, and the place of its LID.
    targets: Vec<(SwitchIdx, usize)>,
    slots: Vec<u32>,
    /// Neighbouring places: the first, and the number of its chain.
    runs: Vec<(usize, usize)>,
    /// Neighbouring places of one target.
    of_target: Vec<(SwitchIdx, Range<usize>)>,
    /// The links down that were chosen, with the places of their LIDs.
    down: Vec<(usize, ChannelIdx)>,
}

impl Chains {
    fn push(&mut self, chain: Chain) {
        let place = chain.place;
        let follows = self.targets.last().map(|(_, last)| last + 1);
        if follows != Some(place) {
            self.runs.push((place, self.slots.len()));
        }
        match self.of_target.last_mut() {
            Some((target, places)) if *target == chain.target && places.end == place => {
                places.end += 1;
            }
            _ => self.of_target.push((chain.target, place..place + 1)),
        }
        self.targets.push((chain.target, place));
        self.slots.push(chain.slot);
    }

    /// All chains.
    pub(super) fn each(&self) -> impl Iterator<Item = Chain> {
        let targets = self.targets.iter().zip(&self.slots);
        targets.map(|(&(target, place), &slot)| Chain {
            target,
            place,
            slot,
        })
    }

    /// Stretches of neighbouring places of one target.
    pub(super) fn of_targets(&self) -> impl Iterator<Item = (SwitchIdx, Range<usize>)> {
        self.of_target.iter().cloned()
    }

    /// Stretches of neighbouring places, with their slots.
    #[inline]
    pub(super) fn runs(&self) -> impl Iterator<Item = (Range<usize>, &[u32])> {
        let ends = self.runs.iter().skip(1).map(|(_, first)| *first);
        let ends = ends.chain([self.slots.len()]);
        self.runs.iter().zip(ends).map(|(&(place, first), end)| {
            let slots = self.slots.get(first..end).unwrap_or_default();
            (place..place + slots.len(), slots)
        })
    }

    /// Writes the links down of all chains into the tables of all switches: rows of `row_len` entries.
    pub(super) fn set_down(&self, tree: &Tree<'_>, rows: &mut [u8], row_len: usize) {
        for &(place, down) in &self.down {
            let channel = tree.fabric.channel(down);
            if let Some(entry) = rows.get_mut(channel.from.at() * row_len + place) {
                *entry = channel.port.0;
            }
        }
    }

    /// Chooses the least used link down at every level, from the target to a root: for compute nodes
    /// first, so that they share all links evenly, then for I/O nodes, then for all others.
    ///
    /// The result has the chains of each group of targets. `layout` says where the entries of LIDs are.
    pub(super) fn choose_all(
        tree: &Tree<'_>,
        up_ports: &UpPorts,
        lids: &LidMap,
        options: &RouteOptions,
        groups: &[Vec<SwitchIdx>],
        layout: &Layout,
    ) -> Vec<Self> {
        let listed = |guids: &[Guid]| guids.iter().copied().collect::<BTreeSet<Guid>>();
        let (compute, io) = (listed(&options.compute_nodes), listed(&options.io_nodes));
        let kind = |end: &Destination| {
            if end.is_switch() {
                3
            } else if compute.contains(&end.guid) {
                0
            } else if io.contains(&end.guid) {
                1
            } else {
                2
            }
        };
        let mut all = vec![Self::default(); groups.len()];
        let mut turns = Turns::new(tree);
        let mut served = vec![0; up_ports.roots];
        let wanted = match (compute.is_empty(), io.is_empty()) {
            (true, true) => 2..4,
            _ => 0..4,
        };
        for wanted in wanted {
            for (group, chains) in groups.iter().zip(&mut all) {
                for &target in group {
                    let ends = lids.at_switch(target).filter(|end| kind(end) == wanted);
                    for lid in ends.flat_map(|end| end.range.iter()) {
                        let (place, counts) = (layout.place(lid), wanted < 3);
                        let mut root = target;
                        while let Some(up) = turns.take(tree, root, counts) {
                            let up = tree.fabric.channel(up);
                            chains.down.push((place, up.reverse));
                            root = up.to;
                        }
                        let root = up_ports.number[root];
                        let turn = served.get_mut(root as usize).map_or(0, |served| {
                            let turn = *served;
                            *served += u32::from(counts);
                            turn
                        });
                        chains.push(Chain {
                            target,
                            place,
                            slot: root * up_ports.width + turn % up_ports.width,
                        });
                    }
                }
            }
        }
        all
    }
}

/// The next channel up from each switch: the first of those by which the fewest destinations come down.
struct Turns(IdxVec<SwitchIdx, u32>);

impl Turns {
    fn new(tree: &Tree<'_>) -> Self {
        Self(IdxVec::filled(tree.fabric.num_switches(), 0))
    }

    /// The channel up whose turn it is; the next one's comes if the destination `counts`.
    #[inline]
    fn take(&mut self, tree: &Tree<'_>, switch: SwitchIdx, counts: bool) -> Option<ChannelIdx> {
        let (ups, turn) = (tree.up.of(switch), &mut self.0[switch]);
        let up = ups.get(*turn as usize).copied()?;
        *turn += u32::from(counts);
        if *turn as usize == ups.len() {
            *turn = 0;
        }
        Some(up)
    }
}

/// Distinct turns on parallel links: the links between two switches are mostly fewer.
const MOST_TURNS: u32 = 32;

/// The ports up from every switch, by root and by turn on parallel links.
pub(super) struct UpPorts {
    number: IdxVec<SwitchIdx, u32>,
    roots: usize,
    /// Number of distinct turns.
    width: u32,
    /// By switch, then by root, then by turn.
    ports: Vec<u8>,
    /// True if a switch has a port for every root.
    complete: IdxVec<SwitchIdx, bool>,
}

impl UpPorts {
    /// Finds the channels up towards every root. Where no CA sends, a switch that does not reach a root
    /// gets any port up for it.
    pub(super) fn find(tree: &Tree<'_>) -> Self {
        let is_root = |switch: &SwitchIdx| tree.up.of(*switch).is_empty();
        let switches = tree.fabric.switches().indices();
        let roots: Vec<_> = switches.clone().filter(is_root).collect();
        let mut number = IdxVec::filled(tree.fabric.num_switches(), 0);
        let mut met = IdxVec::filled(tree.fabric.num_switches(), None);
        let mut queue = Vec::new();
        // The ports up that lead to a root, by the place of switch and root.
        let mut leads: Vec<(usize, u8)> = Vec::new();
        let mut counts = vec![0u32; roots.len() * tree.fabric.num_switches()];
        for (place, &root) in roots.iter().enumerate() {
            number[root] = place as u32;
            queue.clear();
            queue.push(root);
            let mut at = 0;
            while let Some(&switch) = queue.get(at) {
                at += 1;
                for &channel in tree.down.of(switch) {
                    let channel = tree.fabric.channel(channel);
                    let cell = channel.to.at() * roots.len() + place;
                    if let Some(count) = counts.get_mut(cell) {
                        *count += 1;
                        leads.push((cell, channel.to_port.0));
                    }
                    if met[channel.to].replace(root) != Some(root) {
                        queue.push(channel.to);
                    }
                }
            }
        }
        let mut this = Self {
            number,
            roots: roots.len(),
            width: common_multiple(counts.iter().map(|&count| count as usize)),
            ports: Vec::new(),
            complete: IdxVec::new(),
        };
        this.fill(tree, &counts, &leads);
        this
    }

    /// Lists the ports of each switch by root and turn.
    fn fill(&mut self, tree: &Tree<'_>, counts: &[u32], leads: &[(usize, u8)]) {
        let width = self.width as usize;
        self.ports = vec![PortNum::UNREACHABLE.0; counts.len() * width];
        let mut listed = vec![0u8; counts.len()];
        for &(cell, port) in leads {
            let Some(turn) = listed.get_mut(cell) else {
                continue;
            };
            let turns = self.ports.get_mut(cell * width..(cell + 1) * width);
            if let Some(entry) = turns.unwrap_or_default().get_mut(usize::from(*turn)) {
                *entry = port;
            }
            // A switch has 254 ports at most.
            *turn += 1;
        }
        for switch in tree.fabric.switches().indices() {
            let first = switch.at() * self.roots;
            let ups = tree.up.of(switch);
            let anywhere = tree.senders[switch] == 0 && !ups.is_empty();
            let mut complete = true;
            for root in 0..self.roots {
                let count = counts.get(first + root).map_or(0, |&count| count as usize);
                let start = (first + root) * width;
                let turns = self.ports.get_mut(start..start + width);
                let turns = turns.unwrap_or_default();
                match count {
                    0 if anywhere => {
                        let ups = ups.iter().cycle().skip(root % ups.len());
                        for (entry, &up) in turns.iter_mut().zip(ups) {
                            *entry = tree.fabric.channel(up).port.0;
                        }
                    }
                    0 => complete = false,
                    _ => {
                        for turn in count..width {
                            turns.copy_within(turn - count..turn - count + 1, turn);
                        }
                    }
                }
            }
            self.complete.push(complete);
        }
    }

    /// The ports up from a switch, by slot.
    #[inline]
    pub(super) fn from(&self, switch: SwitchIdx) -> &[u8] {
        let len = self.roots * self.width as usize;
        let start = switch.at() * len;
        self.ports.get(start..start + len).unwrap_or_default()
    }

    /// Returns true if a switch has a port up for every root.
    #[inline]
    pub(super) fn is_complete(&self, switch: SwitchIdx) -> bool {
        self.complete[switch]
    }
}

/// The least common multiple of the numbers, or [`MOST_TURNS`] if that is less.
fn common_multiple(numbers: impl Iterator<Item = usize>) -> u32 {
    let mut seen = [false; MOST_TURNS as usize + 1];
    for number in numbers {
        if let Some(seen) = seen.get_mut(number) {
            *seen = true;
        }
    }
    let mut common = 1;
    for (number, _) in (0..).zip(seen).skip(1).filter(|(_, seen)| *seen) {
        let (mut a, mut b) = (common, number);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        common = common / a * number;
        if common > MOST_TURNS {
            return MOST_TURNS;
        }
    }
    common
}
