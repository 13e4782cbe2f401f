//! The routing engines by OpenSM's names. A new engine touches this list and its own file.

pub mod auto;
pub mod chain;
pub mod dfsssp;
pub mod dnup;
pub mod dor;
pub mod file;
pub mod ftree;
pub mod lash;
pub mod minhop;
pub mod nue;
pub mod sssp;
pub mod torus_2qos;
pub mod updn;

use core::{fmt, str::FromStr};

use crate::{
    algo::parallel, error::RouteError, fabric::Fabric, lid::LidMap, options::RouteOptions,
    routes::Routes,
};

/// A routing engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RoutingEngine {
    /// The best of the others for this fabric, free of deadlock.
    #[default]
    Auto,
    /// Shortest paths, balanced.
    MinHop,
    /// Up*/Down*.
    UpDown,
    /// Down*/Up*.
    DownUp,
    /// Fat trees, free of contention for shift patterns.
    FatTree,
    /// Dimension order on meshes and hypercubes.
    Dor,
    /// Dimension order on tori with two levels of QoS.
    Torus2Qos,
    /// Shortest paths, layered over virtual lanes by switch pairs.
    Lash,
    /// Single-source shortest paths by load.
    Sssp,
    /// The same, layered over virtual lanes.
    Dfsssp,
    /// Shortest paths in the channel graph, for any number of virtual lanes.
    Nue,
    /// Tables from a file.
    File,
}

impl RoutingEngine {
    /// All engines, with OpenSM's names; `auto` is ours.
    pub const ALL: [(Self, &'static str); 12] = [
        (Self::Auto, "auto"),
        (Self::MinHop, "minhop"),
        (Self::UpDown, "updn"),
        (Self::DownUp, "dnup"),
        (Self::FatTree, "ftree"),
        (Self::Dor, "dor"),
        (Self::Torus2Qos, "torus-2QoS"),
        (Self::Lash, "lash"),
        (Self::Sssp, "sssp"),
        (Self::Dfsssp, "dfsssp"),
        (Self::Nue, "nue"),
        (Self::File, "file"),
    ];

    /// Routes `fabric`: a port for every (switch, LID) that is connected.
    ///
    /// # Errors
    /// What the engine cannot do with this fabric or these options.
    pub fn route(
        self,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<Routes, RouteError> {
        parallel::install(options.threads, fabric, || match self {
            Self::Auto => auto::route(fabric, lids, options),
            Self::MinHop => minhop::route(fabric, lids, options),
            Self::UpDown => updn::route(fabric, lids, options),
            Self::DownUp => dnup::route(fabric, lids, options),
            Self::Dor => dor::route(fabric, lids, options),
            Self::File => file::route(fabric, lids, options),
            Self::FatTree => ftree::route(fabric, lids, options),
            Self::Lash => lash::route(fabric, lids, options),
            Self::Nue => nue::route(fabric, lids, options),
            Self::Torus2Qos => torus_2qos::route(fabric, lids, options),
            Self::Sssp => sssp::route(fabric, lids, options),
            Self::Dfsssp => dfsssp::route(fabric, lids, options),
        })
    }
}

impl fmt::Display for RoutingEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL
            .iter()
            .find(|(engine, _)| engine == self)
            .map_or("?", |(_, name)| name);
        f.pad(name)
    }
}

/// A name that no engine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown routing engine, expected one of auto, minhop, updn, dnup, ftree, dor, torus-2QoS, lash, sssp, dfsssp, nue, file"
)]
pub struct UnknownEngine;

impl FromStr for RoutingEngine {
    type Err = UnknownEngine;

    fn from_str(name: &str) -> Result<Self, UnknownEngine> {
        let found = Self::ALL
            .iter()
            .find(|(_, known)| known.eq_ignore_ascii_case(name));
        found.map(|(engine, _)| *engine).ok_or(UnknownEngine)
    }
}
