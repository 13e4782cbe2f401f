//! Where one switch chooses: what its channels carry, and who gets the next LID.

use alloc::vec::Vec;
use core::ops::Range;

use ib_wire::PortNum;

use super::{
    Plan, Way,
    batch::Batch,
    bundle::{Bundle, Places},
    flows::{Pen, in_each, sum_of, words_of},
    ring::Candidate,
    space::{Lead, Space},
};
use crate::{algo::waves::Wave, index::SwitchIdx};

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

/// What the choices of a switch in one wave share.
pub(super) struct Choice<'a> {
    pub(super) plan: &'a Plan<'a>,
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
    pub(super) fn deal<'p>(
        &mut self,
        plan: &'p Plan<'_>,
        batch: &Batch<'_>,
        wave: &Wave,
        space: &mut Space<'p>,
        lft: &mut [u8],
    ) {
        let here = wave.reached[self.switch];
        if here == 0 {
            return;
        }
        let ways = plan.ways_from(self.switch);
        if plan.no_choice {
            return take_the_first(batch, wave, here, ways, lft);
        }
        let counted = plan.counted(batch.with_cas);
        let (mut once, mut twice) = (0, 0);
        let mut idle = here & !counted;
        space.leads.clear();
        for (class, via) in &wave.via {
            for bundle in plan.bundles.of(self.switch) {
                let set = via[bundle.to] & here;
                if set == 0 || bundle.class != *class {
                    continue;
                }
                if set & idle != 0 {
                    batch.fill_own(set & idle, self.least_of(bundle, ways), lft);
                    idle &= !set;
                }
                let set = set & counted;
                if set != 0 {
                    (once, twice) = (once | set, twice | (once & set));
                    space.leads.push(Lead { bundle, set });
                }
            }
        }
        let here = here & counted;
        if here == 0 {
            return;
        }
        space.row.resize(batch.columns(), 0);
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
            self.deal_in_order(&choice, space);
        } else {
            self.deal_by_load(&choice, here, once & !twice, space);
        }
        batch.copy_out(here, &space.row, lft);
    }

    /// The least loaded channel of a bundle, for LIDs that nobody counts.
    #[inline]
    fn least_of(&self, bundle: &Bundle, ways: &[Way]) -> u8 {
        let (mut least, mut port) = (u64::MAX, PortNum::UNREACHABLE);
        bundle.places.for_each(|place| {
            if let (Some(way), Some(&load)) = (ways.get(place), self.loads.get(place))
                && load < least
            {
                (least, port) = (load, way.port);
            }
        });
        port.0
    }

    /// The destinations of one neighbour after the other, over all channels to it.
    fn deal_in_order(&mut self, choice: &Choice<'_>, space: &mut Space<'_>) {
        let leads = core::mem::take(&mut space.leads);
        let mut done = 0;
        for lead in &leads {
            let group = lead.set & !done;
            if group != 0 {
                done |= group;
                self.deal_group(choice, &lead.bundle.places, group, space);
            }
        }
        space.leads = leads;
    }

    /// Destinations with the same candidates together; those of `single` are led to by one bundle.
    fn deal_by_load(&mut self, choice: &Choice<'_>, here: u64, single: u64, space: &mut Space<'_>) {
        let leads = core::mem::take(&mut space.leads);
        let mut ways = leads.as_slice();
        // Bundles before the one that is looked at lead to no destination that is left.
        let mut left = here;
        while let (Some((lead, later)), true) = (ways.split_first(), left != 0) {
            ways = later;
            let mut mine = lead.set & left;
            left &= !lead.set;
            let own = &lead.bundle.places;
            let only_here = mine & single;
            // Who has one channel to choose from goes first, so that others see its load.
            if only_here != 0 && own.is_single() {
                mine &= !single;
                self.deal_group(choice, own, only_here, space);
            }
            while mine != 0 {
                let first = mine & mine.wrapping_neg();
                if first & single != 0 {
                    mine &= !only_here;
                    self.deal_group(choice, own, only_here, space);
                    continue;
                }
                let mut group = mine;
                let mut called = lead.bundle.places;
                for Lead { bundle, set } in later {
                    // Without a jump: nobody can foresee which bundles join.
                    let joins = set & first != 0;
                    group &= if joins { *set } else { !*set };
                    called.add_if(joins, &bundle.places);
                }
                mine &= !group;
                self.deal_group(choice, &called, group, space);
            }
        }
        space.leads = leads;
    }

    /// Gives every LID of a group of destinations to one of the called channels.
    fn deal_group(
        &mut self,
        choice: &Choice<'_>,
        called: &Places,
        group: u64,
        space: &mut Space<'_>,
    ) {
        let Choice { plan, batch, .. } = choice;
        let pen = self.seat(choice, called, group, space);
        if plan.looks_at_all() {
            for columns in batch.cas(group) {
                self.deal_apart(choice, true, pen, columns, space);
            }
            for columns in batch.switches(group) {
                self.deal_apart(choice, false, None, columns, space);
            }
        } else {
            for columns in batch.cas(group & choice.passed) {
                space.deal_mixed(choice, pen, columns);
            }
            let weight = plan.weight(true, choice.own);
            for columns in batch.cas(group & !choice.passed) {
                space.deal_alike(weight, choice.own, pen, columns);
            }
            let weight = plan.weight(false, 0);
            for columns in batch.switches(group) {
                space.deal_alike(weight, 0, None, columns);
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

    /// Lets the called channels queue up for a group of destinations. Returns where the next switches
    /// learn what comes to them, if they have anything left to choose.
    #[inline]
    fn seat<'c>(
        &self,
        choice: &Choice<'c>,
        called: &Places,
        group: u64,
        space: &mut Space<'_>,
    ) -> Option<Pen<'c>> {
        let Choice { batch, pen, .. } = choice;
        let mut goes_on = false;
        space.ring.clear();
        called.for_each(|place| {
            if let (Some(way), Some(&load)) = (choice.ways.get(place), self.loads.get(place)) {
                goes_on |= group & !batch.own[way.to] != 0;
                space.ring.seat(Candidate {
                    load,
                    sent: 0,
                    row: batch.flows.row(way.to),
                    port: way.port.0,
                    place: place as u8,
                    ignored: way.ignored,
                });
            }
        });
        space.ring.line_up();
        if !goes_on {
            return None;
        }
        called.for_each(|place| {
            if let Some(way) = choice.ways.get(place) {
                pen.note(way.to, group & choice.flowing);
            }
        });
        Some(*pen)
    }

    /// The LIDs of one port through different chassis where they can, else different switches, else
    /// over the least loaded channel.
    fn deal_apart(
        &mut self,
        choice: &Choice<'_>,
        is_ca: bool,
        pen: Option<Pen<'_>>,
        columns: Range<usize>,
        space: &mut Space<'_>,
    ) {
        let Choice {
            plan, batch, ways, ..
        } = choice;
        let candidates = usize::from(space.ring.len()).max(1);
        for column in columns {
            if batch.port_begins(column) {
                space.used.clear();
            }
            // The search begins one port further on after each round.
            let shift = if plan.options.port_shifting {
                self.dealt / candidates % candidates
            } else {
                0
            };
            let used = &space.used;
            let best = space.ring.all().zip(0..).min_by_key(|(candidate, turn)| {
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
            space
                .used
                .extend(ways.get(usize::from(best.place)).map(|way| way.to));
            let flow = if is_ca { choice.flow(column) } else { 0 };
            let weight = plan.weight(is_ca, flow);
            best.sent += u64::from(flow);
            if !best.ignored {
                best.load += u64::from(weight);
            }
            self.dealt += usize::from(weight != 0);
            if let Some(entry) = space.row.get_mut(column) {
                *entry = best.port;
            }
            if let Some(pen) = pen.filter(|_| flow != 0) {
                pen.add(best.row, column, flow);
            }
        }
    }
}

/// Sends each destination over the first channel that leads nearer.
#[inline]
fn take_the_first(batch: &Batch<'_>, wave: &Wave, here: u64, ways: &[Way], lft: &mut [u8]) {
    for (class, via) in &wave.via {
        let mut left = here;
        for way in ways.iter().filter(|way| way.class == *class) {
            let group = via[way.to] & left;
            if group != 0 {
                batch.fill_out(group, way.port.0, lft);
                left &= !group;
                if left == 0 {
                    return;
                }
            }
        }
    }
}

impl Choice<'_> {
    /// The routes that pass the switch towards each LID of a word.
    #[inline]
    pub(super) fn flows(&self, word: usize) -> u64 {
        self.batch
            .flows
            .word(self.row + word)
            .wrapping_add(in_each(self.own))
    }

    /// The routes that pass the switch towards one LID.
    fn flow(&self, column: usize) -> u16 {
        let mut words = words_of(column..column + 1);
        words
            .next()
            .map_or(0, |(word, mask)| sum_of(self.flows(word) & mask) as u16)
    }
}
