//! Facts that hold for every input: called by the property tests and the fuzz targets alike.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    reason = "a property that does not hold panics: that is how tests and fuzzers learn of it"
)]

use std::time::Duration;

use ib_mad::{Engine, Mad, MadAddress, Method, MgmtClass};
use ib_routing::{Fabric, FabricBuilder, NewNode, NodeIdx, NodeType, PortRef};
use ib_smp::SmpDirected;
use ib_wire::{Guid, Lid, PortNum, Qpn};

use crate::{Behaviour, Corruption, Delivery, FaultRates, Notification, Sim, SimOptions};

/// Switches of the ring; each has a host.
const SWITCHES: u8 = 4;

/// A ring of switches, by ports 1 and 2, with a host at port 3 of each.
fn ring() -> Fabric {
    let mut builder = FabricBuilder::new();
    let mut add = |type_, guid: u8, num_ports| {
        let node = NewNode {
            type_,
            guid: Guid(guid.into()),
            num_ports,
            ..NewNode::default()
        };
        builder.add_node(node).unwrap()
    };
    let switches: Vec<_> = (0..SWITCHES)
        .map(|at| add(NodeType::SWITCH, 0x10 + at, 3))
        .collect();
    let hosts: Vec<_> = (0..SWITCHES)
        .map(|at| add(NodeType::CA, 0x20 + at, 1))
        .collect();
    let at = |node, port| PortRef {
        node,
        port: PortNum(port),
    };
    for (index, (&switch, &host)) in switches.iter().zip(&hosts).enumerate() {
        let next = switches.iter().cycle().nth(index + 1).unwrap();
        builder.add_link(at(switch, 2), at(*next, 1)).unwrap();
        builder.add_link(at(switch, 3), at(host, 1)).unwrap();
    }
    builder.build()
}

/// The outputs of a run.
#[derive(Debug, Default, PartialEq)]
struct Log {
    delivered: Vec<Delivery>,
    events: Vec<Notification>,
}

impl Log {
    fn drain(&mut self, sim: &mut Sim) {
        let now = sim.now();
        self.delivered
            .extend(std::iter::from_fn(|| sim.poll_transmit(now)));
        self.events.extend(std::iter::from_fn(|| sim.poll_event()));
    }
}

/// Whatever hosts send, and whatever happens to the fabric meanwhile: nothing panics, time does not go back, no packet is
/// kept or counted twice, the fabric comes to rest, and a second run of the same script is the same bit for bit.
pub fn any_script_leaves_the_fabric_sane(script: &[u8]) {
    let first = run(script);
    assert_eq!(first, run(script));
}

/// One run: each step is a byte that says what, and some more that say how.
fn run(script: &[u8]) -> Log {
    let fabric = ring();
    let options = SimOptions {
        drop_events: true,
        events: true,
        vl15_buffers: 8,
        ..SimOptions::default()
    };
    let mut sim = Sim::new(&fabric, options);
    let hosts: Vec<_> = (SWITCHES..2 * SWITCHES)
        .map(|node| PortRef {
            node: NodeIdx(node.into()),
            port: PortNum(1),
        })
        .collect();
    for &host in &hosts {
        sim.attach(host, false).unwrap();
    }
    let mut bytes = script.iter().copied();
    let mut log = Log::default();
    while let Some(step) = bytes.next() {
        let before = sim.now();
        let mut next = || bytes.next().unwrap_or(0);
        let node = NodeIdx((next() % (2 * SWITCHES)).into());
        let port = PortRef {
            node,
            port: PortNum(next() % 5),
        };
        let host = hosts.iter().cycle().nth(port.port.0.into()).unwrap();
        match step % 12 {
            0..=3 => sim.send(*host, &directed(&mut next)),
            4 => sim.send(port, &anything(&mut next)),
            // A port that does not exist, or a cable that is not there: an error, and nothing else.
            5 => drop(sim.unlink(port)),
            6 => drop(sim.relink(port)),
            7 if next().is_multiple_of(2) => sim.power_off(node),
            7 => sim.power_on(node),
            8 => sim.set_behaviour(node, behaviour(next())),
            9 => sim.set_fault_rates(rates(&mut next)),
            10 => drop(sim.send_packet(*host, &[next(); 64])),
            _ => {
                let wait = Duration::from_micros(u64::from(next()) << (next() % 12));
                sim.advance(before + wait);
            }
        }
        assert!(sim.now() >= before);
        log.drain(&mut sim);
    }
    sim.set_fault_rates(FaultRates::NONE);
    let rest = sim.now() + Duration::from_secs(3600);
    sim.advance(rest);
    log.drain(&mut sim);
    assert_eq!(sim.in_flight(), 0, "packets that nobody has");
    let stats = sim.stats();
    let ended = stats.delivered + stats.dropped;
    assert!(ended >= log.delivered.len() as u64);
    log
}

/// A directed-route request, mostly one that makes sense.
fn directed(next: &mut impl FnMut() -> u8) -> Mad {
    let mut mad = Mad::new(MadAddress::DIRECTED);
    if let Ok((smp, _)) = SmpDirected::parse_mut(&mut mad.bytes, 0) {
        let hops = next() % 8;
        let path: [u8; 64] = std::array::from_fn(|hop| match hop {
            1..=8 => next() % 4,
            _ => 0,
        });
        let method = if next().is_multiple_of(4) {
            Method::SET
        } else {
            Method::GET
        };
        smp.set_base_version(1)
            .set_class_version(1)
            .set_mgmt_class(MgmtClass::SUBN_DIRECTED)
            .set_method(method)
            .set_hop_count(hops)
            .set_dr_slid(Lid::PERMISSIVE)
            .set_dr_dlid(Lid::PERMISSIVE)
            .set_attribute_id(ib_mad::AttributeId(u16::from(next() % 0x40)))
            .set_attribute_modifier(u32::from(next()))
            .set_initial_path(&path)
            .set_smp_data(&std::array::from_fn(|_| next()));
    }
    mad
}

/// A datagram of any bytes to any address.
fn anything(next: &mut impl FnMut() -> u8) -> Mad {
    let lid = Lid(u16::from_be_bytes([next() & 0xc0, next()]));
    let mut mad = Mad::new(MadAddress::smi(lid));
    if next().is_multiple_of(2) {
        mad.address.qpn = Qpn::GSI;
    }
    mad.bytes = std::array::from_fn(|_| next());
    mad
}

fn behaviour(choice: u8) -> Behaviour {
    match choice % 8 {
        0 => Behaviour::Silent,
        1 => Behaviour::Slow(Duration::from_millis(choice.into())),
        2 => Behaviour::Byzantine(Corruption::Garbage),
        3 => Behaviour::Byzantine(Corruption::ChangingGuid),
        4 => Behaviour::Byzantine(Corruption::NumPorts(choice)),
        5 => Behaviour::Byzantine(Corruption::Status),
        _ => Behaviour::Honest,
    }
}

fn rates(next: &mut impl FnMut() -> u8) -> FaultRates {
    let mut chance = || f64::from(next() % 16) / 64.0;
    FaultRates {
        loss: chance(),
        duplicate: chance(),
        delay: chance(),
        reorder: chance(),
        corrupt: chance(),
        bit_error: chance(),
        ..FaultRates::NONE
    }
}

/// Any text is a schedule of faults or an error, and chances are chances.
pub fn any_text_is_a_schedule_or_an_error(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(spec) = text.parse::<crate::FaultSpec>() {
        let rates = spec.rates;
        for chance in [rates.loss, rates.duplicate, rates.delay, rates.reorder] {
            assert!((0.0..=1.0).contains(&chance), "{text}: {chance}");
        }
        assert_eq!(spec.to_string().parse(), Ok(spec), "{text}");
    }
}
