//! Routes: computed, verified, and only then written, block by block where they differ
//! (IBA vol. 1, 14.2.5.10 and 18.2.4).
//!
//! After a loss the routes in place are repaired: those that hold stay as they are.
//! Else engines are tried in the order of preference. Routes that loop or leave a pair unreachable that is
//! connected are not installed: the next engine is tried. What stands in a switch already is not
//! written again.

use alloc::{collections::BTreeMap, vec::Vec};

use ib_routing::{
    Fabric, LidMap, RouteOptions, Routes, SharedEngine, SwitchIdx, VerifyReport,
    engine::chain,
    repair::{Installed, has_grown, repair},
    verify,
};
use ib_smp::{LinearForwardingTable, SwitchInfo};
use ib_wire::{Guid, Lid, PKey};

use super::{Step, Sweep, multicast::TreePorts};
use crate::{
    SmConfig,
    event::Event,
    request::Request,
    subnet::{NodeIdx, PortRef},
};

/// What a sweep has worked out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) fabric: Fabric,
    pub(crate) lids: LidMap,
    /// Base LIDs by port GUID, of ports that are gone as well: who comes back finds its own.
    pub(crate) remembered: BTreeMap<Guid, Lid>,
    pub(crate) routes: Option<Routes>,
    /// The fabric and the LIDs that the routes were made for, once there are others.
    before: Option<(Fabric, LidMap)>,
    pub(crate) report: Option<VerifyReport>,
    /// How many of the engines were tried.
    tried: usize,
    /// All routes shall be computed anew, those that still hold as well.
    pub(crate) anew: bool,
    /// P_Key tables of the ports that do not hold what they should.
    pub(crate) p_keys: BTreeMap<PortRef, Vec<PKey>>,
    /// Whose port an alias GUID is, by port GUID, and in which block the port holds it.
    pub(crate) aliases: BTreeMap<Guid, (Guid, u8)>,
    /// Of each multicast group.
    pub(crate) trees: BTreeMap<Lid, TreePorts>,
}

impl Plan {
    /// The plan that the next sweep starts from.
    pub(super) fn again(self) -> Self {
        Self { tried: 0, ..self }
    }

    /// Keeps what the routes were made for, before the fabric and the LIDs become others.
    pub(super) fn keep_before(&mut self) {
        if self.before.is_none() && self.routes.is_some() {
            self.before = Some((core::mem::take(&mut self.fabric), self.lids.clone()));
        }
    }
}

impl Sweep {
    /// Repairs the routes in place, or asks the engines from the next one on for others.
    pub(super) fn compute_routes(&mut self, config: &SmConfig) {
        let (routes, before) = (self.plan.routes.take(), self.plan.before.take());
        self.plan.report = None;
        let options = RouteOptions {
            max_vls: self.usable_vls(config),
            ..config.route_options.clone()
        };
        let keeps = !core::mem::take(&mut self.plan.anew) && config.use_ucast_cache;
        if let (true, Some(routes), Some((fabric, lids))) = (keeps, routes, before) {
            let old = Installed {
                fabric: &fabric,
                lids: &lids,
                routes: &routes,
            };
            self.plan.routes = self.repair_routes(old, &options);
            if self.plan.routes.is_some() {
                return;
            }
        }
        let tried = self.plan.tried;
        for engine in engines(config).skip(tried) {
            self.plan.tried = self.plan.tried.saturating_add(1);
            match engine.route_and_report(&self.plan.fabric, &self.plan.lids, &options) {
                Ok((routes, report)) => {
                    self.plan.routes = Some(routes);
                    self.plan.report = report;
                    return;
                }
                Err(reason) => self.events.push_back(Event::RoutingFallback {
                    engine: engine.name(),
                    reason,
                }),
            }
        }
    }

    /// The routes in place, with new ones only where a loss broke them; `None` if all shall be new.
    fn repair_routes(&mut self, old: Installed<'_>, options: &RouteOptions) -> Option<Routes> {
        let Plan { fabric, lids, .. } = &self.plan;
        if old.routes.vls() > options.vls() || has_grown(old.fabric, fabric) {
            return None;
        }
        // An engine that cannot route what is left says so when it is asked next.
        let repaired = repair(old, fabric, lids, options, 0).ok()?;
        if let Some(reason) = repaired.recomputed {
            self.events.push_back(Event::RepairFailed(reason));
            return None;
        }
        let (orphaned, moved) = (repaired.orphaned, repaired.moved);
        if moved > 0 {
            self.events
                .push_back(Event::RoutesRepaired { orphaned, moved });
        }
        Some(repaired.routes)
    }

    /// Verifies the routes. Returns false if the next engine shall be tried.
    pub(super) fn verify_routes(&mut self, config: &SmConfig) -> bool {
        let Some(routes) = &self.plan.routes else {
            // No engine is left: what the switches hold stays.
            self.errors = self.errors.saturating_add(1);
            return true;
        };
        let engine = routes.engine().name();
        // An engine may have verified its routes already.
        let report = self.plan.report.take();
        let report = report.unwrap_or_else(|| verify(&self.plan.fabric, &self.plan.lids, routes));
        let holds = report.unreachable == 0 && report.loops == 0;
        // A loop eats the links; a missing route only misses.
        let is_last = self.plan.tried >= engines(config).count();
        let installed = holds || (is_last && report.loops == 0);
        self.plan.report = Some(report);
        self.events
            .push_back(Event::RoutesVerified { engine, installed });
        if !installed {
            self.plan.routes = None;
        }
        installed || is_last
    }

    /// Queues a Set of SwitchInfo for each switch that does not reach up to the highest LID yet, has
    /// a change of ports to acknowledge, or another lifetime of packets.
    pub(super) fn raise_tops(&mut self, config: &SmConfig) {
        self.queue_switch_sets(|sweep, node, info| {
            info.port_state_change() || sweep.switch_target(config, node).as_ref() != Some(info)
        });
    }

    /// Queues a Set of SwitchInfo for each switch that reaches beyond the highest LID.
    pub(super) fn lower_tops(&mut self, config: &SmConfig) {
        self.queue_switch_sets(|sweep, node, info| {
            sweep.switch_target(config, node).as_ref() != Some(info)
        });
    }

    /// Queues the blocks that differ: of as many switches as can be asked at once the first block of
    /// each, then the second, so that no switch gets all of its own at once; then of the next ones.
    pub(super) fn queue_lft_blocks(&mut self, config: &SmConfig) {
        let Some(routes) = &self.plan.routes else {
            return;
        };
        let (last, _) = LinearForwardingTable::block_of(routes.max_lid());
        // The walk is by block, and most nodes are no switches.
        let switches: Vec<_> = self.subnet.switches().map(|(node, _)| node).collect();
        for &node in &switches {
            if let Some(switch) = self.subnet.switch_mut(node) {
                switch.lft.reserve(last);
            }
        }
        for together in switches.chunks(config.max_wire_smps.max(1)) {
            for block in 0..=last {
                for &node in together {
                    if !self.is_stuck(block) && self.lft_block_differs(node, block) {
                        self.queue.push_back(Request::SetLft(node, block));
                    }
                }
            }
        }
    }

    fn lft_block_differs(&self, node: NodeIdx, block: u16) -> bool {
        let known = self.subnet.node(node).and_then(|node| node.switch.as_ref());
        let known = known.and_then(|switch| switch.lft.block(block));
        let wanted = self.lft_block(node, block);
        wanted.is_some() && wanted.as_ref() != known
    }

    /// A block of a switch's table as the routes have it.
    pub(super) fn routed_block(&self, node: NodeIdx, block: u16) -> Option<[u8; 64]> {
        let routes = self.plan.routes.as_ref()?;
        if !self.holds_lft_block(node, block) {
            return None;
        }
        let switch = self.routed(node)?;
        let start = usize::from(block).saturating_mul(64);
        routes.lft(switch).get(start..)?.first_chunk().copied()
    }

    /// What a Set of SwitchInfo sends.
    pub(crate) fn switch_set(&self, config: &SmConfig, node: NodeIdx) -> Option<SwitchInfo> {
        let mut set = self.switch_target(config, node)?;
        let changed = self
            .subnet
            .node(node)?
            .switch
            .as_ref()?
            .info?
            .port_state_change();
        set.set_port_state_change(changed);
        Some(set)
    }

    /// Takes in the answer to a Set of SwitchInfo. Returns whether the switch did as it was told.
    pub(super) fn on_switch_set(&mut self, node: NodeIdx, mut info: SwitchInfo) -> bool {
        // A change that came after the Set shows in the next light sweep.
        info.set_port_state_change(false);
        let wanted = self.wanted_top(node);
        if let Some(switch) = self.subnet.switch_mut(node) {
            switch.info = Some(info);
        }
        wanted.is_none_or(|top| info.linear_fdb_top() == top)
    }

    /// SwitchInfo as it should be in this step, with no change of ports to acknowledge.
    pub(super) fn switch_target(&self, config: &SmConfig, node: NodeIdx) -> Option<SwitchInfo> {
        let mut info = self.subnet.node(node)?.switch.as_ref()?.info?;
        info.set_life_time_value(config.packet_life_time)
            .set_port_state_change(false);
        if let Some(top) = self.wanted_top(node) {
            info.set_linear_fdb_top(top);
        }
        if matches!(self.step, Step::LowerTops | Step::RegroupTops)
            && config.use_mfttop
            && let Some(top) = self.multicast_top(node, &info)
        {
            info.set_multicast_fdb_top(top);
        }
        Some(info)
    }

    /// The highest LID, and not below what the switch forwards already until the tables are written.
    fn wanted_top(&self, node: NodeIdx) -> Option<Lid> {
        let max = self.plan.routes.as_ref()?.max_lid();
        let max = max.min(self.last_lid_of(node));
        let now = self.subnet.node(node)?.switch.as_ref()?.info?;
        Some(match self.step {
            Step::LowerTops | Step::RegroupTops => max,
            _ => max.max(now.linear_fdb_top()),
        })
    }

    fn routed(&self, node: NodeIdx) -> Option<SwitchIdx> {
        self.subnet.node(node)?.switch.as_ref()?.routed
    }

    pub(super) fn queue_switch_sets(
        &mut self,
        choose: impl Fn(&Self, NodeIdx, &SwitchInfo) -> bool,
    ) {
        let mut sets = Vec::new();
        for (node, record) in self.subnet.nodes() {
            if let Some(info) = record.switch.as_ref().and_then(|switch| switch.info)
                && self.routed(node).is_some()
                && choose(self, node, &info)
            {
                sets.push(Request::SetSwitchInfo(node));
            }
        }
        self.queue.extend(sets);
    }

    /// Data VLs that every link between switches has.
    fn usable_vls(&self, config: &SmConfig) -> u8 {
        let mut least = config.max_op_vls.max(1);
        for (_, node) in self.subnet.nodes().filter(|(_, node)| node.is_switch()) {
            for (_, port) in node.ports() {
                let to_switch = port
                    .peer
                    .and_then(|peer| self.subnet.node(peer.node))
                    .is_some_and(|peer| peer.is_switch());
                if let Some(info) = port.info.filter(|_| to_switch) {
                    least = least.min(info.vl_cap().0.max(1));
                }
            }
        }
        ib_smp::VlCap(least).count().unwrap_or(1)
    }
}

/// The engines to try, in order.
fn engines(config: &SmConfig) -> impl Iterator<Item = SharedEngine> + '_ {
    chain::engines(&config.routing_engines, config.no_fallback)
}
