//! The counts of one port, accumulated over all readings.

use alloc::{
    collections::{BTreeMap, VecDeque},
    string::String,
    vec::Vec,
};

use ib_mad::{ClassPortInfo, CounterDelta, Instant};

use crate::{counters::Counter, snapshot::SnapshotPort};

/// The growth of a port's counters between two readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterSample {
    /// Time at which the reading ended.
    pub at: Instant,
    /// The counters that grew, by their names in the specification, each with its growth.
    pub counted: Vec<(&'static str, u64)>,
}

/// The totals of one port, and its latest readings.
#[derive(Clone, Debug, Default)]
pub struct PortHistory {
    name: String,
    is_gone: bool,
    totals: BTreeMap<&'static str, u64>,
    /// The last values that the device showed. A counter that is not in the map begins at 0.
    previous: BTreeMap<&'static str, Counter>,
    samples: VecDeque<CounterSample>,
    last_reset: Option<Instant>,
    last_error_update: Option<Instant>,
    last_data_update: Option<Instant>,
}

/// The result of adding one reading.
pub(super) struct Reading {
    pub(super) counted: Vec<(&'static str, u64)>,
    /// A counter was lower than before, although this manager had not cleared it.
    pub(super) was_cleared: bool,
}

impl PortHistory {
    /// The node's description at the last reading.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if the last sweep found the port.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        !self.is_gone
    }

    /// The total of a counter since the first sweep, including its value at the first reading; `None` if the counter
    /// was never read.
    #[must_use]
    pub fn total(&self, counter: &str) -> Option<u64> {
        self.totals.get(counter).copied()
    }

    /// All totals, by the names of the counters.
    pub fn totals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.totals.iter().map(|(name, total)| (*name, *total))
    }

    /// The latest readings, oldest first.
    pub fn samples(&self) -> impl Iterator<Item = &CounterSample> {
        self.samples.iter()
    }

    /// Time at which the totals, or the counters of the device, were last cleared; `None` if never.
    #[must_use]
    pub const fn last_reset(&self) -> Option<Instant> {
        self.last_reset
    }

    /// Time at which PortCounters, which holds the error counters, was last read; `None` if never.
    #[must_use]
    pub const fn last_error_update(&self) -> Option<Instant> {
        self.last_error_update
    }

    /// Time at which data counters were last read; `None` if never.
    #[must_use]
    pub const fn last_data_update(&self) -> Option<Instant> {
        self.last_data_update
    }

    pub(super) fn set_active(&mut self, is_active: bool) {
        self.is_gone = !is_active;
    }

    /// Sets the totals to 0.
    pub(super) fn clear(&mut self, now: Instant) {
        self.totals.values_mut().for_each(|total| *total = 0);
        self.samples.clear();
        self.last_reset = Some(now);
    }

    /// Records that the device has cleared the counters of PortCounters at this manager's request.
    pub(super) fn was_cleared(&mut self, now: Instant) {
        self.previous.retain(|_, counter| counter.bits == 64);
        self.last_reset = Some(now);
    }

    /// Adds a reading, and keeps the latest `keep` readings.
    pub(super) fn add(
        &mut self,
        now: Instant,
        port: &SnapshotPort,
        name: String,
        keep: usize,
    ) -> Reading {
        let info: Option<&ClassPortInfo> = port.perf_class_port_info.as_ref();
        let values = port.counters.values(info);
        let mut reading = Reading {
            counted: Vec::new(),
            was_cleared: false,
        };
        for (counter, value) in values.iter() {
            // A counter of another width is a different counter: its whole value is new, as at the first reading.
            let before = self.previous.get(counter);
            let before = before.filter(|before| before.bits == value.bits);
            let delta = before.map_or(CounterDelta::Exactly(value.value), |before| {
                CounterDelta::between(before.value, value.value, usize::from(value.bits))
            });
            reading.was_cleared |= matches!(delta, CounterDelta::SinceCleared(_));
            let total = self.totals.entry(counter).or_default();
            *total = total.saturating_add(delta.at_least());
            if delta.at_least() > 0 {
                reading.counted.push((counter, delta.at_least()));
            }
        }
        self.name = name;
        self.is_gone = false;
        if reading.was_cleared {
            self.last_reset = Some(now);
        }
        // Either attribute with error counters has this one.
        if values.get("symbol_error_counter").is_some() {
            self.last_error_update = Some(now);
        }
        self.last_data_update = Some(now);
        self.previous = values.iter().collect();
        self.samples.push_back(CounterSample {
            at: now,
            counted: reading.counted.clone(),
        });
        while self.samples.len() > keep {
            self.samples.pop_front();
        }
        reading
    }
}
