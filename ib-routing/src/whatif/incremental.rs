//! Failures of many cables, one at a time, each repaired and verified only where it has an effect.
//!
//! The routes are read once: their loads, their dependencies with a topological order, and every table by LID. The
//! failure of a cable then affects only the LIDs whose entries at its two ends lead over it. For each of these LIDs the
//! repair gives a new port to the switches that lost their path, with the code that repairs whole fabrics. The result
//! is followed from every switch: it must arrive, its load replaces the load of the old tree, and the dependencies of
//! its CA traffic must be among those known to be free of cycles. Then all changes are undone. A failure that cannot be
//! decided in this manner is recomputed by the caller.

use alloc::vec::Vec;

use ib_wire::{Guid, Lid, PortNum, Vl};

use super::{Loss, Outcome, VerifySummary, cut_off, fail};
use crate::{
    algo::{
        channel_graph::DependencyLayout,
        dependency::{DependencyGraph, Vertex},
        lanes::up_down_order,
        parallel,
        shortest_path_dag::senders,
    },
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::{Destination, LidMap},
    options::RouteOptions,
    repair::{
        RoutesInUse,
        lanes::{Lanes, Protected},
        remap::remap,
        repairer::{Repairer, Write},
        rule::Rule,
    },
    routes::Routes,
    verify::{
        highest_lane,
        survey::survey,
        verify_on,
        walk::{Columns, NO_CHANNEL, PortTable, add_upstream},
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
    let layout = DependencyLayout::new(fabric);
    let order = up_down_order(fabric, &senders(fabric, lids));
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
        .and_then(|rule| Base::new(whole, &alone, rule, &layout, &order, options.threads));
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

/// The rule that a repair follows after every failure; `None` if that depends on what fails.
fn rule(whole: RoutesInUse<'_>, options: &RouteOptions) -> Option<Rule> {
    let RoutesInUse {
        fabric,
        lids,
        routes,
    } = whole;
    let lanes = highest_lane(routes) + 1;
    let found = survey(options.threads, fabric, lids, routes, lanes, |_| true);
    let remapped = remap(whole, fabric, lids, false);
    let [between_cas, ..] = found.graphs;
    let rules = Rule::of(whole, &remapped, fabric, lids, options, || between_cas);
    let first = rules.rules.into_iter().next();
    first.filter(|_| !rules.best_refused)
}

/// The data about the whole fabric.
struct Base<'a, 'g> {
    fabric: &'a Fabric,
    lids: &'a LidMap,
    before: &'a Routes,
    /// The state from which the repair of each failure starts.
    repairer: Repairer<'a>,
    lanes: Lanes<'g>,
    columns: Columns,
    table: PortTable,
    findings: VerifySummary,
    cut_off: Vec<Guid>,
    /// The cycles because of which `lanes` protect no more traffic than they do.
    cycles: Vec<Vec<Vertex>>,
    /// For a CA deadlock: the LIDs that use each dependency of a cycle.
    users: Vec<Vec<Lid>>,
}

impl<'a, 'g> Base<'a, 'g> {
    /// `None` if every failure has to be recomputed.
    fn new(
        whole: RoutesInUse<'a>,
        options: &'a RouteOptions,
        rule: &'a Rule,
        layout: &'g DependencyLayout,
        order: &'g [ChannelIdx],
        threads: usize,
    ) -> Option<Self> {
        let RoutesInUse {
            fabric,
            lids,
            routes: before,
        } = whole;
        let map = before.vl_map();
        if !map.is_uniform() || map.highest() == Vl::MANAGEMENT {
            return None;
        }
        let found = survey(
            threads,
            fabric,
            lids,
            before,
            highest_lane(before) + 1,
            |_| true,
        );
        if !found.incomplete.is_empty() {
            return None;
        }
        let [between_cas, ca_switch, between_switches] = found.graphs;
        let mut all = between_cas.clone();
        all.merge(&ca_switch);
        all.merge(&between_switches);
        let mut cycles = Vec::new();
        let mut lanes_of = |graph: &DependencyGraph, protected| {
            let lanes = Lanes::new(layout, order, graph, protected);
            cycles.extend(graph.order().err().filter(|_| lanes.is_none()));
            lanes
        };
        let mut lanes = lanes_of(&all, Protected::All)
            .or_else(|| lanes_of(&between_cas, Protected::BetweenCas));
        let remapped = remap(whole, fabric, lids, false);
        let mut repairer = Repairer::new(&remapped, &found.load, fabric, lids, options, rule);
        let table = PortTable::new(fabric);
        let columns = Columns::new(fabric, &table, before);
        if lanes.is_none() {
            if before.engine().guarantees(options).deadlock_free {
                return None;
            }
            lanes = Some(Lanes::unprotected(layout, order));
        }
        let mut lanes = lanes?;
        lanes.record();
        repairer.record();
        let mut base = Self {
            fabric,
            lids,
            before,
            repairer,
            lanes,
            columns,
            table,
            findings: VerifySummary::from(&verify_on(threads, fabric, lids, before)),
            cut_off: cut_off(fabric, lids),
            cycles,
            users: Vec::new(),
        };
        if base.lanes.protected() == Protected::Nothing {
            base.users = base.users_of(base.cycles.last()?);
        }
        Some(base)
    }

    /// The LIDs whose CA traffic takes each edge of a cycle.
    fn users_of(&self, cycle: &[Vertex]) -> Vec<Vec<Lid>> {
        let ends = self.lids.destinations().iter();
        let cas = ends.filter(|end| !end.is_switch() && end.switch.is_some());
        let lids: Vec<Lid> = cas.flat_map(|end| end.range.iter()).collect();
        let users = edges(cycle).map(|(from, to)| {
            let takes = |lid: &&Lid| self.takes(**lid, &[], from, to);
            lids.iter().filter(takes).copied().collect()
        });
        users.collect()
    }

    /// The channel by which a switch sends to a LID.
    fn next(&self, switch: SwitchIdx, lid: Lid) -> ChannelIdx {
        self.columns.next(&self.table, switch, lid)
    }

    /// The path from a switch to a LID.
    fn path(&self, switch: SwitchIdx, lid: Lid) -> impl Iterator<Item = ChannelIdx> + '_ {
        let mut here = switch;
        let channels = core::iter::from_fn(move || {
            let channel = self.next(here, lid);
            if channel == NO_CHANNEL {
                return None;
            }
            here = self.table.to(channel);
            Some(channel)
        });
        channels.take(self.fabric.num_switches())
    }

    /// Adds the switches whose path to a LID passes one of `found`, in an order in which each follows its next hop.
    fn add_upstream(&self, lid: Lid, found: &mut Vec<SwitchIdx>) {
        add_upstream(self.fabric, found, |channel| {
            self.next(channel.to, lid) == channel.reverse
        });
    }

    /// Returns true if CAs at other switches than `except` (in order, with all upstream) send to a LID by this
    /// dependency.
    fn takes(&self, lid: Lid, except: &[SwitchIdx], from: Vertex, to: Vertex) -> bool {
        let ends = self.fabric.channel(from.channel);
        if self.next(ends.from, lid) != from.channel || self.next(ends.to, lid) != to.channel {
            return false;
        }
        let mut upstream = Vec::from([ends.from]);
        self.add_upstream(lid, &mut upstream);
        upstream.iter().any(|&switch| {
            except.binary_search(&switch).is_err()
                && self.repairer.senders[switch] > 0
                && self.repairer.lanes_of(switch, lid) >> from.lane & 1 == 1
        })
    }
}

/// The edges of a cycle, from its first vertex on.
fn edges(cycle: &[Vertex]) -> impl Iterator<Item = (Vertex, Vertex)> + '_ {
    let after = cycle.iter().cycle().skip(1);
    cycle.iter().copied().zip(after.copied())
}

/// The state of one failure.
struct Trial<'b, 'a, 'g> {
    base: &'b Base<'a, 'g>,
    repairer: Repairer<'a>,
    lanes: Lanes<'g>,
    /// CA-pair routes on each channel, by the paths that were followed.
    load: IdxVec<ChannelIdx, u64>,
    /// For a CA deadlock: whether each dependency of the cycle is no longer known to be used by a CA.
    unused: Vec<bool>,
}

/// A LID whose routes use the cable.
struct Touched<'a> {
    lid: Lid,
    owner: &'a Destination,
    /// The switches that lost their path, in order.
    cut_off: Vec<SwitchIdx>,
}

impl<'b, 'a, 'g> Trial<'b, 'a, 'g> {
    fn new(base: &'b Base<'a, 'g>) -> Self {
        Self {
            base,
            repairer: base.repairer.clone(),
            lanes: base.lanes.clone(),
            load: base.repairer.load.clone(),
            unused: Vec::new(),
        }
    }

    /// `None` if the failure has to be recomputed.
    fn fail(&mut self, loss: Loss) -> Option<Outcome> {
        let Loss::Link(one, other) = loss else {
            return None;
        };
        let fabric = self.base.fabric;
        let mut dead = Vec::new();
        for end in [one, other] {
            dead.push(fabric.channel_at(fabric.switch_of(end.node)?, end.port)?);
        }
        let mut on_cycles = self.base.cycles.iter().flatten();
        if on_cycles.any(|vertex| dead.contains(&vertex.channel)) {
            return None;
        }
        self.lanes.detach(&dead);
        self.repairer.dead = dead;
        let outcome = self.repair(loss);
        self.repairer.dead.clear();
        self.repairer.undo();
        self.lanes.undo();
        let load = self.base.repairer.load.as_slice();
        self.repairer.load.as_mut_slice().copy_from_slice(load);
        self.load.as_mut_slice().copy_from_slice(load);
        outcome
    }

    fn repair(&mut self, loss: Loss) -> Option<Outcome> {
        let touched = self.touched();
        for touched in &touched {
            self.take_out(touched);
        }
        self.find_unused(&touched);
        let mut moved = 0;
        for touched in &touched {
            let first = self.repairer.journal().len();
            let Touched {
                lid,
                owner,
                cut_off,
            } = touched;
            self.repairer
                .reconnect_these(owner, *lid, cut_off, &mut self.lanes)
                .ok()?;
            let writes = self.repairer.journal().get(first..)?.iter();
            let now = |switch| self.repairer.routes.port(switch, *lid);
            let differs = |write: &&Write| {
                let Write::Port(switch, ..) = **write else {
                    return false;
                };
                now(switch) != self.base.before.port(switch, *lid)
            };
            moved += writes.filter(differs).count() as u64;
        }
        for touched in &touched {
            self.verify(touched)?;
        }
        // Without this cycle the routes may be free of deadlock, or may have another cycle.
        let deadlock_free = self.lanes.protected() != Protected::Nothing;
        if !deadlock_free && self.unused.contains(&true) {
            return None;
        }
        Some(Outcome {
            loss,
            cut_off: self.base.cut_off.clone(),
            moved,
            recomputed: None,
            report: Ok(VerifySummary {
                deadlock_free,
                load_max: self.load.iter().copied().max().unwrap_or(0),
                ..self.base.findings
            }),
        })
    }

    /// The LIDs with an entry over a dead channel, those of CAs first, in their order.
    fn touched(&self) -> Vec<Touched<'a>> {
        let base = self.base;
        let mut over = Vec::new();
        for &channel in &self.repairer.dead {
            let ends = base.fabric.channel(channel);
            let row = (0..).map(Lid).zip(base.before.lft(ends.from));
            let used = row.filter(|(_, port)| PortNum(**port) == ends.port);
            let owned = used.filter_map(|(lid, _)| Some((lid, base.lids.owner(lid)?)));
            over.extend(owned.map(|(lid, owner)| (owner.is_switch(), lid, ends.from, owner)));
        }
        over.sort_unstable_by_key(|&(of_switch, lid, switch, _)| (of_switch, lid, switch));
        let groups = over.chunk_by(|(_, one, ..), (_, other, ..)| one == other);
        let touched = groups.filter_map(|group| {
            let &(_, lid, _, owner) = group.first()?;
            let mut cut_off: Vec<SwitchIdx> = group.iter().map(|&(.., switch, _)| switch).collect();
            base.add_upstream(lid, &mut cut_off);
            cut_off.sort_unstable();
            cut_off.dedup();
            Some(Touched {
                lid,
                owner,
                cut_off,
            })
        });
        touched.collect()
    }

    /// Removes a LID's entries over dead channels, and subtracts the paths through them from the loads.
    fn take_out(&mut self, touched: &Touched<'_>) {
        let &Touched { lid, owner, .. } = touched;
        for &switch in touched.cut_off.iter().filter(|_| !owner.is_switch()) {
            let routes = self.repairer.senders[switch];
            for channel in self.base.path(switch, lid).filter(|_| routes > 0) {
                self.load[channel] -= routes;
                self.repairer.load[channel] -= routes;
            }
        }
        let dead = self.repairer.dead.iter();
        let ends: Vec<_> = dead
            .map(|&at| (at, self.base.fabric.channel(at).from))
            .collect();
        for (channel, from) in ends {
            if self.base.next(from, lid) == channel {
                self.repairer.set_port(from, lid, PortNum::UNREACHABLE);
            }
        }
    }

    /// Marks the dependencies of the cycle that no CA is known to use by an unchanged path.
    fn find_unused(&mut self, touched: &[Touched<'_>]) {
        let base = self.base;
        let cut_off = |lid: Lid| touched.iter().find(|touched| touched.lid == lid);
        let cycle = base.cycles.last().map_or(&[][..], Vec::as_slice);
        self.unused.clear();
        for (users, (from, to)) in base.users.iter().zip(edges(cycle)) {
            let is_kept = |&lid: &Lid| match cut_off(lid) {
                None => true,
                Some(touched) => base.takes(lid, &touched.cut_off, from, to),
            };
            self.unused.push(!users.iter().any(is_kept));
        }
    }

    /// Follows the new paths to a LID, counts their load, and checks that their dependencies are among those without a
    /// cycle; `None` if a path does not arrive or may deadlock.
    fn verify(&mut self, touched: &Touched<'_>) -> Option<()> {
        let &Touched { lid, owner, .. } = touched;
        let fabric = self.base.fabric;
        let protected = self.lanes.protected() != Protected::Nothing;
        let exit = (owner.switch?, owner.exit);
        let mut path = Vec::new();
        for &switch in &touched.cut_off {
            let routes = match owner.is_switch() {
                false => self.repairer.senders[switch],
                true => 0,
            };
            let mask = if routes > 0 {
                self.repairer.lanes_of(switch, lid)
            } else {
                0
            };
            let (mut before, mut end, mut hops) = (NO_CHANNEL, None, 0);
            path.clear();
            path.extend(self.repairer.routes.path(fabric, switch, lid));
            for &(here, port) in &path {
                end = Some((here, port));
                let Some(channel) = fabric.channel_at(here, port) else {
                    break;
                };
                if self.repairer.dead.contains(&channel) {
                    return None;
                }
                self.load[channel] += routes;
                if before != NO_CHANNEL && routes > 0 {
                    if protected && !self.lanes.contains(mask, before, channel) {
                        return None;
                    }
                    self.note_use(mask, before, channel);
                }
                before = channel;
                hops += 1;
            }
            if end != Some(exit) || hops >= fabric.num_switches() {
                return None;
            }
        }
        Some(())
    }

    /// Records that CAs use a dependency, which may be one of the cycle.
    fn note_use(&mut self, mask: u16, first: ChannelIdx, then: ChannelIdx) {
        if !self.unused.contains(&true) {
            return;
        }
        let cycle = self.base.cycles.last().map_or(&[][..], Vec::as_slice);
        for (unused, (from, to)) in self.unused.iter_mut().zip(edges(cycle)) {
            let is_same = from.channel == first && to.channel == then;
            *unused &= !(is_same && mask >> from.lane & 1 == 1);
        }
    }
}
