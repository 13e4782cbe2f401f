//! Where one switch chooses: what its channels carry, and who gets the next LID.

use alloc::vec::Vec;

use super::{
    Plan, Way,
    batch::{Batch, Pen},
    ring::{Candidate, Ring},
};
use crate::{
    algo::waves::{Wave, bits_of},
    index::SwitchIdx,
};

/// The account of one switch.
pub(super) struct Desk<'a> {
    switch: SwitchIdx,
    /// What each channel carries, as far as it counts.
    loads: &'a mut [u64],
    /// The routes on each channel.
    sent: &'a mut [u64],
    /// LIDs dealt so far, where the search for a port shifts with them.
    dealt: usize,
}

/// Room that a worker needs, whatever the switch.
pub(super) struct Space {
    worker: usize,
    /// The channels that lead to some destination, with the destinations.
    masks: Vec<(u8, u64)>,
    /// The candidates of a choice.
    called: Vec<u8>,
    ring: Ring,
    flows: Vec<u16>,
    used: Vec<SwitchIdx>,
}

impl Space {
    pub(super) fn new(worker: usize) -> Self {
        Self {
            worker,
            masks: Vec::new(),
            called: Vec::new(),
            ring: Ring::new(),
            flows: Vec::new(),
            used: Vec::new(),
        }
    }
}

/// What the choices of a switch in one wave share.
struct Choice<'a> {
    plan: &'a Plan<'a>,
    batch: &'a Batch<'a>,
    ways: &'a [Way],
    pen: Pen<'a>,
    /// Where the switch's own flows begin.
    row: usize,
    /// Sources at the switch itself.
    own: u16,
    /// Destinations that routes of other switches pass here to.
    passed: u64,
    /// Destinations that any routes pass here to.
    flowing: u64,
}

impl<'a> Desk<'a> {
    /// A desk per switch.
    pub(super) fn for_all(
        plan: &Plan<'_>,
        mut loads: &'a mut [u64],
        mut sent: &'a mut [u64],
    ) -> Vec<Self> {
        let switches = plan.fabric.switches().indices();
        let desks = switches.map(|switch| {
            let len = plan.ways_from(switch).len();
            Self {
                switch,
                loads: loads.split_off_mut(..len).unwrap_or_default(),
                sent: sent.split_off_mut(..len).unwrap_or_default(),
                dealt: 0,
            }
        });
        desks.collect()
    }

    /// Lets the switch choose for the destinations that it reaches in this wave.
    pub(super) fn deal(
        &mut self,
        plan: &Plan<'_>,
        batch: &Batch<'_>,
        wave: &Wave,
        space: &mut Space,
        lft: &mut [u8],
    ) {
        let here = wave.reached[self.switch];
        if here == 0 {
            return;
        }
        let ways = plan.ways_from(self.switch);
        let (mut once, mut twice) = (0, 0);
        space.masks.clear();
        for (class, via) in &wave.via {
            for (way, place) in ways.iter().zip(0..) {
                let mask = via[way.to] & here;
                if mask != 0 && way.class == *class {
                    (once, twice) = (once | mask, twice | (once & mask));
                    space.masks.push((place, mask));
                }
            }
        }
        let own = plan.sources[self.switch];
        let passed = batch.flows.passed(self.switch);
        let from_here = if own > 0 { batch.with_cas } else { 0 };
        let choice = Choice {
            plan,
            batch,
            ways,
            pen: batch.flows.pen(space.worker),
            row: batch.flows.row(self.switch),
            own,
            passed,
            flowing: from_here | passed,
        };
        if plan.one_neighbour {
            self.deal_in_order(&choice, space, lft);
        } else {
            self.deal_by_load(&choice, once & !twice, space, lft);
        }
    }

    /// The destinations of one neighbour after the other, over all channels to it.
    fn deal_in_order(&mut self, choice: &Choice<'_>, space: &mut Space, lft: &mut [u8]) {
        let neighbour = |place: u8| choice.ways.get(usize::from(place)).map(|way| way.to);
        let masks = core::mem::take(&mut space.masks);
        let mut done = 0;
        for &(place, mask) in &masks {
            let group = mask & !done;
            if group == 0 {
                continue;
            }
            done |= group;
            space.called.clear();
            let same = |other: &u8| neighbour(*other) == neighbour(place);
            let called = masks.iter().map(|(other, _)| *other).filter(same);
            space.called.extend(called);
            self.deal_group(choice, group, space, lft);
        }
        space.masks = masks;
    }

    /// Destinations with the same candidates together.
    fn deal_by_load(
        &mut self,
        choice: &Choice<'_>,
        single: u64,
        space: &mut Space,
        lft: &mut [u8],
    ) {
        let masks = core::mem::take(&mut space.masks);
        let mut left = masks.as_slice();
        let mut done = single;
        while let Some((&(place, mask), later)) = left.split_first() {
            left = later;
            let only_here = mask & single;
            if only_here != 0 {
                space.called.clear();
                space.called.push(place);
                self.deal_group(choice, only_here, space, lft);
            }
            // Channels before this one have no destination that is left.
            let mut here = mask & !done;
            while here != 0 {
                let first = here & here.wrapping_neg();
                let mut group = here;
                space.called.clear();
                space.called.push(place);
                for &(other, mask) in later {
                    if mask & first == 0 {
                        group &= !mask;
                    } else {
                        group &= mask;
                        space.called.push(other);
                    }
                }
                done |= group;
                here &= !group;
                self.deal_group(choice, group, space, lft);
            }
        }
        space.masks = masks;
    }

    /// Lets the called channels queue up for a group of destinations.
    #[inline]
    fn seat(&self, choice: &Choice<'_>, group: u64, space: &mut Space) {
        space.ring.clear();
        for &place in &space.called {
            let at = usize::from(place);
            let (Some(way), Some(&load)) = (choice.ways.get(at), self.loads.get(at)) else {
                continue;
            };
            let onwards = group & choice.flowing & !choice.batch.own[way.to];
            choice.pen.note(way.to, onwards);
            space.ring.seat(Candidate {
                load,
                sent: 0,
                row: choice.batch.flows.row(way.to),
                port: way.port.0,
                place,
                ignored: way.ignored,
            });
        }
    }

    /// Gives every LID of a group to one of the candidates.
    fn deal_group(&mut self, choice: &Choice<'_>, group: u64, space: &mut Space, lft: &mut [u8]) {
        self.seat(choice, group, space);
        let Choice { plan, batch, .. } = choice;
        let looks_at_all = plan.looks_at_all();
        let first = choice.ways.get(usize::from(space.ring.first().place));
        let last_hop = first.map_or(0, |way| batch.own[way.to]);
        for bit in bits_of(group) {
            let set = 1 << bit;
            for run in batch.runs(bit) {
                let entries = run.of(lft);
                let column = run.column.filter(|_| choice.flowing & set != 0);
                let is_ca = run.column.is_some();
                if column.is_none() && !looks_at_all && plan.weight(is_ca, 0) == 0 {
                    // No CA's packet comes by: any will do.
                    let port = space.ring.first().port;
                    match entries {
                        // Mostly it is one switch's LID.
                        [entry] => *entry = port,
                        entries => entries.fill(port),
                    }
                    continue;
                }
                let uniform = space.read_flows(choice, set, column, entries.len());
                let receipts = Receipts {
                    pen: choice.pen,
                    column: column.filter(|_| last_hop & set == 0),
                };
                if looks_at_all {
                    self.deal_apart(choice, is_ca, run.per_port, &receipts, space, entries);
                } else if space.ring.len() == 1 {
                    space.send_all(plan, is_ca, &receipts, entries);
                } else {
                    space.take_turns(plan, is_ca, uniform, &receipts, entries);
                }
            }
        }
        for candidate in space.ring.all() {
            let at = usize::from(candidate.place);
            if let (Some(load), Some(sent)) = (self.loads.get_mut(at), self.sent.get_mut(at)) {
                *load = candidate.load;
                *sent += candidate.sent;
            }
        }
    }

    /// The LIDs of one port through different chassis where they can, else different switches, else
    /// over the least loaded channel.
    fn deal_apart(
        &mut self,
        choice: &Choice<'_>,
        is_ca: bool,
        per_port: u16,
        receipts: &Receipts<'_>,
        space: &mut Space,
        entries: &mut [u8],
    ) {
        let Choice { plan, ways, .. } = choice;
        let Space {
            ring, flows, used, ..
        } = space;
        let candidates = usize::from(ring.len()).max(1);
        let lids = entries.iter_mut().zip(flows.iter());
        for ((at, (entry, &flow)), of_port) in lids.enumerate().zip((0..per_port).cycle()) {
            if of_port == 0 {
                used.clear();
            }
            // The search begins one port further on after each round.
            let shift = if plan.options.port_shifting {
                self.dealt / candidates % candidates
            } else {
                0
            };
            let best = ring.all().zip(0..).min_by_key(|(candidate, turn)| {
                let to = ways.get(usize::from(candidate.place)).map(|way| way.to);
                let same = |same: &dyn Fn(SwitchIdx, SwitchIdx) -> bool| {
                    used.iter()
                        .filter(|&&other| to.is_some_and(|to| same(to, other)))
                        .count()
                };
                let chassis = |one, other| plan.system.find(one) == plan.system.find(other);
                let turn = turn + candidates - shift;
                (
                    same(&chassis),
                    same(&|one, other| one == other),
                    candidate.load,
                    turn % candidates,
                )
            });
            let Some((best, _)) = best else { return };
            used.extend(ways.get(usize::from(best.place)).map(|way| way.to));
            best.sent += u64::from(flow);
            let weight = plan.weight(is_ca, flow);
            if !best.ignored {
                best.load += u64::from(weight);
            }
            self.dealt += usize::from(weight != 0);
            *entry = best.port;
            receipts.write(best.row, at, flow);
        }
    }
}

impl Space {
    /// The routes that pass a switch towards each LID of a run. Where only its own CAs send, all LIDs
    /// have the same number, which is returned.
    #[inline]
    fn read_flows(
        &mut self,
        choice: &Choice<'_>,
        set: u64,
        column: Option<u32>,
        len: usize,
    ) -> Option<u16> {
        match column {
            Some(column) if choice.passed & set != 0 => {
                let first = choice.row + column as usize;
                let flows = &choice.batch.flows;
                flows.read(first, len, choice.own, &mut self.flows);
                None
            }
            column => {
                let own = column.map_or(0, |_| choice.own);
                self.flows.clear();
                self.flows.resize(len, own);
                Some(own)
            }
        }
    }

    /// Gives all LIDs of a run to the only candidate.
    fn send_all(
        &mut self,
        plan: &Plan<'_>,
        is_ca: bool,
        receipts: &Receipts<'_>,
        entries: &mut [u8],
    ) {
        let only = self.ring.first();
        entries.fill(only.port);
        let (mut sent, mut load) = (0, 0);
        for (at, &flow) in self.flows.iter().enumerate() {
            sent += u64::from(flow);
            load += u64::from(plan.weight(is_ca, flow));
            receipts.write(only.row, at, flow);
        }
        only.sent += sent;
        if !only.ignored {
            only.load += load;
        }
    }

    /// Gives each LID of a run to the candidate that is then the least loaded; `uniform` is what each
    /// has, if all have the same.
    fn take_turns(
        &mut self,
        plan: &Plan<'_>,
        is_ca: bool,
        uniform: Option<u16>,
        receipts: &Receipts<'_>,
        entries: &mut [u8],
    ) {
        if let Some(flow) = uniform {
            let give = |at: usize, port, row| {
                if let Some(entry) = entries.get_mut(at) {
                    *entry = port;
                }
                receipts.write(row, at, flow);
            };
            let weight = plan.weight(is_ca, flow);
            if self.ring.take_round(self.flows.len(), weight, flow, give) {
                return;
            }
        }
        for (at, (entry, &flow)) in entries.iter_mut().zip(&self.flows).enumerate() {
            let (port, row) = self.ring.take(plan.weight(is_ca, flow), flow);
            *entry = port;
            receipts.write(row, at, flow);
        }
    }
}

/// Where the next switch on the way learns what comes to it.
struct Receipts<'a> {
    pen: Pen<'a>,
    /// The column of the run's first LID; `None` where the next switch has nothing to choose.
    column: Option<u32>,
}

impl Receipts<'_> {
    /// Adds the routes to the LID at place `at` of the run to a switch's row.
    #[inline]
    fn write(&self, row: usize, at: usize, flow: u16) {
        if let Some(column) = self.column.filter(|_| flow != 0) {
            self.pen.add(row + column as usize + at, flow);
        }
    }
}
