//! Listed destinations without scattering, before all others with it (`guid_routing_order_no_scatter`).

use alloc::collections::BTreeMap;

use ib_wire::PortNum;

use super::{Inputs, Search, Share, attempt};
use crate::{
    error::RouteError,
    fabric::Fabric,
    index::{ChannelIdx, Idx, IdxVec},
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};

/// Routes the ports of `options.guid_routing_order` first, where the first of equally loaded ports is taken, and
/// then all others, where `options.scatter_ports` says which of them comes first
/// (`guid_routing_order_no_scatter`).
pub(super) fn route(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    classes: Option<&IdxVec<ChannelIdx, u8>>,
    routes: &mut Routes,
    search: &Search<'_>,
) -> Result<(), RouteError> {
    let plain = RouteOptions {
        scatter_ports: None,
        ..options.clone()
    };
    let inputs = |options, share| {
        let mut inputs = Inputs::new(fabric, lids, options, classes, routes.engine());
        inputs.share = share;
        let mut order = core::mem::take(&mut inputs.order);
        order.retain(|&switch| {
            let mut ports = lids.at_switch(switch);
            ports.any(|port| inputs.is_routed(port))
        });
        inputs.order = order;
        inputs
    };
    let (listed, mut others) = (
        inputs(&plain, Share::Listed),
        inputs(options, Share::Others),
    );
    let loads = attempt(&listed, routes, search)?.loads;
    // The two sort the channels of a switch differently.
    for switch in fabric.switches().indices() {
        let (first, end) = fabric.channel_range(switch);
        let channels = first.at()..end.at();
        let before = listed.out_ports_of(switch);
        let before = before
            .iter()
            .zip(loads.get(channels.clone()).unwrap_or_default());
        let before: BTreeMap<PortNum, u64> = before
            .map(|(out_port, &load)| (out_port.port, load))
            .collect();
        let starts = others.initial_load.get_mut(channels.clone());
        let out_ports = others.out_ports.get(channels).unwrap_or_default();
        for (start, out_port) in starts.unwrap_or_default().iter_mut().zip(out_ports) {
            *start = before.get(&out_port.port).copied().unwrap_or(0);
        }
    }
    attempt(&others, routes, search)?;
    Ok(())
}
