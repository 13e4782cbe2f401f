//! The channels between a part of the switches and other parts.

use alloc::vec::Vec;

use super::Role;
use crate::{
    algo::shortest_path_dag::BatchOf,
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
};

/// The channels between a part and others.
#[derive(Debug)]
pub(super) struct Crossing {
    /// Each channel, and the switch that it leads to.
    channels: Vec<(ChannelIdx, SwitchIdx)>,
    /// The last batch of targets.
    batch: Option<usize>,
    /// The targets of that batch for which a switch is the next hop of such a channel, a bit each.
    targets: IdxVec<SwitchIdx, u64>,
}

impl Crossing {
    pub(super) fn new(fabric: &Fabric, roles: &IdxVec<SwitchIdx, Role>) -> Self {
        let is_own = |switch| matches!(roles[switch], Role::Own | Role::Boundary);
        let channels = fabric.channels().iter_enumerated();
        let crossing = channels.filter(|(_, channel)| is_own(channel.from) != is_own(channel.to));
        Self {
            channels: crossing
                .map(|(index, channel)| (index, channel.to))
                .collect(),
            batch: None,
            targets: IdxVec::filled(fabric.num_switches(), 0),
        }
    }

    /// Looks up what the channels lead to, if it is another batch than before.
    pub(super) fn set_batch(&mut self, batch: BatchOf<'_>) {
        if self.batch.replace(batch.number) == Some(batch.number) {
            return;
        }
        self.targets.fill(0);
        for &(channel, to) in &self.channels {
            self.targets[to] |= batch.nearer[channel];
        }
    }

    /// Returns true if a switch is the next hop of such a channel to the target at hand.
    pub(super) fn lead_to(&self, switch: SwitchIdx, batch: BatchOf<'_>) -> bool {
        self.targets[switch] & batch.bit != 0
    }
}
