//! Counts of subnet management packets: by the host that sent them, and by the port that they left a node by.
//!
//! A test of a manager that must stay inside its part of the fabric asserts on these. Nothing is counted before
//! [`Sim::watch_smps`], as a large fabric would pay for it at every hop.

use std::collections::BTreeMap;

use ib_routing::PortRef;

use crate::node::PortIdx;
use crate::sim::Sim;

/// The counts since the watch began.
#[derive(Debug, Default)]
pub(crate) struct SmpWatch {
    sent: BTreeMap<PortIdx, u64>,
    through: BTreeMap<PortIdx, u64>,
}

impl SmpWatch {
    pub(crate) fn count_sent(&mut self, origin: PortIdx) {
        increment(self.sent.entry(origin).or_default());
    }

    pub(crate) fn count_through(&mut self, out: PortIdx) {
        increment(self.through.entry(out).or_default());
    }
}

fn increment(count: &mut u64) {
    *count = count.saturating_add(1);
}

impl Sim {
    /// Counts subnet management packets from now on, from 0.
    pub fn watch_smps(&mut self) {
        self.smp_watch = Some(Box::default());
    }

    /// Subnet management packets that the host of `port` has sent since [`watch_smps`](Self::watch_smps), responses
    /// and repetitions included.
    #[must_use]
    pub fn smps_sent(&self, port: PortRef) -> u64 {
        self.smps_at(port, |watch| &watch.sent)
    }

    /// Subnet management packets that left their node by `port` since [`watch_smps`](Self::watch_smps): requests of
    /// hosts, responses and traps of agents. Those count too that a link which is down did not carry.
    #[must_use]
    pub fn smps_through(&self, port: PortRef) -> u64 {
        self.smps_at(port, |watch| &watch.through)
    }

    fn smps_at(&self, port: PortRef, counts: fn(&SmpWatch) -> &BTreeMap<PortIdx, u64>) -> u64 {
        let watch = self.smp_watch.as_deref().zip(self.port_idx(port));
        let count = watch.and_then(|(watch, port)| counts(watch).get(&port));
        count.copied().unwrap_or(0)
    }
}
