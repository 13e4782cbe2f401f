//! The destinations that are routed at once, and the columns of their LIDs.
//!
//! Each LID has a column: those of CAs first, by destination, then those of the switches themselves.
//! So the LIDs of neighbouring destinations are one range of columns, whatever their numbers are, and a
//! switch fills a row of columns before it copies that to the places of the LIDs in its table.

use alloc::vec::Vec;
use core::ops::Range;

use super::Inputs;
use crate::{
    algo::{
        frontiers::{Frontier, Sets, start},
        parallel,
    },
    index::SwitchIdx,
    lid::Destination,
    routes::Layout,
};

/// LIDs of neighbouring places in neighbouring columns.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Place of the first LID's entry in a table.
    place: usize,
    column: usize,
    len: usize,
}

/// Destination switches that are routed at once.
pub(super) struct Batch {
    /// First column of each destination's CAs, and the end of the last one.
    cas: Vec<usize>,
    /// First column of each destination's own LIDs, and the end of the last one.
    switches: Vec<usize>,
    /// By column.
    runs: Vec<Run>,
    /// The columns where a port's LIDs begin; empty where each port has one.
    port_begins: Vec<bool>,
    /// Destinations with CAs.
    pub(super) with_cas: u64,
    /// The bit of each destination, at its switch.
    pub(super) own: Sets,
}

impl Batch {
    pub(super) fn new(inputs: &Inputs<'_>, targets: &[SwitchIdx], layout: &Layout) -> Self {
        let (mut columns, mut with_cas) = (Columns::new(inputs, layout), 0);
        let (mut cas, mut switches) = (Vec::from([0]), Vec::new());
        let mut ports: Vec<&Destination> = Vec::new();
        for (bit, &target) in targets.iter().enumerate() {
            ports.clear();
            ports.extend(
                inputs
                    .lids
                    .at_switch(target)
                    .filter(|port| !port.is_switch() && inputs.is_routed(port)),
            );
            if !inputs.guid_order.is_empty() {
                ports.sort_by_key(|port| inputs.place_in_order(port));
            }
            with_cas |= u64::from(!ports.is_empty()) << bit;
            for port in &ports {
                columns.add(port);
            }
            cas.push(columns.count);
        }
        switches.push(columns.count);
        for &target in targets {
            for port in inputs
                .lids
                .at_switch(target)
                .filter(|port| port.is_switch() && inputs.is_routed(port))
            {
                columns.add(port);
            }
            switches.push(columns.count);
        }
        Self {
            cas,
            switches,
            runs: columns.runs,
            port_begins: columns.port_begins,
            with_cas,
            own: start(inputs.fabric, targets),
        }
    }

    /// Number of columns of CAs.
    pub(super) fn ca_columns(&self) -> usize {
        self.cas.last().copied().unwrap_or(0)
    }

    /// About the number of table entries that a frontier fills, and of channels that are looked at for them.
    pub(super) fn work(&self, frontier: &Frontier, inputs: &Inputs<'_>) -> usize {
        let destinations = self.cas.len().saturating_sub(1).max(1);
        let entries = (frontier.choices as usize).saturating_mul(self.columns()) / destinations;
        let channels = inputs.out_ports.len() / inputs.fabric.num_switches().max(1);
        entries + (frontier.switches as usize).saturating_mul(channels)
    }

    /// Number of columns.
    pub(super) fn columns(&self) -> usize {
        self.switches.last().copied().unwrap_or(0)
    }

    /// The columns of the CAs of each run of neighbouring destinations in a set.
    #[inline]
    pub(super) fn cas(&self, set: u64) -> impl Iterator<Item = Range<usize>> {
        ranges_of(&self.cas, set)
    }

    /// The columns of the own LIDs of each run of neighbouring destinations in a set.
    #[inline]
    pub(super) fn switches(&self, set: u64) -> impl Iterator<Item = Range<usize>> {
        ranges_of(&self.switches, set)
    }

    /// Returns true if a port's LIDs begin at a column.
    #[inline]
    pub(super) fn port_begins(&self, column: usize) -> bool {
        self.port_begins.get(column).copied().unwrap_or(true)
    }

    /// Copies the columns of a set of destinations to their places in a table.
    #[inline]
    pub(super) fn copy_out(&self, set: u64, row: &[u8], lft: &mut [u8]) {
        let columns = self.cas(set).chain(self.switches(set));
        self.each_part(columns, lft, |columns, entries| {
            match (entries, row.get(columns)) {
                // Mostly the LID of one switch.
                ([entry], Some([port])) => *entry = *port,
                (entries, Some(ports)) => entries.copy_from_slice(ports),
                _ => {}
            }
        });
    }

    /// Writes one port for all LIDs of a set of destinations.
    #[inline]
    pub(super) fn fill_out(&self, set: u64, port: u8, lft: &mut [u8]) {
        let columns = self.cas(set).chain(self.switches(set));
        self.each_part(columns, lft, |_, entries| match entries {
            [entry] => *entry = port,
            [one, other] => (*one, *other) = (port, port),
            entries => entries.fill(port),
        });
    }

    /// Writes one port for the own LIDs of a set of destinations without CAs.
    #[inline]
    pub(super) fn fill_own(&self, set: u64, port: u8, lft: &mut [u8]) {
        self.each_part(self.switches(set), lft, |_, entries| match entries {
            [entry] => *entry = port,
            entries => entries.fill(port),
        });
    }

    /// Calls `part` for each range of columns whose LIDs are neighbours too, with their table entries.
    #[inline]
    fn each_part(
        &self,
        columns: impl Iterator<Item = Range<usize>>,
        lft: &mut [u8],
        mut part: impl FnMut(Range<usize>, &mut [u8]),
    ) {
        for columns in columns.filter(|columns| !columns.is_empty()) {
            let first = self
                .runs
                .partition_point(|run| run.column + run.len <= columns.start);
            for run in self.runs.get(first..).unwrap_or_default() {
                if run.column >= columns.end {
                    break;
                }
                let common = run.column.max(columns.start)..(run.column + run.len).min(columns.end);
                let place = common.start - run.column + run.place;
                parallel::count(1 + common.len() / 8);
                if let Some(entries) = lft.get_mut(place..place + common.len()) {
                    part(common, entries);
                }
            }
        }
    }
}

/// Gives LIDs their columns.
struct Columns<'a> {
    layout: &'a Layout,
    count: usize,
    runs: Vec<Run>,
    port_begins: Vec<bool>,
    siblings: bool,
}

impl<'a> Columns<'a> {
    fn new(inputs: &Inputs<'_>, layout: &'a Layout) -> Self {
        Self {
            layout,
            count: 0,
            runs: Vec::new(),
            port_begins: Vec::new(),
            siblings: inputs.has_siblings(),
        }
    }

    fn add(&mut self, port: &Destination) {
        // A range begins at a multiple of its length, so it is in one page.
        let (place, len) = (
            self.layout.place(port.range.base()),
            usize::from(port.range.lmc().lid_count()),
        );
        match self.runs.last_mut() {
            Some(last) if last.place + last.len == place => last.len += len,
            _ => self.runs.push(Run {
                place,
                column: self.count,
                len,
            }),
        }
        self.count += len;
        parallel::count(1);
        if self.siblings {
            self.port_begins.push(true);
            self.port_begins.resize(self.count, false);
        }
    }
}

/// The range between `starts` for each run of neighbouring bits of a set.
#[inline]
fn ranges_of(starts: &[usize], mut set: u64) -> impl Iterator<Item = Range<usize>> {
    core::iter::from_fn(move || {
        let first = set.trailing_zeros();
        let len = (!(set.checked_shr(first)?)).trailing_zeros();
        let end = first + len;
        set &= u64::MAX.checked_shl(end).unwrap_or(0);
        Some(*starts.get(first as usize)?..*starts.get(end as usize)?)
    })
}
