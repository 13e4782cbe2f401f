//! The tables of all clusters as one route set of the whole fabric, for the verifier.

use alloc::{vec, vec::Vec};

use ib_wire::{PortNum, Sl};

use super::{route::ClusterRoutes, validate::Clusters};
use crate::{
    fabric::{Fabric, PortRef},
    index::SwitchIdx,
    lid::LidMap,
    routes::{Routes, SlTable},
    vl::VlMap,
};

/// The routes of all clusters together.
#[derive(Clone, Debug)]
pub struct Union {
    /// The owner of every LID, in the whole fabric.
    pub lids: LidMap,
    /// All tables. A packet has the service level that the cluster of its source gives it, and on each
    /// switch the lane of that switch's cluster.
    pub routes: Routes,
}

impl Union {
    /// Joins the results of [`route()`](super::route()), in the order of the clusters.
    #[must_use]
    pub fn join(fabric: &Fabric, clusters: &Clusters, parts: &[ClusterRoutes]) -> Self {
        let parts: Vec<_> = clusters.views().iter().zip(parts).collect();
        let ranges = parts.iter().flat_map(|(view, part)| {
            part.lids.destinations().iter().filter_map(|port| {
                let guid = view.own().node(port.end.node).guid;
                let node = fabric.node_by_guid(guid)?;
                Some((PortRef { node, ..port.end }, port.range))
            })
        });
        let lids = LidMap::of_ranges(fabric, ranges);
        let engine = parts.first().map(|(_, part)| part.routes.engine());
        let mut routes = Routes::new(engine.cloned().unwrap_or_default(), fabric, &lids);
        let row_len = routes.row_len();
        let mut sls = vec![Sl::ZERO; row_len.saturating_mul(fabric.num_switches())];
        let first = parts
            .first()
            .map(|(_, part)| *part.routes.vl_map().injection());
        let mut vl_map = VlMap::default();
        if parts
            .iter()
            .any(|(_, part)| *part.routes.vl_map() != vl_map)
        {
            vl_map = VlMap::per_port(fabric, first.unwrap_or(*vl_map.injection()));
        }
        for (view, part) in &parts {
            for here in view.own().switches().indices() {
                let guid = view.own().switch_guid(here);
                let Some(switch) = fabric.switch_by_guid(guid) else {
                    continue;
                };
                let blocks =
                    (0..).map_while(|number| Some((number, part.routes.lft_block(here, number)?)));
                for (number, block) in blocks {
                    routes.set_lft_block(switch, number, block);
                }
                let levels = sls.chunks_mut(row_len).nth(switch.0 as usize);
                for (sl, lid) in levels.into_iter().flatten().zip(0..) {
                    *sl = part.routes.sl_from(here, ib_wire::Lid(lid));
                }
                copy_lanes(&mut vl_map, fabric, switch, part, here);
            }
        }
        let vls = parts.iter().map(|(_, part)| part.routes.vls()).max();
        let sls = match sls.first() {
            Some(&sl) if sls.iter().all(|&other| other == sl) => SlTable::Uniform(sl),
            _ => SlTable::BySwitch(sls),
        };
        routes.set_lanes(sls, vl_map, vls.unwrap_or(1));
        Self { lids, routes }
    }
}

/// Gives a switch the SLtoVL tables of its cluster.
fn copy_lanes(
    vl_map: &mut VlMap,
    fabric: &Fabric,
    switch: SwitchIdx,
    part: &ClusterRoutes,
    here: SwitchIdx,
) {
    if vl_map.is_uniform() {
        return;
    }
    let ports = 0..=fabric.switch(switch).num_ports();
    for input in ports.clone().map(PortNum) {
        for output in ports.clone().map(PortNum) {
            let table = *part.routes.vl_map().table(here, input, output);
            vl_map.set(switch, input, output, table);
        }
    }
}
