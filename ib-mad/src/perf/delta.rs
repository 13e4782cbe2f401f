//! Differences of a port's counters between two reads.
//!
//! Pitfall: a counter stays at all ones, so that more may have come than the difference shows; and a
//! counter that is smaller than before was cleared, by whom ever, so that all it shows is new, and what
//! it counted before it was cleared is lost.

use ib_wire::table::{Field, Layout, load_bits};

use super::{PortCounters, PortCountersExtended, is_counter, ones};

/// The growth of a counter since an earlier read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterDelta {
    /// Exactly this much, if the counter was not cleared and passed its earlier value again since.
    Exactly(u64),
    /// At least this much: the counter is at all ones, of however many bits it has.
    AtLeast(u64),
    /// It was cleared in between: this much since, and an unknown rest before.
    SinceCleared(u64),
}

impl CounterDelta {
    /// The growth of a counter of `bits` bits between two values.
    #[must_use]
    pub fn between(earlier: u64, later: u64, bits: usize) -> Self {
        let is_saturated = ones(bits) == Some(later);
        match later.checked_sub(earlier) {
            Some(delta) if is_saturated => Self::AtLeast(delta),
            Some(delta) => Self::Exactly(delta),
            None => Self::SinceCleared(later),
        }
    }

    /// The least that was counted.
    #[must_use]
    pub const fn at_least(self) -> u64 {
        match self {
            Self::Exactly(count) | Self::AtLeast(count) | Self::SinceCleared(count) => count,
        }
    }
}

impl PortCounters {
    /// The growth of each counter since `earlier`, by its name.
    pub fn since<'a>(
        &'a self,
        earlier: &'a Self,
    ) -> impl Iterator<Item = (&'static str, CounterDelta)> + 'a {
        deltas(Self::LAYOUT, earlier.as_bytes(), self.as_bytes())
    }
}

impl PortCountersExtended {
    /// The growth of each counter since `earlier`, by its name.
    ///
    /// ```
    /// use ib_mad::{CounterDelta, PortCountersExtended};
    ///
    /// let mut earlier = PortCountersExtended::default();
    /// earlier.set_port_xmit_data(1_000);
    /// let mut later = earlier;
    /// later.set_port_xmit_data(1_250);
    /// let sent = later.since(&earlier).find(|(name, _)| *name == "port_xmit_data");
    /// assert_eq!(sent, Some(("port_xmit_data", CounterDelta::Exactly(250))));
    /// ```
    pub fn since<'a>(
        &'a self,
        earlier: &'a Self,
    ) -> impl Iterator<Item = (&'static str, CounterDelta)> + 'a {
        deltas(Self::LAYOUT, earlier.as_bytes(), self.as_bytes())
    }
}

fn deltas<'a>(
    layout: &'static Layout,
    earlier: &'a [u8],
    later: &'a [u8],
) -> impl Iterator<Item = (&'static str, CounterDelta)> + 'a {
    let counters = layout.fields.iter().filter(|field| is_counter(field.name));
    counters.filter_map(move |field| {
        let value = |bytes: &[u8], field: &Field| load_bits(bytes, field.bit_offset, field.bits);
        let (earlier, later) = (value(earlier, field)?, value(later, field)?);
        let delta = CounterDelta::between(earlier, later, field.bits);
        Some((field.name, delta))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_says_whether_a_counter_can_say_no_more() {
        use CounterDelta::{AtLeast, Exactly, SinceCleared};

        for (earlier, later, bits, expected) in [
            (3, 3, 16, Exactly(0)),
            (3, 10, 16, Exactly(7)),
            (3, 15, 4, AtLeast(12)),
            (15, 15, 4, AtLeast(0)),
            (0xff, 0xffff, 16, AtLeast(0xff00)),
            (0, 0xffff, 32, Exactly(0xffff)),
            (9, 2, 32, SinceCleared(2)),
            (0, u64::MAX, 64, AtLeast(u64::MAX)),
            (u64::MAX, 0, 64, SinceCleared(0)),
        ] {
            let delta = CounterDelta::between(earlier, later, bits);
            assert_eq!(delta, expected, "{earlier} {later} {bits}");
        }
    }

    #[test]
    fn every_counter_and_nothing_else_has_a_delta() {
        let (earlier, mut later) = (PortCounters::default(), PortCounters::default());
        later
            .set_port_select(7)
            .set_link_error_recovery_counter(255)
            .set_excessive_buffer_overrun_errors(15)
            .set_port_xmit_wait(5);
        let deltas = || later.since(&earlier);
        let of = |name: &str| deltas().find(|(at, _)| *at == name).map(|(_, delta)| delta);
        assert_eq!(of("port_select"), None);
        assert_eq!(of("counter_select"), None);
        assert_eq!(
            of("link_error_recovery_counter"),
            Some(CounterDelta::AtLeast(255))
        );
        let overruns = of("excessive_buffer_overrun_errors");
        assert_eq!(overruns, Some(CounterDelta::AtLeast(15)));
        assert_eq!(of("port_xmit_wait"), Some(CounterDelta::Exactly(5)));
        assert!(deltas().all(|(name, _)| !name.starts_with("reserved")));
        let extended = PortCountersExtended::default();
        assert_eq!(extended.since(&extended).count(), 22);
    }
}
