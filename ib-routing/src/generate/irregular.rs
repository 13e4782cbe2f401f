//! Random graphs: regular ones (Singla et al., "Jellyfish: networking data centers randomly", 2012)
//! and any connected ones.

use alloc::{collections::BTreeSet, format, string::String, vec::Vec};

use super::Wiring;
use ib_wire::random::SplitMix64;

fn switches(count: u32, hosts: u32) -> Result<Wiring, String> {
    Wiring::check(u64::from(count), u64::from(hosts))?;
    let mut wiring = Wiring::default();
    for at in 0..count {
        wiring.switch(format!("sw{at:05}"), hosts);
    }
    Ok(wiring)
}

/// Pairs of ports that may turn out unfit until an attempt to join all at random is given up.
const FAILURES: u32 = 2000;

pub(super) fn jellyfish(count: u32, degree: u32, hosts: u32, seed: u64) -> Result<Wiring, String> {
    let odd = u64::from(count) * u64::from(degree) % 2 == 1;
    if degree >= count.max(1) || degree > 254 || odd {
        return Err(format!(
            "{count} switches of degree {degree}: expected a degree below the number of switches, and an even product"
        ));
    }
    let mut wiring = switches(count, hosts)?;
    let mut random = SplitMix64::new(seed);
    // In a dense graph there are too few pairs of ports to choose from.
    let mut dense = false;
    for _ in 0..1000 {
        let joined = match dense {
            false => regular(count, degree, &mut random),
            true => Some(exchanged(count, degree, &mut random)),
        };
        let Some(cables) = joined else {
            dense = true;
            continue;
        };
        if connected(count, &cables) {
            cables
                .into_iter()
                .for_each(|(one, other)| wiring.cable(one, other));
            return Ok(wiring);
        }
    }
    Err(format!(
        "no connected graph of {count} switches and degree {degree} found"
    ))
}

/// Joins free ports at random; where only unfit pairs are left, a cable is taken out for them.
fn regular(count: u32, degree: u32, random: &mut SplitMix64) -> Option<BTreeSet<(u32, u32)>> {
    let mut free: Vec<u32> = (0..count)
        .flat_map(|at| (0..degree).map(move |_| at))
        .collect();
    let mut cables = BTreeSet::new();
    random.shuffle(&mut free);
    let mut failures = 0;
    while free.len() >= 2 {
        let last = free.len().saturating_sub(1);
        let other = random.below(last);
        free.swap(other, last.saturating_sub(1));
        let (one, other) = (*free.get(last)?, *free.get(last.saturating_sub(1))?);
        if one != other && cables.insert((one.min(other), one.max(other))) {
            free.truncate(last.saturating_sub(1));
            continue;
        }
        failures += 1;
        if failures > FAILURES {
            return None;
        }
        if failures % 10 == 0 && !cables.is_empty() {
            let &cable = cables.iter().nth(random.below(cables.len()))?;
            cables.remove(&cable);
            free.extend([cable.0, cable.1]);
        }
        random.shuffle(&mut free);
    }
    Some(cables)
}

/// A ring in which every switch is joined to its nearest, and then pairs of cables that exchange their
/// ends at random: that finds a graph of any degree.
fn exchanged(count: u32, degree: u32, random: &mut SplitMix64) -> BTreeSet<(u32, u32)> {
    let ordered = |one: u32, other: u32| (one.min(other), one.max(other));
    let far = |at: u32, step: u32| (at + step).checked_rem(count).unwrap_or(0);
    let mut cables = BTreeSet::new();
    for at in 0..count {
        cables.extend((1..=degree / 2).map(|step| ordered(at, far(at, step))));
        if degree % 2 == 1 {
            cables.insert(ordered(at, far(at, count / 2)));
        }
    }
    let mut list: Vec<(u32, u32)> = cables.iter().copied().collect();
    for _ in 0..list.len().saturating_mul(10) {
        let (first, second) = (random.below(list.len()), random.below(list.len()));
        let (Some(&(a, b)), Some(&(c, d))) = (list.get(first), list.get(second)) else {
            continue;
        };
        let (c, d) = if random.below(2) == 0 { (c, d) } else { (d, c) };
        let (one, other) = (ordered(a, d), ordered(c, b));
        let is_new = |cable: (u32, u32)| cable.0 != cable.1 && !cables.contains(&cable);
        if one == other || !is_new(one) || !is_new(other) {
            continue;
        }
        for (at, old, new) in [(first, (a, b), one), (second, ordered(c, d), other)] {
            cables.remove(&old);
            cables.insert(new);
            if let Some(cable) = list.get_mut(at) {
                *cable = new;
            }
        }
    }
    cables
}

fn connected(count: u32, cables: &BTreeSet<(u32, u32)>) -> bool {
    let mut parts = Parts::new(count);
    for &(one, other) in cables {
        parts.join(one, other);
    }
    parts.left <= 1
}

/// The connected components of switches: union by path halving.
struct Parts {
    parent: Vec<u32>,
    left: u32,
}

impl Parts {
    fn new(count: u32) -> Self {
        Self {
            parent: (0..count).collect(),
            left: count,
        }
    }

    fn root(&mut self, mut at: u32) -> u32 {
        loop {
            let Some(&parent) = self.parent.get(at as usize) else {
                return at;
            };
            if parent == at {
                return at;
            }
            let above = self.parent.get(parent as usize).copied().unwrap_or(parent);
            if let Some(entry) = self.parent.get_mut(at as usize) {
                *entry = above;
            }
            at = above;
        }
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.root(one), self.root(other));
        if one != other
            && let Some(entry) = self.parent.get_mut(one as usize)
        {
            *entry = other;
            self.left = self.left.saturating_sub(1);
        }
    }
}

pub(super) fn random(count: u32, links: u32, hosts: u32, seed: u64) -> Result<Wiring, String> {
    let needed = count.saturating_sub(1);
    if links < needed || (count < 2 && links > 0) || links > 1_000_000 {
        return Err(format!(
            "{links} links, expected {needed} to join {count} switches"
        ));
    }
    let mut wiring = switches(count, hosts)?;
    let mut random = SplitMix64::new(seed);
    for at in 1..count {
        wiring.cable(at, random.below(at as usize) as u32);
    }
    for _ in needed..links {
        let one = random.below(count as usize) as u32;
        let other = random.below(needed as usize) as u32;
        wiring.cable(one, if other >= one { other + 1 } else { other });
    }
    Ok(wiring)
}
