//! Where one switch chooses: what its channels carry, and who gets the next LID.

use alloc::vec::Vec;
use core::ops::Range;

use super::{
    Plan, Way,
    batch::Batch,
    flows::{LANES, Pen, in_each, lanes_of, sum_of, words_of},
    ring::{Candidate, Ring},
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

/// Room that a worker needs, whatever the switch.
pub(super) struct Space {
    worker: usize,
    /// The channels that lead to some destination, with the destinations.
    masks: Vec<(u8, u64)>,
    /// The candidates of a choice.
    called: Called,
    ring: Ring,
    /// The port that each column got.
    row: Vec<u8>,
    /// Switches that other LIDs of the same port go through.
    used: Vec<SwitchIdx>,
}

impl Space {
    pub(super) fn new(worker: usize) -> Self {
        Self {
            worker,
            masks: Vec::new(),
            called: Called::new(),
            ring: Ring::new(),
            row: Vec::new(),
            used: Vec::new(),
        }
    }
}

/// Places of channels: a switch has fewer than 256.
struct Called {
    places: [u8; 256],
    len: u8,
}

#[allow(
    clippy::indexing_slicing,
    reason = "256 places: every number of 8 bits is one"
)]
impl Called {
    fn new() -> Self {
        Self {
            places: [0; 256],
            len: 0,
        }
    }

    fn clear(&mut self) {
        self.len = 0;
    }

    #[inline]
    fn push(&mut self, place: u8) {
        self.push_if(true, place);
    }

    #[inline]
    fn push_if(&mut self, wanted: bool, place: u8) {
        self.places[usize::from(self.len)] = place;
        self.len = self.len.wrapping_add(u8::from(wanted));
    }

    #[inline]
    fn places(&self) -> &[u8] {
        &self.places[..usize::from(self.len)]
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
        if plan.no_choice {
            return take_the_first(batch, wave, here, ways, lft);
        }
        space.row.resize(batch.columns(), 0);
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
            self.deal_in_order(&choice, space);
        } else {
            self.deal_by_load(&choice, here, once & !twice, space);
        }
        batch.copy_out(here, &space.row, lft);
    }

    /// The destinations of one neighbour after the other, over all channels to it.
    fn deal_in_order(&mut self, choice: &Choice<'_>, space: &mut Space) {
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
            called.for_each(|place| space.called.push(place));
            self.deal_group(choice, group, space);
        }
        space.masks = masks;
    }

    /// Destinations with the same candidates together; those of `single` have one candidate each.
    fn deal_by_load(&mut self, choice: &Choice<'_>, here: u64, single: u64, space: &mut Space) {
        let masks = core::mem::take(&mut space.masks);
        let mut ways = masks.as_slice();
        // Channels before the one that is looked at have no destination that is left.
        let mut left = here;
        while let (Some((&(place, mask), later)), true) = (ways.split_first(), left != 0) {
            ways = later;
            let mut mine = mask & left;
            left &= !mask;
            let only_here = mine & single;
            if only_here != 0 {
                mine &= !single;
                space.called.clear();
                space.called.push(place);
                self.deal_group(choice, only_here, space);
            }
            while mine != 0 {
                let first = mine & mine.wrapping_neg();
                let mut group = mine;
                space.called.clear();
                space.called.push(place);
                for &(other, mask) in later {
                    // Without a jump: nobody can foresee which channels join.
                    let joins = mask & first != 0;
                    group &= if joins { mask } else { !mask };
                    space.called.push_if(joins, other);
                }
                mine &= !group;
                self.deal_group(choice, group, space);
            }
        }
        space.masks = masks;
    }

    /// Gives every LID of a group of destinations to one of the called channels.
    fn deal_group(&mut self, choice: &Choice<'_>, group: u64, space: &mut Space) {
        let Choice { plan, batch, .. } = choice;
        let pen = self.seat(choice, group, space);
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
    fn seat<'c>(&self, choice: &Choice<'c>, group: u64, space: &mut Space) -> Option<Pen<'c>> {
        let Choice { batch, pen, .. } = choice;
        let called = || {
            let places = space.called.places().iter().copied();
            places.filter_map(|place| {
                let at = usize::from(place);
                Some((place, choice.ways.get(at)?, *self.loads.get(at)?))
            })
        };
        let goes_on = called().any(|(_, way, _)| group & !batch.own[way.to] != 0);
        space.ring.clear();
        for (place, way, load) in called() {
            if goes_on {
                pen.note(way.to, group & choice.flowing);
            }
            space.ring.seat(Candidate {
                load,
                sent: 0,
                row: batch.flows.row(way.to),
                port: way.port.0,
                place,
                ignored: way.ignored,
            });
        }
        space.ring.line_up();
        goes_on.then_some(*pen)
    }

    /// The LIDs of one port through different chassis where they can, else different switches, else
    /// over the least loaded channel.
    fn deal_apart(
        &mut self,
        choice: &Choice<'_>,
        is_ca: bool,
        pen: Option<Pen<'_>>,
        columns: Range<usize>,
        space: &mut Space,
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
    fn flows(&self, word: usize) -> u64 {
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

impl Space {
    #[inline]
    fn fill(&mut self, columns: Range<usize>, port: u8) {
        self.row.get_mut(columns).unwrap_or_default().fill(port);
    }

    /// Gives each LID to the candidate that is then the least loaded; `flow` routes go to each.
    #[inline]
    fn deal_alike(&mut self, weight: u16, flow: u16, pen: Option<Pen<'_>>, columns: Range<usize>) {
        if weight == 0 {
            // No CA's packet comes by: any will do.
            let port = self.ring.first().port;
            return self.fill(columns, port);
        }
        if self.ring.len() == 1 {
            let weight = u64::from(weight) * columns.len() as u64;
            return self.deal_to_only(Some(weight), pen, columns, |_| in_each(flow));
        }
        let row = self.row.get_mut(..columns.end).unwrap_or_default();
        let step = usize::from(self.ring.len());
        let count = columns.len();
        let all_alike = self
            .ring
            .take_turns(count, weight, flow, |first, port, to| {
                let mut column = columns.start + first;
                while let Some(entry) = row.get_mut(column) {
                    *entry = port;
                    if let Some(pen) = pen {
                        pen.add(to, column, flow);
                    }
                    column += step;
                }
            });
        if all_alike {
            return;
        }
        for (column, entry) in row.iter_mut().enumerate().skip(columns.start) {
            let (port, to) = self.ring.take(weight, flow);
            *entry = port;
            if let Some(pen) = pen {
                pen.add(to, column, flow);
            }
        }
    }

    /// The same, where each LID has its own number of routes.
    fn deal_mixed(&mut self, choice: &Choice<'_>, pen: Option<Pen<'_>>, columns: Range<usize>) {
        let count_only = choice.plan.count_only;
        if self.ring.len() == 1 {
            let weight = count_only.then_some(columns.len() as u64);
            return self.deal_to_only(weight, pen, columns, |word| choice.flows(word));
        }
        let port = self.ring.first().port;
        self.fill(columns.clone(), port);
        for (word, mask) in words_of(columns) {
            let flows = choice.flows(word) & mask;
            let counted = if count_only { mask } else { flows };
            for (lane, flow) in lanes_of(counted, flows) {
                let (port, to) = self.ring.take(choice.plan.weight(true, flow), flow);
                let column = word * LANES + lane;
                if let Some(entry) = self.row.get_mut(column) {
                    *entry = port;
                }
                if let Some(pen) = pen {
                    pen.add(to, column, flow);
                }
            }
        }
    }

    /// Gives all LIDs to the only candidate, which is then heavier by `weight`, or by the routes.
    #[inline]
    fn deal_to_only(
        &mut self,
        weight: Option<u64>,
        pen: Option<Pen<'_>>,
        columns: Range<usize>,
        flows: impl Fn(usize) -> u64,
    ) {
        let only = self.ring.first();
        let mut sent = 0;
        for (word, mask) in words_of(columns.clone()) {
            let flow = flows(word) & mask;
            sent += sum_of(flow);
            if let Some(pen) = pen.filter(|_| flow != 0) {
                pen.add_word(only.row + word, flow);
            }
        }
        only.sent += sent;
        if !only.ignored {
            only.load += weight.unwrap_or(sent);
        }
        let port = only.port;
        self.fill(columns, port);
    }
}
