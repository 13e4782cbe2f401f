//! Tables from a file (`file`): what it says goes, min-hop fills in the rest.
//!
//! It promises nothing: the verifier judges the result.

use alloc::string::ToString;

use ib_wire::PortNum;

use crate::{
    RoutingEngine, engine::minhop, error::RouteError, fabric::Fabric, lid::LidMap,
    options::RouteOptions, routes::Routes,
};

/// Loads `options.lfts`. Switches and LIDs that it leaves out get min-hop's entries.
///
/// # Errors
/// [`RouteError::BadOption`] without tables, or if they are another fabric's.
pub fn route(fabric: &Fabric, lids: &LidMap, options: &RouteOptions) -> Result<Routes, RouteError> {
    let bad = |what: &str| RouteError::BadOption {
        engine: RoutingEngine::File,
        what: what.to_string(),
    };
    let tables = options
        .lfts
        .as_ref()
        .ok_or_else(|| bad("no tables were given"))?;
    if tables.num_switches() != fabric.num_switches() {
        return Err(bad("the tables belong to another fabric"));
    }
    let mut routes = minhop::route(fabric, lids, options)?;
    routes.set_engine(RoutingEngine::File);
    for switch in fabric.switches().indices() {
        for destination in lids.destinations().iter() {
            for lid in destination.range.iter() {
                let port = tables.port(switch, lid);
                if port != PortNum::UNREACHABLE {
                    routes.set_port(switch, lid, port);
                }
            }
        }
    }
    routes.set_lanes(tables.sls().clone(), tables.vl_map().clone(), tables.vls());
    Ok(routes)
}
