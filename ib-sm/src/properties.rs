//! Facts that hold for every input: called by the property tests and the fuzz targets alike.
#![allow(
    clippy::panic,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a property that does not hold panics: that is how tests and fuzzers learn of it"
)]

use alloc::{string::String, vec::Vec};
use core::time::Duration;

use ib_mad::{Engine, Input, Instant, Mad, MadAddress, Method, MgmtClass};
use ib_smp::{DrDirection, NodeInfo, NodeType, SmpDirected};
use ib_wire::{Guid, Lid, PortNum};

use crate::{Partitions, PrefixRoutes, QosPolicy, Registrations, SmConfig, SubnetManager};

/// Most calls of a run.
const MAX_STEPS: usize = 4096;

/// Whatever the files of a manager say: they are read, or refused with a line that they have.
pub fn any_configuration_is_read_or_refused(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().count();
    let refused = [
        Partitions::parse(&text).err().map(|error| error.line),
        QosPolicy::parse(&text).err().map(|error| error.line),
        PrefixRoutes::parse(&text).err().map(|error| error.line),
        Registrations::parse(&text, 0).err().map(|error| error.line),
        SmConfig::parse(&text).err().map(|error| error.line),
    ];
    assert!(refused.into_iter().flatten().all(|line| line <= lines));
}

/// For any datagrams at any time: the manager does not panic, its window keeps to its limit, each datagram
/// that it sends is well-formed, and it comes to rest once the time-outs are over.
///
/// Each byte of the script is one step: the oldest request is lost, answered by a node of the
/// script's making, answered twice, answered with garbage, or time goes on.
pub fn any_fabric_leaves_the_manager_sane(script: &[u8]) {
    let config = SmConfig {
        sweep_interval: None,
        transaction_retries: 1,
        ..SmConfig::default()
    };
    let limit = config.max_wire_smps.max(config.max_wire_smps2.into());
    let mut now = Instant::ZERO;
    let mut sm = SubnetManager::new(config, now);
    let mut open: Vec<Mad> = Vec::new();
    let mut bytes = script.iter().copied();
    for _ in 0..MAX_STEPS {
        while let Some(mad) = sm.poll_transmit(now) {
            assert_well_formed(&mad);
            open.push(mad);
        }
        while sm.poll_event().is_some() {}
        let Some(step) = bytes.next() else { break };
        match step % 8 {
            0 if !open.is_empty() => {
                open.remove(0);
            }
            1..=4 if !open.is_empty() => {
                let answer = answer(&open.remove(0), &mut bytes);
                sm.handle_input(now, Input::Mad(&answer));
                if step % 8 == 4 {
                    assert_eq!(sm.check_invariants(), Ok(()));
                    sm.handle_input(now, Input::Mad(&answer));
                }
            }
            5 => {
                let mut garbage = Mad::new(MadAddress::smi(Lid(u16::from(step))));
                for (to, from) in garbage.bytes.iter_mut().zip(&mut bytes) {
                    *to = from;
                }
                sm.handle_input(now, Input::Mad(&garbage));
            }
            6 if !open.is_empty() => {
                let failed = open.remove(0);
                sm.handle_input(now, Input::SendFailed(&failed));
            }
            _ => {
                now = now.saturating_add(Duration::from_millis(u64::from(step)));
                sm.handle_timeout(now);
            }
        }
        assert_eq!(sm.check_invariants(), Ok(()));
        assert!(open.len() <= MAX_STEPS * limit);
    }
    // No device answers any more: every request ends, and so does the sweep with its quick retries.
    for _ in 0..1 << 16 {
        while sm.poll_transmit(now).is_some() {}
        while sm.poll_event().is_some() {}
        let Some(at) = sm.poll_timeout() else { return };
        now = now.max(at);
        sm.handle_timeout(now);
        assert_eq!(sm.check_invariants(), Ok(()));
    }
    panic!("the manager never comes to rest");
}

fn assert_well_formed(mad: &Mad) {
    let header = mad.header();
    assert_eq!(header.base_version(), 1);
    let class = header.mgmt_class();
    if class == MgmtClass::SUBN_DIRECTED
        && let Ok((smp, _)) = SmpDirected::parse(&mad.bytes, 0)
        && smp.d() == DrDirection::OUTGOING
    {
        assert!(smp.hop_count() <= 63);
        assert_eq!(smp.hop_pointer(), 0);
        assert!(matches!(smp.method(), Method::GET | Method::SET));
    }
}

/// An answer whose content the script makes: a node with a GUID of few values, so that loops form.
fn answer(request: &Mad, script: &mut impl Iterator<Item = u8>) -> Mad {
    let mut answer = *request;
    let Ok((smp, _)) = SmpDirected::parse_mut(&mut answer.bytes, 0) else {
        return answer;
    };
    let mut data = [0; 64];
    let mut next = || script.next().unwrap_or(1);
    if smp.attribute_id() == <NodeInfo as ib_mad::Attribute>::ID {
        let kind = next();
        let mut info = NodeInfo::default();
        info.set_node_type(NodeType(1 + kind % 3))
            .set_num_ports(kind >> 4)
            .set_node_guid(Guid(u64::from(next() % 16)))
            .set_port_guid(Guid(u64::from(next())))
            .set_local_port_num(PortNum(next() % 20));
        data = ib_wire::table::padded(info.as_bytes());
    } else {
        for to in &mut data {
            *to = next();
        }
    }
    smp.set_method(Method::GET_RESP)
        .set_d(DrDirection::RETURNING)
        .set_smp_data(&data);
    answer
}
