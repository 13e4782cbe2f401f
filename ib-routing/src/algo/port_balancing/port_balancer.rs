//! The choices of one switch: the load of its channels, and the channel that gets each LID.

use alloc::vec::Vec;
use core::ops::Range;

use ib_wire::PortNum;

use super::{
    Inputs, OutPort,
    batch::Batch,
    bundle::{Bundle, Bundles, Places},
    candidate_queue::Candidate,
    choice::Choice,
    flows::{FlowWriter, Flows},
    scratch::{NextHopSet, Scratch},
};
use crate::{
    algo::{frontiers::Frontier, parallel},
    index::SwitchIdx,
};

/// The load of one switch's channels.
pub(super) struct PortBalancer<'a> {
    switch: SwitchIdx,
    /// Load of each channel: the sum of the weights of its LIDs.
    loads: &'a mut [u64],
    /// Routes on each channel, whether they count or not.
    sent: &'a mut [u64],
    /// LIDs assigned so far: with `port_shifting` the search for a port begins further on with each round.
    assigned: usize,
}

impl<'a> PortBalancer<'a> {
    /// A balancer per switch.
    pub(super) fn for_all(
        inputs: &Inputs<'_>,
        mut loads: &'a mut [u64],
        mut sent: &'a mut [u64],
    ) -> Vec<Self> {
        let switches = inputs.fabric.switches().indices();
        let balancers = switches.map(|switch| {
            let len = inputs.out_ports_of(switch).len();
            Self {
                switch,
                loads: loads.split_off_mut(..len).unwrap_or_default(),
                sent: sent.split_off_mut(..len).unwrap_or_default(),
                assigned: 0,
            }
        });
        balancers.collect()
    }

    /// Chooses a channel for every LID of the destinations that the switch reaches at this frontier.
    pub(super) fn assign<'p>(
        &mut self,
        inputs: &'p Inputs<'_>,
        batch: &Batch,
        flows: &Flows,
        frontier: &Frontier,
        scratch: &mut Scratch<'p>,
        lft: &mut [u8],
    ) {
        let here = frontier.reached[self.switch];
        if here == 0 {
            return;
        }
        let out_ports = inputs.out_ports_of(self.switch);
        if inputs.no_choice {
            return assign_first(batch, frontier, here, out_ports, lft);
        }
        let counted = inputs.counted(batch.with_cas);
        let (mut once, mut twice) = (0, 0);
        let mut idle = here & !counted;
        scratch.next_hops.clear();
        for (class, via) in &frontier.via {
            for bundle in inputs.bundles.of(self.switch) {
                parallel::count(1);
                let set = via[bundle.to] & here;
                if set == 0 || bundle.class != *class {
                    continue;
                }
                if set & idle != 0 {
                    let port = self.least_loaded(&inputs.bundles, bundle, out_ports);
                    batch.fill_own(set & idle, port, lft);
                    idle &= !set;
                }
                let set = set & counted;
                if set != 0 {
                    (once, twice) = (once | set, twice | (once & set));
                    scratch.next_hops.push(NextHopSet { bundle, set });
                }
            }
        }
        let here = here & counted;
        if here == 0 {
            return;
        }
        scratch.row.resize(batch.columns(), 0);
        let own = inputs.sources[self.switch];
        let passing = flows.passing(self.switch);
        let from_here = if own > 0 { batch.with_cas } else { 0 };
        let choice = Choice {
            inputs,
            batch,
            out_ports,
            writer: flows.writer(scratch.worker),
            flows,
            own,
            flowing: from_here | passing.set,
            passing,
        };
        if inputs.one_neighbour {
            self.assign_by_neighbour(&choice, scratch);
        } else {
            self.assign_by_load(&choice, here, once & !twice, scratch);
        }
        batch.copy_out(here, &scratch.row, lft);
    }

    /// The least loaded channel of a bundle, for LIDs that count nothing.
    #[inline]
    fn least_loaded(&self, bundles: &Bundles, bundle: &Bundle, out_ports: &[OutPort]) -> u8 {
        if let Some(place) = bundle.only() {
            let only = out_ports.get(usize::from(place));
            return only.map_or(PortNum::UNREACHABLE, |only| only.port).0;
        }
        let (mut least, mut port) = (u64::MAX, PortNum::UNREACHABLE);
        bundles.places(bundle).for_each(|place| {
            if let (Some(out_port), Some(&load)) = (out_ports.get(place), self.loads.get(place))
                && load < least
            {
                (least, port) = (load, out_port.port);
            }
        });
        port.0
    }

    /// Assigns the destinations of one neighbour after the other, over all channels to it.
    fn assign_by_neighbour(&mut self, choice: &Choice<'_>, scratch: &mut Scratch<'_>) {
        let next_hops = core::mem::take(&mut scratch.next_hops);
        let mut done = 0;
        for next_hop in &next_hops {
            let group = next_hop.set & !done;
            if group != 0 {
                done |= group;
                let places = choice.inputs.bundles.places(next_hop.bundle);
                self.assign_group(choice, &places, group, scratch);
            }
        }
        scratch.next_hops = next_hops;
    }

    /// Assigns destinations with the same candidates together; to those of `single` only one bundle leads.
    fn assign_by_load(
        &mut self,
        choice: &Choice<'_>,
        here: u64,
        single: u64,
        scratch: &mut Scratch<'_>,
    ) {
        let bundles = &choice.inputs.bundles;
        let next_hops = core::mem::take(&mut scratch.next_hops);
        let mut out_ports = next_hops.as_slice();
        // No earlier bundle leads to a destination that is left.
        let mut left = here;
        while let (Some((next_hop, later)), true) = (out_ports.split_first(), left != 0) {
            out_ports = later;
            let mut mine = next_hop.set & left;
            if mine == 0 {
                continue;
            }
            left &= !next_hop.set;
            let own = bundles.places(next_hop.bundle);
            let only_here = mine & single;
            // Destinations with only one channel come first, so that the others see its load.
            if only_here != 0 && next_hop.bundle.only().is_some() {
                mine &= !single;
                self.assign_group(choice, &own, only_here, scratch);
            }
            while mine != 0 {
                let first = mine & mine.wrapping_neg();
                if first & single != 0 {
                    mine &= !only_here;
                    self.assign_group(choice, &own, only_here, scratch);
                    continue;
                }
                let mut group = mine;
                let mut candidates = own;
                parallel::count(later.len());
                for NextHopSet { bundle, set } in later {
                    // Without a branch: which bundles join is not predictable.
                    let joins = set & first != 0;
                    group &= if joins { *set } else { !*set };
                    bundles.add_if(joins, bundle, &mut candidates);
                }
                mine &= !group;
                self.assign_group(choice, &candidates, group, scratch);
            }
        }
        scratch.next_hops = next_hops;
    }

    /// Gives every LID of a group of destinations to one of the candidate channels.
    fn assign_group(
        &mut self,
        choice: &Choice<'_>,
        candidates: &Places,
        group: u64,
        scratch: &mut Scratch<'_>,
    ) {
        let Choice { inputs, batch, .. } = choice;
        let writer = self.enqueue(choice, candidates, group, scratch);
        if inputs.scans_all_candidates() {
            for columns in batch.cas(group) {
                self.assign_apart(choice, true, writer, columns, scratch);
            }
            for columns in batch.switches(group) {
                self.assign_apart(choice, false, None, columns, scratch);
            }
        } else {
            for columns in batch.cas(group & choice.passing.set) {
                scratch.assign_weighted(choice, writer, columns);
            }
            let weight = inputs.weight(true, choice.own);
            for columns in batch.cas(group & !choice.passing.set) {
                scratch.assign_uniform(weight, choice.own, writer, columns);
            }
            let weight = inputs.weight(false, 0);
            for columns in batch.switches(group) {
                scratch.assign_uniform(weight, 0, None, columns);
            }
        }
        parallel::count(usize::from(scratch.queue.len()));
        for candidate in scratch.queue.all() {
            let at = usize::from(candidate.place);
            if let (Some(load), Some(sent)) = (self.loads.get_mut(at), self.sent.get_mut(at)) {
                *load = candidate.load;
                *sent += candidate.sent;
            }
        }
    }

    /// Fills the queue with the candidates for a group of destinations. Returns the writer of flows to the
    /// next switches, if these have choices of their own left.
    #[inline]
    fn enqueue<'c>(
        &self,
        choice: &Choice<'c>,
        candidates: &Places,
        group: u64,
        scratch: &mut Scratch<'_>,
    ) -> Option<FlowWriter<'c>> {
        let Choice { batch, writer, .. } = choice;
        let mut goes_on = false;
        scratch.queue.clear();
        candidates.for_each(|place| {
            if let (Some(out_port), Some(&load)) =
                (choice.out_ports.get(place), self.loads.get(place))
            {
                goes_on |= group & !batch.own[out_port.to] != 0;
                scratch.queue.push(Candidate {
                    load,
                    sent: 0,
                    row: choice.flows.row(out_port.to),
                    port: out_port.port.0,
                    place: place as u8,
                    ignored: out_port.ignored,
                });
            }
        });
        scratch.queue.sort_by_load();
        if !goes_on {
            return None;
        }
        candidates.for_each(|place| {
            if let Some(out_port) = choice.out_ports.get(place) {
                writer.mark_passed(out_port.to, group & choice.flowing);
            }
        });
        Some(*writer)
    }

    /// Assigns the LIDs of one port through different chassis where possible, else through different
    /// switches, else over the least loaded channel.
    fn assign_apart(
        &mut self,
        choice: &Choice<'_>,
        is_ca: bool,
        writer: Option<FlowWriter<'_>>,
        columns: Range<usize>,
        scratch: &mut Scratch<'_>,
    ) {
        let Choice {
            inputs,
            batch,
            out_ports,
            ..
        } = choice;
        let candidates = usize::from(scratch.queue.len()).max(1);
        for column in columns {
            parallel::count(candidates);
            if batch.port_begins(column) {
                scratch.used.clear();
            }
            // The search begins one port further on after each round.
            let shift = if inputs.options.port_shifting {
                self.assigned / candidates % candidates
            } else {
                0
            };
            let used = &scratch.used;
            let best = scratch
                .queue
                .all()
                .zip(0..)
                .min_by_key(|(candidate, turn)| {
                    let to = out_ports
                        .get(usize::from(candidate.place))
                        .map(|out_port| out_port.to);
                    let same = |same: &dyn Fn(SwitchIdx, SwitchIdx) -> bool| {
                        used.iter()
                            .filter(|&&other| to.is_some_and(|to| same(to, other)))
                            .count()
                    };
                    let chassis = |one, other| inputs.system.find(one) == inputs.system.find(other);
                    let turn = turn + candidates - shift;
                    (
                        same(&chassis),
                        same(&|one, other| one == other),
                        candidate.load,
                        turn % candidates,
                    )
                });
            let Some((best, _)) = best else { return };
            scratch.used.extend(
                out_ports
                    .get(usize::from(best.place))
                    .map(|out_port| out_port.to),
            );
            let flow = if is_ca { choice.flow(column) } else { 0 };
            let weight = inputs.weight(is_ca, flow);
            best.sent += u64::from(flow);
            if !best.ignored {
                best.load += u64::from(weight);
            }
            self.assigned += usize::from(weight != 0);
            if let Some(entry) = scratch.row.get_mut(column) {
                *entry = best.port;
            }
            if let Some(writer) = writer.filter(|_| flow != 0) {
                writer.add(best.row, column, flow);
            }
        }
    }
}

/// Sends each destination over the first channel that leads nearer.
#[inline]
fn assign_first(
    batch: &Batch,
    frontier: &Frontier,
    here: u64,
    out_ports: &[OutPort],
    lft: &mut [u8],
) {
    for (class, via) in &frontier.via {
        let mut left = here;
        for out_port in out_ports.iter().filter(|out_port| out_port.class == *class) {
            let group = via[out_port.to] & left;
            if group != 0 {
                batch.fill_out(group, out_port.port.0, lft);
                left &= !group;
                if left == 0 {
                    return;
                }
            }
        }
    }
}
