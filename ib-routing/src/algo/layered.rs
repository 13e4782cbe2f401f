//! Shortest paths shared out over virtual lanes: what DFSSSP and LASH have in common.
//!
//! Trees of shortest paths are chosen by load, one after the other, and each path gets the lowest lane
//! whose channel dependencies stay acyclic. If the lanes run out, the trees are chosen anew, so that
//! they reuse the turns of earlier ones.

use alloc::{vec, vec::Vec};

use ib_wire::Sl;

use crate::{
    RoutingEngine,
    algo::{
        balance::{Balance, Demands},
        channel_graph::DependencyLayout,
        lanes::{Lanes, up_down_order},
        ways::{Tree, Ways},
    },
    error::RouteError,
    fabric::Fabric,
    index::{ChannelIdx, IdxVec},
    lid::LidMap,
    options::RouteOptions,
    routes::{Routes, SlTable},
    vl::VlMap,
};

/// Routes by shortest paths on as many lanes as they need.
///
/// # Errors
/// [`RouteError::TooFewVls`] if the lanes do not suffice for the paths between CAs.
pub fn route(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    plan: Plan,
) -> Result<Routes, RouteError> {
    let max = options.vls().saturating_sub(plan.first_lane);
    let demands = Demands::new(fabric, lids, plan.tree_per_switch);
    let run = Run {
        plan,
        fabric,
        lids,
        ways: Ways::new(fabric, options),
        layout: DependencyLayout::new(fabric),
        order: up_down_order(fabric, &demands.senders),
        demands,
        max,
    };
    if plan.reuse_turns {
        run.route(true)
    } else {
        run.route(false).or_else(|_| run.route(true))
    }
}

/// Which trees to choose, and how.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The engine that asks.
    pub engine: RoutingEngine,
    /// One tree for all LIDs at a switch, and not one for each.
    pub tree_per_switch: bool,
    /// Choose trees that reuse turns at once, and not only if lanes run out.
    pub reuse_turns: bool,
    /// The first service level (and lane) to use.
    pub first_lane: u8,
}

struct Run<'a> {
    plan: Plan,
    fabric: &'a Fabric,
    lids: &'a LidMap,
    ways: Ways,
    demands: Demands,
    layout: DependencyLayout,
    order: Vec<ChannelIdx>,
    max: u8,
}

impl Run<'_> {
    fn route(&self, frugal: bool) -> Result<Routes, RouteError> {
        let Self {
            plan,
            fabric,
            demands,
            ..
        } = self;
        let mut routes = Routes::new(plan.engine, fabric, self.lids);
        routes.set_exits(self.lids);
        let row_len = routes.row_len();
        let start = Sl::try_new(plan.first_lane).unwrap_or_default();
        let mut sls = vec![start; row_len * fabric.num_switches()];
        let mut lanes = Lanes::new(fabric, &self.layout, &self.order, self.max);
        let balance = (!frugal).then(|| Balance::new(fabric, &self.ways, demands));
        let none = || IdxVec::filled(fabric.channels().len(), 0);
        let mut load = balance
            .as_ref()
            .map_or_else(none, |made| made.load().clone());
        let (mut tree, mut flow) = (Tree::default(), IdxVec::new());
        // Trees in which a switch without CAs has no lane yet.
        let mut open = Vec::new();
        for (number, demand) in demands.trees.iter().enumerate() {
            let to_ca = demand.weight > 0;
            let fits = if let Some(balance) = &balance {
                balance.read(number, &mut tree);
                lanes.layer(&tree, |switch| !to_ca || demands.senders[switch] > 0)
            } else {
                let towards = self.ways.towards(demand.target);
                let fits = lanes.grow(fabric, towards, demand.target, &load, &mut tree);
                tree.send(fabric, &demands.senders, &mut flow, |channel, routes| {
                    load[channel] += routes * demand.weight;
                });
                fits
            };
            // Where lanes do not suffice for the little traffic from and to switches, it shares the first: the
            // routes still arrive, and the verification names the cycle.
            if fits.is_err() && to_ca {
                return Err(RouteError::TooFewVls {
                    engine: plan.engine,
                    available: self.max,
                    needed: u16::from(self.max) + 1,
                });
            }
            if to_ca && !lanes.join(&tree) {
                open.push(number);
            }
            for &lid in &demand.lids {
                tree.install(fabric, lid, &mut routes);
                lanes.note(&tree, lid, start, row_len, &mut sls);
            }
        }
        for number in open {
            let (Some(demand), Some(balance)) = (demands.trees.get(number), &balance) else {
                break;
            };
            balance.read(number, &mut tree);
            let _ = lanes.layer(&tree, |switch| demands.senders[switch] == 0);
            for &lid in &demand.lids {
                lanes.note(&tree, lid, start, row_len, &mut sls);
            }
        }
        let vls = lanes.used();
        let sls = if vls > 1 {
            SlTable::BySwitch(sls)
        } else {
            SlTable::Uniform(start)
        };
        routes.set_lanes(sls, VlMap::default(), plan.first_lane + vls);
        Ok(routes)
    }
}
