//! Clearing counters: the requests, as datagrams.

use alloc::vec::Vec;

use ib_mad::{
    Call, CounterSelect, CounterSelect2, CounterSelectExtended, Mad, MadAddress, MgmtClass,
    PortCounters, PortCountersExtended,
};
use ib_routing::PortRef;
use ib_wire::Sl;

use crate::snapshot::Snapshot;

impl Snapshot {
    /// The Sets that clear the counters of a port, as far as counters were read: none for a port without a LID.
    #[must_use]
    pub fn reset_requests(&self, at: PortRef) -> Vec<Mad> {
        let mut requests = Vec::new();
        let node = self.node(at.node);
        let lid = node.and_then(|node| Some(node.port(node.managing_port(at.port))?.lid()));
        let (Some(lid), Some(port)) = (lid.filter(|lid| lid.is_unicast()), self.port(at)) else {
            return requests;
        };
        let address = MadAddress::gsi(lid, Sl::ZERO);
        if port.counters.classic.is_some() {
            let mut counters = PortCounters::default();
            counters
                .set_port_select(at.port.0)
                .set_counter_select(CounterSelect::from_bits_retain(u16::MAX))
                .set_counter_select2(CounterSelect2::from_bits_retain(u8::MAX));
            requests.push(
                Call::<PortCounters>::set(MgmtClass::PERF, 0).request_with(address, &counters),
            );
        }
        if port.counters.extended.is_some() {
            let mut counters = PortCountersExtended::default();
            counters
                .set_port_select(at.port.0)
                .set_counter_select(CounterSelectExtended::from_bits_retain(u16::MAX))
                .set_counter_select2(u32::MAX);
            requests.push(
                Call::<PortCountersExtended>::set(MgmtClass::PERF, 0)
                    .request_with(address, &counters),
            );
        }
        requests
    }
}
