//! Pairs of an input and an output port of a switch between which packets may pass (IBA vol. 1, 18.2.5).
//!
//! A switch has an SLtoVL table for each pair, but routes join only some of them: a packet from a neighbour is
//! passed on only to the destinations that the neighbour sends this way. A table of any other pair need not be
//! written. Where entries change one after the other, a packet may meet an old entry at one switch and a new one
//! at the next, so [`PortPairs::add_routes`] takes two tables for each switch and counts every mixture of them.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec,
    vec::Vec,
};

use ib_wire::PortNum;

use crate::{
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
    mcast::PortSet,
    routes::Routes,
};

/// Entries of a linear forwarding table in one block.
const BLOCK: usize = 64;
/// Index of the inputs of a switch whose pairs are not kept.
const NO_ROOM: u32 = u32::MAX;

/// The contents of one block of a switch's linear forwarding table: the entries in use, and those that
/// will be. `None` where there are none or where they are not known.
pub type Blocks<'a> = [Option<&'a [u8; BLOCK]>; 2];

/// A forwarding entry that changes: the switch, the entry's number in its block, and the new output port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedEntry {
    /// The switch.
    pub switch: SwitchIdx,
    /// Number of the entry's block.
    pub block: u16,
    /// Number of the entry in its block: 0..=63.
    pub entry: u8,
    /// The new output port.
    pub port: PortNum,
}

/// The pairs of ports of all switches that packets may pass.
#[derive(Clone, Debug)]
pub struct PortPairs<'a> {
    fabric: &'a Fabric,
    /// Index in `outputs` of the first input of each switch, which is port 0; [`NO_ROOM`] for switches that are left out.
    first: IdxVec<SwitchIdx, u32>,
    /// By input port: the output ports that are joined to it.
    outputs: Vec<PortSet>,
}

impl<'a> PortPairs<'a> {
    /// No pair of any switch.
    #[must_use]
    pub fn new(fabric: &'a Fabric) -> Self {
        Self::of(fabric, |_| true)
    }

    /// Creates a set without pairs that has room for the pairs of these switches alone. Pairs of other switches are not
    /// added.
    #[must_use]
    pub fn of_switches(fabric: &'a Fabric, switches: &BTreeSet<SwitchIdx>) -> Self {
        Self::of(fabric, |switch| switches.contains(&switch))
    }

    fn of(fabric: &'a Fabric, has_room: impl Fn(SwitchIdx) -> bool) -> Self {
        let mut inputs = 0;
        let switches = fabric.switches().iter_enumerated();
        let first = switches.map(|(switch, &node)| {
            if !has_room(switch) {
                return NO_ROOM;
            }
            let first = inputs;
            inputs += u32::from(fabric.node(node).num_ports()) + 1;
            first
        });
        let first = first.collect();
        Self {
            fabric,
            first,
            outputs: vec![PortSet::default(); inputs as usize],
        }
    }

    /// The fabric of the switches.
    #[must_use]
    pub const fn fabric(&self) -> &'a Fabric {
        self.fabric
    }

    /// The pairs that routes join.
    #[must_use]
    pub fn of_routes(fabric: &'a Fabric, routes: &Routes) -> Self {
        let mut pairs = Self::new(fabric);
        pairs.add_routes(routes.row_len().div_ceil(BLOCK), |switch, block| {
            [routes.lft_block(switch, block), None]
        });
        pairs
    }

    /// Returns true if packets may pass from one port of a switch to another one.
    #[must_use]
    pub fn contains(&self, switch: SwitchIdx, input: PortNum, output: PortNum) -> bool {
        let outputs = self
            .place(switch, input)
            .and_then(|at| self.outputs.get(at));
        outputs.is_some_and(|outputs| outputs.contains(output))
    }

    /// All pairs: switch, input port, output port.
    pub fn iter(&self) -> impl Iterator<Item = (SwitchIdx, PortNum, PortNum)> + '_ {
        self.fabric
            .switches()
            .iter_enumerated()
            .flat_map(move |(switch, &node)| {
                let inputs = (0..=self.fabric.node(node).num_ports()).map(PortNum);
                inputs.flat_map(move |input| {
                    let outputs = self
                        .place(switch, input)
                        .and_then(|at| self.outputs.get(at));
                    let outputs = outputs.into_iter().flat_map(PortSet::iter);
                    outputs.map(move |output| (switch, input, output))
                })
            })
    }

    /// Adds a pair. A packet never leaves by the port that it entered by, so a port and itself are no pair.
    pub fn insert(&mut self, switch: SwitchIdx, input: PortNum, output: PortNum) {
        if let Some(at) = self.place(switch, input)
            && let Some(outputs) = self.outputs.get_mut(at)
            && input != output
        {
            outputs.insert(output);
        }
    }

    /// Adds an output port to all inputs of a switch at which packets begin their way: port 0, and the ports with
    /// CAs and routers.
    pub fn insert_from_ends(&mut self, switch: SwitchIdx, output: PortNum) {
        self.insert(switch, PortNum::MANAGEMENT, output);
        for (input, end) in self.fabric.switch(switch).ports() {
            if end.peer.is_some() && self.fabric.channel_at(switch, input).is_none() {
                self.insert(switch, input, output);
            }
        }
    }

    /// Adds the pairs that forwarding tables of `blocks` blocks join. `tables` gives the contents of a block.
    ///
    /// Time O(LIDs * switches).
    pub fn add_routes<'t>(&mut self, blocks: usize, tables: impl Fn(SwitchIdx, u16) -> Blocks<'t>) {
        let fabric = self.fabric;
        let mut from_ends = IdxVec::filled(fabric.num_switches(), PortSet::default());
        for block in (0..=u16::MAX).take(blocks) {
            let contents: IdxVec<SwitchIdx, Blocks<'t>> = fabric
                .switches()
                .indices()
                .map(|switch| tables(switch, block))
                .collect();
            for (switch, here) in contents.iter_enumerated() {
                for table in different(here) {
                    for (entry, port) in ports(table) {
                        from_ends[switch].insert(port);
                        if let Some(channel) = fabric.channel_at(switch, port) {
                            let channel = fabric.channel(channel);
                            for output in at_entry(&contents[channel.to], entry) {
                                self.insert(channel.to, channel.to_port, output);
                            }
                        }
                    }
                }
            }
        }
        for (switch, outputs) in from_ends.iter_enumerated() {
            for output in outputs.iter() {
                self.insert_from_ends(switch, output);
            }
        }
    }

    /// Adds the pairs that the tree of a multicast group joins, by the output ports of its switches. A packet enters a
    /// switch of the tree from a member, from any other sender at the switch, or from a switch that sends it this way,
    /// and leaves by all other ports of the tree.
    pub fn add_tree(&mut self, outputs: &BTreeMap<SwitchIdx, PortSet>) {
        for &switch in outputs.keys() {
            self.add_tree_at(switch, |switch| outputs.get(&switch).copied());
        }
    }

    /// Adds the pairs of one switch that the tree of a multicast group joins. `outputs` gives the output ports of the
    /// switch and of its neighbours.
    pub fn add_tree_at(
        &mut self,
        switch: SwitchIdx,
        outputs: impl Fn(SwitchIdx) -> Option<PortSet>,
    ) {
        let fabric = self.fabric;
        let ports = outputs(switch).unwrap_or_default();
        let from_switches = fabric.channels_from(switch).filter(|(_, channel)| {
            let neighbour = outputs(channel.to);
            neighbour.is_some_and(|ports| ports.contains(channel.to_port))
        });
        let inputs: Vec<PortNum> = from_switches.map(|(_, channel)| channel.port).collect();
        for output in ports.iter().filter(|&output| output != PortNum::MANAGEMENT) {
            self.insert_from_ends(switch, output);
            for &input in &inputs {
                self.insert(switch, input, output);
            }
        }
    }

    /// Adds the pairs that entries join which change one after the other, in any order. `tables` gives the content
    /// of a block in the switches before the changes, as the first of its two.
    ///
    /// Time O(entries * ports of a switch).
    pub fn add_changes<'t>(
        &mut self,
        changes: &[ChangedEntry],
        tables: impl Fn(SwitchIdx, u16) -> Option<&'t [u8; BLOCK]>,
    ) {
        let fabric = self.fabric;
        let key = |change: &ChangedEntry| (change.switch, change.block, change.entry);
        let mut sorted: Vec<&ChangedEntry> = changes.iter().collect();
        sorted.sort_unstable_by_key(|change| key(change));
        let ports_of = |switch: SwitchIdx, block: u16, entry: u8| {
            let old = tables(switch, block).and_then(|table| table.get(usize::from(entry)));
            let place = sorted.binary_search_by_key(&(switch, block, entry), |change| key(change));
            let new = place.ok().and_then(|place| sorted.get(place));
            let old = old.copied().map(PortNum);
            [old, new.map(|change| change.port)]
                .into_iter()
                .flatten()
                .filter(|port| leads(*port))
        };
        for &&ChangedEntry {
            switch,
            block,
            entry,
            port,
        } in &sorted
        {
            if !leads(port) {
                continue;
            }
            self.insert_from_ends(switch, port);
            for (_, channel) in fabric.channels_from(switch) {
                if channel.port == port {
                    for output in ports_of(channel.to, block, entry) {
                        self.insert(channel.to, channel.to_port, output);
                    }
                }
                if ports_of(channel.to, block, entry).any(|back| back == channel.to_port) {
                    self.insert(switch, channel.port, port);
                }
            }
        }
    }

    fn place(&self, switch: SwitchIdx, input: PortNum) -> Option<usize> {
        let first = *self.first.find(switch).filter(|&&first| first != NO_ROOM)?;
        let last = u32::from(self.fabric.switch(switch).num_ports());
        let input = u32::from(input.0);
        (input <= last).then_some((first + input) as usize)
    }
}

/// Returns true if an entry leads packets out of its switch, and not to the switch itself or nowhere.
fn leads(port: PortNum) -> bool {
    port != PortNum::MANAGEMENT && port != PortNum::UNREACHABLE
}

/// The contents of a block, once if both are the same.
fn different<'t>(blocks: &Blocks<'t>) -> impl Iterator<Item = &'t [u8; BLOCK]> + use<'t> {
    let [old, new] = *blocks;
    let new = new.filter(|&new| old != Some(new));
    old.into_iter().chain(new)
}

/// The entries that lead somewhere, by their number.
fn ports(table: &[u8; BLOCK]) -> impl Iterator<Item = (usize, PortNum)> + '_ {
    let ports = table.iter().map(|&port| PortNum(port)).enumerate();
    ports.filter(|&(_, port)| leads(port))
}

/// The ports of one entry.
fn at_entry(blocks: &Blocks<'_>, entry: usize) -> impl Iterator<Item = PortNum> + use<> {
    let ports = blocks.map(|block| block.and_then(|block| block.get(entry)).copied());
    let ports = ports.into_iter().flatten().map(PortNum);
    ports.filter(|&port| leads(port))
}

#[cfg(test)]
mod tests;
