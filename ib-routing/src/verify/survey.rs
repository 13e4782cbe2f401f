//! The data about existing routes that a repair needs: the verifier's counts without its verdicts.

use alloc::vec::Vec;

use ib_wire::Lid;

use super::{Context, follow_all};
use crate::{
    algo::dependency::DependencyGraph,
    fabric::Fabric,
    index::{ChannelIdx, IdxVec},
    lid::LidMap,
    routes::Routes,
};

/// The loads and dependencies of routes.
pub(crate) struct Survey {
    /// CA-pair routes on each channel.
    pub(crate) load: IdxVec<ChannelIdx, u32>,
    /// Dependencies of traffic between CAs, between CAs and switches, and between switches. A later graph
    /// need not hold what an earlier one holds.
    pub(crate) graphs: [DependencyGraph; 3],
    /// LIDs that the routes of some switch do not reach, in their order.
    pub(crate) incomplete: Vec<Lid>,
}

/// Follows the routes to the LIDs that `select` names; no lane is `lanes` or higher.
pub(crate) fn survey(
    threads: usize,
    fabric: &Fabric,
    lids: &LidMap,
    routes: &Routes,
    lanes: u8,
    select: impl Fn(Lid) -> bool + Sync,
) -> Survey {
    let context = Context::new(fabric, lids, routes);
    let (counts, dependencies) = follow_all(threads, &context, lanes, select);
    let (load, incomplete) = counts.into_loads();
    Survey {
        load,
        graphs: dependencies.into_graphs(),
        incomplete,
    }
}
