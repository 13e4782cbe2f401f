//! Up*/Down* (`updn`): rank switches by distance from the roots, never go up after going down.
//!
//! Works on any fabric and needs one virtual lane: routes between CAs close no cycle of channels, as all of
//! them go up first and then down. Roots come from the options (a CA's GUID names its switch), else they
//! are found: the switches that nearly all CAs are equally far from, as in a fat tree, and those that are
//! farthest from all CAs, as in a tree whose leaves are of different depths, else, per part of the fabric,
//! the switch with the smallest LID. Of two switches of one rank the one with the smaller id is
//! the upper, its GUID where `ids` has none. Load is balanced as by minhop. Time as minhop. Sources: Schroeder et al., "Autonet", 1991;
//! OpenSM's root histogram; the ranks by LID of NCM-IB (Huang and Chen).

use core::cmp::Reverse;

use alloc::vec::Vec;

use ib_wire::Lid;

use crate::{
    algo::{
        bfs,
        roots::{found_roots, named_roots, roots},
        up_down,
    },
    engine::{self, Guarantees, PathRule, RoutingEngine},
    error::RouteError,
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};
/// The engine `updn`.
#[derive(Clone, Copy, Debug, Default)]
pub struct UpDown;

impl RoutingEngine for UpDown {
    fn name(&self) -> &'static str {
        "updn"
    }

    fn guarantees(&self, options: &RouteOptions) -> Guarantees {
        Guarantees {
            any_fabric: true,
            deadlock_free: !options.connect_roots,
            paths: PathRule::UpDown,
            lanes: false,
            ..Guarantees::NONE
        }
    }

    /// Routes up*/down*.
    ///
    /// # Errors
    /// [`RouteError::NoRoot`] if `options.roots` names no switch of the fabric, and
    /// [`RouteError::NoPath`] if CAs at different roots cannot reach each other.
    fn route(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<Routes, RouteError> {
        let engine = self.name();
        if !options.roots.is_empty() {
            let roots = named_roots(fabric, &options.roots);
            if roots.is_empty() {
                return Err(RouteError::NoRoot {
                    engine,
                    what: "none of the given GUIDs is in the fabric",
                });
            }
            return route_from(fabric, lids, options, &roots);
        }
        let found = found_roots(fabric, lids);
        match route_from(fabric, lids, options, &found) {
            // Roots with CAs of their own do not reach each other: one root does.
            Err(RouteError::NoPath { .. }) if !found.is_empty() => {
                route_from(fabric, lids, options, &[])
            }
            routes => routes,
        }
    }
}

fn route_from(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    roots: &[SwitchIdx],
) -> Result<Routes, RouteError> {
    let ranks = ranks(fabric, lids, roots);
    let place = fabric.switches().indices().map(|switch| {
        let id = options.ids.get(&fabric.switch_guid(switch)).copied();
        (
            Reverse(ranks[switch]),
            Reverse(id.unwrap_or(u64::MAX)),
            Reverse(switch),
        )
    });
    let classes = up_down::directions(fabric, &place.collect());
    up_down::route(fabric, lids, options, &engine::UPDN, &classes)
}

/// The ranks by which routes in place may have been made: from the roots that the options name or
/// that are found, and from one root.
pub(crate) fn possible_ranks(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
) -> [IdxVec<SwitchIdx, u16>; 2] {
    let roots = roots(fabric, lids, options);
    [ranks(fabric, lids, &roots), ranks(fabric, lids, &[])]
}

/// Hops from the nearest root. A part of the fabric without one takes its switch of the smallest LID.
fn ranks(fabric: &Fabric, lids: &LidMap, roots: &[SwitchIdx]) -> IdxVec<SwitchIdx, u16> {
    let mut ranks = IdxVec::filled(fabric.num_switches(), bfs::UNREACHED);
    let mut by_lid: Vec<(Lid, SwitchIdx)> = fabric
        .switches()
        .indices()
        .map(|switch| {
            let own = lids.switch_port(switch);
            (own.map_or(Lid::PERMISSIVE, |own| own.range.base()), switch)
        })
        .collect();
    by_lid.sort_unstable();
    bfs::spread_out(fabric, roots, &mut ranks);
    for (_, switch) in by_lid {
        if ranks[switch] == bfs::UNREACHED {
            bfs::spread_out(fabric, &[switch], &mut ranks);
        }
    }
    ranks
}
