//! The names of the routing engines, as OpenSM spells them.

use core::{fmt, str::FromStr};

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
