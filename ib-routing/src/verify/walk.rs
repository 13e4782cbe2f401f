//! The routes towards a few LIDs: trees of switches, or what is left of them.
//!
//! The LIDs at one switch are followed together: the facts of a switch and its channels are then looked up
//! once for all of them, and one order of the switches serves them all, as long as their routes together
//! close no loop.

use alloc::vec::Vec;
use core::slice;

use ib_wire::{Lid, PortNum};

use crate::{
    algo::parallel,
    fabric::Fabric,
    index::{ChannelIdx, Idx as _, IdxVec, SwitchIdx},
    lid::Destination,
    routes::Routes,
};

/// No channel: the route ends here.
pub(crate) const NO_CHANNEL: ChannelIdx = ChannelIdx(u32::MAX);
/// The route ends at a wrong or dead port.
pub(crate) const DEAD: u32 = u32::MAX;
/// The route comes back.
pub(crate) const LOOP: u32 = u32::MAX - 1;

/// Channels by port, for all switches: a table that is quicker than asking the fabric.
pub(crate) struct PortTable {
    ports: IdxVec<SwitchIdx, Ports>,
    /// The switch at the far end of each channel.
    to: IdxVec<ChannelIdx, SwitchIdx>,
}

/// The channels of one switch. A byte for each port: what is looked up for every forwarding entry
/// should fit in few lines of a cache.
#[derive(Clone)]
struct Ports {
    /// Its first channel.
    first: ChannelIdx,
    /// By port: how many channels after the first one, or [`Self::NONE`].
    place: [u8; 256],
}

impl Ports {
    const NONE: u8 = u8::MAX;

    #[inline]
    fn place(&self, port: u8) -> u8 {
        self.place
            .get(usize::from(port))
            .copied()
            .unwrap_or(Self::NONE)
    }
}

impl PortTable {
    pub(crate) fn new(fabric: &Fabric) -> Self {
        let ports = fabric.switches().indices().map(|switch| {
            let (first, _) = fabric.channel_range(switch);
            let mut place = [Ports::NONE; 256];
            for (channel, entry) in fabric.channels_from(switch) {
                if let Some(place) = place.get_mut(usize::from(entry.port.0)) {
                    // Ports are fewer than 255.
                    *place = (channel.0 - first.0) as u8;
                }
            }
            Ports { first, place }
        });
        Self {
            ports: ports.collect(),
            to: fabric.channels().iter().map(|channel| channel.to).collect(),
        }
    }

    /// The switch at the far end of a channel; [`NO_CHANNEL`] has none.
    #[inline]
    pub(crate) fn to(&self, channel: ChannelIdx) -> SwitchIdx {
        self.to[channel]
    }
}

/// The forwarding entries of all switches for a block of LIDs.
pub(crate) struct Block {
    ports: IdxVec<SwitchIdx, [u8; Self::LIDS]>,
    /// Index, among the channels of the switch, of each entry of `ports`. It is looked up once for a block, because walks go
    /// from switch to switch and would look it up in the table of another switch at each step.
    places: IdxVec<SwitchIdx, [u8; Self::LIDS]>,
}

impl Block {
    pub(crate) const LIDS: usize = 64;

    pub(crate) fn new(fabric: &Fabric) -> Self {
        let switches = fabric.num_switches();
        Self {
            ports: IdxVec::filled(switches, [PortNum::UNREACHABLE.0; Self::LIDS]),
            places: IdxVec::filled(switches, [Ports::NONE; Self::LIDS]),
        }
    }

    /// Reads the entries of the LIDs from `first` on, a multiple of [`Block::LIDS`].
    pub(crate) fn load(&mut self, table: &PortTable, routes: &Routes, first: usize) {
        parallel::count(self.ports.len() * Self::LIDS);
        let number = u16::try_from(first / Self::LIDS).ok();
        let rows = self.ports.iter_mut().zip(self.places.iter_mut());
        for ((switch, channels), (ports, places)) in table.ports.iter_enumerated().zip(rows) {
            let block = number.and_then(|number| routes.lft_block(switch, number));
            *ports = block
                .copied()
                .unwrap_or([PortNum::UNREACHABLE.0; Self::LIDS]);
            *places = ports.map(|port| channels.place(port));
        }
    }

    /// The port that a switch sends to a LID by.
    fn port(&self, switch: SwitchIdx, lid: Lid) -> PortNum {
        let port = self.ports[switch].get(Self::at(lid));
        port.map_or(PortNum::UNREACHABLE, |&port| PortNum(port))
    }

    #[inline]
    const fn at(lid: Lid) -> usize {
        lid.0 as usize % Self::LIDS
    }
}

/// A LID to follow the routes to.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) lid: Lid,
    /// Its owner, if there is one.
    pub(crate) owner: Option<&'a Destination>,
}

impl Target<'_> {
    pub(crate) fn is_switch(&self) -> bool {
        self.owner.is_some_and(Destination::is_switch)
    }

    /// Returns true if another LID is of the same switch and kind.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        let switch = |target: &Self| target.owner.and_then(|owner| owner.switch);
        switch(self) == switch(other) && self.is_switch() == other.is_switch()
    }
}

/// The walk towards up to `LIDS` LIDs of one switch: made once per thread, used for all.
pub(crate) struct Walk<const LIDS: usize> {
    /// By LID: links to the destination's switch, or [`DEAD`] or [`LOOP`].
    pub(crate) hops: IdxVec<SwitchIdx, [u32; LIDS]>,
    /// By LID: the channel a switch sends by; [`NO_CHANNEL`] at the destination's switch.
    pub(crate) next: IdxVec<SwitchIdx, [ChannelIdx; LIDS]>,
    /// By LID: what a count along the routes has gathered at each switch.
    pub(crate) carried: IdxVec<SwitchIdx, [u32; LIDS]>,
    /// All switches that are on no loop, each before those it sends to.
    pub(crate) order: Vec<SwitchIdx>,
    senders: IdxVec<SwitchIdx, u32>,
}

impl<const LIDS: usize> Walk<LIDS> {
    pub(crate) fn new(fabric: &Fabric) -> Self {
        let switches = fabric.num_switches();
        Self {
            hops: IdxVec::filled(switches, [DEAD; LIDS]),
            next: IdxVec::filled(switches, [NO_CHANNEL; LIDS]),
            carried: IdxVec::filled(switches, [0; LIDS]),
            order: Vec::with_capacity(switches),
            senders: IdxVec::filled(switches, 0),
        }
    }

    /// Follows the entries of `targets`, LIDs of `block` with one switch, to the ports of their owners.
    /// False if several of them have no common order: then each has to be followed by itself.
    pub(crate) fn follow(
        &mut self,
        table: &PortTable,
        block: &Block,
        targets: &[Target<'_>],
    ) -> bool {
        match targets {
            // No loop is left of one LID.
            [only] if LIDS == 1 => self.follow_to(table, block, slice::from_ref(only)),
            targets => self.follow_to(table, block, targets),
        }
    }

    /// As [`follow`](Self::follow).
    #[inline(always)]
    fn follow_to(&mut self, table: &PortTable, block: &Block, targets: &[Target<'_>]) -> bool {
        self.look_up(table, block, targets);
        self.sort(table, targets.len());
        // Each of them looks up, sorts, and counts hops.
        parallel::count(3 * self.hops.len() * targets.len());
        if self.order.len() < self.hops.len() {
            if targets.len() > 1 {
                return false;
            }
            self.hops.fill([LOOP; LIDS]);
        }
        let root = targets.first().and_then(|target| target.owner?.switch);
        for &switch in self.order.iter().rev() {
            let next = self.next[switch];
            let mut hops = [DEAD; LIDS];
            for (lane, (hops, &channel)) in
                hops.iter_mut().zip(&next).take(targets.len()).enumerate()
            {
                if channel != NO_CHANNEL {
                    let rest = self.hops[table.to(channel)].get(lane);
                    *hops = match rest.copied().unwrap_or(DEAD) {
                        end @ (DEAD | LOOP) => end,
                        hops => hops + 1,
                    };
                } else if root == Some(switch) {
                    let target = targets.get(lane);
                    let exit = target.and_then(|target| Some((target.lid, target.owner?.exit)));
                    let arrives = exit.is_some_and(|(lid, exit)| block.port(switch, lid) == exit);
                    *hops = if arrives { 0 } else { DEAD };
                }
            }
            self.hops[switch] = hops;
        }
        true
    }

    /// Finds the channels that all switches send by, and counts the senders of each switch.
    #[inline(always)]
    fn look_up(&mut self, table: &PortTable, block: &Block, targets: &[Target<'_>]) {
        self.senders.fill(0);
        for (switch, next) in self.next.indices().zip(self.next.iter_mut()) {
            let (first, places) = (table.ports[switch].first, &block.places[switch]);
            for (next, target) in next.iter_mut().zip(targets) {
                *next = match places.get(Block::at(target.lid)) {
                    None | Some(&Ports::NONE) => NO_CHANNEL,
                    Some(&place) => ChannelIdx(first.0 + u32::from(place)),
                };
                if *next != NO_CHANNEL {
                    self.senders[table.to(*next)] += 1;
                }
            }
        }
    }

    /// Orders the switches so that each comes before those that it sends to, for any of the first `count`
    /// LIDs; those on a loop, or that lead into one, are left out.
    #[inline(always)]
    fn sort(&mut self, table: &PortTable, count: usize) {
        self.order.clear();
        let nobody = |switch: &SwitchIdx| self.senders[*switch] == 0;
        self.order.extend(self.senders.indices().filter(nobody));
        let mut done = 0;
        while let Some(&switch) = self.order.get(done) {
            done += 1;
            let channels = self.next[switch];
            for &channel in channels.iter().take(count) {
                if channel != NO_CHANNEL {
                    let to = table.to(channel);
                    self.senders[to] -= 1;
                    if self.senders[to] == 0 {
                        self.order.push(to);
                    }
                }
            }
        }
    }

    /// The switch where the route of one LID from `start` ends or, on a loop, comes by again.
    pub(crate) fn end(&self, table: &PortTable, start: SwitchIdx, lane: usize) -> SwitchIdx {
        let mut here = start;
        for _ in 0..self.hops.len() {
            match self.next[here].get(lane) {
                None | Some(&NO_CHANNEL) => break,
                Some(&channel) => here = table.to(channel),
            }
        }
        here
    }
}

/// The forwarding entries of all switches by LID: for those who follow LIDs one by one, again and again.
pub(crate) struct Columns {
    switches: usize,
    /// A place among the channels of each switch, one LID after the other.
    places: Vec<u8>,
}

impl Columns {
    pub(crate) fn new(fabric: &Fabric, table: &PortTable, routes: &Routes) -> Self {
        let switches = fabric.num_switches();
        let mut places = alloc::vec![Ports::NONE; switches * routes.row_len()];
        let mut block = Block::new(fabric);
        let blocks = places.chunks_mut((switches * Block::LIDS).max(1));
        for (number, columns) in blocks.enumerate() {
            block.load(table, routes, number * Block::LIDS);
            for (at, column) in columns.chunks_mut(switches.max(1)).enumerate() {
                for (place, entries) in column.iter_mut().zip(block.places.iter()) {
                    *place = entries.get(at).copied().unwrap_or(Ports::NONE);
                }
            }
        }
        Self { switches, places }
    }

    /// The channel that a switch sent by.
    pub(crate) fn next(&self, table: &PortTable, switch: SwitchIdx, lid: Lid) -> ChannelIdx {
        let place = self.column(lid).get(switch.at());
        match place.copied().unwrap_or(Ports::NONE) {
            Ports::NONE => NO_CHANNEL,
            place => ChannelIdx(table.ports[switch].first.0 + u32::from(place)),
        }
    }

    /// The places of one LID, by switch.
    fn column(&self, lid: Lid) -> &[u8] {
        let start = usize::from(lid.0) * self.switches;
        self.places
            .get(start..start + self.switches)
            .unwrap_or_default()
    }
}

/// The port of a switch by which a port at (or of) it enters.
pub(crate) const fn entry_port(destination: &Destination) -> PortNum {
    destination.exit
}
