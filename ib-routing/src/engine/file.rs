//! Tables or hops from a file (`file`): what it says goes, min-hop fills in the rest.
//!
//! A file of forwarding tables gives ports. A LID matrix gives hops: of the ports with the least, each
//! LID takes the one with the fewest LIDs so far. With both, tables come before hops. It promises
//! nothing: the verifier judges the result.

use alloc::{string::ToString, vec::Vec};

use ib_wire::PortNum;

use crate::{
    engine::{self, Guarantees, RoutingEngine},
    error::RouteError,
    fabric::Fabric,
    index::SwitchIdx,
    lid::LidMap,
    lid_matrix::LidMatrix,
    options::RouteOptions,
    routes::Routes,
};
/// The engine `file`.
#[derive(Clone, Copy, Debug, Default)]
pub struct File;

impl RoutingEngine for File {
    fn name(&self) -> &'static str {
        "file"
    }

    fn guarantees(&self, _: &RouteOptions) -> Guarantees {
        Guarantees {
            any_fabric: true,
            ..Guarantees::NONE
        }
    }

    /// Loads `options.lfts` and `options.lid_matrix`. Switches and LIDs that both leave out get min-hop's
    /// entries.
    ///
    /// # Errors
    /// [`RouteError::BadOption`] without tables and hops, or if the tables are another fabric's.
    fn route(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<Routes, RouteError> {
        let bad = |what: &str| RouteError::BadOption {
            engine: self.name(),
            what: what.to_string(),
        };
        if options.lfts.is_none() && options.lid_matrix.is_none() {
            return Err(bad("no tables were given"));
        }
        let mut routes = engine::MINHOP.route(fabric, lids, options)?;
        routes.set_engine(&engine::FILE);
        if let Some(matrix) = &options.lid_matrix {
            for switch in fabric.switches().indices() {
                follow(matrix, fabric, lids, options, switch, &mut routes);
            }
        }
        if let Some(tables) = &options.lfts {
            if tables.num_switches() != fabric.num_switches() {
                return Err(bad("the tables belong to another fabric"));
            }
            load(tables, fabric, lids, &mut routes);
        }
        Ok(routes)
    }
}

/// Puts the entries of `tables` into `routes`.
fn load(tables: &Routes, fabric: &Fabric, lids: &LidMap, routes: &mut Routes) {
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
}

/// Routes one switch by the hops of `matrix`, wherever it knows the destination's switch.
fn follow(
    matrix: &LidMatrix,
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    switch: SwitchIdx,
    routes: &mut Routes,
) {
    let guid = fabric.switch_guid(switch);
    let mut used = [0u32; 256];
    for destination in lids.destinations().iter() {
        let target = destination.switch.filter(|&target| target != switch);
        let Some(own) = target.and_then(|target| lids.switch_port(target)) else {
            continue;
        };
        let ports = matrix.best_ports(guid, own.range.base());
        let ports: Vec<PortNum> = ports
            .filter(|&port| fabric.channel_at(switch, port).is_some())
            .collect();
        let counts = !destination.is_switch() || options.port_profile_switch_nodes;
        for lid in destination.range.iter() {
            let load = |port: &PortNum| used.get(usize::from(port.0)).copied();
            let Some(port) = ports.iter().copied().min_by_key(load) else {
                continue;
            };
            routes.set_port(switch, lid, port);
            if let Some(used) = used.get_mut(usize::from(port.0)) {
                *used += u32::from(counts);
            }
        }
    }
}
