//! Shortest paths shared out over virtual lanes: what DFSSSP and LASH have in common.
//!
//! Trees of shortest paths are chosen by load, one after the other, and each path gets the lowest lane
//! whose channel dependencies stay acyclic. If the lanes run out, the trees are chosen anew, so that
//! they reuse the turns of earlier ones.

use alloc::{vec, vec::Vec};

use ib_wire::{Lid, Sl};

use crate::{
    RoutingEngine,
    algo::{
        balance::Balance,
        channel_graph::DependencyLayout,
        descent::{Descent, Tree, hop_weights, senders},
        lanes::{Lanes, up_down_order},
    },
    error::RouteError,
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
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
    let senders = senders(fabric, lids);
    let (layout, order) = (
        DependencyLayout::new(fabric),
        up_down_order(fabric, &senders),
    );
    let run = Run {
        plan,
        fabric,
        lids,
        senders,
        layout,
        order,
        max,
        options,
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
    senders: IdxVec<SwitchIdx, u64>,
    layout: DependencyLayout,
    order: Vec<ChannelIdx>,
    max: u8,
    options: &'a RouteOptions,
}

impl Run<'_> {
    fn route(&self, frugal: bool) -> Result<Routes, RouteError> {
        let mut routes = Routes::new(self.plan.engine, self.fabric, self.lids);
        routes.set_exits(self.lids);
        let mut sls = vec![Sl::ZERO; routes.row_len() * self.fabric.num_switches()];
        let mut lanes = Lanes::new(&self.layout, &self.order, self.max);
        let mut descent = Descent::new(self.fabric, hop_weights(self.fabric, self.options));
        let mut tree = Tree::default();
        let too_few = |_| RouteError::TooFewVls {
            engine: self.plan.engine,
            available: self.max,
            needed: u16::from(self.max) + 1,
        };
        let (balance, mut load) = if frugal {
            (None, IdxVec::filled(self.fabric.channels().len(), 0))
        } else {
            let balance = Balance::new(self.fabric, &mut descent, &self.senders, &self.demands());
            let load = balance.load().clone();
            (Some(balance), load)
        };
        let mut trees = balance.as_ref().map(Balance::trees);
        for target in self.fabric.switches().indices() {
            let lids = self.ca_lids(target);
            if lids.is_empty() {
                continue;
            }
            descent.aim(self.fabric, target);
            for group in lids.chunks(self.group(lids.len())) {
                if let Some(trees) = &mut trees {
                    trees.next(&descent, &mut tree);
                    let sends = |switch| self.senders[switch] > 0;
                    lanes
                        .layer(descent.switches(), &tree, sends)
                        .map_err(too_few)?;
                } else {
                    lanes.grow(&descent, &load, &mut tree).map_err(too_few)?;
                    tree.add_load(&descent, &self.senders, group.len() as u64, &mut load);
                }
                for &lid in group {
                    self.install(&descent, &tree, lid, &mut routes);
                    lanes.note(descent.switches(), lid, routes.row_len(), &mut sls);
                }
            }
        }
        self.route_management(
            frugal,
            &mut descent,
            &mut lanes,
            &mut routes,
            &load,
            &mut sls,
        );
        let vls = lanes.used();
        let sls = if vls > 1 {
            SlTable::BySwitch(sls)
        } else {
            SlTable::Uniform(Sl::ZERO)
        };
        routes.set_lanes(sls, VlMap::default(), vls);
        Ok(routes)
    }

    /// The LIDs of CAs and routers at a switch.
    fn ca_lids(&self, target: SwitchIdx) -> Vec<Lid> {
        let ends = self.lids.at_switch(target).filter(|end| !end.is_switch());
        ends.flat_map(|end| end.range.iter()).collect()
    }

    /// How many of a switch's LIDs share a tree.
    fn group(&self, lids: usize) -> usize {
        if self.plan.tree_per_switch { lids } else { 1 }
    }

    /// The trees towards each switch, by the LIDs that share them.
    fn demands(&self) -> IdxVec<SwitchIdx, Vec<u64>> {
        let demands = |target| {
            let lids = self.ca_lids(target);
            let groups = lids.chunks(self.group(lids.len()).max(1));
            groups.map(|group| group.len() as u64).collect()
        };
        self.fabric.switches().indices().map(demands).collect()
    }

    /// Gives lanes to the paths from switches without CAs, and routes to the switches themselves.
    ///
    /// Where the lanes do not suffice for this little traffic, it shares lane 0: the routes still
    /// arrive, and the verification names the cycle.
    fn route_management(
        &self,
        frugal: bool,
        descent: &mut Descent,
        lanes: &mut Lanes<'_>,
        routes: &mut Routes,
        load: &IdxVec<ChannelIdx, u64>,
        sls: &mut [Sl],
    ) {
        let (mut tree, mut installed) = (Tree::default(), Tree::default());
        let silent = self.senders.iter().any(|&senders| senders == 0);
        for target in self.fabric.switches().indices() {
            descent.aim(self.fabric, target);
            for end in self.lids.at_switch(target) {
                for lid in end.range.iter() {
                    if end.is_switch() {
                        if frugal {
                            let _ = lanes.grow(descent, load, &mut tree);
                        } else {
                            descent.lightest(load, &mut tree);
                            let _ = lanes.layer(descent.switches(), &tree, |_| true);
                        }
                        self.install(descent, &tree, lid, routes);
                    } else if silent {
                        self.read(descent, routes, lid, &mut installed);
                        let _ =
                            lanes.layer(descent.switches(), &installed, |at| self.senders[at] == 0);
                    } else {
                        continue;
                    }
                    lanes.note(descent.switches(), lid, routes.row_len(), sls);
                }
            }
        }
    }

    /// Reads a tree back from the tables.
    fn read(&self, descent: &Descent, routes: &Routes, lid: Lid, tree: &mut Tree) {
        tree.reset(descent.switches().len());
        for (at, &switch) in descent.switches().iter_enumerated().skip(1) {
            let channel = self.fabric.channel_at(switch, routes.port(switch, lid));
            let step = descent
                .steps(at)
                .iter()
                .find(|step| Some(step.channel) == channel);
            tree.take(at, step.copied().unwrap_or_default(), 0);
        }
    }

    /// Writes a tree's ports into the tables.
    fn install(&self, descent: &Descent, tree: &Tree, lid: Lid, routes: &mut Routes) {
        for (at, step) in tree.iter() {
            let port = self.fabric.channel(step.channel).port;
            routes.set_port(descent.switches()[at], lid, port);
        }
    }
}
