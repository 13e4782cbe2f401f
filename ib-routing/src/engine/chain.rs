//! A chain of engines (`-R ftree,updn`): the first that can route the fabric does.

use alloc::vec::Vec;

use crate::{
    RoutingEngine, error::RouteError, fabric::Fabric, lid::LidMap, options::RouteOptions,
    routes::Routes,
};

/// What a chain came to.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The routes; [`Routes::engine`] says whose they are.
    pub routes: Routes,
    /// The engines before it in the chain, and why they failed. Not empty: somebody should be told.
    pub failed: Vec<(RoutingEngine, RouteError)>,
}

/// The engines of a chain in the order in which they are tried.
///
/// Unless `no_fallback`, min-hop stands at the end of every chain without
/// [`Auto`](RoutingEngine::Auto), which is a chain of its own. An empty chain is the default engine.
pub fn engines(
    chain: &[RoutingEngine],
    no_fallback: bool,
) -> impl Iterator<Item = RoutingEngine> + '_ {
    let last = match chain {
        [] => Some(RoutingEngine::default()),
        _ if no_fallback => None,
        _ => Some(RoutingEngine::MinHop),
    };
    let ends_well =
        |last: &RoutingEngine| !chain.contains(last) && !chain.contains(&RoutingEngine::Auto);
    chain.iter().copied().chain(last.filter(ends_well))
}

/// Routes by the first of the [`engines`] that can.
///
/// # Errors
/// The last engine's error if all fail.
pub fn route(
    chain: &[RoutingEngine],
    no_fallback: bool,
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
) -> Result<Chosen, RouteError> {
    let mut failed = Vec::new();
    for engine in engines(chain, no_fallback) {
        match engine.route(fabric, lids, options) {
            Ok(routes) => return Ok(Chosen { routes, failed }),
            Err(error) => failed.push((engine, error)),
        }
    }
    Err(failed.pop().map_or(
        RouteError::BadOption {
            engine: RoutingEngine::MinHop,
            what: alloc::string::String::new(),
        },
        |(_, error)| error,
    ))
}
