//! The routing engines: what one is, what it guarantees, and the list of those that are built in.
//!
//! A new engine of this crate touches its own file and the list below. An engine from outside implements
//! [`RoutingEngine`] and is handed on as a [`SharedEngine`]; nothing that uses it assumes more than its
//! [`Guarantees`].
//!
//! ```
//! use ib_routing::{
//!     Fabric, LidMap, RouteError, RouteOptions, Routes,
//!     engine::{Guarantees, RoutingEngine, SharedEngine},
//! };
//!
//! /// Routes like `minhop`, and guarantees nothing.
//! #[derive(Debug)]
//! struct Mine;
//!
//! impl RoutingEngine for Mine {
//!     fn name(&self) -> &'static str {
//!         "mine"
//!     }
//!
//!     fn guarantees(&self, _: &RouteOptions) -> Guarantees {
//!         Guarantees::NONE
//!     }
//!
//!     fn route(&self, fabric: &Fabric, lids: &LidMap, options: &RouteOptions) -> Result<Routes, RouteError> {
//!         let mut routes = ib_routing::engine::MINHOP.route(fabric, lids, options)?;
//!         routes.set_engine("mine");
//!         Ok(routes)
//!     }
//! }
//!
//! let engines = [SharedEngine::new(Mine), ib_routing::engine::UPDN.clone()];
//! assert_eq!(engines[0].name(), "mine");
//! ```

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
mod shared;
pub mod sssp;
pub mod torus_2qos;
pub mod updn;

use core::fmt;

pub use self::shared::{SharedEngine, UnknownEngine};
use crate::{
    error::RouteError, fabric::Fabric, lid::LidMap, options::RouteOptions, routes::Routes,
    verify::VerifyReport,
};

/// An algorithm that computes routes.
///
/// The same fabric, LIDs and options give the same routes, on any number of threads.
pub trait RoutingEngine: fmt::Debug + Send + Sync {
    /// The name by which people ask for it, as OpenSM spells it: short, without blanks and commas.
    fn name(&self) -> &'static str;

    /// Properties that all its routes have with these options.
    fn guarantees(&self, options: &RouteOptions) -> Guarantees;

    /// Routes `fabric`: a port for every (switch, LID) that is connected.
    ///
    /// # Errors
    /// The engine cannot route this fabric, or not with these options.
    fn route(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<Routes, RouteError>;

    /// The routes, and the verifier's report on them from an engine that verifies its routes itself: the same
    /// that [`verify`](crate::verify()) says of them.
    ///
    /// # Errors
    /// As those of [`route`](Self::route).
    fn route_and_report(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<(Routes, Option<VerifyReport>), RouteError> {
        self.route(fabric, lids, options)
            .map(|routes| (routes, None))
    }
}

/// Properties of all routes of an engine. Code that uses an engine assumes no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guarantees {
    /// Every fabric is routed, connected or not. Without it the engine refuses fabrics that are not of its
    /// topology, and says which switch breaks its rule.
    pub any_fabric: bool,
    /// Traffic between CAs cannot deadlock, on every fabric that it routes.
    pub deadlock_free: bool,
    /// The rule that all paths obey.
    pub paths: PathRule,
    /// Routes may use more than one virtual lane: then service levels and SLtoVL tables belong to them.
    pub lanes: bool,
    /// The lowest service level of the routes.
    pub first_sl: u8,
}

impl Guarantees {
    /// Nothing: what is known of an engine that says nothing.
    pub const NONE: Self = Self {
        any_fabric: false,
        deadlock_free: false,
        paths: PathRule::Any,
        lanes: true,
        first_sl: 0,
    };

    /// Shortest paths on any fabric, on one virtual lane, with deadlocks possible.
    fn shortest_paths(options: &RouteOptions) -> Self {
        Self {
            any_fabric: true,
            paths: PathRule::shortest(options),
            lanes: false,
            ..Self::NONE
        }
    }
}

impl Default for Guarantees {
    fn default() -> Self {
        Self::NONE
    }
}

/// The rule that all paths of an engine obey, and that paths added by a [`repair`](crate::repair()) must
/// obey.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathRule {
    /// No rule that is known.
    #[default]
    Any,
    /// As few links as there can be.
    Shortest,
    /// Up towards the roots, then down, by the ranks of `updn`.
    UpDown,
    /// The same by the ranks of `dnup`, which count from the leaves. Levels of fat trees are such ranks.
    FromLeaves,
}

impl PathRule {
    /// Shortest paths, unless weights of hops make longer ones lighter.
    fn shortest(options: &RouteOptions) -> Self {
        if options.hop_weights.is_empty() {
            Self::Shortest
        } else {
            Self::Any
        }
    }
}

macro_rules! engines {
    ($($(#[$meta:meta])* $name:ident = $engine:path;)*) => {
        $($(#[$meta])* pub static $name: SharedEngine = SharedEngine::built_in(&$engine);)*

        /// All built-in engines.
        pub static ALL: [&SharedEngine; [$(stringify!($name)),*].len()] = [$(&$name),*];
    };
}

engines! {
    /// The best of the others for a fabric, free of deadlock: the default.
    AUTO = auto::Auto;
    /// Shortest paths, balanced.
    MINHOP = minhop::MinHop;
    /// Up*/Down*.
    UPDN = updn::UpDown;
    /// Down*/Up*.
    DNUP = dnup::DownUp;
    /// Fat trees, free of contention for shift patterns.
    FTREE = ftree::FatTree;
    /// Dimension order on meshes and hypercubes.
    DOR = dor::Dor;
    /// Dimension order on tori with two levels of QoS.
    TORUS_2QOS = torus_2qos::Torus2Qos;
    /// Shortest paths, layered over virtual lanes by pairs of switches.
    LASH = lash::Lash;
    /// Single-source shortest paths by load.
    SSSP = sssp::Sssp;
    /// The same, layered over virtual lanes.
    DFSSSP = dfsssp::Dfsssp;
    /// Shortest paths in the channel graph, for any number of virtual lanes.
    NUE = nue::Nue;
    /// Tables from a file.
    FILE = file::File;
}

/// The built-in engine of a name, in capital or small letters.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static SharedEngine> {
    ALL.into_iter()
        .find(|engine| engine.name().eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found_in_any_case() {
        for (at, engine) in ALL.iter().enumerate() {
            let found = by_name(&engine.name().to_ascii_uppercase());
            assert!(found == Some(engine), "{engine}");
            assert!(
                ALL.iter().skip(at + 1).all(|other| other != engine),
                "{engine}"
            );
        }
        assert_eq!(by_name("fastest"), None);
    }
}
