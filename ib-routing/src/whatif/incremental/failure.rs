//! The losses of a failure: channels, and ports that no cable joins with a switch any more.

use alloc::vec::Vec;

use crate::{
    fabric::PortRef,
    index::{ChannelIdx, SwitchIdx},
    lid::{Destination, LidMap},
    repair::{RoutesInUse, repairer::CutOff},
    whatif::Loss,
};

/// The losses of one failure.
pub(super) struct Failure<'a> {
    pub(super) loss: Loss,
    /// The channels in both directions of the cables between switches.
    pub(super) dead: Vec<ChannelIdx>,
    /// The switch that fails.
    pub(super) switch: Option<SwitchIdx>,
    /// The ports of CAs that lose their cable, in the order of LIDs.
    pub(super) detached: Vec<&'a Destination>,
}

impl<'a> Failure<'a> {
    /// `None` for a cable between CAs or to a port without a LID, and for a switch without a cable to another.
    pub(super) fn new(whole: RoutesInUse<'a>, loss: Loss) -> Option<Self> {
        let mut failure = Self {
            loss,
            dead: Vec::new(),
            switch: None,
            detached: Vec::new(),
        };
        match loss {
            Loss::Link(one, other) => failure.lose_cable(whole, one, other)?,
            Loss::Switch(switch) => failure.lose_switch(whole, switch)?,
        }
        Some(failure)
    }

    fn lose_cable(
        &mut self,
        RoutesInUse { fabric, lids, .. }: RoutesInUse<'a>,
        one: PortRef,
        other: PortRef,
    ) -> Option<()> {
        let ends = [one, other];
        let ca = match ends.map(|end| fabric.switch_of(end.node)) {
            [Some(from), Some(to)] => {
                for (switch, end) in [(from, one), (to, other)] {
                    self.dead.push(fabric.channel_at(switch, end.port)?);
                }
                return Some(());
            }
            [Some(_), None] => other,
            [None, Some(_)] => one,
            [None, None] => return None,
        };
        let port = lids.owner(lids.range_of(ca)?.base())?;
        self.detached.push(port);
        Some(())
    }

    fn lose_switch(
        &mut self,
        RoutesInUse { fabric, lids, .. }: RoutesInUse<'a>,
        switch: SwitchIdx,
    ) -> Option<()> {
        for (channel, ends) in fabric.channels_from(switch) {
            self.dead.extend([channel, ends.reverse]);
        }
        self.switch = Some(switch);
        let ports = lids.at_switch(switch);
        self.detached.extend(ports.filter(|port| !port.is_switch()));
        (!self.dead.is_empty()).then_some(())
    }

    /// Keeps the paths between switches and ports that are left.
    pub(super) fn keep_left(&self, paths: &mut Vec<(&Destination, CutOff)>) {
        let Some(gone) = self.switch else {
            return;
        };
        paths.retain_mut(|(owner, CutOff { switches, .. })| {
            switches.retain(|&switch| switch != gone);
            owner.switch != Some(gone) && !switches.is_empty()
        });
    }

    /// Number of (source port, destination LID) pairs without a route, and of those between CAs: all that a detached port
    /// is part of, but those of the port with itself. The others reach each other. A switch that fails is no port.
    pub(super) fn unreachable(&self, lids: &LidMap) -> (u64, u64) {
        let number = |port: &Destination| u64::from(port.range.lmc().lid_count());
        let is_left = |port: &&Destination| !port.is_switch() || port.switch != self.switch;
        let left = || lids.destinations().iter().filter(is_left);
        let of_cas: u64 = left().filter(|port| !port.is_switch()).map(number).sum();
        let (ports, all) = (left().count() as u64, left().map(number).sum::<u64>());
        let detached = self.detached.iter().map(|port| number(port));
        let own: u64 = detached.clone().sum();
        let to_detached: u64 = detached.map(|own| own * (of_cas - own)).sum();
        (
            own * ports.saturating_sub(1) + (all - own) * self.detached.len() as u64,
            to_detached + (of_cas - own) * own,
        )
    }
}
