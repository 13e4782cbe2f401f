//! Packets whose service level an SLtoVL table maps to VL15: the port drops them (IBA vol. 1, 7.6.6).

use ib_wire::{Lid, Vl};

use super::{
    Context, RouteEnd, RouteFailure,
    walk::{LOOP, NO_CHANNEL, Target, Walk, entry_port},
};
use crate::{
    index::{IdxVec, SwitchIdx},
    vl::{SlToVl, VlMap},
};

/// The lane that drops data mapped to it.
pub(super) const DROP: u8 = Vl::MANAGEMENT.bits();

/// The counts of dropped packets of one thread.
pub(super) struct DropCounts {
    /// Service levels that are dropped after each switch, as a bit mask.
    behind: IdxVec<SwitchIdx, u16>,
}

/// Pairs that have a route, and whose packets are dropped on it.
#[derive(Default)]
pub(super) struct Dropped {
    /// Number of pairs, counted by source port.
    pub(super) ports: u64,
    /// Number of pairs, counted by source LID of a CA, to another CA.
    pub(super) ca_lids: u64,
    /// The first pair: the switch where its route starts, and the switch where its packets are dropped.
    pub(super) first: Option<RouteFailure>,
}

impl DropCounts {
    /// Begins to count; `None` if no table maps anything to VL15.
    pub(super) fn new(map: &VlMap, switches: usize) -> Option<Self> {
        (map.highest().bits() == DROP).then(|| Self {
            behind: IdxVec::filled(switches, 0),
        })
    }

    /// Counts packets that are dropped on the path to LID `at` of a walk.
    pub(super) fn count<const LIDS: usize>(
        &mut self,
        context: &Context<'_>,
        walk: &Walk<LIDS>,
        at: usize,
        target: &Target<'_>,
    ) -> Dropped {
        let Context {
            fabric,
            lids,
            routes,
            table,
            ..
        } = context;
        let mut dropped = Dropped::default();
        let Some(owner) = target.owner else {
            return dropped;
        };
        let map = routes.vl_map();
        let way = |switch: SwitchIdx| {
            let channel = walk.next[switch].get(at).copied();
            channel.filter(|&channel| channel != NO_CHANNEL)
        };
        let output = |switch| way(switch).map_or(owner.exit, |way| fabric.channel(way).port);
        for &switch in walk.order.iter().rev() {
            self.behind[switch] = way(switch).map_or(0, |channel| {
                let (to, input) = (table.to(channel), fabric.channel(channel).to_port);
                self.behind[to] | levels_dropped(map.table(to, input, output(to)))
            });
        }
        let by_cas = levels_dropped(map.injection());
        for (switch, hops) in walk.hops.iter_enumerated() {
            if hops.get(at).is_none_or(|&hops| hops >= LOOP) {
                continue;
            }
            for source in lids.at_switch(switch).filter(|source| *source != owner) {
                let here = levels_dropped(map.table(switch, entry_port(source), output(switch)));
                let own = if source.is_switch() { 0 } else { by_cas };
                let levels = self.behind[switch] | here | own;
                let level = |lid: Lid| routes.sl(lid, target.lid).bits();
                let mut lost = source
                    .range
                    .iter()
                    .map(level)
                    .filter(|sl| levels >> sl & 1 == 1);
                let Some(sl) = lost.next() else {
                    continue;
                };
                dropped.ports += 1;
                if !source.is_switch() && !owner.is_switch() {
                    dropped.ca_lids += 1 + lost.count() as u64;
                }
                dropped.first.get_or_insert_with(|| {
                    let (mut last, mut input) = (switch, entry_port(source));
                    let goes_on = |mask: u16| mask >> sl & 1 == 0;
                    while goes_on(own | levels_dropped(map.table(last, input, output(last)))) {
                        let Some(channel) = way(last) else { break };
                        (last, input) = (table.to(channel), fabric.channel(channel).to_port);
                    }
                    RouteFailure {
                        switch,
                        lid: target.lid,
                        at: last,
                        end: RouteEnd::Dropped,
                    }
                });
            }
        }
        dropped
    }
}

/// The service levels that a table maps to VL15, as a bit mask.
fn levels_dropped(table: &SlToVl) -> u16 {
    let levels = (0..).zip(table).filter(|(_, vl)| vl.bits() == DROP);
    levels.fold(0, |mask, (sl, _)| mask | 1 << sl)
}
