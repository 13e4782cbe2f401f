//! Routes broken entries over the nearest neighbours that still reach the destination, without new routes.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use ib_wire::{Lid, PortNum};

use super::broken::{Finder, Found, State};
use crate::{
    fabric::{Channel, Fabric},
    index::{IdxVec, SwitchIdx},
    lid::Destination,
};

/// A detour for a broken switch; the smallest is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    /// Links from the switch to the destination's.
    hops: u32,
    /// Rank among detours of equal length: 0 for the installed port; the order of the others differs by LID.
    rank: u32,
    switch: SwitchIdx,
    port: PortNum,
    /// The broken switch whose write this one waits for.
    after: Option<SwitchIdx>,
}

/// The state of a search, kept from LID to LID.
pub(super) struct Search {
    /// Number of links from a switch that arrives, and the LID for which it was counted.
    hops: IdxVec<SwitchIdx, (Lid, u32)>,
    /// True if detours may lead over a switch: it holds entries.
    is_led: IdxVec<SwitchIdx, bool>,
    ways: BinaryHeap<Reverse<Way>>,
}

impl Search {
    /// `empty` are switches that hold no entries.
    pub(super) fn new(fabric: &Fabric, empty: &[SwitchIdx]) -> Self {
        let mut is_led = IdxVec::filled(fabric.num_switches(), true);
        for &switch in empty {
            if let Some(is_led) = is_led.find_mut(switch) {
                *is_led = false;
            }
        }
        Self {
            is_led,
            // LID 0 is not a destination, so this count belongs to no LID.
            hops: IdxVec::filled(fabric.num_switches(), (Lid(0), 0)),
            ways: BinaryHeap::new(),
        }
    }

    /// Adds the entries for `lid`, which `target` owns, that are to be written.
    pub(super) fn find<E: Fn(SwitchIdx, Lid) -> PortNum>(
        &mut self,
        finder: &mut Finder<'_, E>,
        lid: Lid,
        target: &Destination,
    ) {
        let Some(last) = target.switch else { return };
        if finder.port(last, lid) != target.exit {
            return;
        }
        finder.find_broken(lid, last);
        self.ways.clear();
        for &switch in &finder.broken {
            if !self.is_led[switch] {
                continue;
            }
            // Only the best of the detours over neighbours that arrive already can be taken.
            let mut best: Option<Way> = None;
            for (_, channel) in finder.fabric.channels_from(switch) {
                let arrives = finder.state(channel.to, lid) != Some(State::Broken);
                if arrives && self.is_led[channel.to] {
                    let hops = self.hops(finder, channel.to, lid, last);
                    let way = way(finder, lid, switch, channel.port, hops, None);
                    best = Some(best.map_or(way, |best| best.min(way)));
                }
            }
            self.ways.extend(best.map(Reverse));
        }
        let mut left = finder.broken.len();
        while let Some(Reverse(best)) = self.ways.pop() {
            if finder.state(best.switch, lid) != Some(State::Broken) {
                continue;
            }
            left -= 1;
            let mut after = best.after;
            if finder.port(best.switch, lid) != best.port {
                finder.found.push(Found {
                    switch: best.switch,
                    lid,
                    port: best.port,
                    after,
                });
                after = Some(best.switch);
            }
            // A switch without a write of its own arrives as soon as the write before it is done. One of the two
            // exists.
            finder.set(
                best.switch,
                lid,
                State::Healed(after.unwrap_or(best.switch)),
            );
            for (_, channel) in finder.fabric.channels_from(best.switch) {
                let Channel { to, to_port, .. } = *channel;
                if finder.state(to, lid) == Some(State::Broken) && self.is_led[to] {
                    let way = way(finder, lid, to, to_port, best.hops, after);
                    self.ways.push(Reverse(way));
                }
            }
        }
        finder.unreachable += left as u64;
    }

    /// Links from a switch that arrives to `last`.
    fn hops<E: Fn(SwitchIdx, Lid) -> PortNum>(
        &mut self,
        finder: &Finder<'_, E>,
        from: SwitchIdx,
        lid: Lid,
        last: SwitchIdx,
    ) -> u32 {
        let (mut here, mut links) = (from, 0);
        for _ in 0..finder.fabric.num_switches() {
            match self.hops.find(here) {
                Some(&(of, rest)) if of == lid => {
                    links += rest;
                    break;
                }
                _ if here == last => break,
                _ => {}
            }
            let port = finder.port(here, lid);
            let Some(channel) = finder.fabric.channel_at(here, port) else {
                break;
            };
            here = finder.fabric.channel(channel).to;
            links += 1;
        }
        if let Some(known) = self.hops.find_mut(from) {
            *known = (lid, links);
        }
        links
    }
}

/// The detour of a broken switch by a port to a neighbour that is `hops` links away from the destination.
fn way<E: Fn(SwitchIdx, Lid) -> PortNum>(
    finder: &Finder<'_, E>,
    lid: Lid,
    switch: SwitchIdx,
    port: PortNum,
    hops: u32,
    after: Option<SwitchIdx>,
) -> Way {
    let rank = match finder.port(switch, lid) == port {
        true => 0,
        false => 1 + scattered(lid, port),
    };
    Way {
        hops: hops + 1,
        rank,
        switch,
        port,
        after,
    }
}

/// A number that orders ports differently for each LID, so that detours of equal length share the load (Knuth's
/// multiplicative hash).
fn scattered(lid: Lid, port: PortNum) -> u32 {
    let key = u32::from(lid.0) << 8 | u32::from(port.0);
    key.wrapping_mul(0x9e37_79b1)
        .rotate_left(16)
        .wrapping_mul(0x85eb_ca6b)
        >> 1
}
