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

/// Routes by the first engine that can. Unless `no_fallback`, min-hop stands at the end of every chain
/// without [`Auto`](RoutingEngine::Auto), which is a chain of its own.
///
/// # Errors
/// The last engine's error if all fail; an empty chain is the default engine.
pub fn route(
    chain: &[RoutingEngine],
    no_fallback: bool,
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
) -> Result<Chosen, RouteError> {
    let last = if chain.is_empty() {
        RoutingEngine::default()
    } else {
        RoutingEngine::MinHop
    };
    let ends_well = chain.contains(&last) || chain.contains(&RoutingEngine::Auto);
    let fallback = chain.is_empty() || (!no_fallback && !ends_well);
    let mut failed = Vec::new();
    for &engine in chain.iter().chain(fallback.then_some(&last)) {
        match engine.route(fabric, lids, options) {
            Ok(routes) => return Ok(Chosen { routes, failed }),
            Err(error) => failed.push((engine, error)),
        }
    }
    Err(failed.pop().map_or(
        RouteError::BadOption {
            engine: last,
            what: alloc::string::String::new(),
        },
        |(_, error)| error,
    ))
}
