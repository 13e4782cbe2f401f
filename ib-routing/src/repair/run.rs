//! Reconnects LIDs that come after each other by the choice for the first one, if all that decides is the same for them.

use super::{
    repairer::{CutOff, Repairer},
    rule::Rule,
};
use crate::{
    index::{Idx as _, SwitchIdx},
    lid::Destination,
    routes::{BlockReader, SlTable},
};

impl Repairer<'_> {
    /// Reconnects the other LIDs of a run whose first one is reconnected, if that is certain to take the same entry. `owner`
    /// has the first one. `entries` are those of before. Returns false if nothing was done.
    pub(super) fn reconnect_alike(
        &mut self,
        owner: &Destination,
        run: &[CutOff],
        entries: &BlockReader<'_>,
    ) -> bool {
        let Some((first, others)) = run.split_first() else {
            return false;
        };
        let &[switch] = first.switches.as_slice() else {
            return false;
        };
        if others.is_empty() || !self.chooses_once(owner, switch, run, entries) {
            return false;
        }
        let port = self.routes.port(switch, first.lid);
        for other in others {
            self.set_port(switch, other.lid, port);
        }
        true
    }

    /// Returns true if a switch, which alone lost the LIDs of a run, chooses the same channel for all of them: it can take
    /// the same paths, and its choice for one of them leaves all loads as they are. Dependencies that the first one added are
    /// there for the others, and what was refused is refused again.
    fn chooses_once(
        &self,
        owner: &Destination,
        switch: SwitchIdx,
        run: &[CutOff],
        entries: &BlockReader<'_>,
    ) -> bool {
        let changes_load = self.senders[switch] > 0 && !owner.is_switch();
        let is_one_lane = matches!(self.routes.sls(), SlTable::Uniform(_));
        let (Some(first), Some(root), Some(known)) = (run.first(), owner.switch, &self.lengths)
        else {
            return false;
        };
        let Some(lengths) = known.of(first.lid) else {
            return false;
        };
        let is_same = |other: &[u8]| core::ptr::eq(other, lengths);
        let mut of_others = run.iter().map(|other| known.of(other.lid));
        if changes_load || !is_one_lane || !of_others.all(|other| other.is_some_and(is_same)) {
            return false;
        }
        let length = |switch: SwitchIdx| lengths.get(switch.at()).copied().unwrap_or(u8::MAX);
        let chosen = self
            .fabric
            .channel_at(switch, self.routes.port(switch, first.lid));
        let Some(chosen) = chosen.map(|channel| length(self.fabric.channel(channel).to)) else {
            return false;
        };
        // By the other rules, longer paths were not looked at.
        let looks_at_all = matches!(self.rule, Rule::UpDown(_));
        let mut neighbors = self.fabric.channels_from(switch).map(|(_, ends)| ends.to);
        neighbors.all(|neighbor| {
            (!looks_at_all && length(neighbor) > chosen)
                || self.is_one_path((neighbor, root), length(neighbor), run, entries)
        })
    }

    /// Returns true if the paths between two switches, of so many links, are the same for all LIDs of a run.
    fn is_one_path(
        &self,
        (from, to): (SwitchIdx, SwitchIdx),
        length: u8,
        run: &[CutOff],
        entries: &BlockReader<'_>,
    ) -> bool {
        let Some(first) = run.first() else {
            return false;
        };
        let mut here = from;
        for _ in 0..length {
            let port = entries.port(here, first.lid);
            let Some(channel) = self.fabric.channel_at(here, port) else {
                return false;
            };
            if !entries.is_one_port(here, first.lid, run.len()) {
                return false;
            }
            here = self.fabric.channel(channel).to;
        }
        here == to
    }
}
