//! Decides whether routes may be installed: one rule for all programs.
//!
//! Routes that loop are never installed, because a packet that circulates takes the capacity of its links until it is
//! discarded. Routes that do not connect all pairs that cables join are permitted only if no other engine is left.
//! Routes that can deadlock need the user's permission, because a deadlock also stops unrelated traffic.

use core::fmt;

use super::VerifyReport;
use crate::{
    algo::parallel,
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
    lid::LidMap,
};

/// Defects with which routes may still be installed. None by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permission {
    /// Routes that can deadlock, as with `--allow-deadlock`.
    pub deadlock: bool,
    /// Routes that leave pairs unreachable although cables join them, for the case that no other engine is left.
    pub unreachable: bool,
}

/// A defect of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Number of (switch, LID) pairs whose route never ends.
    Loops(u64),
    /// Number of (source port, LID) pairs that cables join but routes do not.
    Unreachable(u64),
    /// CA-to-CA traffic can deadlock.
    Deadlock,
    /// CA-to-CA traffic and multicast groups can deadlock together.
    MulticastDeadlock,
}

impl Defect {
    /// The defect as one word, for JSON.
    #[must_use]
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Loops(_) => "loops",
            Self::Unreachable(_) => "unreachable",
            Self::Deadlock => "deadlock",
            Self::MulticastDeadlock => "multicast_deadlock",
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loops(pairs) => write!(f, "the routes of {pairs} (switch, LID) pairs loop"),
            Self::Unreachable(pairs) => {
                write!(f, "{pairs} pairs that cables join have no route")
            }
            Self::Deadlock => f.write_str("traffic between CAs can deadlock"),
            Self::MulticastDeadlock => {
                f.write_str("traffic between CAs and multicast groups can deadlock together")
            }
        }
    }
}

/// The decision whether routes may be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The routes have no defect.
    Good,
    /// The routes have this defect, which is permitted; every report mentions it.
    Permitted(Defect),
    /// The routes must not be installed because of this defect.
    Refused(Defect),
}

impl Verdict {
    /// Returns true if the routes may be installed.
    #[must_use]
    pub const fn may_install(self) -> bool {
        !matches!(self, Self::Refused(_))
    }

    /// The defect, if there is one.
    #[must_use]
    pub const fn defect(self) -> Option<Defect> {
        match self {
            Self::Good => None,
            Self::Permitted(defect) | Self::Refused(defect) => Some(defect),
        }
    }
}

impl VerifyReport {
    /// All defects, the worst first.
    pub fn defects(&self) -> impl Iterator<Item = Defect> + use<> {
        let missing = self.unreachable.saturating_sub(self.disconnected);
        let deadlock = !self.deadlock_free;
        let multicast = self.deadlock_free && !self.multicast_deadlock_free;
        [
            (self.loops > 0).then_some(Defect::Loops(self.loops)),
            (missing > 0).then_some(Defect::Unreachable(missing)),
            deadlock.then_some(Defect::Deadlock),
            multicast.then_some(Defect::MulticastDeadlock),
        ]
        .into_iter()
        .flatten()
    }

    /// Returns true if the routes may be installed: the worst defect that is not permitted decides.
    #[must_use]
    pub fn verdict(&self, permission: Permission) -> Verdict {
        let is_permitted = |defect: &Defect| match defect {
            Defect::Loops(_) => false,
            Defect::Unreachable(_) => permission.unreachable,
            Defect::Deadlock | Defect::MulticastDeadlock => permission.deadlock,
        };
        if let Some(defect) = self.defects().find(|defect| !is_permitted(defect)) {
            return Verdict::Refused(defect);
        }
        self.defects()
            .next()
            .map_or(Verdict::Good, Verdict::Permitted)
    }
}

/// (source port, LID) pairs that no cables join, so that no routes can connect them.
pub(super) fn disconnected(fabric: &Fabric, lids: &LidMap) -> u64 {
    let parts = fabric.parts();
    parallel::count(lids.destinations().len());
    // Ports and LIDs in each part of the fabric.
    let mut counts: IdxVec<SwitchIdx, [u64; 2]> = IdxVec::filled(fabric.num_switches(), [0; 2]);
    let (mut pairs, mut on_one_cable) = (0, 0);
    let ports = lids.destinations().len() as u64;
    for target in lids.destinations().iter() {
        let own = u64::from(target.range.lmc().lid_count());
        pairs += own * (ports - 1);
        match target.switch {
            Some(switch) => {
                let [ports, lids] = &mut counts[SwitchIdx(parts[switch])];
                *ports += 1;
                *lids += own;
            }
            None => {
                let peer = fabric.port(target.end).and_then(|port| port.peer);
                let has_lids = peer.is_some_and(|peer| lids.range_of(peer).is_some());
                on_one_cable += if has_lids { own } else { 0 };
            }
        }
    }
    let joined = counts.iter().filter(|[ports, _]| *ports > 0);
    let joined: u64 = joined.map(|[ports, lids]| (ports - 1) * lids).sum();
    pairs - joined - on_one_cable
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(loops: u64, unreachable: u64, deadlock_free: bool) -> VerifyReport {
        VerifyReport {
            loops,
            unreachable,
            disconnected: 7,
            deadlock_free,
            multicast_deadlock_free: deadlock_free,
            ..VerifyReport::default()
        }
    }

    #[test]
    fn loops_are_never_permitted_and_the_rest_only_by_name() {
        let all = Permission {
            deadlock: true,
            unreachable: true,
        };
        let none = Permission::default();
        assert_eq!(report(0, 7, true).verdict(none), Verdict::Good);
        let cases = [
            (report(1, 9, false), Defect::Loops(1), false),
            (report(0, 9, true), Defect::Unreachable(2), true),
            (report(0, 0, false), Defect::Deadlock, true),
        ];
        for (report, defect, permitted) in cases {
            assert_eq!(report.verdict(none), Verdict::Refused(defect));
            assert_eq!(report.verdict(all).may_install(), permitted, "{defect}");
            assert_eq!(report.verdict(all).defect(), Some(defect));
        }
    }

    #[test]
    fn a_permission_for_one_defect_is_none_for_another() {
        let report = report(0, 9, false);
        let deadlock = Permission {
            deadlock: true,
            ..Permission::default()
        };
        let refused = Verdict::Refused(Defect::Unreachable(2));
        assert_eq!(report.verdict(deadlock), refused);
        let unreachable = Permission {
            unreachable: true,
            ..Permission::default()
        };
        assert_eq!(
            report.verdict(unreachable),
            Verdict::Refused(Defect::Deadlock)
        );
        assert_eq!(report.defects().count(), 2);
    }

    #[test]
    fn defects_are_named_like_their_variants() {
        for (defect, kind) in [
            (Defect::Loops(1), "loops"),
            (Defect::Unreachable(1), "unreachable"),
            (Defect::Deadlock, "deadlock"),
            (Defect::MulticastDeadlock, "multicast_deadlock"),
        ] {
            assert_eq!(defect.kind(), kind);
        }
    }

    #[test]
    fn multicast_counts_where_unicast_is_safe() {
        let report = VerifyReport {
            multicast_deadlock_free: false,
            ..report(0, 0, true)
        };
        let refused = Verdict::Refused(Defect::MulticastDeadlock);
        assert_eq!(report.verdict(Permission::default()), refused);
    }
}
