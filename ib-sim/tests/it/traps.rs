//! Traps that agents send to the subnet manager, and how long they repeat them.

use std::time::Duration;

use ib_mad::{
    Attribute, Mad, MadAddress, Method, MgmtClass, NoticeDetails64, NoticeDetails128,
    NoticeDetails129, NoticeDetails144, NoticeDetails145, NoticeDetails256, NoticeDetails257,
    NoticeDetails259, NoticeSm, NoticeType, ProducerType,
};
use ib_sim::{FaultRates, SimOptions};
use ib_smp::{CapabilityMask, LinkTrouble, MKeyProtect, NodeInfo, PartitionKeyTable, SmpLidRouted};
use ib_transport::Clock as _;
use ib_wire::{Gid, Guid, Lid, MKey, PKey, PortNum, QKey, Qpn, Sl};

use ib_testkit::worked_traces::{Host, S1, S2, T, at};

/// A brought-up fabric whose manager sits at H.
fn host() -> Host {
    let mut host = Host::new(SimOptions::default());
    host.bring_up();
    host
}

/// The next trap at the manager; what comes between is passed over.
fn trap(host: &mut Host) -> Option<(Mad, NoticeSm)> {
    for _ in 0..8 {
        let mad = host.receive()?;
        let smp = SmpLidRouted::from_bytes(mad.bytes);
        if smp.mgmt_class() == MgmtClass::SUBN_LID && smp.method() == Method::TRAP {
            return Some((mad, NoticeSm::from_bytes(*smp.smp_data())));
        }
    }
    None
}

fn numbered(host: &mut Host, number: u16) -> NoticeSm {
    let (_, notice) = trap(host).unwrap_or_else(|| panic!("no trap {number}"));
    assert_eq!(notice.trap_number(), number);
    notice
}

/// The M_Key of the port that is guarded.
const KEY: MKey = MKey(0x1234);

fn repress(host: &mut Host, trap: &Mad) {
    let mut smp = SmpLidRouted::from_bytes(trap.bytes);
    // A TrapRepress needs the M_Key as a Set does; ports without one do not look at it.
    smp.set_method(Method::TRAP_REPRESS).set_m_key(KEY);
    let mut mad = Mad::new(MadAddress::smi(trap.address.lid));
    mad.bytes = *smp.as_bytes();
    assert_eq!(host.exchange(&mad), None, "TrapRepress has no answer");
}

#[test]
fn link_trouble_is_counted_and_told() {
    for (trouble, number, counter) in [
        (
            LinkTrouble::LocalLinkIntegrity,
            129,
            "local_link_integrity_errors",
        ),
        (
            LinkTrouble::ExcessiveBufferOverrun,
            130,
            "excessive_buffer_overrun_errors",
        ),
        (LinkTrouble::FlowControlUpdateWatchdog, 131, ""),
    ] {
        let mut host = host();
        host.sim
            .with(|sim| sim.trouble_link(at(S2, 5), trouble).unwrap());
        let notice = numbered(&mut host, number);
        assert_eq!(notice.issuer_lid(), Lid(3));
        let details = NoticeDetails129::from_bytes(*notice.data_details());
        assert_eq!(
            (details.lidaddr(), details.port_num()),
            (Lid(3), PortNum(5))
        );
        if !counter.is_empty() {
            let count = host
                .sim
                .with(|sim| sim.port(at(S2, 5)).unwrap().counters().get(counter, 0));
            assert_eq!(count, 1, "{counter}");
        }
    }
}

#[test]
fn more_bit_errors_than_the_threshold_are_a_local_link_integrity_error() {
    let mut host = host();
    let rates = FaultRates {
        bit_error: 1.0,
        ..FaultRates::NONE
    };
    let integrity = |host: &Host| {
        let name = "local_link_integrity_errors";
        host.sim
            .with(|sim| sim.port(at(S1, 4)).unwrap().counters().get(name, 0))
    };
    // S1's port 4 is where H's packets come in; its threshold is its initial one: 8.
    host.sim.with(|sim| sim.set_fault_rates(rates));
    for bad in 1..=9u8 {
        assert_eq!(integrity(&host), 0, "after {} bad packets", bad - 1);
        assert_eq!(host.get(&[1], NodeInfo::ID, 0), None);
    }
    assert_eq!(integrity(&host), 1);
}

#[test]
fn a_new_system_image_guid_is_told_by_the_node() {
    let mut host = host();
    let guid = Guid(0xbeef);
    host.sim
        .with(|sim| sim.set_system_image_guid(T, guid).unwrap());
    let notice = numbered(&mut host, 145);
    let details = NoticeDetails145::from_bytes(*notice.data_details());
    assert_eq!(
        (details.lidaddr(), details.system_image_guid()),
        (Lid(9), guid)
    );
    assert_eq!(notice.producer_type(), ProducerType::CA.bits());
}

#[test]
fn a_new_name_and_a_manager_that_starts_are_local_changes() {
    let mut host = host();
    host.sim
        .with(|sim| sim.set_description(T, "renamed").unwrap());
    assert_eq!(numbered(&mut host, 144).issuer_lid(), Lid(9));
    let mut host = self::host();
    host.sim.with(|sim| sim.set_is_sm(at(T, 1), true).unwrap());
    assert_eq!(numbered(&mut host, 144).issuer_lid(), Lid(9));
}

#[test]
fn a_wrong_m_key_is_told_by_the_port_that_it_guards() {
    let mut host = host();
    host.change_port(&[1, 7, 5], 1, |info| {
        info.set_m_key(KEY)
            .set_m_key_protect_bits(MKeyProtect::GET_CLOSED);
    });
    // The trap comes instead of an answer.
    let smp = SmpLidRouted::new(Method::GET, NodeInfo::ID, 0);
    let mut mad = Mad::new(MadAddress::smi(Lid(9)));
    mad.bytes = *smp.as_bytes();
    host.send(&mad);
    let notice = numbered(&mut host, 256);
    let details = NoticeDetails256::from_bytes(*notice.data_details());
    assert_eq!(details.lidaddr(), Lid(1));
    assert_eq!(details.attribute_id(), NodeInfo::ID);
}

fn gmp(q_key: QKey) -> Mad {
    let mut mad = Mad::new(MadAddress {
        qkey: q_key,
        ..MadAddress::gsi(Lid(9), Sl::ZERO)
    });
    mad.bytes[..4].copy_from_slice(&[1, MgmtClass::PERF.0, 1, Method::GET.0]);
    mad
}

#[test]
fn a_p_key_that_the_destination_does_not_have_is_told_by_it() {
    let mut host = host();
    let mut table = PartitionKeyTable::default();
    table.set_p_key_block(0, PKey(0x8001)).unwrap();
    host.set(&[1, 7, 5], PartitionKeyTable::ID, 0, table.as_bytes())
        .unwrap();
    host.send(&gmp(QKey::GSI));
    let notice = numbered(&mut host, 257);
    let details = NoticeDetails257::from_bytes(*notice.data_details());
    assert_eq!(
        (details.lidaddr1(), details.lidaddr2(), details.key()),
        (Lid(1), Lid(9), 0xffff)
    );
}

#[test]
fn a_wrong_q_key_is_told_by_the_port_and_counted() {
    let mut host = host();
    host.send(&gmp(QKey(7)));
    let notice = numbered(&mut host, 258);
    let details = NoticeDetails257::from_bytes(*notice.data_details());
    assert_eq!((details.lidaddr1(), details.key()), (Lid(1), 7));
    let violations = host
        .sim
        .with(|sim| sim.port(at(T, 1)).unwrap().info().q_key_violations());
    assert_eq!(violations, 1);
}

#[test]
fn a_switch_that_enforces_partitions_names_the_port() {
    for (inbound, port, counter) in [
        (true, 2, "port_rcv_constraint_errors"),
        (false, 5, "port_xmit_constraint_errors"),
    ] {
        let mut host = host();
        let mut table = PartitionKeyTable::default();
        table.set_p_key_block(0, PKey(0x8001)).unwrap();
        let modifier = u32::from(port) << 16;
        let answer = host.set(&[1, 7], PartitionKeyTable::ID, modifier, table.as_bytes());
        assert!(answer.unwrap().status().is_ok());
        host.change_port(&[1, 7], port, |info| {
            info.set_partition_enforcement_inbound(inbound)
                .set_partition_enforcement_outbound(!inbound);
        });
        host.send(&gmp(QKey::GSI));
        let notice = numbered(&mut host, 259);
        let details = NoticeDetails259::from_bytes(*notice.data_details());
        assert_eq!(
            (details.swlidaddr(), details.port_num()),
            (Lid(3), PortNum(port))
        );
        let count = host
            .sim
            .with(|sim| sim.port(at(S2, port)).unwrap().counters().get(counter, 0));
        assert_eq!(count, 1, "{counter}");
    }
}

#[test]
fn a_host_may_let_its_port_send_any_trap() {
    let gid: Gid = "fe80::1234".parse().unwrap();
    for number in 64..=67 {
        let mut host = host();
        let mut details = NoticeDetails64::default();
        details.set_gidaddr(gid);
        let mut notice = NoticeSm::default();
        notice
            .set_is_generic(true)
            .set_producer_type(ProducerType::CLASS_MANAGER.bits())
            .set_trap_number(number)
            .set_issuer_lid(Lid(9))
            .set_data_details(details.as_bytes());
        host.sim.with(|sim| sim.trap(at(T, 1), &notice).unwrap());
        assert_eq!(numbered(&mut host, number), notice);
    }
}

/// An event, and the notice that reports it.
struct Told {
    number: u16,
    kind: NoticeType,
    producer: ProducerType,
    issuer: u16,
    happen: fn(&mut Host),
    details: fn(&Host) -> [u8; 54],
}

fn enforce_at_s2(host: &mut Host) {
    let mut table = PartitionKeyTable::default();
    table.set_p_key_block(0, PKey(0x8001)).unwrap();
    host.set(&[1, 7], PartitionKeyTable::ID, 2 << 16, table.as_bytes())
        .unwrap();
    host.change_port(&[1, 7], 2, |info| {
        info.set_partition_enforcement_inbound(true);
    });
    host.send(&gmp(QKey::GSI));
}

fn trouble_at_s2(host: &Host, trouble: LinkTrouble) {
    host.sim
        .with(|sim| sim.trouble_link(at(S2, 5), trouble).unwrap());
}

fn of_s2(_: &Host) -> [u8; 54] {
    let mut details = NoticeDetails129::default();
    details.set_lidaddr(Lid(3)).set_port_num(PortNum(5));
    *details.as_bytes()
}

/// A wrong key from H's QP1 to T's.
fn wrong_key(key: u32) -> [u8; 54] {
    let mut details = NoticeDetails257::default();
    details
        .set_lidaddr1(Lid(1))
        .set_lidaddr2(Lid(9))
        .set_key(key)
        .set_qp1(Qpn::GSI)
        .set_qp2(Qpn::GSI);
    *details.as_bytes()
}

/// Capabilities of T's port, as in trap 144.
fn capabilities(host: &Host) -> NoticeDetails144 {
    let info = host.sim.with(|sim| *sim.port(at(T, 1)).unwrap().info());
    let mut details = NoticeDetails144::default();
    details
        .set_lidaddr(Lid(9))
        .set_capability_mask(info.capability_mask().bits())
        .set_capability_mask2(info.capability_mask2().bits());
    details
}

const TOLD: [Told; 11] = [
    Told {
        number: 128,
        kind: NoticeType::URGENT,
        producer: ProducerType::SWITCH,
        issuer: 3,
        happen: |host| host.sim.with(|sim| sim.unlink(at(S2, 5)).unwrap()),
        details: |_| {
            let mut details = NoticeDetails128::default();
            details.set_lidaddr(Lid(3));
            *details.as_bytes()
        },
    },
    Told {
        number: 129,
        kind: NoticeType::URGENT,
        producer: ProducerType::SWITCH,
        issuer: 3,
        happen: |host| trouble_at_s2(host, LinkTrouble::LocalLinkIntegrity),
        details: of_s2,
    },
    Told {
        number: 130,
        kind: NoticeType::URGENT,
        producer: ProducerType::SWITCH,
        issuer: 3,
        happen: |host| trouble_at_s2(host, LinkTrouble::ExcessiveBufferOverrun),
        details: of_s2,
    },
    Told {
        number: 131,
        kind: NoticeType::URGENT,
        producer: ProducerType::SWITCH,
        issuer: 3,
        happen: |host| trouble_at_s2(host, LinkTrouble::FlowControlUpdateWatchdog),
        details: of_s2,
    },
    Told {
        number: 144,
        kind: NoticeType::INFORMATIONAL,
        producer: ProducerType::CA,
        issuer: 9,
        happen: |host| host.sim.with(|sim| sim.set_is_sm(at(T, 1), true).unwrap()),
        details: |host| {
            let details = capabilities(host);
            let mask = CapabilityMask::from_bits_retain(details.capability_mask());
            assert!(mask.contains(CapabilityMask::IS_SM));
            *details.as_bytes()
        },
    },
    Told {
        number: 144,
        kind: NoticeType::INFORMATIONAL,
        producer: ProducerType::CA,
        issuer: 9,
        happen: |host| host.sim.with(|sim| sim.set_description(T, "new").unwrap()),
        details: |host| {
            let mut details = capabilities(host);
            details
                .set_other_local_changes(true)
                .set_node_description_change(true);
            *details.as_bytes()
        },
    },
    Told {
        number: 145,
        kind: NoticeType::INFORMATIONAL,
        producer: ProducerType::CA,
        issuer: 9,
        happen: |host| {
            host.sim
                .with(|sim| sim.set_system_image_guid(T, Guid(0xbeef)).unwrap());
        },
        details: |_| {
            let mut details = NoticeDetails145::default();
            details
                .set_lidaddr(Lid(9))
                .set_system_image_guid(Guid(0xbeef));
            *details.as_bytes()
        },
    },
    Told {
        number: 256,
        kind: NoticeType::SECURITY,
        producer: ProducerType::CA,
        issuer: 9,
        happen: |host| {
            host.change_port(&[1, 7, 5], 1, |info| {
                info.set_m_key(KEY)
                    .set_m_key_protect_bits(MKeyProtect::GET_CLOSED);
            });
            let mut smp = SmpLidRouted::new(Method::GET, NodeInfo::ID, 5);
            smp.set_m_key(MKey(0x4321));
            let mut mad = Mad::new(MadAddress::smi(Lid(9)));
            mad.bytes = *smp.as_bytes();
            host.send(&mad);
        },
        details: |_| {
            let mut details = NoticeDetails256::default();
            details
                .set_lidaddr(Lid(1))
                .set_method(Method::GET)
                .set_attribute_id(NodeInfo::ID)
                .set_attribute_modifier(5)
                .set_m_key(MKey(0x4321));
            *details.as_bytes()
        },
    },
    Told {
        number: 257,
        kind: NoticeType::SECURITY,
        producer: ProducerType::CA,
        issuer: 9,
        happen: |host| {
            let mut table = PartitionKeyTable::default();
            table.set_p_key_block(0, PKey(0x8001)).unwrap();
            host.set(&[1, 7, 5], PartitionKeyTable::ID, 0, table.as_bytes())
                .unwrap();
            host.send(&gmp(QKey::GSI));
        },
        details: |_| wrong_key(0xffff),
    },
    Told {
        number: 258,
        kind: NoticeType::SECURITY,
        producer: ProducerType::CA,
        issuer: 9,
        happen: |host| host.send(&gmp(QKey(7))),
        details: |_| wrong_key(7),
    },
    Told {
        number: 259,
        kind: NoticeType::SECURITY,
        producer: ProducerType::SWITCH,
        issuer: 3,
        happen: enforce_at_s2,
        details: |_| {
            let mut details = NoticeDetails259::default();
            details
                .set_lidaddr1(Lid(1))
                .set_lidaddr2(Lid(9))
                .set_p_key(PKey::DEFAULT_FULL)
                .set_qp1(Qpn::GSI)
                .set_qp2(Qpn::GSI)
                .set_swlidaddr(Lid(3))
                .set_port_num(PortNum(2));
            *details.as_bytes()
        },
    },
];

/// 4.096 us * 2^16.
const SUBNET_TIME_OUT: Duration = Duration::from_nanos(4096 << 16);

#[test]
fn each_trap_tells_what_happened_every_subnet_time_out_until_it_is_repressed() {
    for told in TOLD {
        let mut host = host();
        for (route, port) in [(&[1, 7][..], 0), (&[1, 7, 5], 1)] {
            host.change_port(route, port, |info| {
                info.set_subnet_timeout(16);
            });
        }
        (told.happen)(&mut host);
        let (first, notice) = trap(&mut host).unwrap();
        let mut expected = NoticeSm::default();
        expected
            .set_is_generic(true)
            .set_type(told.kind)
            .set_producer_type(told.producer.bits())
            .set_trap_number(told.number)
            .set_issuer_lid(Lid(told.issuer))
            .set_data_details(&(told.details)(&host));
        assert_eq!(notice, expected, "{}", told.number);
        assert_eq!(first.address.lid, Lid(told.issuer));
        let mut heard = host.sim.now();
        for _ in 0..3 {
            assert_eq!(host.receive(), Some(first), "{}", told.number);
            let now = host.sim.now();
            assert_eq!(now.since(heard), SUBNET_TIME_OUT, "{}", told.number);
            heard = now;
        }
        repress(&mut host, &first);
        assert!((0..5).all(|_| host.receive().is_none()), "{}", told.number);
    }
}

#[test]
fn a_trap_is_repeated_until_it_is_repressed_or_given_up() {
    let mut host = host();
    host.sim.with(|sim| sim.unlink(at(S2, 5)).unwrap());
    let (first, _) = trap(&mut host).unwrap();
    let sent = host.sim.now();
    let (second, _) = (0..3).find_map(|_| trap(&mut host)).unwrap();
    assert_eq!(first, second);
    // SubnetTimeOut is 18 initially: 4.096 us * 2^18.
    let interval = host.sim.now().since(sent);
    assert!(interval > Duration::from_millis(1000) && interval < Duration::from_millis(1200));
    repress(&mut host, &first);
    assert!((0..10).all(|_| host.receive().is_none()));

    host.sim.with(|sim| sim.relink(at(S2, 5)).unwrap());
    let times = (0..40).filter(|_| host.receive().is_some()).count();
    assert_eq!(times, 5, "SimOptions::trap_attempts");
}
