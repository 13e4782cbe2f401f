//! The coordinates of each switch in the torus, found from a seed's links by their squares.
//!
//! Two links of different axes at a switch are sides of a square, whose fourth corner is the one other
//! switch that both of their ends are cabled to; the sides across have the same directions. A link
//! that makes no square with a known one lies on the same axis. A radix of four closes squares along
//! its own axis, so there the seed must name both directions.

use alloc::{format, vec, vec::Vec};

use super::{
    NAME,
    config::{Config, Seed},
    coordinates::{AXES, Coordinates, Radix},
    torus::{Direction, Torus, direction, opposite},
};
use crate::{
    error::RouteError,
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
};

/// Finds the place of every switch, from the first seed that can.
///
/// # Errors
/// [`RouteError::BadOption`] if no seed has its switches here, [`RouteError::Topology`] for a
/// switch that does not fit.
pub(super) fn find_places(fabric: &Fabric, config: &Config) -> Result<Torus, RouteError> {
    let mut error = RouteError::BadOption {
        engine: NAME,
        what: "torus_config: no seed has all of its switches and links in this fabric".into(),
    };
    for seed in config.seeds.iter().filter(|seed| !seed.links.is_empty()) {
        let Some(search) = Search::begin(fabric, config, seed) else {
            continue;
        };
        match search.run(seed) {
            Ok(torus) => return Ok(torus),
            Err(found) => error = found,
        }
    }
    Err(error)
}

/// The search for the directions of all links.
struct Search<'a> {
    fabric: &'a Fabric,
    radix: [Radix; AXES],
    start: SwitchIdx,
    neighbours: IdxVec<SwitchIdx, Vec<SwitchIdx>>,
    /// The neighbour in each direction.
    known: IdxVec<SwitchIdx, [Option<SwitchIdx>; 2 * AXES]>,
    queue: Vec<SwitchIdx>,
}

impl<'a> Search<'a> {
    fn begin(fabric: &'a Fabric, config: &Config, seed: &Seed) -> Option<Self> {
        let start = fabric.switch_by_guid(seed.links.first()?.from)?;
        let neighbours = fabric.switches().indices().map(|switch| {
            let mut list: Vec<_> = fabric
                .channels_from(switch)
                .map(|(_, channel)| channel.to)
                .collect();
            list.sort();
            list.dedup();
            list
        });
        let mut search = Self {
            fabric,
            radix: config.radix,
            start,
            neighbours: neighbours.collect(),
            known: IdxVec::filled(fabric.num_switches(), [None; 2 * AXES]),
            queue: Vec::new(),
        };
        for link in &seed.links {
            let to = fabric.switch_by_guid(link.to)?;
            if !search.neighbours[start].contains(&to) {
                return None;
            }
            search.learn(start, direction(link.axis, link.up), to);
        }
        Some(search)
    }

    /// Notes a direction and its opposite, and looks at both ends again.
    fn learn(&mut self, from: SwitchIdx, towards: Direction, to: SwitchIdx) {
        for (from, towards, to) in [(from, towards, to), (to, opposite(towards), from)] {
            if let Some(entry @ None) = self.known[from].get_mut(usize::from(towards)) {
                *entry = Some(to);
                self.queue.push(from);
            }
        }
    }

    fn known_at(&self, switch: SwitchIdx, towards: Direction) -> Option<SwitchIdx> {
        self.known[switch]
            .get(usize::from(towards))
            .copied()
            .flatten()
    }

    fn run(mut self, seed: &Seed) -> Result<Torus, RouteError> {
        loop {
            while let Some(switch) = self.queue.pop() {
                self.complete_squares(switch);
            }
            let switches = self.fabric.switches().indices();
            for switch in switches {
                self.find_opposites(switch);
            }
            if self.queue.is_empty() {
                break;
            }
        }
        self.finish(seed)
    }

    fn complete_squares(&mut self, switch: SwitchIdx) {
        for first in 0..2 * AXES as u8 {
            for second in 0..first {
                let (Some(a), Some(b)) =
                    (self.known_at(switch, first), self.known_at(switch, second))
                else {
                    continue;
                };
                if first / 2 == second / 2 {
                    continue;
                }
                if let Some(corner) = self.corner(switch, a, b) {
                    self.learn(a, second, corner);
                    self.learn(b, first, corner);
                }
            }
        }
    }

    /// The one switch other than `switch` that both `a` and `b` are cabled to.
    fn corner(&self, switch: SwitchIdx, a: SwitchIdx, b: SwitchIdx) -> Option<SwitchIdx> {
        let others = &self.neighbours[b];
        let mut shared = self.neighbours[a]
            .iter()
            .copied()
            .filter(|&corner| corner != switch && others.binary_search(&corner).is_ok());
        shared.next().filter(|_| shared.next().is_none())
    }

    /// Gives directions to links that go straight on: the only one that is left, or the only one that makes
    /// no square with the known link opposite to it.
    fn find_opposites(&mut self, switch: SwitchIdx) {
        let new: Vec<SwitchIdx> = self.neighbours[switch]
            .iter()
            .copied()
            .filter(|&other| !self.known[switch].contains(&Some(other)))
            .collect();
        if new.is_empty() {
            return;
        }
        let missing: Vec<Direction> = (0..2 * AXES as u8)
            .filter(|&towards| {
                let wide = self
                    .radix
                    .get(usize::from(towards / 2))
                    .is_some_and(|radix| radix.size() > 2);
                wide && self.known_at(switch, towards).is_none()
            })
            .collect();
        if let ([towards], [other]) = (missing.as_slice(), new.as_slice()) {
            self.learn(switch, *towards, *other);
            return;
        }
        for towards in missing {
            let four = self
                .radix
                .get(usize::from(towards / 2))
                .is_some_and(|radix| radix.size() == 4);
            let Some(behind) = self.known_at(switch, opposite(towards)).filter(|_| !four) else {
                continue;
            };
            let mut straight = new.iter().copied().filter(|&other| {
                let others = &self.neighbours[other];
                !self.neighbours[behind]
                    .iter()
                    .any(|corner| *corner != switch && others.binary_search(corner).is_ok())
                    // In a ring of three the ends of a straight line are neighbours.
                    || others.binary_search(&behind).is_ok()
            });
            if let Some(other) = straight.next().filter(|_| straight.next().is_none()) {
                self.learn(switch, towards, other);
                return;
            }
        }
    }

    /// Counts coordinates along the directions, from the start.
    fn finish(self, seed: &Seed) -> Result<Torus, RouteError> {
        let fabric = self.fabric;
        let misfit = |switch: SwitchIdx, what: &str| RouteError::Topology {
            engine: NAME,
            switch: fabric.switch_guid(switch),
            what: format!("{what}; check radices and seed links of torus_config"),
        };
        let mut origin = Coordinates::default();
        for (axis, radix) in self.radix.iter().enumerate() {
            let position = seed.datelines.get(axis).copied().unwrap_or(0);
            let at = position.wrapping_neg().rem_euclid(i32::from(radix.size()));
            origin = origin.with(axis, u16::try_from(at).unwrap_or(0));
        }
        let mut place = IdxVec::filled(fabric.num_switches(), None);
        place[self.start] = Some(origin);
        let mut queue = vec![self.start];
        let mut next = 0;
        while let Some(&switch) = queue.get(next) {
            next += 1;
            let Some(here) = place[switch] else { continue };
            for towards in 0..2 * AXES as u8 {
                let Some(to) = self.known_at(switch, towards) else {
                    continue;
                };
                let axis = usize::from(towards / 2);
                let Some(radix) = self.radix.get(axis) else {
                    continue;
                };
                let (at, up) = (here.get(axis), towards % 2 == 0);
                let there = here.with(axis, radix.step(at, up));
                if place[to].is_none() {
                    place[to] = Some(there);
                    queue.push(to);
                } else if place[to] != Some(there) {
                    return Err(misfit(to, "it has two places in the torus"));
                }
            }
        }
        let mut torus = Torus::empty(fabric, self.radix);
        for switch in fabric.switches().indices() {
            let Some(here) = place[switch] else {
                return Err(misfit(switch, "it has no place in the torus"));
            };
            if !torus.put(switch, here) {
                return Err(misfit(switch, "another switch has its place in the torus"));
            }
        }
        for (index, channel) in fabric.channels().iter_enumerated() {
            let known = &self.known[channel.from];
            let Some(towards) = known.iter().position(|&to| to == Some(channel.to)) else {
                return Err(misfit(
                    channel.from,
                    "one of its links joins no neighbours in the torus",
                ));
            };
            torus.set_direction(index, channel.from, towards as Direction);
        }
        Ok(torus)
    }
}
