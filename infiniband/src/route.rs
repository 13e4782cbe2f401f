//! Routes of a fabric by the name of an engine.

use ib_routing::{Fabric, LidMap, LidOptions, RouteError, RouteOptions, Routes, UnknownEngine};
use thiserror::Error;

/// Routes, and the LIDs that they are for.
#[derive(Clone, Debug)]
pub struct Routed {
    /// LIDs of all ports.
    pub lids: LidMap,
    /// The forwarding tables.
    pub routes: Routes,
}

/// Why there are no routes.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RoutingError {
    /// No engine has this name.
    #[error(transparent)]
    UnknownEngine(#[from] UnknownEngine),
    /// There are too few LIDs, or the engine cannot route the fabric.
    #[error(transparent)]
    Route(#[from] RouteError),
}

/// Assigns LIDs and computes routes by the engine of this name, with OpenSM's defaults.
/// [`engine::ALL`](ib_routing::engine::ALL) has all engines; `minhop`, `updn` and `ftree` are some of their names.
///
/// # Errors
/// [`UnknownEngine`](RoutingError::UnknownEngine) for another name, [`Route`](RoutingError::Route) for
/// what the engine refuses.
pub fn route(fabric: &Fabric, name: &str) -> Result<Routed, RoutingError> {
    let engine: ib_routing::SharedEngine = name.parse()?;
    let lids = LidMap::assign(fabric, &LidOptions::default())?;
    let routes = engine.route(fabric, &lids, &RouteOptions::default())?;
    Ok(Routed { lids, routes })
}
