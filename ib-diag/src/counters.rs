//! Performance counters of one port, joined from several attributes.
//!
//! PortCounters is narrow and saturates. PortCountersExtended has 64 bits; it has error counters only if the agent
//! announces them. A reading joins both: each counter comes from the widest attribute that holds it. A counter that
//! could not be read is missing, which is not the same as zero.

mod sources;
mod thresholds;

use alloc::{collections::BTreeMap, vec::Vec};

use ib_mad::{
    ClassPortInfo, CounterDelta, PerfCapabilities, PerfCapabilities2, PortCounters,
    PortCountersExtended, PortExtendedSpeedsCounters,
};
use ib_wire::table::{Field, load_bits};

use self::sources::{Source, sources};
pub use self::thresholds::Thresholds;

/// The performance counters that were read for one port.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CounterReadings {
    /// PortCounters; `None` if it was not read.
    pub classic: Option<PortCounters>,
    /// PortCountersExtended; `None` if it was not read.
    pub extended: Option<PortCountersExtended>,
    /// PortExtendedSpeedsCounters; `None` if it was not read.
    pub extended_speeds: Option<PortExtendedSpeedsCounters>,
    /// The reason why counters are missing; `None` if every request was answered, or none was sent.
    pub unread: Option<UnreadReason>,
}

/// The reason why the counters of a port were not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreadReason {
    /// The port has no LID, so its agent cannot be addressed.
    NoLid,
    /// The agent left the request unanswered.
    NoAnswer,
    /// The agent refused the request.
    Refused,
}

impl UnreadReason {
    const ALL: [(Self, u8); 3] = [(Self::NoLid, 1), (Self::NoAnswer, 2), (Self::Refused, 3)];

    /// The number of the reason in a snapshot file.
    pub(crate) fn code(self) -> u8 {
        let found = Self::ALL.iter().find(|(reason, _)| *reason == self);
        found.map_or(0, |(_, code)| *code)
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, number)| *number == code);
        found.map(|(reason, _)| *reason)
    }

    /// The reason as words for a report.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::NoLid => "the port has no LID",
            Self::NoAnswer => "no answer",
            Self::Refused => "the agent refused the request",
        }
    }
}

/// The value of one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The value read from the port.
    pub value: u64,
    /// Width of the counter in bits. A counter at all ones stops counting.
    pub bits: u8,
}

impl Counter {
    /// Returns true if the counter is at all ones, so that the true value is unknown.
    #[must_use]
    pub fn is_saturated(self) -> bool {
        let ones = 64u32
            .checked_sub(u32::from(self.bits))
            .and_then(|shift| u64::MAX.checked_shr(shift));
        ones == Some(self.value)
    }

    /// Returns true if the counter has reached three quarters of its range, so that it should be cleared before it
    /// saturates. A 64-bit counter never reaches that in practice.
    #[must_use]
    pub fn is_nearly_full(self) -> bool {
        let shift = 64u32.checked_sub(u32::from(self.bits));
        let ones = shift.and_then(|shift| u64::MAX.checked_shr(shift));
        ones.is_some_and(|ones| self.value >= ones.saturating_sub(ones / 4))
    }
}

/// Counters that PortCountersExtended holds even if the agent announces no error counters there.
const WIDE: [&str; 8] = [
    "port_xmit_data",
    "port_rcv_data",
    "port_xmit_pkts",
    "port_rcv_pkts",
    "port_unicast_xmit_pkts",
    "port_unicast_rcv_pkts",
    "port_multicast_xmit_pkts",
    "port_multicast_rcv_pkts",
];

/// Counters that grow with traffic and do not indicate a fault.
const TRAFFIC: [&str; 9] = [
    WIDE[0],
    WIDE[1],
    WIDE[2],
    WIDE[3],
    WIDE[4],
    WIDE[5],
    WIDE[6],
    WIDE[7],
    "port_xmit_wait",
];

impl CounterReadings {
    /// The names of all counters, in the order of PortCountersExtended and PortCounters.
    pub fn names() -> impl Iterator<Item = &'static str> {
        sources().iter().map(|source| source.name)
    }

    /// Returns true if a counter counts faults rather than traffic.
    #[must_use]
    pub fn counts_errors(name: &str) -> bool {
        !TRAFFIC.contains(&name)
    }

    /// Returns true if an agent announces that its PortCountersExtended has the error counters too, and so every
    /// counter of PortCounters.
    #[must_use]
    pub fn extended_has_errors(info: &ClassPortInfo) -> bool {
        Abilities::of(Some(info)).wide_errors
    }

    /// Returns true if no counter was read.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.classic.is_none() && self.extended.is_none() && self.extended_speeds.is_none()
    }

    /// The counters that were read. `info` is the ClassPortInfo of the agent, which announces the counters that
    /// PortCountersExtended holds.
    #[must_use]
    pub fn values(&self, info: Option<&ClassPortInfo>) -> CounterValues {
        if self.classic.is_none() && self.extended.is_none() {
            return CounterValues::default();
        }
        let abilities = Abilities::of(info);
        let mut values = Vec::with_capacity(sources().len());
        for (place, source) in sources().iter().enumerate() {
            // The counters of WIDE are the first ones of PortCountersExtended, in this order.
            let is_wide = match place {
                0..=3 => true,
                4..=7 => abilities.by_cast,
                _ => abilities.wide_errors,
            };
            let extended = self.extended.as_ref().filter(|_| is_wide);
            let wide = extended.and_then(|of| counter(source.wide?, of.as_bytes()));
            let value = wide.or_else(|| {
                let is_there = abilities.xmit_wait || source.name != "port_xmit_wait";
                let classic = self.classic.as_ref().filter(|_| is_there)?;
                counter(source.narrow?, classic.as_bytes())
            });
            values.extend(value.map(|value| (source, value)));
        }
        CounterValues(values)
    }

    /// The growth of each counter since an earlier reading. Counters that either reading lacks are left out.
    #[must_use]
    pub fn since(
        &self,
        earlier: &Self,
        info: Option<&ClassPortInfo>,
    ) -> BTreeMap<&'static str, CounterDelta> {
        let before = earlier.values(info);
        let now = self.values(info);
        let deltas = now.iter().filter_map(|(name, now)| {
            let before = before.get(name).filter(|before| before.bits == now.bits)?;
            let delta = CounterDelta::between(before.value, now.value, usize::from(now.bits));
            Some((name, delta))
        });
        deltas.collect()
    }
}

/// The values of the counters that were read for one port, in the order of [`CounterReadings::names`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterValues(Vec<(&'static Source, Counter)>);

impl CounterValues {
    /// The counter with this name; `None` if it was not read.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Counter> {
        let mut all = self.iter();
        all.find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    /// All counters that were read, with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Counter)> {
        let values = self.0.iter();
        values.map(|(source, counter)| (source.name, *counter))
    }

    /// Returns true if no counter was read.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The sum of the counters that count faults. A sum beyond 64 bits is the largest number.
    #[must_use]
    pub fn errors(&self) -> u64 {
        let errors = self
            .iter()
            .filter(|(name, _)| CounterReadings::counts_errors(name));
        errors.fold(0, |sum, (_, counter)| sum.saturating_add(counter.value))
    }

    /// The names of the counters that were not read.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        CounterReadings::names()
            .filter(|name| self.get(name).is_none())
            .collect()
    }

    /// The names of the counters that are at all ones.
    #[must_use]
    pub fn saturated(&self) -> Vec<&'static str> {
        let saturated = self.iter().filter(|(_, counter)| counter.is_saturated());
        saturated.map(|(name, _)| name).collect()
    }
}

/// Capabilities that an agent announces.
struct Abilities {
    xmit_wait: bool,
    by_cast: bool,
    wide_errors: bool,
}

impl Abilities {
    fn of(info: Option<&ClassPortInfo>) -> Self {
        let Some(info) = info else {
            return Self {
                xmit_wait: false,
                by_cast: false,
                wide_errors: false,
            };
        };
        let can = PerfCapabilities::from_bits_retain(info.capability_mask().bits());
        let can2 = PerfCapabilities2::from_bits_retain(info.capability_mask2());
        Self {
            xmit_wait: can.contains(PerfCapabilities::PORT_COUNTERS_XMIT_WAIT_SUPPORTED),
            by_cast: can.contains(PerfCapabilities::IS_EXTENDED_WIDTH_SUPPORTED),
            wide_errors: can.contains(PerfCapabilities::IS_CAPABILITY_MASK2_SUPPORTED)
                && can2.contains(PerfCapabilities2::IS_ADDITIONAL_PORT_COUNTERS_EXTENDED_SUPPORTED),
        }
    }
}

fn counter(field: &Field, bytes: &[u8]) -> Option<Counter> {
    Some(Counter {
        value: load_bits(bytes, field.bit_offset, field.bits)?,
        bits: u8::try_from(field.bits).ok()?,
    })
}

#[cfg(test)]
mod tests;
