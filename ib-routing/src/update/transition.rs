//! The transition from old routes to new ones without a loop or a deadlock, and the traffic to drain for it.
//!
//! Two route sets that are each free of deadlock can deadlock together: while tables are written, some switches forward
//! by the old entry and some by the new one, and packets that follow either wait for each other. The dependencies that
//! can arise are those of a graph with both entries of every switch at once. If it has no cycle, every order of writing
//! that rules out loops is safe, and the order of its channels is the proof. If it has one, the blocks are written in
//! stages. Between two stages the manager waits until the packets sent before are gone, so that each stage has both
//! entries only where it writes. LIDs that fit no stage are drained: traffic to those LIDs stops before the first stage
//! and starts again, by the new routes, after the last.
//!
//! Service levels and SLtoVL tables change last, because a sender learns a new level only at its next path query: in
//! that stage both levels count. Only CA traffic is judged, because engines promise freedom from deadlock only for it.
//! Sources: Duato, Lysne, Pang and Pinkston, "A theory for deadlock-free dynamic network reconfiguration", 2005; Lysne
//! et al., "Simple deadlock-free dynamic network reconfiguration", 2004.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use ib_wire::{Lid, PortNum, Vl};

use super::{BLOCK, BlockRef, order};
use crate::{
    algo::dependency::{DependencyGraph, Vertex},
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::LidMap,
    routes::Routes,
    verify::highest_lane,
};

/// Selects one of two route sets, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// The old route set.
    #[default]
    Old,
    /// Both route sets: a packet may have met either.
    Both,
    /// The new route set.
    New,
}

impl Side {
    const fn has_old(self) -> bool {
        !matches!(self, Self::New)
    }

    const fn has_new(self) -> bool {
        !matches!(self, Self::Old)
    }
}

/// True if the steps from old routes to new ones are safe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Safety {
    /// The steps are safe in any order that rules out loops. The proof is an order of all channels.
    AnyOrder(Vec<Vertex>),
    /// The steps are safe if the manager waits between the stages and drains the LIDs in [`Transition::drain`].
    Stages,
    /// The old routes can deadlock by themselves; this is a cycle of theirs.
    OldDeadlock(Vec<(ChannelIdx, Vl)>),
    /// The new routes can deadlock by themselves; this is a cycle of theirs.
    NewDeadlock(Vec<(ChannelIdx, Vl)>),
}

/// The reason why traffic to a LID has to be drained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DrainReason {
    /// The LIDs of one block require opposite orders, so packets would loop.
    Loop,
    /// With the other routes, packets to the LID would close this cycle of channels.
    Deadlock(Vec<(ChannelIdx, Vl)>),
}

/// The steps from old routes to new ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The blocks that differ, in the order in which to write them. Between two stages, and before service levels
    /// change, wait for the lifetime of a packet.
    pub stages: Vec<Vec<BlockRef>>,
    /// LIDs to drain before the first stage and to open again after the last, with the reason.
    pub drain: BTreeMap<Lid, DrainReason>,
    /// True if the steps are safe from deadlock.
    pub safety: Safety,
    /// Pairs of source switch and LID of a CA whose service level changes.
    pub new_sls: u64,
}

/// Plans the steps from `old` to `new`, both routes of `fabric`.
#[must_use]
pub fn plan(fabric: &Fabric, lids: &LidMap, old: &Routes, new: &Routes) -> Transition {
    let mixture = Mixture {
        fabric,
        lids,
        old,
        new,
        lanes: highest_lane(old).max(highest_lane(new)) + 1,
    };
    let ordered = order(fabric, lids, old, new);
    let mut transition = Transition {
        stages: Vec::from([ordered.steps]),
        drain: ordered
            .drain
            .into_iter()
            .map(|lid| (lid, DrainReason::Loop))
            .collect(),
        safety: Safety::Stages,
        new_sls: mixture.new_sls(),
    };
    transition.stages.retain(|stage| !stage.is_empty());
    let of = |side, drain: &_| mixture.graph(|_, _| side, side, drain).order();
    let nobody = BTreeMap::new();
    transition.safety = match (of(Side::Old, &nobody), of(Side::New, &nobody)) {
        (Err(cycle), _) => Safety::OldDeadlock(lanes_of(cycle)),
        (_, Err(cycle)) => Safety::NewDeadlock(lanes_of(cycle)),
        _ => match of(Side::Both, &transition.drain) {
            Ok(order) => Safety::AnyOrder(order),
            Err(_) => {
                let steps = core::mem::take(&mut transition.stages);
                stage(&mixture, steps, &mut transition);
                Safety::Stages
            }
        },
    };
    transition
}

/// The steps of a block in their order, and how many are done.
struct Queue {
    block: u16,
    steps: Vec<SwitchIdx>,
    done: usize,
}

/// Shares the steps out over stages, and drains LIDs until that succeeds.
fn stage(mixture: &Mixture<'_>, steps: Vec<Vec<BlockRef>>, transition: &mut Transition) {
    let mut by_block: BTreeMap<u16, Vec<SwitchIdx>> = BTreeMap::new();
    for step in steps.into_iter().flatten() {
        by_block.entry(step.block).or_default().push(step.switch);
    }
    loop {
        let queues = by_block.iter().map(|(&block, steps)| Queue {
            block,
            steps: steps.clone(),
            done: 0,
        });
        let attempt = stages(mixture, queues.collect(), &transition.drain);
        let attempt = attempt.and_then(|stages| {
            let levels = mixture.graph(|_, _| Side::New, Side::Both, &transition.drain);
            let settled = || mixture.graph(|_, _| Side::New, Side::New, &transition.drain);
            match levels.order() {
                Ok(_) => Ok(stages),
                Err(cycle) => {
                    let all = mixture.ca_lids();
                    let part = |lid| mixture.of_lid(lid, |_| Side::New, Side::Both);
                    Err(culprits(all, part, &settled(), cycle))
                }
            }
        });
        match attempt {
            Ok(stages) => {
                transition.stages = stages;
                return;
            }
            Err(found) => {
                let before = transition.drain.len();
                transition.drain.extend(found);
                if transition.drain.len() == before {
                    // No LID is left to drain. This cannot happen, because the old routes are safe.
                    transition.stages = Vec::new();
                    return;
                }
            }
        }
    }
}

/// Fills stage after stage with as many steps as close no cycle.
///
/// # Errors
/// The LIDs to drain where a stage cannot take a single step.
fn stages(
    mixture: &Mixture<'_>,
    mut queues: Vec<Queue>,
    drain: &BTreeMap<Lid, DrainReason>,
) -> Result<Vec<Vec<BlockRef>>, BTreeMap<Lid, DrainReason>> {
    let mut stages = Vec::new();
    while queues.iter().any(|queue| queue.done < queue.steps.len()) {
        let done: BTreeSet<(u16, SwitchIdx)> = queues
            .iter()
            .flat_map(|queue| {
                let done = queue.steps.iter().take(queue.done);
                done.map(|&switch| (queue.block, switch))
            })
            .collect();
        let side = |switch, lid: Lid| match done.contains(&(lid.0 / BLOCK, switch)) {
            true => Side::New,
            false => Side::Old,
        };
        let settled = mixture.graph(side, Side::Old, drain);
        let mut graph = settled.clone();
        let mut stage = Vec::new();
        let mut stuck = None;
        for queue in &mut queues {
            let mut count = queue.steps.len() - queue.done;
            while count > 0 {
                let writing = queue.steps.get(queue.done..queue.done + count);
                let writing: BTreeSet<SwitchIdx> =
                    writing.unwrap_or_default().iter().copied().collect();
                let side = |switch, lid: Lid| match writing.contains(&switch) {
                    true => Side::Both,
                    false => side(switch, lid),
                };
                let mut trial = graph.clone();
                for lid in mixture.lids_of(queue.block, drain) {
                    mixture.add(&mut trial, lid, |switch| side(switch, lid), Side::Old);
                }
                match trial.order() {
                    Ok(_) => {
                        graph = trial;
                        let written = queue.steps.iter().skip(queue.done).take(count);
                        stage.extend(written.map(|&switch| BlockRef {
                            switch,
                            block: queue.block,
                        }));
                        queue.done += count;
                        break;
                    }
                    Err(cycle) if count == 1 && stuck.is_none() => {
                        let part = |lid| mixture.of_lid(lid, |switch| side(switch, lid), Side::Old);
                        let lids = mixture.lids_of(queue.block, drain);
                        stuck = Some(culprits(lids.collect(), part, &graph, cycle));
                    }
                    Err(_) => {}
                }
                count /= 2;
            }
        }
        match stuck {
            Some(found) if stage.is_empty() => return Err(found),
            _ => stages.push(stage),
        }
    }
    Ok(stages)
}

/// The LIDs whose packets add an edge of `cycle` that `settled` does not have.
fn culprits(
    lids: Vec<Lid>,
    graph_of: impl Fn(Lid) -> DependencyGraph,
    settled: &DependencyGraph,
    cycle: Vec<Vertex>,
) -> BTreeMap<Lid, DrainReason> {
    let next = cycle.iter().cycle().skip(1);
    let edges: Vec<(Vertex, Vertex)> = cycle.iter().copied().zip(next.copied()).collect();
    let hazard = DrainReason::Deadlock(lanes_of(cycle));
    let brings = |lid: &Lid| {
        let graph = graph_of(*lid);
        let mut new = edges
            .iter()
            .filter(|&&(from, to)| !settled.contains(from, to));
        new.any(|&(from, to)| graph.contains(from, to))
    };
    let found = lids.into_iter().filter(brings);
    found.map(|lid| (lid, hazard.clone())).collect()
}

fn lanes_of(cycle: Vec<Vertex>) -> Vec<(ChannelIdx, Vl)> {
    let lanes = cycle.into_iter().map(|vertex| {
        let lane = Vl::try_new(vertex.lane).unwrap_or_default();
        (vertex.channel, lane)
    });
    lanes.collect()
}

/// Two route sets of one fabric, of which each switch has one or both.
struct Mixture<'a> {
    fabric: &'a Fabric,
    lids: &'a LidMap,
    old: &'a Routes,
    new: &'a Routes,
    /// Lanes that any packet can use, counted from 0.
    lanes: u8,
}

impl Mixture<'_> {
    /// Dependencies of CA packets to all LIDs but the drained. `side` selects the entry of a switch for a
    /// LID, `levels` the service levels and SLtoVL tables in use.
    fn graph(
        &self,
        side: impl Fn(SwitchIdx, Lid) -> Side,
        levels: Side,
        drain: &BTreeMap<Lid, DrainReason>,
    ) -> DependencyGraph {
        let mut graph = self.empty();
        for lid in self.ca_lids() {
            if !drain.contains_key(&lid) {
                self.add(&mut graph, lid, |switch| side(switch, lid), levels);
            }
        }
        graph
    }

    /// Dependencies of packets to one LID.
    fn of_lid(&self, lid: Lid, side: impl Fn(SwitchIdx) -> Side, levels: Side) -> DependencyGraph {
        let mut graph = self.empty();
        self.add(&mut graph, lid, side, levels);
        graph
    }

    fn empty(&self) -> DependencyGraph {
        DependencyGraph::new(self.fabric, self.lanes)
    }

    fn ca_lids(&self) -> Vec<Lid> {
        let cas = self.lids.destinations().iter();
        let cas = cas.filter(|end| !end.is_switch());
        cas.flat_map(|end| end.range.iter()).collect()
    }

    /// The LIDs of CAs in a block that are not drained.
    fn lids_of(&self, block: u16, drain: &BTreeMap<Lid, DrainReason>) -> impl Iterator<Item = Lid> {
        let first = block * BLOCK;
        let all = (first..first.saturating_add(BLOCK)).map(Lid);
        all.filter(|lid| {
            let of_ca = self
                .lids
                .owner(*lid)
                .is_some_and(|owner| !owner.is_switch());
            of_ca && !drain.contains_key(lid)
        })
    }

    fn new_sls(&self) -> u64 {
        let mut count = 0;
        for lid in self.ca_lids() {
            for switch in self.fabric.switches().indices() {
                let [old, new] =
                    [self.old, self.new].map(|routes| self.levels(routes, switch, lid));
                count += u64::from(old != new);
            }
        }
        count
    }

    /// The service levels of the packets that the CAs at a switch send to `lid`, as a bit mask.
    fn levels(&self, routes: &Routes, switch: SwitchIdx, lid: Lid) -> u16 {
        let cas = self.lids.at_switch(switch).filter(|end| !end.is_switch());
        let from = cas.flat_map(|end| end.range.iter());
        from.fold(0, |mask, from| mask | 1 << routes.sl(from, lid).bits())
    }

    /// The channels by which a switch may send to `lid`.
    fn ways(&self, switch: SwitchIdx, lid: Lid, side: Side) -> impl Iterator<Item = ChannelIdx> {
        let old = side.has_old().then_some(self.old);
        let new = side.has_new().then_some(self.new);
        let way = |routes: &Routes| self.fabric.channel_at(switch, routes.port(switch, lid));
        let old = old.and_then(way);
        let new = new.and_then(way).filter(|&new| old != Some(new));
        old.into_iter().chain(new)
    }

    /// Adds the dependencies that packets to one LID can have.
    fn add(
        &self,
        graph: &mut DependencyGraph,
        lid: Lid,
        side: impl Fn(SwitchIdx) -> Side,
        levels: Side,
    ) {
        let switches = self.fabric.num_switches();
        // Service levels of packets to the LID that reach each switch, by the port they come in.
        let mut reach: IdxVec<SwitchIdx, u16> = IdxVec::filled(switches, 0);
        let mut inputs: IdxVec<SwitchIdx, Vec<(PortNum, u16)>> =
            IdxVec::filled(switches, Vec::new());
        let mut open = Vec::new();
        for switch in self.fabric.switches().indices() {
            let mut mask = 0;
            for source in self.lids.at_switch(switch).filter(|end| !end.is_switch()) {
                let own = source.range.iter().fold(0, |mask, from| {
                    let sl = |routes: &Routes| 1 << routes.sl(from, lid).bits();
                    let old = if levels.has_old() { sl(self.old) } else { 0 };
                    let new = if levels.has_new() { sl(self.new) } else { 0 };
                    mask | old | new
                });
                inputs[switch].push((source.exit, own));
                mask |= own;
            }
            reach[switch] = mask;
            if mask != 0 {
                open.push(switch);
            }
        }
        while let Some(switch) = open.pop() {
            for way in self.ways(switch, lid, side(switch)) {
                let to = self.fabric.channel(way).to;
                if reach[switch] & !reach[to] != 0 {
                    reach[to] |= reach[switch];
                    open.push(to);
                }
            }
        }
        for switch in self.fabric.switches().indices() {
            for way in self.ways(switch, lid, side(switch)) {
                let channel = self.fabric.channel(way);
                inputs[channel.to].push((channel.to_port, reach[switch]));
            }
        }
        for switch in self.fabric.switches().indices() {
            let inputs = self.distinct(&inputs[switch]);
            for way in self.ways(switch, lid, side(switch)) {
                let ends = *self.fabric.channel(way);
                for next in self.ways(ends.to, lid, side(ends.to)) {
                    let out = self.fabric.channel(next).port;
                    for &(input, mask) in &inputs {
                        for sl in (0..16).filter(|sl| mask >> sl & 1 == 1) {
                            let here = self.lanes_on(switch, input, ends.port, sl, levels);
                            let there = self.lanes_on(ends.to, ends.to_port, out, sl, levels);
                            for (lane, after) in
                                bits(here).flat_map(|lane| bits(there).map(move |at| (lane, at)))
                            {
                                let from = Vertex { channel: way, lane };
                                let to = Vertex {
                                    channel: next,
                                    lane: after,
                                };
                                graph.add(from, to);
                            }
                        }
                    }
                }
            }
        }
    }

    /// The inputs that can differ in lanes: all of them, or one that represents all if no table differs by port.
    fn distinct(&self, inputs: &[(PortNum, u16)]) -> Vec<(PortNum, u16)> {
        if self.old.vl_map().is_uniform() && self.new.vl_map().is_uniform() {
            let mask = inputs.iter().fold(0, |all, (_, mask)| all | mask);
            return Vec::from([(PortNum::MANAGEMENT, mask)]);
        }
        inputs.to_vec()
    }

    /// The lanes on which a packet may leave a switch, as a bit mask.
    fn lanes_on(&self, at: SwitchIdx, input: PortNum, output: PortNum, sl: u8, side: Side) -> u16 {
        let lane = |routes: &Routes| {
            let vl = routes
                .vl_map()
                .table(at, input, output)
                .get(usize::from(sl));
            1 << vl.map_or(0, |vl| vl.bits())
        };
        let old = if side.has_old() { lane(self.old) } else { 0 };
        let new = if side.has_new() { lane(self.new) } else { 0 };
        old | new
    }
}

fn bits(mask: u16) -> impl Iterator<Item = u8> {
    (0..16).filter(move |lane| mask >> lane & 1 == 1)
}
