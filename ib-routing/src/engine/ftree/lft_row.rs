//! The table of one switch.

use alloc::vec::Vec;

use ib_wire::PortNum;

use super::{
    chains::{Chain, Chains, UpPorts},
    tree::Tree,
    view::{Move, View},
};
use crate::index::{ChannelIdx, SwitchIdx};

/// The forwarding table of one switch, while it is filled.
pub(super) struct LftRow {
    switch: SwitchIdx,
    /// LIDs on each channel up that could not use the channel of their root; empty before the first.
    load: Vec<u32>,
}

impl LftRow {
    /// A row per switch.
    pub(super) fn for_all(tree: &Tree<'_>) -> Vec<Self> {
        let switches = tree.fabric.switches().indices();
        let rows = switches.map(|switch| Self {
            switch,
            load: Vec::new(),
        });
        rows.collect()
    }

    /// Writes the ports towards a group of targets. The entries of a target for its own LIDs do not count.
    pub(super) fn fill(
        &mut self,
        tree: &Tree<'_>,
        up_ports: &UpPorts,
        view: &View,
        chains: &Chains,
        lft: &mut [u8],
    ) {
        match view.moves[self.switch] {
            Move::Stay => {}
            Move::By(channel) => {
                let port = tree.fabric.channel(channel).port.0;
                for (places, _) in chains.runs() {
                    lft.get_mut(places).unwrap_or_default().fill(port);
                }
            }
            Move::ToTarget => {
                let mut place = 0;
                for (target, places) in chains.of_targets() {
                    if let Some(channel) = tree.down_to_next(self.switch, target, &mut place) {
                        let port = tree.fabric.channel(channel).port.0;
                        lft.get_mut(places).unwrap_or_default().fill(port);
                    }
                }
            }
            Move::Up if self.all_lead_nearer(tree, up_ports, view) => {
                let ports = up_ports.from(self.switch);
                for (places, slots) in chains.runs() {
                    let entries = lft.get_mut(places).unwrap_or_default();
                    for (entry, &slot) in entries.iter_mut().zip(slots) {
                        *entry = ports.get(slot as usize).copied().unwrap_or(*entry);
                    }
                }
            }
            Move::Up => {
                let here = self.switch;
                for chain in chains.each().filter(|chain| chain.target != here) {
                    self.go_up(tree, up_ports, view, &chain, lft);
                }
            }
        }
    }

    /// Returns true if the path up to every root is a shortest one.
    fn all_lead_nearer(&self, tree: &Tree<'_>, up_ports: &UpPorts, view: &View) -> bool {
        let mut ups = tree.up.of(self.switch).iter();
        up_ports.is_complete(self.switch) && ups.all(|&up| view.leads_nearer(tree, up))
    }

    /// Sends a LID up towards its root, or where there is no such path or it is longer, by the least used
    /// channel up.
    fn go_up(
        &mut self,
        tree: &Tree<'_>,
        up_ports: &UpPorts,
        view: &View,
        chain: &Chain,
        lft: &mut [u8],
    ) {
        let nearer = |channel: &ChannelIdx| view.leads_nearer(tree, *channel);
        let port = up_ports.from(self.switch).get(chain.slot as usize).copied();
        let own = port.and_then(|port| tree.fabric.channel_at(self.switch, PortNum(port)));
        let channel = own.filter(nearer).or_else(|| {
            self.load.resize(tree.up.of(self.switch).len(), 0);
            let ups = tree.up.of(self.switch).iter().zip(&mut self.load);
            let (up, load) = ups
                .filter(|(up, _)| nearer(up))
                .min_by_key(|(_, load)| **load)?;
            *load += 1;
            Some(*up)
        });
        if let Some((entry, channel)) = lft.get_mut(chain.place).zip(channel) {
            *entry = tree.fabric.channel(channel).port.0;
        }
    }
}
