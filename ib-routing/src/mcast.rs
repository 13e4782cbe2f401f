//! Multicast: one spanning tree of switches per group, by the thesis's root rule.
//!
//! The root is the switch with the least mean hops to the group's members, the first by GUID on ties;
//! where there are other groups already, the first of those whose cables they use least. Members are joined to it by
//! shortest paths. Of several shortest paths, the one whose channel the fewest groups use is taken, so that groups
//! share the links. A packet that enters a tree anywhere leaves by all
//! other ports of the tree. Source: Villar Ortiz, thesis on OpenSM, 2004.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use ib_wire::{Lid, PortNum};
use thiserror::Error;

use crate::{
    algo::bfs,
    fabric::{Fabric, PortRef},
    index::{ChannelIdx, IdxVec, SwitchIdx},
};

/// Deepest tree that is made, in hops from the root.
pub const MAX_DEPTH: u16 = 64;

/// Ports of a switch, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortSet([u64; 4]);

impl PortSet {
    /// Adds a port.
    pub fn insert(&mut self, port: PortNum) {
        if let Some(word) = self.0.get_mut(usize::from(port.0 / 64)) {
            *word |= 1 << (port.0 % 64);
        }
    }

    /// Returns true if the port is in it.
    #[must_use]
    pub fn contains(&self, port: PortNum) -> bool {
        self.0
            .get(usize::from(port.0 / 64))
            .is_some_and(|word| word >> (port.0 % 64) & 1 == 1)
    }

    /// The ports, the lowest first.
    pub fn iter(&self) -> impl Iterator<Item = PortNum> + '_ {
        (0..=u8::MAX)
            .map(PortNum)
            .filter(|&port| self.contains(port))
    }

    /// The 16 bits of one position of a multicast forwarding table: ports 16 * `position` and up.
    #[must_use]
    pub fn position(&self, position: u8) -> u16 {
        let word = self.0.get(usize::from(position / 4)).copied().unwrap_or(0);
        (word >> (16 * (position % 4))) as u16
    }
}

/// The tree of one group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MulticastTree {
    /// The switch of its root; `None` without members.
    pub root: Option<SwitchIdx>,
    /// Output ports by switch: what its multicast forwarding table gets for the group.
    pub ports: BTreeMap<SwitchIdx, PortSet>,
    /// Members that no path through switches with multicast joins to the root.
    pub left_out: Vec<PortRef>,
    /// Hops from the root to the farthest switch.
    pub depth: u16,
}

/// Makes the trees of all groups of a fabric.
#[derive(Clone, Debug)]
pub struct MulticastTrees<'a> {
    fabric: &'a Fabric,
    /// Switches that cannot forward multicast.
    without: BTreeSet<SwitchIdx>,
    /// Groups on each cable, at both of its channels.
    used: IdxVec<ChannelIdx, u32>,
}

impl<'a> MulticastTrees<'a> {
    /// No tree yet. `without` are switches whose multicast table has no entries.
    #[must_use]
    pub fn new(fabric: &'a Fabric, without: BTreeSet<SwitchIdx>) -> Self {
        let used = IdxVec::filled(fabric.channels().len(), 0);
        Self {
            fabric,
            without,
            used,
        }
    }

    /// The tree that joins `members`: ports of CAs, or port 0 of switches.
    pub fn tree(&mut self, members: &[PortRef]) -> MulticastTree {
        let mut tree = MulticastTree::default();
        // The switch and the port at which each member is attached.
        let mut attachments: BTreeMap<SwitchIdx, PortSet> = BTreeMap::new();
        let mut owners: Vec<(SwitchIdx, PortRef)> = Vec::new();
        for &member in members {
            let attachment = match self.fabric.switch_of(member.node) {
                Some(switch) => Some((switch, PortNum::MANAGEMENT)),
                None => self.fabric.attachment(member),
            };
            match attachment.filter(|(switch, _)| !self.without.contains(switch)) {
                Some((switch, port)) => {
                    attachments.entry(switch).or_default().insert(port);
                    owners.push((switch, member));
                }
                None => tree.left_out.push(member),
            }
        }
        let Some(root) = self.root(&owners) else {
            return tree;
        };
        let distance = self.distances(root);
        tree.root = Some(root);
        let mut open: BTreeSet<(u16, SwitchIdx)> = BTreeSet::new();
        for (&switch, &ports) in &attachments {
            if distance[switch] <= MAX_DEPTH {
                tree.depth = tree.depth.max(distance[switch]);
                tree.ports.insert(switch, ports);
                open.insert((distance[switch], switch));
            }
        }
        let far = owners
            .iter()
            .filter(|(switch, _)| distance[*switch] > MAX_DEPTH);
        tree.left_out.extend(far.map(|&(_, member)| member));
        // From the farthest switch inward, each joins one neighbour that is nearer to the root.
        while let Some((hops, switch)) = open.pop_last().filter(|(hops, _)| *hops > 0) {
            let nearer = self
                .fabric
                .channels_from(switch)
                .filter(|(_, channel)| distance[channel.to] == hops - 1);
            let joined = |to: SwitchIdx| tree.ports.contains_key(&to);
            let best = nearer
                .min_by_key(|(index, channel)| (self.used[*index], !joined(channel.to), *index));
            let Some((index, channel)) = best else {
                continue;
            };
            self.used[index] += 1;
            self.used[channel.reverse] += 1;
            tree.ports.entry(switch).or_default().insert(channel.port);
            tree.ports
                .entry(channel.to)
                .or_default()
                .insert(channel.to_port);
            open.insert((hops - 1, channel.to));
        }
        tree
    }

    /// The switch with the least mean hops to the members: of those that have the most members within
    /// [`MAX_DEPTH`] hops.
    fn root(&self, members: &[(SwitchIdx, PortRef)]) -> Option<SwitchIdx> {
        if members.is_empty() {
            return None;
        }
        let mut weights: BTreeMap<SwitchIdx, u64> = BTreeMap::new();
        for &(switch, _) in members {
            *weights.entry(switch).or_default() += 1;
        }
        // Cost of each switch: the members that are too far away, and the hops to all others. Cables lead both ways, so
        // the hops from a member are those to it, and there are often far fewer members than switches.
        let mut costs = IdxVec::filled(self.fabric.num_switches(), (0_u64, 0_u64));
        for (&switch, &members) in &weights {
            let distance = self.distances(switch);
            for (&hops, cost) in distance.iter().zip(costs.iter_mut()) {
                match hops > MAX_DEPTH {
                    true => cost.0 += members,
                    false => cost.1 += members * u64::from(hops),
                }
            }
        }
        let roots = costs.iter_enumerated();
        let roots = roots.filter(|(root, _)| !self.without.contains(root));
        let used = |root| {
            let cables = self.fabric.channels_from(root);
            let used = cables.map(|(channel, _)| u64::from(self.used[channel]));
            used.sum::<u64>()
        };
        let mut best: Option<((u64, u64), u64, SwitchIdx)> = None;
        for (root, &cost) in roots {
            if best.is_some_and(|(least, ..)| least < cost) {
                continue;
            }
            let used = used(root);
            if best.is_none_or(|(least, least_used, _)| (cost, used) < (least, least_used)) {
                best = Some((cost, used, root));
            }
        }
        best.map(|(.., root)| root)
    }

    /// Hops from `root` through switches with multicast.
    fn distances(&self, root: SwitchIdx) -> IdxVec<SwitchIdx, u16> {
        let mut distance = IdxVec::filled(self.fabric.num_switches(), bfs::UNREACHED);
        // The search does not enter switches that are reached already.
        for &switch in &self.without {
            distance[switch] = bfs::UNREACHED - 1;
        }
        bfs::spread_out(self.fabric, &[root], &mut distance);
        for &switch in &self.without {
            distance[switch] = bfs::UNREACHED;
        }
        distance
    }
}

/// No multicast LID is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("all {0} multicast LIDs of the switches' tables are in use")]
pub struct MlidsExhausted(pub u16);

/// Allocates multicast LIDs, the lowest free one first.
#[derive(Clone, Debug)]
pub struct Mlids {
    /// LIDs that the smallest multicast table of all switches holds.
    capacity: u16,
    taken: BTreeSet<u16>,
    /// All LIDs below this one are taken.
    first_free: u16,
}

impl Mlids {
    /// At most `capacity` LIDs, never 0xFFFF, all of them free.
    #[must_use]
    pub fn new(capacity: u16) -> Self {
        let most = Lid::MULTICAST_MAX.0 - Lid::MULTICAST_MIN.0 + 1;
        Self {
            capacity: capacity.min(most),
            taken: BTreeSet::new(),
            first_free: 0,
        }
    }

    /// Allocates the lowest free LID.
    ///
    /// # Errors
    /// [`MlidsExhausted`] if none is.
    pub fn allocate(&mut self) -> Result<Lid, MlidsExhausted> {
        let mut offsets = self.first_free..self.capacity;
        let free = offsets.find(|offset| !self.taken.contains(offset));
        let offset = free.ok_or(MlidsExhausted(self.capacity))?;
        self.taken.insert(offset);
        self.first_free = offset + 1;
        Ok(Lid(Lid::MULTICAST_MIN.0 + offset))
    }

    /// Allocates this LID. Returns whether it was free.
    pub fn take(&mut self, mlid: Lid) -> bool {
        let offset = mlid
            .0
            .checked_sub(Lid::MULTICAST_MIN.0)
            .filter(|&offset| offset < self.capacity);
        offset.is_some_and(|offset| self.taken.insert(offset))
    }

    /// Frees a LID.
    pub fn release(&mut self, mlid: Lid) {
        if let Some(offset) = mlid.0.checked_sub(Lid::MULTICAST_MIN.0) {
            self.taken.remove(&offset);
            self.first_free = self.first_free.min(offset);
        }
    }
}

#[cfg(test)]
mod flood;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use flood::flood;
