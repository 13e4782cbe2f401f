//! Sampling: chosen quantities are counted for a chosen time (IBA vol. 1, 16.1.3.2 to 16.1.3.4).
//!
//! A manager writes PortSamplesControl: what to count on which port, when to start and for how long. It reads the result once
//! SampleStatus is Done; the tag tells managers apart. A node has one sampling mechanism. While it runs, it ignores another
//! control, and the answer shows the one that runs. Codes of what to count are those of the mandatory counters, as Linux's
//! `ib_pma.h` spells them; the optional ones of OptionMask are not there.

use std::time::Duration;

use ib_mad::{
    Attribute, AttributeId, MadStatus, PortSamplesControl, PortSamplesResult,
    PortSamplesResultExtended, SampleStatus,
};
use ib_routing::NodeIdx;
use ib_wire::PortNum;

use crate::counters::SimCounters;
use crate::node::PortIdx;
use crate::sampler::{COUNTERS, Sampler};
use crate::sim::{Event, Sim};

/// A tick is (code + 1) * 4 ns: ten symbols of a link at 2.5 Gb/s; this is a microsecond.
const TICK_CODE: u8 = 249;
const TICK: Duration = Duration::from_micros(1);

/// 32 bits, the widest code.
const COUNTER_WIDTH: u8 = 4;

/// CounterMask of a counter that can count any quantity of the port.
const ANY: u8 = 1;

/// The count of a code of CounterSelect; 0 if there is no such code.
fn count(counters: &SimCounters, select: u16) -> u64 {
    match select {
        1 => counters.xmit_data,
        2 => counters.rcv_data,
        3 => counters.xmit_pkts,
        4 => counters.rcv_pkts,
        5 => counters.get("port_xmit_wait", 0),
        _ => 0,
    }
}

/// The parts of a control that a port writes, not a manager.
fn capabilities(control: &mut PortSamplesControl) {
    control
        .set_tick(TICK_CODE)
        .set_counter_width(COUNTER_WIDTH)
        .set_counter_mask0(ANY)
        .set_counter_mask1(ANY)
        .set_counter_mask2(ANY)
        .set_counter_mask3(ANY)
        .set_counter_mask4(ANY)
        .set_counter_mask5(ANY)
        .set_counter_mask6(ANY)
        .set_counter_mask7(ANY)
        .set_counter_mask8(ANY)
        .set_counter_mask9(ANY)
        .set_counter_mask10(ANY)
        .set_counter_mask11(ANY)
        .set_counter_mask12(ANY)
        .set_counter_mask13(ANY)
        .set_counter_mask14(ANY)
        .set_sample_mechanisms(0)
        .set_option_mask(0)
        .set_vendor_mask(0)
        .set_samples_only_option_mask(0);
}

impl Sim {
    /// Answers for an attribute of sampling; `None` if `id` is none.
    pub(crate) fn samples_attribute(
        &mut self,
        node: NodeIdx,
        id: AttributeId,
        modifier: u32,
        set: bool,
        data: &mut [u8; 192],
    ) -> Option<MadStatus> {
        let results = [PortSamplesResult::ID, PortSamplesResultExtended::ID];
        if id != PortSamplesControl::ID && !results.contains(&id) {
            return None;
        }
        // The modifier names the mechanism.
        if modifier != 0 {
            return Some(MadStatus::INVALID_FIELD_VALUE);
        }
        if id != PortSamplesControl::ID && set {
            return Some(MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
        }
        if set {
            let control = PortSamplesControl::from_bytes(*data);
            let port = self.nodes[node].port_idx(PortNum(control.port_select()));
            let there = port.filter(|_| control.port_select() != 0 || self.nodes[node].is_switch);
            let Some(port) = there else {
                return Some(MadStatus::INVALID_FIELD_VALUE);
            };
            self.start_sampling(node, port, control);
        }
        *data = [0; 192];
        let sampler = self.nodes[node].sampler.as_deref();
        match id {
            PortSamplesControl::ID => {
                let mut control =
                    sampler.map_or_else(PortSamplesControl::default, |sampler| sampler.control);
                capabilities(&mut control);
                control.set_sample_status(
                    sampler.map_or(SampleStatus::DONE, |sampler| sampler.status),
                );
                data.copy_from_slice(control.as_bytes());
            }
            PortSamplesResult::ID => {
                let mut result = PortSamplesResult::default();
                if let Some(sampler) = sampler {
                    result
                        .set_tag(sampler.control.tag())
                        .set_sample_status(sampler.status);
                    for (index, count) in sampler.done().enumerate() {
                        result.set_counter(index, u32::try_from(count).unwrap_or(u32::MAX));
                    }
                }
                put(data, result.as_bytes());
            }
            _ => {
                let mut result = PortSamplesResultExtended::default();
                // Counters of 64 bits.
                result.set_extended_width(2);
                if let Some(sampler) = sampler {
                    result
                        .set_tag(sampler.control.tag())
                        .set_sample_status(sampler.status);
                    for (index, count) in sampler.done().enumerate() {
                        result.set_counter(index, count);
                    }
                }
                put(data, result.as_bytes());
            }
        }
        Some(MadStatus::OK)
    }

    /// Starts a sampling, unless one is running.
    fn start_sampling(&mut self, node: NodeIdx, port: PortIdx, control: PortSamplesControl) {
        let old = self.nodes[node].sampler.as_deref();
        if old.is_some_and(|old| old.status != SampleStatus::DONE) {
            return;
        }
        let sampling = old.map_or(0, |old| old.sampling.wrapping_add(1));
        self.nodes[node].sampler = Some(Box::new(Sampler {
            control,
            status: SampleStatus::STARTED,
            port,
            counts: [0; COUNTERS],
            sampling,
        }));
        let wait = TICK.saturating_mul(control.sample_start());
        self.queue
            .push_later(self.now, wait, Event::Sample { node, sampling });
    }

    /// Starts or ends a sampling whose time has come.
    pub(crate) fn sample(&mut self, node: NodeIdx, sampling: u32) {
        let sampler = self.nodes[node].sampler.as_deref_mut();
        let Some(sampler) = sampler.filter(|sampler| sampler.sampling == sampling) else {
            return;
        };
        let selected = sampler.selected();
        let counters = &self.ports[sampler.port].counters;
        for (own, select) in sampler.counts.iter_mut().zip(selected) {
            // At the start the count is the one to take away at the end.
            *own = count(counters, select).saturating_sub(*own);
        }
        if sampler.status == SampleStatus::STARTED {
            sampler.status = SampleStatus::RUNNING;
            let wait = TICK.saturating_mul(sampler.control.sample_interval());
            self.queue
                .push_later(self.now, wait, Event::Sample { node, sampling });
        } else {
            sampler.status = SampleStatus::DONE;
        }
    }
}

fn put(data: &mut [u8; 192], attribute: &[u8]) {
    for (to, from) in data.iter_mut().zip(attribute) {
        *to = *from;
    }
}
