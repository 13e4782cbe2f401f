//! The levels of a tree: leaves are 0, and every cable goes one level up or down.

use alloc::{format, vec::Vec};

use super::NAME;
use crate::{
    algo::{
        bfs::{UNREACHED, spread_out},
        roots::named_roots,
        shortest_path_dag::senders,
    },
    error::RouteError,
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::LidMap,
    options::RouteOptions,
};

/// A fabric whose switches have levels.
pub(super) struct Tree<'a> {
    pub(super) fabric: &'a Fabric,
    level: IdxVec<SwitchIdx, u16>,
    /// The channels up of each switch, by port.
    pub(super) up: Lists,
    /// The channels down of each switch, by port.
    pub(super) down: Lists,
    /// CAs at each switch.
    pub(super) senders: IdxVec<SwitchIdx, u64>,
}

impl<'a> Tree<'a> {
    /// # Errors
    /// [`RouteError::Topology`] for a cable that does not join neighbouring levels,
    /// [`RouteError::NoRoot`] if `options.roots` names no switch.
    pub(super) fn find(
        fabric: &'a Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<Self, RouteError> {
        let level = find_levels(fabric, lids, options)?;
        check_levels(fabric, &level)?;
        let goes_up = |channel: ChannelIdx| {
            let channel = fabric.channel(channel);
            level[channel.to] > level[channel.from]
        };
        Ok(Self {
            fabric,
            up: Lists::from_filter(fabric, goes_up),
            down: Lists::from_filter(fabric, |channel| !goes_up(channel)),
            senders: senders(fabric, lids),
            level,
        })
    }

    /// The switches in the order in which they choose their links, those with the same switches above
    /// them together: leaves by their lowest CA LID, then the rest.
    pub(super) fn siblings(&self, lids: &LidMap) -> Vec<Vec<SwitchIdx>> {
        let mut order: Vec<_> = self.fabric.switches().indices().collect();
        order.sort_by_cached_key(|&switch| {
            let first = lids
                .at_switch(switch)
                .find(|end| !end.is_switch())
                .map(|end| end.range.base());
            (self.level[switch], first.is_none(), first, switch)
        });
        let mut groups: Vec<Vec<SwitchIdx>> = Vec::new();
        for switch in order {
            match groups.last_mut() {
                Some(group)
                    if group
                        .first()
                        .is_some_and(|&one| self.are_siblings(one, switch)) =>
                {
                    group.push(switch);
                }
                _ => groups.push(Vec::from([switch])),
            }
        }
        groups
    }

    /// Returns true if two leaves have the same switches above them, so that paths to both differ below only.
    fn are_siblings(&self, a: SwitchIdx, b: SwitchIdx) -> bool {
        let above = |switch| self.up.of(switch).iter().map(|&up| self.to(up));
        let is_leaf = |switch| self.down.of(switch).is_empty() && !self.up.of(switch).is_empty();
        is_leaf(a) && is_leaf(b) && above(a).eq(above(b))
    }

    /// The height of a switch above the leaves, in hops.
    pub(super) fn level(&self, switch: SwitchIdx) -> u16 {
        self.level[switch]
    }

    /// The hops up among `hops` from one switch to another: as many more than those down as the target
    /// is higher.
    pub(super) fn hops_up(&self, from: SwitchIdx, to: SwitchIdx, hops: u16) -> u16 {
        (hops + self.level[to]).saturating_sub(self.level[from]) / 2
    }

    /// The end of a channel.
    #[inline]
    pub(super) fn to(&self, channel: ChannelIdx) -> SwitchIdx {
        self.fabric.channel(channel).to
    }

    /// The first channel down from one switch to another.
    pub(super) fn down_to(&self, from: SwitchIdx, to: SwitchIdx) -> Option<ChannelIdx> {
        self.down_to_next(from, to, &mut 0)
    }

    /// The same, beginning with the one at `place` and going round: who asks for switches in the order
    /// of their cables finds each at once.
    #[inline]
    pub(super) fn down_to_next(
        &self,
        from: SwitchIdx,
        to: SwitchIdx,
        place: &mut usize,
    ) -> Option<ChannelIdx> {
        let down = self.down.of(from);
        let (before, after) = down.split_at_checked(*place)?;
        let leads = |channel: &ChannelIdx| self.to(*channel) == to;
        let found = match after.iter().position(leads) {
            Some(at) => *place + at,
            None => before.iter().position(leads)?,
        };
        *place = found;
        down.get(found).copied()
    }
}

/// A list of channels per switch.
#[derive(Default)]
pub(super) struct Lists {
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
    pub(super) fn of(&self, switch: SwitchIdx) -> &[ChannelIdx] {
        let (start, end) = (self.first[switch], self.first[SwitchIdx(switch.0 + 1)]);
        let own = self.channels.get(start as usize..end as usize);
        own.unwrap_or_default()
    }
}

/// Levels by the distance from the roots that the caller names, else from the switches with compute
/// nodes. A part of the fabric without either begins at its first switch.
fn find_levels(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
) -> Result<IdxVec<SwitchIdx, u16>, RouteError> {
    let mut level = IdxVec::filled(fabric.num_switches(), UNREACHED);
    if !options.roots.is_empty() {
        let roots = named_roots(fabric, &options.roots);
        if roots.is_empty() {
            return Err(RouteError::NoRoot {
                engine: NAME,
                what: "none of the GUIDs belongs to a node here",
            });
        }
        spread_out(fabric, &roots, &mut level);
        let ranks = level.iter().copied().filter(|&rank| rank != UNREACHED);
        let depth = ranks.max().unwrap_or(0);
        for rank in level.iter_mut().filter(|rank| **rank != UNREACHED) {
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
    let leaves: Vec<_> = leaves.filter(|&leaf| level[leaf] == UNREACHED).collect();
    spread_out(fabric, &leaves, &mut level);
    for switch in fabric.switches().indices() {
        if level[switch] == UNREACHED {
            spread_out(fabric, &[switch], &mut level);
        }
    }
    Ok(level)
}

/// Every cable must join neighbouring levels.
fn check_levels(fabric: &Fabric, level: &IdxVec<SwitchIdx, u16>) -> Result<(), RouteError> {
    for channel in fabric.channels().iter() {
        let (from, to) = (level[channel.from], level[channel.to]);
        if from.abs_diff(to) != 1 {
            return Err(RouteError::Topology {
                engine: NAME,
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
