//! A chain of engines (`-R ftree,updn`): the first that can route the fabric does.

use alloc::vec::Vec;

use crate::{
    engine::{AUTO, MINHOP, SharedEngine},
    error::RouteError,
    fabric::Fabric,
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};

/// Result of a chain of engines.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The routes; [`Routes::engine`] says whose they are.
    pub routes: Routes,
    /// The engines before it in the chain, and why they failed. If it is not empty, the routes are not
    /// those of the engine that was asked for first: worth a warning.
    pub failed: Vec<(SharedEngine, RouteError)>,
}

/// The engines of a chain in the order in which they are tried.
///
/// Unless `no_fallback`, min-hop is at the end of every chain without [`AUTO`], which is a chain of its
/// own. An empty chain is the default engine.
pub fn engines(
    chain: &[SharedEngine],
    no_fallback: bool,
) -> impl Iterator<Item = SharedEngine> + '_ {
    let last = match chain {
        [] => Some(&AUTO),
        _ if no_fallback || chain.contains(&MINHOP) || chain.contains(&AUTO) => None,
        _ => Some(&MINHOP),
    };
    chain.iter().chain(last).cloned()
}

/// Routes by the first of the [`engines`] that can.
///
/// # Errors
/// The last engine's error if all fail.
pub fn route(
    chain: &[SharedEngine],
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
            engine: MINHOP.name(),
            what: alloc::string::String::new(),
        },
        |(_, error)| error,
    ))
}
