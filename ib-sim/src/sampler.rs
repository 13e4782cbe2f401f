//! A sampling of counters while it runs: the request of the manager, and the counts so far (IBA vol. 1,
//! 16.1.3.2).

use ib_mad::{PortSamplesControl, SampleStatus};

use crate::port_idx::PortIdx;

/// Counters of a mechanism.
pub(crate) const COUNTERS: usize = 15;

/// A node's mechanism.
#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    pub(crate) control: PortSamplesControl,
    pub(crate) status: SampleStatus,
    pub(crate) port: PortIdx,
    /// Counts at the start, then over the time.
    pub(crate) counts: [u64; COUNTERS],
    /// Numbers the samplings: an event of an old one does nothing.
    pub(crate) sampling: u32,
}

impl Sampler {
    /// The codes of what the counters count.
    pub(crate) fn selected(&self) -> [u16; COUNTERS] {
        let control = &self.control;
        [
            control.counter_select0(),
            control.counter_select1(),
            control.counter_select2(),
            control.counter_select3(),
            control.counter_select4(),
            control.counter_select5(),
            control.counter_select6(),
            control.counter_select7(),
            control.counter_select8(),
            control.counter_select9(),
            control.counter_select10(),
            control.counter_select11(),
            control.counter_select12(),
            control.counter_select13(),
            control.counter_select14(),
        ]
    }

    /// The counts of a sampling that is done; zeros before.
    pub(crate) fn done(&self) -> impl Iterator<Item = u64> + '_ {
        let done = self.status == SampleStatus::DONE;
        let counts = self.counts.iter();
        counts.map(move |&count| if done { count } else { 0 })
    }
}
