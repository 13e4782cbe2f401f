//! The rules of the engine's routes, which a repair keeps.

use alloc::vec::Vec;
use core::cmp::Reverse;

use super::{Installed, remap::Remapped};
use crate::{
    algo::up_down::{self, DOWN, UP},
    engine::{PathRule, dnup, updn},
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};

/// The rule for a path, besides that it must not deadlock.
pub(super) enum Rule {
    /// As few links as there can be.
    Shortest,
    /// Up, then down, by the class of each channel; as few links as that allows.
    UpDown(IdxVec<ChannelIdx, u8>),
    /// As few links as the paths in place allow.
    Free,
}

impl Rule {
    /// The rules that the engine's routes obey on what is left of the fabric, the best first.
    pub(super) fn of(
        old: Installed<'_>,
        remapped: &Remapped,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Vec<Self> {
        // A switch that stays keeps its rank, so that the paths in place stay legal; a new one gets
        // what it would have in the new fabric.
        let kept = |before: &Ranks, after: &Ranks| -> Ranks {
            let both = remapped.was.iter().zip(after.iter());
            both.map(|(&was, &after)| was.map_or(after, |was| before[was]))
                .collect()
        };
        let by_ranks = |before: &[Ranks], after: &[Ranks], height: fn(u16) -> i32| {
            let both = before.iter().zip(after);
            both.map(|(before, after)| kept(before, after))
                .chain(after.iter().cloned())
                .map(|ranks| directions(fabric, options, &ranks, height))
                .collect()
        };
        let candidates = match old.routes.engine().guarantees(options).paths {
            PathRule::Shortest => return Vec::from([Self::Shortest]),
            PathRule::UpDown => {
                let before = updn::possible_ranks(old.fabric, old.lids, options);
                let after = updn::possible_ranks(fabric, lids, options);
                by_ranks(&before, &after, |rank| -i32::from(rank))
            }
            // The levels of a tree are ranks by the distance from its leaves.
            PathRule::FromLeaves => {
                let before = dnup::possible_ranks(old.fabric, old.lids, options);
                let after = dnup::possible_ranks(fabric, lids, options);
                by_ranks(&before, &after, i32::from)
            }
            PathRule::Any => Vec::new(),
        };
        let mut rules: Vec<Self> = Vec::new();
        for classes in candidates {
            if obeys(fabric, lids, &remapped.routes, &classes) {
                rules.push(Self::UpDown(classes));
            }
        }
        if rules.is_empty() {
            rules.push(Self::Free);
        }
        rules
    }
}

type Ranks = IdxVec<SwitchIdx, u16>;

/// The direction of every channel, by the ranks of its ends.
fn directions(
    fabric: &Fabric,
    options: &RouteOptions,
    ranks: &Ranks,
    height: fn(u16) -> i32,
) -> IdxVec<ChannelIdx, u8> {
    let place = ranks.iter_enumerated().map(|(switch, &rank)| {
        let id = options.ids.get(&fabric.switch_guid(switch)).copied();
        let id = Reverse(id.unwrap_or(u64::MAX));
        (height(rank), id, Reverse(switch))
    });
    up_down::directions(fabric, &place.collect())
}

/// Whether no route between CAs goes up after it went down.
fn obeys(
    fabric: &Fabric,
    lids: &LidMap,
    routes: &Routes,
    classes: &IdxVec<ChannelIdx, u8>,
) -> bool {
    let has_ca = |switch| lids.at_switch(switch).any(|end| !end.is_switch());
    let with_ca: Vec<SwitchIdx> = fabric
        .switches()
        .indices()
        .filter(|&at| has_ca(at))
        .collect();
    let mut cas = lids.destinations().iter().filter(|end| !end.is_switch());
    cas.all(|end| {
        with_ca.iter().all(|&source| {
            let path = routes.path(fabric, source, end.range.base());
            let mut last = UP;
            path.filter_map(|(switch, port)| fabric.channel_at(switch, port))
                .all(|channel| {
                    let before = core::mem::replace(&mut last, classes[channel]);
                    before != DOWN || last != UP
                })
        })
    })
}
