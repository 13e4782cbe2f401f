//! The routes towards one LID: a tree of switches, or what is left of one.

use alloc::{vec, vec::Vec};

use ib_wire::{Lid, PortNum};

use crate::{
    fabric::Fabric,
    index::{ChannelIdx, Idx, IdxVec, SwitchIdx},
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
    /// 256 entries per switch.
    channels: Vec<ChannelIdx>,
    /// Where each channel leads.
    to: IdxVec<ChannelIdx, SwitchIdx>,
}

impl PortTable {
    pub(crate) fn new(fabric: &Fabric) -> Self {
        let mut channels = vec![NO_CHANNEL; fabric.num_switches() * 256];
        for (index, channel) in fabric.channels().iter_enumerated() {
            let at = channel.from.at() * 256 + usize::from(channel.port.0);
            if let Some(entry) = channels.get_mut(at) {
                *entry = index;
            }
        }
        let to = fabric.channels().iter().map(|channel| channel.to).collect();
        Self { channels, to }
    }

    #[inline]
    pub(crate) fn to(&self, channel: ChannelIdx) -> SwitchIdx {
        self.to[channel]
    }
}

/// The next channels of all switches towards a block of LIDs.
pub(crate) struct Block {
    /// One row of switches per LID.
    rows: Vec<ChannelIdx>,
    switches: usize,
}

impl Block {
    pub(crate) const LIDS: usize = 64;

    pub(crate) fn new(fabric: &Fabric) -> Self {
        let switches = fabric.num_switches();
        Self {
            rows: vec![NO_CHANNEL; switches * Self::LIDS],
            switches,
        }
    }

    /// Reads the entries of the LIDs from `first` on.
    pub(crate) fn load(
        &mut self,
        fabric: &Fabric,
        table: &PortTable,
        routes: &Routes,
        first: usize,
    ) {
        for switch in fabric.switches().indices() {
            let row = routes
                .lft(switch)
                .get(first..first + Self::LIDS)
                .unwrap_or_default();
            let channels = table.channels.get(switch.at() * 256..).unwrap_or_default();
            let column = self
                .rows
                .iter_mut()
                .skip(switch.at())
                .step_by(self.switches.max(1));
            for (&port, entry) in row.iter().zip(column) {
                *entry = channels
                    .get(usize::from(port))
                    .copied()
                    .unwrap_or(NO_CHANNEL);
            }
        }
    }

    fn row(&self, lid: usize) -> &[ChannelIdx] {
        let start = lid * self.switches;
        self.rows
            .get(start..start + self.switches)
            .unwrap_or_default()
    }
}

/// The walk towards one LID: made once per thread, used for all LIDs.
pub(crate) struct Walk {
    /// Links to the destination's switch, or [`DEAD`] or [`LOOP`].
    pub(crate) hops: IdxVec<SwitchIdx, u32>,
    /// The channel a switch sends by; [`NO_CHANNEL`] at the destination's switch.
    pub(crate) next: IdxVec<SwitchIdx, ChannelIdx>,
    /// All switches that are on no loop, each before the one it sends to.
    pub(crate) order: Vec<SwitchIdx>,
    senders: IdxVec<SwitchIdx, u32>,
}

impl Walk {
    pub(crate) fn new(fabric: &Fabric) -> Self {
        let switches = fabric.num_switches();
        Self {
            hops: IdxVec::filled(switches, DEAD),
            next: IdxVec::filled(switches, NO_CHANNEL),
            order: Vec::with_capacity(switches),
            senders: IdxVec::filled(switches, 0),
        }
    }

    /// Follows the entries of `lid`, which is entry `at` of `block`, to the switch and port of its owner.
    pub(crate) fn follow(
        &mut self,
        table: &PortTable,
        block: &Block,
        routes: &Routes,
        exit: Option<(SwitchIdx, PortNum)>,
        lid: Lid,
        at: usize,
    ) {
        for (next, &channel) in self.next.iter_mut().zip(block.row(at)) {
            *next = channel;
        }
        let root = exit
            .filter(|&(switch, port)| routes.port(switch, lid) == port)
            .map(|(switch, _)| switch);
        if let Some(root) = root {
            self.next[root] = NO_CHANNEL;
        }
        self.senders.fill(0);
        for &channel in self.next.iter() {
            if channel != NO_CHANNEL {
                self.senders[table.to(channel)] += 1;
            }
        }
        self.order.clear();
        self.order.extend(
            self.senders
                .indices()
                .filter(|&switch| self.senders[switch] == 0),
        );
        let mut done = 0;
        while let Some(&switch) = self.order.get(done) {
            done += 1;
            let channel = self.next[switch];
            if channel != NO_CHANNEL {
                let to = table.to(channel);
                self.senders[to] -= 1;
                if self.senders[to] == 0 {
                    self.order.push(to);
                }
            }
        }
        if self.order.len() < self.hops.len() {
            self.hops.fill(LOOP);
        }
        for &switch in self.order.iter().rev() {
            let channel = self.next[switch];
            self.hops[switch] = if root == Some(switch) {
                0
            } else if channel == NO_CHANNEL {
                DEAD
            } else {
                match self.hops[table.to(channel)] {
                    end @ (DEAD | LOOP) => end,
                    hops => hops + 1,
                }
            };
        }
    }

    /// The switch where the route from `start` ends or, on a loop, comes by again.
    pub(crate) fn end(&self, table: &PortTable, start: SwitchIdx) -> SwitchIdx {
        let mut here = start;
        for _ in 0..self.hops.len() {
            match self.next[here] {
                NO_CHANNEL => break,
                channel => here = table.to(channel),
            }
        }
        here
    }
}

/// The port of a switch by which a port at (or of) it enters.
pub(crate) const fn entry_port(destination: &Destination) -> PortNum {
    destination.exit
}
