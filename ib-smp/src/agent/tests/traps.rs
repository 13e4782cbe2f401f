//! Traps that the agent sends to the master.

use super::{
    m_key::{guarded, keyed},
    *,
};

fn trap_of(sent: &SmaTransmit) -> (TrapNumber, NoticeSm, TransactionId) {
    let smp = SmpLidRouted::from_bytes(sent.mad.bytes);
    assert_eq!(smp.method(), Method::TRAP);
    assert_eq!(smp.m_key(), MKey(0));
    assert_eq!(sent.mad.address.lid, Lid(1));
    let notice = NoticeSm::from_bytes(*smp.smp_data());
    assert_eq!(notice.issuer_lid(), Lid(5));
    (
        TrapNumber(notice.trap_number()),
        notice,
        smp.transaction_id(),
    )
}

#[test]
fn a_trap_repeats_until_it_is_repressed() {
    let mut sma = switch();
    assert_eq!(sma.poll_timeout(), None);
    sma.link_down(T0, PortNum(4));
    sma.link_down(T0, PortNum(5));
    let first = sma.poll_transmit(T0).unwrap();
    let (number, notice, id) = trap_of(&first);
    assert_eq!(number, TrapNumber::LINK_STATE_CHANGE);
    assert_eq!(notice.producer_type(), ProducerType::SWITCH.bits());
    assert_eq!(notice.type_(), NoticeType::URGENT);
    assert_eq!(sma.poll_transmit(T0), None, "what waits is not told twice");
    // SubnetTimeOut is 18: 1.07 s.
    let again = Instant::from_nanos(4096 << 18);
    assert_eq!(sma.poll_timeout(), Some(again));
    assert_eq!(sma.poll_transmit(again), Some(first));
    let mut repress = request(Method::TRAP_REPRESS, NoticeSm::ID, 0, notice.as_bytes());
    repress.set_transaction_id(TransactionId(id.0 + 1));
    let repressed = SmpDisposition::Drop(SmpDropReason::Repressed);
    assert_eq!(ask_at(&mut sma, again, repress).0, repressed);
    assert!(sma.poll_timeout().is_some(), "another transaction");
    repress.set_transaction_id(id);
    assert_eq!(ask_at(&mut sma, again, repress).0, repressed);
    assert_eq!(sma.poll_timeout(), None);
    sma.link_down(again, PortNum(6));
    let next = sma.poll_transmit(again).unwrap();
    assert_ne!(trap_of(&next).2, id, "a new trap has a new transaction");
}

#[test]
fn a_wrong_m_key_is_told_to_the_master() {
    let mut sma = guarded(MKeyProtect(2));
    let (_, _) = ask_at(&mut sma, T0, keyed(Method::SET, WRONG));
    let (number, notice, _) = trap_of(&sma.poll_transmit(T0).unwrap());
    assert_eq!(number, TrapNumber::BAD_M_KEY);
    let NoticeDetails::BadMKey(details) = notice.details() else {
        panic!("{notice:?}");
    };
    assert_eq!(details.lidaddr(), Lid(1));
    assert_eq!(details.m_key(), WRONG);
    assert_eq!(details.method(), Method::SET);
    assert_eq!(details.attribute_id(), PortInfo::ID);
    assert!(!details.dr_notice());
}

#[test]
fn a_longer_return_path_than_a_notice_holds_is_told_as_cut() {
    for (hops, told, is_cut) in [
        (4, 4, false),
        (30, 30, false),
        (31, 30, true),
        (63, 30, true),
    ] {
        let mut sma = guarded(MKeyProtect(2));
        let route = DrPath::try_new(&[PortNum(1); 63][..hops]).unwrap();
        let mut smp = SmpDirected::new(Method::SET, PortInfo::ID, 0, &route);
        smp.set_m_key(WRONG)
            .set_return_path(&core::array::from_fn(|hop| hop as u8));
        let (_, _) = ask_at(&mut sma, T0, SmpLidRouted::from_bytes(*smp.as_bytes()));
        let (_, notice, _) = trap_of(&sma.poll_transmit(T0).unwrap());
        let NoticeDetails::BadMKey(details) = notice.details() else {
            panic!("{notice:?}");
        };
        assert!(details.dr_notice());
        assert_eq!(
            (details.dr_hop_count(), details.dr_path_truncated()),
            (told, is_cut)
        );
        assert_eq!(details.dr_notice_return_path(29), Some(29));
    }
}

#[test]
fn bad_keys_count_and_are_told() {
    let packet = KeyViolation {
        slid: Lid(7),
        dlid: Lid(5),
        sl: Sl::ZERO,
        source_qp: Qpn::GSI,
        dest_qp: Qpn::GSI,
        gids: None,
    };
    let mut sma = ca();
    sma.p_key_violation(T0, PortNum(1), PKey(0x8001), &packet);
    sma.q_key_violation(T0, PortNum(1), QKey(9), &packet);
    let info = *sma.port(PortNum(1)).unwrap().info();
    assert_eq!((info.p_key_violations(), info.q_key_violations()), (1, 1));
    for (expected, key) in [(TrapNumber::BAD_P_KEY, 0x8001), (TrapNumber::BAD_Q_KEY, 9)] {
        let (number, notice, _) = trap_of(&sma.poll_transmit(T0).unwrap());
        assert_eq!(number, expected);
        let NoticeDetails::BadKey(details) = notice.details() else {
            panic!("{notice:?}");
        };
        assert_eq!((details.lidaddr1(), details.key()), (Lid(7), key));
    }
    // Traps of an external port are sent only where the switch supports them.
    let mut sma = switch();
    sma.p_key_violation(T0, PortNum(3), PKey(1), &packet);
    assert_eq!(sma.port(PortNum(3)).unwrap().info().p_key_violations(), 1);
    assert_eq!(sma.poll_transmit(T0), None);
    let able = CapabilityMask::IS_P_KEY_SWITCH_EXTERNAL_PORT_TRAP_SUPPORTED;
    sma.set_capability_mask(T0, PortNum(0), port_info().capability_mask() | able);
    sma.p_key_violation(T0, PortNum(3), PKey(1), &packet);
    let (number, _, _) = trap_of(&sma.poll_transmit(T0).unwrap());
    assert_eq!(number, TrapNumber::BAD_P_KEY_AT_SWITCH_PORT);
}

#[test]
fn local_changes_and_link_trouble_are_told() {
    let mut sma = ca();
    let mask = port_info().capability_mask()
        | CapabilityMask::IS_SM
        | CapabilityMask::IS_CAPABILITY_MASK_NOTICE_SUPPORTED
        | CapabilityMask::IS_OTHER_LOCAL_CHANGES_NOTICE_SUPPORTED;
    sma.set_capability_mask(T0, PortNum(1), mask);
    sma.set_capability_mask(T0, PortNum(1), mask);
    sma.change_node_description(T0, "n1");
    sma.set_system_image_guid(T0, Guid(3));
    sma.link_trouble(T0, PortNum(1), LinkTrouble::ExcessiveBufferOverrun);
    let sent: Vec<u16> = std::iter::from_fn(|| sma.poll_transmit(T0))
        .map(|sent| trap_of(&sent).0.bits())
        .collect();
    assert_eq!(sent, [144, 144, 145, 130]);
}

#[test]
fn traps_that_nobody_represses_stay_few() {
    let mut sma = ca();
    for guid in 0..100 {
        sma.set_system_image_guid(T0, Guid(guid));
    }
    assert_eq!(std::iter::from_fn(|| sma.poll_transmit(T0)).count(), 8);
}

#[test]
fn a_trap_goes_on_the_service_level_of_the_master_as_often_as_it_may() {
    let mut sma = switch();
    sma.limit_traps(3);
    let info = sma.port_info_mut(PortNum::MANAGEMENT).unwrap();
    info.set_master_sm_sl(Sl::from_low_bits(6));
    let mut notice = NoticeSm::default();
    notice.set_trap_number(0x1234).set_issuer_lid(Lid(5));
    sma.raise(T0, PortNum::MANAGEMENT, &notice);
    sma.link_down(T0, PortNum(4));
    let mut now = T0;
    let mut sent = Vec::new();
    while let Some(at) = sma.poll_timeout() {
        assert!(sent.len() < 10, "{sent:?}");
        now = now.max(at);
        while let Some(trap) = sma.poll_transmit(now) {
            assert_eq!(trap.mad.address.sl, Sl::from_low_bits(6));
            sent.push(trap_of(&trap).0);
        }
    }
    let (own, link) = (TrapNumber(0x1234), TrapNumber::LINK_STATE_CHANGE);
    assert_eq!(sent, [own, link, own, link, own, link]);
}

#[test]
fn traps_name_who_they_are_from() {
    for (type_, producer) in [
        (NodeType::CA, ProducerType::CA),
        (NodeType::ROUTER, ProducerType::ROUTER),
    ] {
        let ports = [SmaPort::new(port_info(), Guid(0x11))];
        let mut sma = Sma::new(node_info(type_), NodeDescription::default(), ports);
        let port = PortNum(1);
        let packet = KeyViolation {
            slid: Lid(2),
            dlid: Lid(5),
            sl: Sl::ZERO,
            source_qp: Qpn::try_new(7).unwrap(),
            dest_qp: Qpn::try_new(8).unwrap(),
            gids: None,
        };
        sma.p_key_violation(T0, port, PKey(0x8001), &packet);
        let (number, notice, _) = trap_of(&sma.poll_transmit(T0).unwrap());
        assert_eq!(number, TrapNumber::BAD_P_KEY);
        assert_eq!(notice.producer_type(), producer.bits());
        assert_eq!(notice.type_(), NoticeType::SECURITY);
    }
}

#[test]
fn a_port_without_a_lid_or_a_master_sends_no_trap() {
    let cases: [fn(&mut PortInfo); 3] = [
        |info| _ = info.set_lid(Lid(0)),
        |info| _ = info.set_master_sm_lid(Lid(0)),
        |info| _ = info.set_capability_mask(CapabilityMask::empty()),
    ];
    for (index, edit) in cases.into_iter().enumerate() {
        let mut sma = switch();
        edit(sma.port_info_mut(PortNum::MANAGEMENT).unwrap());
        sma.link_down(T0, PortNum(4));
        assert_eq!(sma.poll_transmit(T0), None, "{index}");
    }
}
