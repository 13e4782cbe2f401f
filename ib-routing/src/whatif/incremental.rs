//! Failures of many cables and switches, one at a time, each repaired and verified only where it has an effect.
//!
//! The routes are verified and [counted](PathCounts) once. The failure of a cable then affects only the LIDs whose entries
//! at its two ends lead over it. For each of these LIDs the repair gives a new port to the switches that lost their path,
//! with the code that repairs whole fabrics. The path counts take the lost paths away and add the new ones, which says how
//! busy channels are and whether they can deadlock. Then all changes are undone. A switch fails with all its cables; the
//! paths from it and to its ports get no new port. The cable of a CA takes paths away and changes no other. A failure that
//! cannot be decided in this manner is recomputed by the caller.

mod failure;

use alloc::vec::Vec;

use ib_wire::{Guid, Lid, PortNum, Vl};

use self::failure::Failure;
use super::{Loss, Outcome, VerifySummary, cut_off, fail};
use crate::{
    algo::parallel,
    fabric::{Fabric, lost::LostChannels},
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::{Destination, LidMap},
    options::RouteOptions,
    repair::{
        RoutesInUse,
        lanes::{Lanes, Protected},
        remap::remap,
        repairer::{CutOff, Repairer, Write},
        rule::{Directions, Rule, turns_up},
    },
    routes::{Routes, SlTable},
    verify::{
        PathCounts, highest_lane,
        path_counts::{
            Edge, Edges,
            joined_paths::{JoinedPaths, Sources},
            lost_paths,
        },
        survey::survey,
        verify_on,
        walk::{Columns, NO_CHANNEL, PortTable},
    },
};

/// Least number of failures per worker, because a worker begins with a copy of the tables.
const SHARE: usize = 16;

/// Largest number of shares. It is high enough for all threads to finish at about the same time.
const SHARES: usize = 64;

/// See [`super::fail_each`].
pub(super) fn fail_each(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    before: &Routes,
    losses: &[Loss],
    done: &(dyn Fn() + Sync),
) -> Vec<Outcome> {
    // The threads are shared out among the failures, so each failure runs on one.
    let alone = RouteOptions {
        threads: 1,
        ..options.clone()
    };
    let whole = RoutesInUse {
        fabric,
        lids,
        routes: before,
    };
    let rule = rule(whole, options);
    let base = rule
        .as_ref()
        .and_then(|(rule, refused)| Base::new(whole, &alone, (rule, refused), options.threads));
    let shares = (losses.len() / SHARE).clamp(1, SHARES);
    let outcomes = parallel::map(options.threads, shares, |share| {
        let range = share * losses.len() / shares..(share + 1) * losses.len() / shares;
        let mut trial = base.as_ref().map(Trial::new);
        let outcome = |&loss: &Loss| {
            let quick = trial.as_mut().and_then(|trial| trial.fail(loss));
            let outcome = quick.unwrap_or_else(|| fail(fabric, lids, &alone, before, loss));
            done();
            outcome
        };
        let losses = losses.get(range).unwrap_or_default();
        losses.iter().map(outcome).collect::<Vec<_>>()
    });
    outcomes.into_iter().flatten().collect()
}

/// The rule that a repair follows after a failure, as long as the routes that are left break the better ones, by these
/// directions. `None` if the rule depends on what fails.
fn rule(whole: RoutesInUse<'_>, options: &RouteOptions) -> Option<(Rule, Vec<Directions>)> {
    let RoutesInUse {
        fabric,
        lids,
        routes,
    } = whole;
    let remapped = remap(whole, fabric, lids, true);
    let between_cas = || {
        let lanes = highest_lane(routes) + 1;
        let [between_cas, ..] =
            survey(options.threads, fabric, lids, routes, lanes, |_| true).graphs;
        between_cas
    };
    let rules = Rule::of(whole, &remapped, fabric, lids, options, between_cas);
    let first = rules.rules.into_iter().next()?;
    // Routes that break all directions of the whole fabric may obey those of what is left of it.
    let is_certain = matches!(first, Rule::UpDown(_)) || rules.refused.is_empty();
    is_certain.then_some((first, rules.refused))
}

/// The data about the whole fabric.
struct Base<'a> {
    whole: RoutesInUse<'a>,
    /// The state from which the repair of each failure starts.
    repairer: Repairer<'a>,
    lanes: Lanes,
    counts: PathCounts,
    /// The dependencies of traffic between CAs that break each of the better rules.
    breaks: Vec<Vec<Edge>>,
    /// All tables by LID, in which a path to one LID is followed without long steps in memory.
    columns: Columns,
    table: PortTable,
    findings: VerifySummary,
    cut_off: Vec<Guid>,
}

impl<'a> Base<'a> {
    /// `None` if every failure has to be recomputed.
    fn new(
        whole: RoutesInUse<'a>,
        options: &'a RouteOptions,
        (rule, refused): (&'a Rule, &[Directions]),
        threads: usize,
    ) -> Option<Self> {
        let RoutesInUse {
            fabric,
            lids,
            routes: before,
        } = whole;
        if before.vl_map().highest() == Vl::MANAGEMENT {
            return None;
        }
        let report = verify_on(threads, fabric, lids, before);
        let counts = PathCounts::new(fabric, lids, before, &report)?;
        let mut kinds = Protected::KINDS.into_iter();
        let lanes = kinds.find_map(|protected| counts.lanes_with(protected));
        let guaranteed = before.engine().guarantees(options).deadlock_free;
        let mut lanes = match lanes {
            Some(lanes) => lanes,
            None if guaranteed => return None,
            None => counts.lanes_with(Protected::Nothing)?,
        };
        let remapped = remap(whole, fabric, lids, true);
        let repairer = Repairer::new(&remapped, counts.load(), fabric, lids, options, rule);
        let mut repairer = repairer.with_lengths(counts.lengths());
        let table = PortTable::new(fabric);
        lanes.record();
        repairer.record();
        let breaks = refused
            .iter()
            .map(|classes| counts.between_cas(|from, to| turns_up(classes, from, to)));
        Some(Self {
            whole,
            repairer,
            lanes,
            breaks: breaks.collect(),
            counts,
            columns: Columns::new(fabric, &table, before),
            table,
            findings: VerifySummary::from(&report),
            cut_off: cut_off(fabric, lids),
        })
    }

    /// The channel by which a switch sends to a LID.
    fn next(&self, switch: SwitchIdx, lid: Lid) -> ChannelIdx {
        self.columns.next(&self.table, switch, lid)
    }

    /// The same channel and the switch at its end; `None` at the LID's own switch.
    fn hop(&self, switch: SwitchIdx, lid: Lid) -> Option<(ChannelIdx, SwitchIdx)> {
        let channel = self.next(switch, lid);
        (channel != NO_CHANNEL).then(|| (channel, self.table.to(channel)))
    }

    /// Takes away the load of the paths from a CA's port.
    fn unload(&self, port: &Destination, load: &mut IdxVec<ChannelIdx, u32>) -> Option<()> {
        let own = u32::from(port.range.lmc().lid_count());
        let destinations = self.whole.lids.destinations().iter();
        let other_cas = destinations.filter(|end| !end.is_switch() && end.range != port.range);
        for lid in other_cas.flat_map(|end| end.range.iter()) {
            let mut at = port.switch?;
            while let Some((channel, to)) = self.hop(at, lid) {
                load[channel] -= own;
                at = to;
            }
        }
        Some(())
    }

    /// The outcome of a failure after which the ports that are not cut off reach each other: the number of entries that
    /// moved, whether traffic between CAs cannot deadlock, and the highest load are given.
    fn outcome(
        &self,
        failure: &Failure<'_>,
        (moved, deadlock_free, load_max): (u64, bool, u32),
    ) -> Outcome {
        let detached = failure.detached.iter().map(|port| port.guid);
        let (unreachable, unreachable_ca) = failure.unreachable(self.whole.lids);
        Outcome {
            loss: failure.loss,
            cut_off: self.cut_off.iter().copied().chain(detached).collect(),
            moved,
            recomputed: None,
            report: Ok(VerifySummary {
                unreachable: self.findings.unreachable + unreachable,
                unreachable_ca: self.findings.unreachable_ca + unreachable_ca,
                loops: self.findings.loops,
                deadlock_free,
                load_max: load_max.into(),
            }),
        }
    }
}

/// The state of one failure.
struct Trial<'b, 'a> {
    base: &'b Base<'a>,
    repairer: Repairer<'a>,
    lanes: Lanes,
    counts: PathCounts,
    /// The dependencies that the failure changes.
    edges: Edges,
    paths: JoinedPaths,
}

impl<'b, 'a> Trial<'b, 'a> {
    fn new(base: &'b Base<'a>) -> Self {
        Self {
            base,
            repairer: base.repairer.clone(),
            lanes: base.lanes.clone(),
            counts: base.counts.on_trial(),
            edges: Edges::default(),
            paths: JoinedPaths::new(base.whole.fabric.num_switches()),
        }
    }

    /// `None` if the failure has to be recomputed.
    fn fail(&mut self, loss: Loss) -> Option<Outcome> {
        let failure = Failure::new(self.base.whole, loss)?;
        if !self.base.counts.keeps_cycles_without(&failure.dead) {
            return None;
        }
        self.lanes.detach(&failure.dead);
        self.repairer.dead.clone_from(&failure.dead);
        let outcome = match failure.dead.is_empty() {
            true => self.detach(&failure),
            false => self.repair(&failure),
        };
        self.repairer.dead.clear();
        self.repairer.undo();
        self.lanes.undo();
        self.counts.undo(&self.base.counts);
        let load = self.base.repairer.load.as_slice();
        self.repairer.load.as_mut_slice().copy_from_slice(load);
        self.edges.clear();
        outcome
    }

    /// The outcome of a failure that takes no channel: only the paths from and to ports that are cut off are gone.
    fn detach(&mut self, failure: &Failure<'_>) -> Option<Outcome> {
        let base = self.base;
        let switches: Vec<SwitchIdx> = base.whole.fabric.switches().indices().collect();
        for port in &failure.detached {
            for lid in port.range.iter() {
                let switches = switches.clone();
                self.take_out(failure, port, &CutOff { lid, switches })?;
            }
        }
        let is_alone = |port: &&Destination| {
            let own = u64::from(port.range.lmc().lid_count());
            port.switch
                .is_some_and(|switch| self.repairer.senders[switch] == own)
        };
        let deadlock_free = if base.findings.deadlock_free {
            // Fewer dependencies close no cycle.
            true
        } else if failure.detached.iter().any(is_alone) {
            // The dependencies of paths from this switch are not counted any more, so those of a cycle may be gone.
            return None;
        } else {
            self.counts.deadlock_free_after(&self.edges)?
        };
        let mut load = self.counts.load().clone();
        for port in &failure.detached {
            base.unload(port, &mut load)?;
        }
        let load_max = load.iter().copied().max().unwrap_or(0);
        Some(base.outcome(failure, (0, deadlock_free, load_max)))
    }

    fn repair(&mut self, failure: &Failure<'_>) -> Option<Outcome> {
        let base = self.base;
        let gone = LostChannels::new(failure.dead.clone());
        let touched = lost_paths(base.whole, &gone, base.counts.lengths(), |channel, lid| {
            base.next(channel.to, lid) == channel.reverse
        });
        let touched = touched
            .into_iter()
            .filter_map(|cut_off| Some((base.whole.lids.owner(cut_off.lid)?, cut_off)));
        let mut touched: Vec<(&Destination, CutOff)> = touched.collect();
        for (owner, cut_off) in &touched {
            self.take_out(failure, owner, cut_off)?;
        }
        // If what is left obeys a better rule, the repair follows that.
        let mut breaks = base.breaks.iter();
        if !breaks.all(|edges| self.counts.has_any_between_cas(edges)) {
            return None;
        }
        failure.keep_left(&mut touched);
        if self.needs_lane(failure, &touched) {
            return None;
        }
        let mut moved = 0;
        for of_switches in [false, true] {
            let touched = touched.iter();
            for (owner, CutOff { lid, switches }) in
                touched.filter(|(owner, _)| owner.is_switch() == of_switches)
            {
                let first = self.repairer.journal().len();
                let in_place = |switch| base.next(switch, *lid);
                self.repairer
                    .reconnect_these(owner, *lid, switches, &in_place, &mut self.lanes)
                    .ok()?;
                let writes = self.repairer.journal().get(first..)?.iter();
                let now = |switch| self.repairer.routes.port(switch, *lid);
                let differs = |write: &&Write| {
                    let Write::Port(switch, ..) = **write else {
                        return false;
                    };
                    now(switch) != base.whole.routes.port(switch, *lid)
                };
                moved += writes.filter(differs).count() as u64;
            }
        }
        for (owner, cut_off) in &touched {
            self.verify(owner, cut_off)?;
        }
        let deadlock_free = self.counts.deadlock_free_after(&self.edges)?;
        let load_max = self.counts.load().iter().copied().max().unwrap_or(0);
        Some(base.outcome(failure, (moved, deadlock_free, load_max)))
    }

    /// Returns true if a LID that no switch reaches any more has a service level of its own: this is chosen anew, which
    /// cannot be undone.
    fn needs_lane(&self, failure: &Failure<'_>, touched: &[(&Destination, CutOff)]) -> bool {
        let left = self.base.whole.fabric.num_switches() - usize::from(failure.switch.is_some());
        let by_destination = matches!(self.repairer.routes.sls(), SlTable::ByDestination(_));
        let mut touched = touched.iter();
        by_destination && touched.any(|(_, cut_off)| cut_off.switches.len() + 1 == left)
    }

    /// Takes the lost paths to a LID away, and removes its entries over dead channels.
    fn take_out(
        &mut self,
        failure: &Failure<'_>,
        owner: &Destination,
        cut_off: &CutOff,
    ) -> Option<()> {
        let base = self.base;
        let &CutOff { lid, ref switches } = cut_off;
        self.paths
            .follow(switches, |switch| base.hop(switch, lid), |_| true)?;
        if !owner.is_switch() {
            let Repairer { load, senders, .. } = &mut self.repairer;
            // CAs are counted by 32 bits in all counts of paths.
            let sources = |switch, _| Sources::at_switch(senders[switch] as u32);
            self.paths.for_each_part(sources, |channel, _, sources| {
                if let Some(load) = load.find_mut(channel) {
                    *load -= u64::from(sources.lids);
                }
            });
        }
        let repairer = &self.repairer;
        let lane = |switch| lane(repairer, switch, lid);
        self.counts
            .count_paths(&mut self.paths, (owner, 1), lane, false, &mut self.edges);
        for &channel in &failure.dead {
            let from = base.whole.fabric.channel(channel).from;
            if base.next(from, lid) == channel {
                self.repairer.set_port(from, lid, PortNum::UNREACHABLE);
            }
        }
        Some(())
    }

    /// Follows the new paths to a LID and counts them; `None` if one does not arrive.
    fn verify(&mut self, owner: &Destination, cut_off: &CutOff) -> Option<()> {
        let &CutOff { lid, ref switches } = cut_off;
        let (fabric, repairer) = (self.base.whole.fabric, &self.repairer);
        let port = |switch| repairer.routes.port(switch, lid);
        let next = |switch| {
            let channel = fabric.channel_at(switch, port(switch))?;
            let is_left = !repairer.dead.contains(&channel);
            is_left.then(|| (channel, fabric.channel(channel).to))
        };
        let arrives = |switch| owner.switch == Some(switch) && owner.exit == port(switch);
        self.paths.follow(switches, next, arrives)?;
        let lane = |switch| lane(repairer, switch, lid);
        if switches
            .iter()
            .any(|&switch| lane(switch) >= self.counts.lanes())
        {
            return None;
        }
        self.counts
            .count_paths(&mut self.paths, (owner, 1), lane, true, &mut self.edges);
        Some(())
    }
}

/// The lane of packets from a switch to a LID. Service levels do not differ by pair.
fn lane(repairer: &Repairer<'_>, switch: SwitchIdx, lid: Lid) -> u8 {
    repairer.lanes_of(switch, lid).trailing_zeros() as u8
}

#[cfg(test)]
mod tests {
    use ib_wire::PortNum;

    use super::*;
    use crate::{
        engine,
        fabric::{FabricBuilder, NewNode, NodeType, PortRef},
        generate::FabricSpec,
        lid::LidOptions,
        whatif::{links, switches},
    };

    /// A tree of two levels whose two roots have a CA each, so that routes by both as roots are not possible.
    fn roots_with_cas() -> Fabric {
        let mut builder = FabricBuilder::new();
        let mut guids = (1..).map(Guid);
        let mut node = |builder: &mut FabricBuilder, type_, num_ports| {
            let node = NewNode {
                type_,
                guid: guids.next().unwrap(),
                num_ports,
                ..NewNode::default()
            };
            builder.add_node(node).unwrap()
        };
        let at = |node, port| PortRef {
            node,
            port: PortNum(port),
        };
        let roots = [0; 2].map(|_| node(&mut builder, NodeType::SWITCH, 4));
        let leaves = [0; 3].map(|_| node(&mut builder, NodeType::SWITCH, 10));
        for (leaf, up) in leaves.into_iter().zip(1..) {
            for (root, port) in roots.into_iter().zip(1..) {
                builder.add_link(at(leaf, port), at(root, up)).unwrap();
            }
        }
        let cas_of_leaves = leaves.map(|leaf| (leaf, 3..11)).into_iter();
        for (switch, ports) in cas_of_leaves.chain(roots.map(|root| (root, 4..5))) {
            for port in ports {
                let ca = node(&mut builder, NodeType::CA, 1);
                builder.add_link(at(ca, 1), at(switch, port)).unwrap();
            }
        }
        builder.build()
    }

    #[test]
    fn routes_by_the_second_rule_need_not_be_computed_anew() {
        let fabric = roots_with_cas();
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        let options = RouteOptions {
            threads: 1,
            ..RouteOptions::default()
        };
        let before = engine::UPDN.route(&fabric, &lids, &options).unwrap();
        let whole = RoutesInUse {
            fabric: &fabric,
            lids: &lids,
            routes: &before,
        };
        let (rule, refused) = rule(whole, &options).unwrap();
        assert_eq!(refused.len(), 1, "the routes obey the roots with CAs");
        let base = Base::new(whole, &options, (&rule, &refused), 1).unwrap();
        let mut trial = Trial::new(&base);
        let mut quick = 0;
        for loss in links(&fabric, false) {
            let anew = fail(&fabric, &lids, &options, &before, loss);
            if let Some(outcome) = trial.fail(loss) {
                assert_eq!(outcome, anew, "{loss:?}");
                quick += 1;
            }
        }
        // Without a cable of the root by which the routes are made, a leaf has no path by this rule. One cable of the
        // other root carries all that the better rule forbids, which holds without it.
        assert_eq!(quick, 2);
    }

    #[test]
    fn cables_of_cas_and_switches_of_a_tree_need_not_be_computed_anew() {
        let spec = "fat-tree:radix=6,levels=3".parse::<FabricSpec>();
        let fabric = spec.unwrap().build().unwrap();
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        let options = RouteOptions {
            threads: 1,
            ..RouteOptions::default()
        };
        for engine in [&engine::MINHOP, &engine::UPDN, &engine::SSSP] {
            let before = engine.route(&fabric, &lids, &options).unwrap();
            let whole = RoutesInUse {
                fabric: &fabric,
                lids: &lids,
                routes: &before,
            };
            let (rule, refused) = rule(whole, &options).unwrap();
            let base = Base::new(whole, &options, (&rule, &refused), 1).unwrap();
            let mut trial = Trial::new(&base);
            for loss in links(&fabric, true).chain(switches(&fabric)) {
                let anew = fail(&fabric, &lids, &options, &before, loss);
                assert_eq!(trial.fail(loss), Some(anew), "{engine}");
            }
        }
    }
}
