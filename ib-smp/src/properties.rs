//! Facts that hold for every input: called by the property tests and the fuzz targets alike.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a property fails by panicking"
)]

use core::fmt::Write as _;

use arbitrary::{Arbitrary, Unstructured};
use ib_mad::Method;
use ib_wire::{Lid, PortNum};

use crate::{DrDirection, DrPath, NodeInfo, NodeType, Smi, SmiAction, Smp, SmpDirected, Source};
#[cfg(feature = "alloc")]
use {
    crate::{
        Arrival, NodeDescription, PortInfo, PortState, Sma, SmaPort, SmpDisposition, SmpLidRouted,
        SwitchInfo,
    },
    alloc::vec::Vec,
    core::time::Duration,
    ib_mad::{Engine as _, Instant},
};

/// A datagram opened as an SMP is the same bytes and prints, whatever attribute it carries.
pub fn any_smp_is_its_bytes(bytes: &[u8]) {
    let Some(datagram) = bytes.first_chunk::<256>() else {
        return;
    };
    let Some(smp) = Smp::parse(datagram) else {
        return;
    };
    assert_eq!(smp.as_bytes(), datagram);
    let mut printed = Length(0);
    write!(printed, "{smp:?} {:?}", smp.attribute()).unwrap();
    assert!(printed.0 > 0);
}

/// Counts what is printed.
struct Length(usize);

impl core::fmt::Write for Length {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

/// Whatever an SMP says, an SMI sends it by a port that it has or leaves it as it was, and moves the
/// hop pointer by one at most.
pub fn any_smp_moves_by_one_hop_or_stays(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let mut next = || u8::arbitrary(&mut u).unwrap_or(0);
    let smi = Smi {
        node_type: NodeType(next() % 4),
        num_ports: next(),
        port: PortNum(next()),
        lid: Lid(next().into()),
    };
    let source = match next() % 4 {
        0 => Source::Own,
        _ => Source::Port(PortNum(next())),
    };
    let mut raw = [0; 256];
    u.fill_buffer(&mut raw).unwrap();
    let mut smp = SmpDirected::from_bytes(raw);
    if u.arbitrary().unwrap_or(false) {
        // Mostly paths of a legal length.
        let count = smp.hop_count() % 64;
        let pointer = smp.hop_pointer() % (count + 2);
        smp.set_hop_count(count).set_hop_pointer(pointer);
    }
    let before = smp;
    match smi.handle(&mut smp, source) {
        Err(_) => assert_eq!(smp, before),
        Ok(step) => {
            let (old, new) = (before.hop_pointer(), smp.hop_pointer());
            assert!(old.abs_diff(new) <= 1 && new <= smp.hop_count() + 1);
            if old != new {
                assert_eq!(new > old, before.d() == DrDirection::OUTGOING);
            }
            assert_eq!(smp.initial_path(), before.initial_path());
            if let SmiAction::Send(port) = step {
                assert!((1..=smi.num_ports).contains(&port.0));
            }
        }
    }
}

/// An SMP sent out over any path and returned visits the same ports backwards.
pub fn a_response_retraces_its_request(bytes: &[u8]) {
    // Each byte is a hop: left by the low half, entered by the high half, ports 1 to 16.
    let hops: usize = bytes.len().min(63);
    let left = |hop: usize| PortNum((bytes[hop] & 15) + 1);
    let entered = |hop: usize| PortNum((bytes[hop] >> 4) + 1);
    let smi = Smi {
        node_type: NodeType::SWITCH,
        num_ports: 16,
        port: PortNum::MANAGEMENT,
        lid: Lid(1),
    };
    let mut path = DrPath::OWN_NODE;
    for hop in 0..hops {
        path = path.then(left(hop)).unwrap();
    }
    let mut smp = SmpDirected::new(Method::GET, <NodeInfo as ib_mad::Attribute>::ID, 0, &path);
    let mut step = smi.start(&mut smp, Lid::NONE);
    for hop in 0..hops {
        assert_eq!(step, Ok(SmiAction::Send(left(hop))));
        step = smi.handle(&mut smp, Source::Port(entered(hop)));
    }
    assert_eq!(step, Ok(SmiAction::Deliver));
    smp.set_d(DrDirection::RETURNING);
    step = smi.respond(&mut smp, Lid::PERMISSIVE);
    for hop in (0..hops).rev() {
        assert_eq!(step, Ok(SmiAction::Send(entered(hop))));
        step = smi.handle(&mut smp, Source::Port(left(hop)));
    }
    assert_eq!((step, smp.hop_pointer()), (Ok(SmiAction::Deliver), 0));
}

/// Properties of an agent for any input: a response keeps what ties it to the request, a Get changes no
/// state, and a Set never leaves a port with an illegal LID or in a state that a Set may not reach.
#[cfg(feature = "alloc")]
pub fn an_agent_stays_sound(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let mut sma = agent(&mut u);
    let mut now = Instant::ZERO;
    for _ in 0..64 {
        if u.is_empty() {
            break;
        }
        now = core::ops::Add::add(
            now,
            Duration::from_millis(u.arbitrary().unwrap_or(0u16).into()),
        );
        sma.handle_timeout(now);
        happen(&mut sma, now, &mut u);
        let mut raw = *request(&mut u).as_bytes();
        let before = raw;
        let states: Vec<PortState> = sma
            .ports()
            .iter()
            .map(|at| at.info().port_state())
            .collect();
        let arrival = Arrival {
            port: PortNum(u.arbitrary().unwrap_or(0u8) % 4),
            slid: Lid(u.arbitrary().unwrap_or(0)),
        };
        let verdict = sma.respond(now, arrival, &mut raw);
        let (old, _) = SmpLidRouted::parse(&before, 0).unwrap();
        let (new, _) = SmpLidRouted::parse(&raw, 0).unwrap();
        if verdict == SmpDisposition::Respond {
            assert_eq!(new.method(), Method::GET_RESP);
            assert_eq!(new.transaction_id(), old.transaction_id());
            assert_eq!(new.attribute_id(), old.attribute_id());
            assert_eq!(new.attribute_modifier(), old.attribute_modifier());
            a_get_reads_what_was_set(&mut sma, now, arrival, old, new);
        } else {
            assert_eq!(raw, before);
        }
        for (at, was) in sma.ports().iter().zip(states) {
            let info = at.info();
            let legal = |lid: Lid| lid.is_unicast() || lid == Lid::NONE;
            assert!(legal(info.lid()) && legal(info.master_sm_lid()));
            assert!((1..=5).contains(&info.neighbor_mtu().bits()));
            assert!(
                info.link_width_supported()
                    .contains(info.link_width_enabled())
            );
            let state = info.port_state();
            assert!(old.method() == Method::SET || state == was);
            assert!(state <= PortState::ACTIVE && state >= PortState::DOWN);
        }
        let traps = core::iter::from_fn(|| sma.poll_transmit(now)).take(100);
        assert!(traps.count() <= 8, "traps do not pile up");
        while sma.poll_event().is_some() {}
    }
}

/// After a Set that was carried out a Get shows what the Set's response shows. PortInfo hides its key,
/// and a client is asked to register again once only.
#[cfg(feature = "alloc")]
fn a_get_reads_what_was_set(
    sma: &mut Sma,
    now: Instant,
    arrival: Arrival,
    request: &SmpLidRouted,
    response: &SmpLidRouted,
) {
    let is_done = response.status().0 & 0x7fff == 0;
    let port_info = <PortInfo as ib_mad::Attribute>::ID;
    if request.method() != Method::SET || !is_done || request.attribute_id() == port_info {
        return;
    }
    let mut get = *request;
    get.set_method(Method::GET);
    let mut raw = *get.as_bytes();
    assert_eq!(sma.respond(now, arrival, &mut raw), SmpDisposition::Respond);
    let (read, _) = SmpLidRouted::parse(&raw, 0).unwrap();
    assert_eq!(read.smp_data(), response.smp_data(), "{request:?}");
}

/// Something that happens to a device by itself.
#[cfg(feature = "alloc")]
fn happen(sma: &mut Sma, now: Instant, u: &mut Unstructured<'_>) {
    let [what, which] = u.arbitrary().unwrap_or([0; 2]);
    let port = PortNum(which % 4);
    let mode = crate::LinkMode {
        width: crate::LinkWidth::X4,
        speed: crate::LinkSpeed::Qdr,
    };
    match what % 16 {
        0 => sma.link_down(now, port),
        1 => sma.link_up(now, port, mode),
        2 => sma.data_received(port),
        3 => sma.link_trouble(now, port, crate::LinkTrouble::LocalLinkIntegrity),
        4 => sma.change_node_description(now, "another name"),
        5 => sma.set_capability_mask(now, port, crate::CapabilityMask::from_bits_retain(!0)),
        6 => sma.reset(),
        _ => {}
    }
}

#[cfg(feature = "alloc")]
fn agent(u: &mut Unstructured<'_>) -> Sma {
    let mut info = PortInfo::default();
    info.set_lid(Lid(3))
        .set_master_sm_lid(Lid(1))
        .set_capability_mask(crate::CapabilityMask::all())
        .set_link_width_supported(crate::LinkWidths::X1 | crate::LinkWidths::X4)
        .set_link_speed_supported(crate::LinkSpeeds::all())
        .set_port_state(PortState::INITIALIZE)
        .set_neighbor_mtu(ib_wire::Mtu::MTU_256)
        .set_vl_cap(crate::VlCap::VL0_7)
        .set_guid_cap(u.arbitrary().unwrap_or(0));
    let mut node = NodeInfo::default();
    node.set_node_type(NodeType::CA)
        .set_partition_cap(u.arbitrary().unwrap_or(0));
    let port = SmaPort::new(info, ib_wire::Guid(2));
    if u.arbitrary().unwrap_or(false) {
        return Sma::new(node, NodeDescription::default(), [port.clone(), port]);
    }
    let mut switch = SwitchInfo::from_bytes(u.arbitrary().unwrap_or([0; 20]));
    switch.set_linear_fdb_cap(512).set_multicast_fdb_cap(64);
    let external = [
        SmaPort::new(info, ib_wire::Guid::NONE),
        SmaPort::new(info, ib_wire::Guid::NONE),
    ];
    Sma::new_switch(node, NodeDescription::default(), switch, port, external)
}

/// A request for an attribute that exists, as a rule; any data.
#[cfg(feature = "alloc")]
fn request(u: &mut Unstructured<'_>) -> SmpLidRouted {
    let mut raw = [0; 256];
    let _ = u.fill_buffer(&mut raw);
    let mut smp = SmpLidRouted::from_bytes(raw);
    let class = if raw[1] & 1 == 0 { 0x01 } else { 0x81 };
    let known = crate::SmAttribute::ATTRIBUTES;
    if raw[0] < 0xf0 {
        let method = if raw[3] & 1 == 0 {
            Method::GET
        } else {
            Method::SET
        };
        let modifier = smp.attribute_modifier() & 0xf007_0f0f;
        smp.set_base_version(1)
            .set_class_version(1)
            .set_mgmt_class(ib_mad::MgmtClass(class))
            .set_method(method)
            .set_attribute_id(known[usize::from(raw[17]) % known.len()].id)
            .set_attribute_modifier(modifier);
        if raw[2] & 1 == 0 {
            smp.set_m_key(ib_wire::MKey(0));
        }
    }
    smp
}
