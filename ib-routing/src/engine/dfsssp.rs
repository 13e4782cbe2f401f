//! DFSSSP (`dfsssp`): the paths of SSSP, shared out over virtual lanes so that none can deadlock.
//!
//! Works on any fabric, connected or not. Every (switch, LID) gets a service level whose lane keeps an
//! acyclic channel dependency graph. If the lightest paths need more lanes than there are, trees are
//! chosen that reuse the turns of earlier ones: longer loads, fewer lanes (5 on an 8x8x8 torus). Time
//! O(LIDs * channels) and a repair of the order per new dependency. Source: Domke, Hoefler and Nagel,
//! "Deadlock-Free Oblivious Routing for Arbitrary Topologies", 2011.

use alloc::{vec, vec::Vec};

use ib_wire::{Lid, Sl};

use crate::{
    RoutingEngine,
    algo::{
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

/// # Errors
/// [`RouteError::TooFewVls`] if `options.vls()` lanes do not suffice for the paths between CAs.
pub fn route(fabric: &Fabric, lids: &LidMap, options: &RouteOptions) -> Result<Routes, RouteError> {
    let run = Run {
        fabric,
        lids,
        senders: senders(fabric, lids),
        layout: DependencyLayout::new(fabric),
        order: up_down_order(fabric),
        max: options.vls(),
        options,
    };
    run.route(false).or_else(|_| run.route(true))
}

struct Run<'a> {
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
        let mut routes = Routes::new(RoutingEngine::Dfsssp, self.fabric, self.lids);
        routes.set_exits(self.lids);
        let mut sls = vec![Sl::ZERO; routes.row_len() * self.fabric.num_switches()];
        let mut load = IdxVec::filled(self.fabric.channels().len(), 0);
        let mut lanes = Lanes::new(&self.layout, &self.order, self.max);
        let mut descent = Descent::new(self.fabric, hop_weights(self.fabric, self.options));
        let mut tree = Tree::default();
        let too_few = |_| RouteError::TooFewVls {
            engine: RoutingEngine::Dfsssp,
            available: self.max,
            needed: u16::from(self.max) + 1,
        };
        for target in self.fabric.switches().indices() {
            descent.aim(self.fabric, target);
            for end in self.lids.at_switch(target).filter(|end| !end.is_switch()) {
                for lid in end.range.iter() {
                    if frugal {
                        lanes.grow(&descent, &load, &mut tree).map_err(too_few)?;
                    } else {
                        descent.lightest(&load, &mut tree);
                        let sends = |switch| self.senders[switch] > 0;
                        lanes
                            .layer(descent.switches(), &tree, sends)
                            .map_err(too_few)?;
                    }
                    tree.add_load(&descent, &self.senders, &mut load);
                    self.install(&descent, &tree, lid, &mut routes);
                    lanes.note(descent.switches(), lid, routes.row_len(), &mut sls);
                }
            }
        }
        self.route_management(&mut descent, &mut lanes, &mut routes, &load, &mut sls);
        let vls = lanes.used();
        let sls = if vls > 1 {
            SlTable::BySwitch(sls)
        } else {
            SlTable::Uniform(Sl::ZERO)
        };
        routes.set_lanes(sls, VlMap::default(), vls);
        Ok(routes)
    }

    /// Gives lanes to the paths from switches without CAs, and routes to the switches themselves.
    ///
    /// Where the lanes do not suffice for this little traffic, it shares lane 0: the routes still
    /// arrive, and the verification names the cycle.
    fn route_management(
        &self,
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
                        descent.lightest(load, &mut tree);
                        let _ = lanes.layer(descent.switches(), &tree, |_| true);
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
