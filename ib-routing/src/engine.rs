//! The routing engines. A new engine touches this list, that of the names, and its own file.

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

use crate::{
    algo::parallel, error::RouteError, fabric::Fabric, lid::LidMap, options::RouteOptions,
    routes::Routes, routing_engine::RoutingEngine, verify::VerifyReport,
};

impl RoutingEngine {
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

    /// The routes, and the verifier's report on them from an engine that verifies its routes itself, as
    /// `auto` does: the same that [`verify`](crate::verify()) says of them.
    ///
    /// # Errors
    /// As those of [`route`](Self::route).
    pub fn route_and_report(
        self,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<(Routes, Option<VerifyReport>), RouteError> {
        if self != Self::Auto {
            return self
                .route(fabric, lids, options)
                .map(|routes| (routes, None));
        }
        let verified = parallel::install(options.threads, fabric, || {
            auto::route_verified(fabric, lids, options)
        });
        verified.map(|(routes, report)| (routes, Some(report)))
    }
}
