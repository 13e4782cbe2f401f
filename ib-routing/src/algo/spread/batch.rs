//! The destinations that are routed at once, and how many routes pass each switch towards them.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU16, AtomicU32, Ordering::Relaxed};

use super::Plan;
use crate::{
    algo::waves::{Sets, start},
    index::{Idx, IdxVec, SwitchIdx},
};

/// Neighbouring LIDs at one switch, of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// The first LID.
    pub(super) lid: u16,
    pub(super) len: u16,
    /// LIDs of each port.
    pub(super) per_port: u16,
    /// The destinations are CAs: sources are counted, in columns from this one on.
    pub(super) column: Option<u32>,
}

impl Run {
    /// Its entries in a switch's table.
    #[inline]
    pub(super) fn of<'a>(&self, lft: &'a mut [u8]) -> &'a mut [u8] {
        let first = usize::from(self.lid);
        lft.get_mut(first..first + usize::from(self.len))
            .unwrap_or_default()
    }
}

/// Destination switches that are routed at once.
pub(super) struct Batch<'a> {
    runs: Vec<Run>,
    /// Runs of each destination: from the first up to the second.
    spans: Vec<(u32, u32)>,
    /// Destinations with CAs.
    pub(super) with_cas: u64,
    /// The bit of each destination, at its switch.
    pub(super) own: Sets,
    pub(super) flows: &'a Flows,
}

impl<'a> Batch<'a> {
    pub(super) fn new(plan: &Plan<'_>, targets: &[SwitchIdx], flows: &'a mut Flows) -> Self {
        let (mut runs, mut spans) = (Vec::<Run>::new(), Vec::with_capacity(targets.len()));
        let (mut columns, mut with_cas) = (0, 0);
        let mut ports = Vec::new();
        for (bit, &target) in targets.iter().enumerate() {
            let first = runs.len();
            ports.clear();
            ports.extend(plan.lids.at_switch(target));
            if !plan.guid_order.is_empty() {
                ports.sort_by_key(|port| plan.place_in_order(port));
            }
            for port in &ports {
                let (lid, len) = (port.range.base().0, port.range.lmc().lid_count());
                let column = (!port.is_switch()).then_some(columns);
                if column.is_some() {
                    columns += u32::from(len);
                    with_cas |= 1 << bit;
                }
                match runs.get_mut(first..).and_then(|runs| runs.last_mut()) {
                    Some(last)
                        if last.lid + last.len == lid
                            && last.per_port == len
                            && last.column.is_some() == column.is_some() =>
                    {
                        last.len += len;
                    }
                    _ => runs.push(Run {
                        lid,
                        len,
                        per_port: len,
                        column,
                    }),
                }
            }
            spans.push((first as u32, runs.len() as u32));
        }
        flows.begin(columns);
        Self {
            runs,
            spans,
            with_cas,
            own: start(plan.fabric, targets),
            flows,
        }
    }

    /// The runs of a destination.
    #[inline]
    pub(super) fn runs(&self, bit: u32) -> &[Run] {
        let (first, end) = self.spans.get(bit as usize).copied().unwrap_or_default();
        self.runs
            .get(first as usize..end as usize)
            .unwrap_or_default()
    }
}

/// Workers that get a sheet of their own. Every reader adds up all sheets, so more would cost more than
/// the locked additions to a common one.
const SHEETS: usize = 4;

/// How many routes of others pass each switch on the way to each LID of a CA in the batch.
///
/// Switches that choose at the same time add to those nearer to the destination, in any order: the sums
/// are the same. Nobody reads a sum before all that add to it are through.
pub(super) struct Flows {
    sheets: Vec<Sheet>,
    /// Several workers share the only sheet.
    shared: bool,
    columns: u32,
}

/// What one worker has added.
struct Sheet {
    /// A row of columns per switch. The LIDs of a subnet, and so the sources of a route, are fewer
    /// than 2^16.
    cells: Vec<AtomicU16>,
    /// The destinations in whose columns a switch may have something, low half and high half.
    passed: IdxVec<SwitchIdx, [AtomicU32; 2]>,
}

impl Flows {
    pub(super) fn new(switches: usize, workers: usize) -> Self {
        let shared = workers > SHEETS;
        let count = if shared { 1 } else { workers };
        let sheet = |_| Sheet {
            cells: Vec::new(),
            passed: (0..switches).map(|_| Default::default()).collect(),
        };
        Self {
            sheets: (0..count).map(sheet).collect(),
            shared,
            columns: 0,
        }
    }

    /// Empty sheets for the next batch.
    fn begin(&mut self, columns: u32) {
        self.columns = columns;
        for sheet in &mut self.sheets {
            let len = columns as usize * sheet.passed.len();
            for cell in sheet.cells.iter_mut().take(len) {
                *cell.get_mut() = 0;
            }
            sheet.cells.resize_with(len, AtomicU16::default);
            for halves in sheet.passed.iter_mut() {
                *halves = Default::default();
            }
        }
    }

    /// Where the row of a switch begins.
    #[inline]
    pub(super) fn row(&self, switch: SwitchIdx) -> usize {
        switch.at() * self.columns as usize
    }

    /// The sheet of a worker.
    #[inline]
    pub(super) fn pen(&self, worker: usize) -> Pen<'_> {
        let sheet = self.sheets.get(if self.shared { 0 } else { worker });
        Pen {
            sheet,
            shared: self.shared,
        }
    }

    /// The destinations towards which routes of others may pass a switch.
    #[inline]
    pub(super) fn passed(&self, switch: SwitchIdx) -> u64 {
        let mut bits = 0;
        for sheet in &self.sheets {
            let [low, high] = &sheet.passed[switch];
            bits |= u64::from(low.load(Relaxed)) | u64::from(high.load(Relaxed)) << 32;
        }
        bits
    }

    /// Reads the `len` cells from `first` on into `sums`, each with `more` on top.
    #[inline]
    pub(super) fn read(&self, first: usize, len: usize, more: u16, sums: &mut Vec<u16>) {
        let mut sheets = self.sheets.iter().map(|sheet| {
            let cells = sheet.cells.get(first..first + len);
            cells.unwrap_or_default().iter()
        });
        sums.clear();
        if let Some(cells) = sheets.next() {
            sums.extend(cells.map(|cell| cell.load(Relaxed).wrapping_add(more)));
        }
        for cells in sheets {
            for (sum, cell) in sums.iter_mut().zip(cells) {
                *sum = sum.wrapping_add(cell.load(Relaxed));
            }
        }
    }
}

/// Where a worker adds.
#[derive(Clone, Copy)]
pub(super) struct Pen<'a> {
    sheet: Option<&'a Sheet>,
    shared: bool,
}

impl Pen<'_> {
    /// Notes that the columns of some destinations will have something in the row of a switch.
    #[inline]
    pub(super) fn note(&self, switch: SwitchIdx, bits: u64) {
        let Some(sheet) = self.sheet.filter(|_| bits != 0) else {
            return;
        };
        let [low, high] = &sheet.passed[switch];
        for (half, bits) in [(low, bits as u32), (high, (bits >> 32) as u32)] {
            if self.shared {
                half.fetch_or(bits, Relaxed);
            } else {
                half.store(half.load(Relaxed) | bits, Relaxed);
            }
        }
    }

    /// Adds routes to a cell.
    #[inline]
    pub(super) fn add(&self, cell: usize, routes: u16) {
        let Some(cell) = self.sheet.and_then(|sheet| sheet.cells.get(cell)) else {
            return;
        };
        if self.shared {
            cell.fetch_add(routes, Relaxed);
        } else {
            // Nobody else adds here: no need for a locked instruction.
            cell.store(cell.load(Relaxed).wrapping_add(routes), Relaxed);
        }
    }
}
