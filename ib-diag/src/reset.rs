//! The requests that clear counters, as datagrams.

use alloc::vec::Vec;

use ib_mad::{
    Call, CounterSelect, CounterSelect2, CounterSelectExtended, Mad, MadAddress, MgmtClass,
    PortCounters, PortCountersExtended,
};
use ib_routing::PortRef;
use ib_wire::Sl;

use crate::snapshot::Snapshot;

impl Snapshot {
    /// The Sets that clear the counters of a port. A port whose counters were not read has none.
    #[must_use]
    pub fn reset_requests(&self, at: PortRef) -> Vec<Mad> {
        let narrow = self.narrow_reset_request(at);
        let wide = self.wide_reset_request(at);
        narrow.into_iter().chain(wide).collect()
    }

    /// The Set that clears PortCounters of a port; `None` if no counters of the port were read. Every agent has
    /// PortCounters, also one whose PortCountersExtended was read in its place.
    #[must_use]
    pub fn narrow_reset_request(&self, at: PortRef) -> Option<Mad> {
        self.port(at).filter(|port| !port.counters.is_empty())?;
        let mut counters = PortCounters::default();
        counters
            .set_port_select(at.port.0)
            .set_counter_select(CounterSelect::from_bits_retain(u16::MAX))
            .set_counter_select2(CounterSelect2::from_bits_retain(u8::MAX));
        let set = Call::<PortCounters>::set(MgmtClass::PERF, 0);
        Some(set.request_with(self.perf_address(at)?, &counters))
    }

    /// The Set that clears PortCountersExtended of a port; `None` if PortCountersExtended was not read.
    fn wide_reset_request(&self, at: PortRef) -> Option<Mad> {
        self.port(at)?.counters.extended?;
        let mut counters = PortCountersExtended::default();
        counters
            .set_port_select(at.port.0)
            .set_counter_select(CounterSelectExtended::from_bits_retain(u16::MAX))
            .set_counter_select2(u32::MAX);
        let set = Call::<PortCountersExtended>::set(MgmtClass::PERF, 0);
        Some(set.request_with(self.perf_address(at)?, &counters))
    }

    /// The address of the agent that holds the counters of a port.
    fn perf_address(&self, at: PortRef) -> Option<MadAddress> {
        let node = self.node(at.node)?;
        let lid = node.port(node.managing_port(at.port))?.lid();
        lid.is_unicast().then(|| MadAddress::gsi(lid, Sl::ZERO))
    }
}
