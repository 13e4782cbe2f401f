//! Distributes the LIDs of other clusters evenly over the transit ports.
//!
//! The LIDs of a cluster may leave by the ports that lead there. The sets of ports of several clusters may be equal or
//! overlap. At first, all LIDs of a cluster leave by its first port. Then LIDs are moved as long as a chain of moves
//! leads from a port to one with at least two LIDs fewer. After that no other distribution has a lower maximum or a
//! higher minimum (an optimal semi-matching). If all clusters have the same ports, the numbers of LIDs at two ports
//! differ by at most one. LIDs that are known to be in use are assigned first, so that they are distributed evenly too.
//! Source: Harvey, Ladner, Lovasz, Tamir, "Semi-matchings for bipartite graphs and load balancing", 2006.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec,
    vec::Vec,
};

use ib_wire::{Lid, addr::LidRange};

use super::config::Declaration;

/// LIDs that may leave by the same ports.
struct Group {
    /// The ports, by their place in the list.
    ports: Vec<usize>,
    lids: Vec<Lid>,
    /// Number of the LIDs that leave by each of all ports.
    shares: Vec<usize>,
}

/// Assigns the LIDs of all declared ranges to `ports` ports. `leads_to` returns whether LIDs of a cluster may leave by
/// a port. Each LID comes with its port, in ascending order of LIDs. LIDs of clusters that no port leads to are left
/// out.
#[must_use]
pub fn assign(
    others: &[Declaration],
    ports: usize,
    leads_to: impl Fn(usize, &Declaration) -> bool,
) -> BTreeMap<Lid, usize> {
    let mut used: BTreeMap<Vec<usize>, Vec<Lid>> = BTreeMap::new();
    let mut rest: BTreeMap<Vec<usize>, Vec<Lid>> = BTreeMap::new();
    for other in others {
        let exits: Vec<usize> = (0..ports).filter(|&port| leads_to(port, other)).collect();
        if exits.is_empty() {
            continue;
        }
        let in_use: BTreeSet<Lid> = other
            .in_use
            .iter()
            .copied()
            .flat_map(LidRange::iter)
            .collect();
        for lid in (other.first.0..=other.last.0).map(Lid) {
            let lids = if in_use.contains(&lid) {
                &mut used
            } else {
                &mut rest
            };
            lids.entry(exits.clone()).or_default().push(lid);
        }
    }
    let mut load = vec![0; ports];
    let mut assigned = BTreeMap::new();
    for lids in [used, rest] {
        let mut groups: Vec<Group> = lids
            .into_iter()
            .map(|(ports, lids)| Group::new(ports, lids, &mut load))
            .collect();
        while even_out(&mut groups, &mut load) {}
        for group in groups {
            assigned.extend(group.assign_in_turn());
        }
    }
    assigned
}

impl Group {
    /// All LIDs by the first port.
    fn new(ports: Vec<usize>, lids: Vec<Lid>, load: &mut [usize]) -> Self {
        let mut shares = vec![0; load.len()];
        if let Some(&first) = ports.first() {
            add(&mut shares, first, lids.len());
            add(load, first, lids.len());
        }
        Self {
            ports,
            lids,
            shares,
        }
    }

    /// The LIDs with their ports, taking the ports in turn, so that neighbouring LIDs leave by different ports.
    fn assign_in_turn(mut self) -> Vec<(Lid, usize)> {
        let mut assigned = Vec::with_capacity(self.lids.len());
        let mut lids = self.lids.iter().copied();
        loop {
            let before = assigned.len();
            for &port in &self.ports {
                let share = self.shares.get_mut(port).filter(|share| **share > 0);
                if let Some((share, lid)) = share.and_then(|share| Some((share, lids.next()?))) {
                    *share = share.saturating_sub(1);
                    assigned.push((lid, port));
                }
            }
            if assigned.len() == before {
                return assigned;
            }
        }
    }
}

/// Moves LIDs along one chain from a port to one with at least two less, if there is such a chain.
fn even_out(groups: &mut [Group], load: &mut [usize]) -> bool {
    let of = |list: &[usize], at: usize| list.get(at).copied().unwrap_or(0);
    let mut order: Vec<usize> = (0..load.len()).collect();
    order.sort_by_key(|&port| core::cmp::Reverse(of(load, port)));
    for from in order {
        // The port and the group by which each port is reached first.
        let mut reached: BTreeMap<usize, Option<(usize, usize)>> = BTreeMap::from([(from, None)]);
        let mut queue = Vec::from([from]);
        let mut next = 0;
        while let Some(&port) = queue.get(next) {
            next = next.saturating_add(1);
            for (number, group) in groups.iter().enumerate() {
                if of(&group.shares, port) == 0 {
                    continue;
                }
                for &to in &group.ports {
                    reached.entry(to).or_insert_with(|| {
                        queue.push(to);
                        Some((port, number))
                    });
                }
            }
        }
        let lightest = queue.iter().copied().min_by_key(|&port| of(load, port));
        let Some(to) = lightest.filter(|&to| of(load, to) + 1 < of(load, from)) else {
            continue;
        };
        let mut chain = Vec::new();
        let mut at = to;
        while let Some(&Some((before, group))) = reached.get(&at) {
            chain.push((before, group, at));
            at = before;
        }
        let mut count = (of(load, from) - of(load, to)) / 2;
        for &(before, group, _) in &chain {
            let share = groups
                .get(group)
                .map_or(0, |group| of(&group.shares, before));
            count = count.min(share);
        }
        for (before, group, after) in chain {
            if let Some(group) = groups.get_mut(group) {
                take(&mut group.shares, before, count);
                add(&mut group.shares, after, count);
            }
        }
        take(load, from, count);
        add(load, to, count);
        return true;
    }
    false
}

fn add(list: &mut [usize], at: usize, count: usize) {
    if let Some(entry) = list.get_mut(at) {
        *entry = entry.saturating_add(count);
    }
}

fn take(list: &mut [usize], at: usize, count: usize) {
    if let Some(entry) = list.get_mut(at) {
        *entry = entry.saturating_sub(count);
    }
}

#[cfg(test)]
mod tests;
