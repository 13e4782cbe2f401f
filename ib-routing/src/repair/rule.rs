//! The rules of an engine's routes, which a repair observes.

use alloc::vec::Vec;
use core::{cell::LazyCell, cmp::Reverse};

use super::{RoutesInUse, remap::Remapped};
use crate::{
    algo::{
        dependency::DependencyGraph,
        up_down::{self, DOWN, UP},
    },
    engine::{PathRule, dnup, updn},
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::LidMap,
    options::RouteOptions,
};

/// The rule for a path, in addition to freedom from deadlock.
pub(crate) enum Rule {
    /// The path has as few links as the fabric allows.
    Shortest,
    /// The path goes up, then down, by the class of each channel, with as few links as that allows.
    UpDown(Directions),
    /// The path has as few links as the paths in place allow.
    Free,
}

/// The direction of every channel.
pub(crate) type Directions = IdxVec<ChannelIdx, u8>;

/// The rules to try, the best first: at least one.
pub(crate) struct Rules {
    pub(crate) rules: Vec<Rule>,
    /// The directions of channels by which Up*/Down* routing would be better than all of these rules, but which the routes
    /// break.
    pub(crate) refused: Vec<Directions>,
}

impl From<Rule> for Rules {
    fn from(rule: Rule) -> Self {
        Self {
            rules: Vec::from([rule]),
            refused: Vec::new(),
        }
    }
}

impl Rule {
    /// The rules that the engine's routes obey on what is left of the fabric, the best first. `between_cas`
    /// gives the dependencies of CA traffic on the remapped routes, if they are needed.
    pub(crate) fn of(
        old: RoutesInUse<'_>,
        remapped: &Remapped,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
        between_cas: impl FnOnce() -> DependencyGraph,
    ) -> Rules {
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
            PathRule::Shortest => return Rules::from(Self::Shortest),
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
        let mut refused = Vec::new();
        let between_cas = LazyCell::new(between_cas);
        for classes in candidates {
            if obeys(&between_cas, &classes) {
                rules.push(Self::UpDown(classes));
            } else if rules.is_empty() {
                refused.push(classes);
            }
        }
        if rules.is_empty() {
            rules.push(Self::Free);
        }
        Rules { rules, refused }
    }
}

type Ranks = IdxVec<SwitchIdx, u16>;

/// The direction of every channel, by the ranks of its ends.
fn directions(
    fabric: &Fabric,
    options: &RouteOptions,
    ranks: &Ranks,
    height: fn(u16) -> i32,
) -> Directions {
    let place = ranks.iter_enumerated().map(|(switch, &rank)| {
        let id = options.ids.get(&fabric.switch_guid(switch)).copied();
        let id = Reverse(id.unwrap_or(u64::MAX));
        (height(rank), id, Reverse(switch))
    });
    up_down::directions(fabric, &place.collect())
}

/// Returns true if no packet between CAs goes up after it went down, judged by the dependencies between their channels.
fn obeys(dependencies: &DependencyGraph, classes: &Directions) -> bool {
    let mut edges = dependencies.edges();
    edges.all(|(from, to)| !turns_up(classes, from.channel, to.channel))
}

/// Returns true if a packet that passes one channel and then the other goes up after it went down.
pub(crate) fn turns_up(classes: &Directions, from: ChannelIdx, to: ChannelIdx) -> bool {
    classes[from] == DOWN && classes[to] == UP
}
