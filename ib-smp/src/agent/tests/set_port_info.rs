//! The values that a Set(PortInfo) may have.

use super::*;

#[test]
fn port_states_change_one_step_at_a_time() {
    use PortState as S;
    let (ok, error) = (true, false);
    let table = [
        (S::NO_CHANGE, [ok, ok, ok, ok]),
        (S::DOWN, [ok, ok, ok, ok]),
        (S::INITIALIZE, [error, error, error, error]),
        (S::ARMED, [error, ok, ok, error]),
        (S::ACTIVE, [error, error, ok, ok]),
        (S::ACTIVE_DEFER, [error, error, error, error]),
        (S(6), [error, error, error, error]),
        (S(15), [error, error, error, error]),
    ];
    for (wanted, row) in table {
        let states = [S::DOWN, S::INITIALIZE, S::ARMED, S::ACTIVE];
        for (now, legal) in states.into_iter().zip(row) {
            let result = set_port_state(now, wanted);
            assert_eq!(result.is_ok(), legal, "{now} -> {wanted}");
            if let Ok(new) = result {
                let expected = if wanted == S::NO_CHANGE { now } else { wanted };
                assert_eq!(new, expected);
            }
        }
    }
}

#[test]
fn a_port_comes_up_by_armed_and_active() {
    let mut sma = ca();
    for state in [PortState::ARMED, PortState::ACTIVE] {
        let mut wanted = unchanged(&port_info());
        wanted.set_port_state(state);
        let shown = set_port(&mut sma, 0, &wanted).unwrap();
        assert_eq!(shown.port_state(), state);
        let port = PortNum(1);
        assert_eq!(events(&mut sma), [SmaEvent::PortState { port, state }]);
    }
    assert_eq!(
        sma.port(PortNum(1)).unwrap().info().port_state(),
        PortState::ACTIVE
    );
    assert_eq!(
        sma.port(PortNum(2)).unwrap().info().port_state(),
        PortState::INITIALIZE
    );
}

#[test]
fn values_that_a_set_may_not_hold_change_nothing() {
    type Change = fn(&mut PortInfo);
    let cases: [(&str, Change); 18] = [
        ("lid 0", |p| _ = p.set_lid(Lid(0))),
        ("multicast lid", |p| _ = p.set_lid(Lid(0xc000))),
        ("permissive lid", |p| _ = p.set_lid(Lid(0xffff))),
        ("lid under the lmc", |p| {
            p.set_lid(Lid(6)).set_lmc(Lmc::try_new(2).unwrap());
        }),
        ("sm lid 0", |p| _ = p.set_master_sm_lid(Lid(0))),
        ("multicast sm lid", |p| _ = p.set_master_sm_lid(Lid(0xc001))),
        ("width", |p| _ = p.set_link_width_enabled(LinkWidths::X8)),
        ("width with another", |p| {
            p.set_link_width_enabled(LinkWidths::X12 | LinkWidths::X4);
        }),
        ("speed", |p| {
            _ = p.set_link_speed_enabled(LinkSpeeds::from_bits_retain(8))
        }),
        ("extended speed", |p| {
            _ = p.set_link_speed_ext_enabled(LinkSpeedsExt::HDR)
        }),
        ("mtu 0", |p| _ = p.set_neighbor_mtu(Mtu(0))),
        ("mtu 6", |p| _ = p.set_neighbor_mtu(Mtu(6))),
        ("vls", |p| _ = p.set_operational_vls(VlCap::VL0_14)),
        ("state", |p| _ = p.set_port_state(PortState::ACTIVE)),
        ("default state", |p| {
            _ = p.set_link_down_default_state(LinkDownDefaultState(3))
        }),
        ("training", |p| {
            p.set_port_physical_state(PortPhysicalState::PORT_CONFIGURATION_TRAINING);
        }),
        ("link up", |p| {
            _ = p.set_port_physical_state(PortPhysicalState::LINK_UP)
        }),
        ("polling while armed", |p| {
            p.set_port_physical_state(PortPhysicalState::POLLING)
                .set_port_state(PortState::ARMED);
        }),
    ];
    for (name, change) in cases {
        let mut sma = ca();
        let before = *sma.port(PortNum(1)).unwrap().info();
        let mut wanted = unchanged(&before);
        // A good value that must not get through.
        wanted.set_m_key(KEY);
        change(&mut wanted);
        let result = set_port(&mut sma, 1 << 31, &wanted);
        assert_eq!(result, Err(MadStatus::INVALID_FIELD_VALUE), "{name}");
        assert_eq!(sma.port(PortNum(1)).unwrap().info(), &before, "{name}");
        assert_eq!(events(&mut sma), [], "{name}");
    }
}

#[test]
fn widths_and_speeds_stay_at_zero_and_go_to_all_at_their_highest() {
    let mut sma = ca();
    let mut wanted = unchanged(&port_info());
    wanted
        .set_link_width_enabled(LinkWidths::X1)
        .set_link_speed_enabled(LinkSpeeds::SDR)
        .set_link_speed_ext_enabled(LinkSpeedsExt::FDR)
        .set_operational_vls(VlCap::VL0);
    let narrow = set_port(&mut sma, 1 << 31, &wanted).unwrap();
    assert_eq!(narrow.link_width_enabled(), LinkWidths::X1);
    assert_eq!(narrow.link_speed_ext_enabled(), LinkSpeedsExt::FDR);
    let mut stay = wanted;
    stay.set_link_width_enabled(LinkWidths::empty())
        .set_link_speed_enabled(LinkSpeeds::empty())
        .set_link_speed_ext_enabled(LinkSpeedsExt::empty())
        .set_operational_vls(VlCap(0))
        .set_link_down_default_state(LinkDownDefaultState::NO_CHANGE);
    assert_eq!(set_port(&mut sma, 1 << 31, &stay).unwrap(), narrow);
    wanted
        .set_link_width_enabled(LinkWidths::SET_TO_SUPPORTED)
        .set_link_speed_enabled(LinkSpeeds::SET_TO_SUPPORTED)
        .set_link_speed_ext_enabled(LinkSpeedsExt::SET_TO_SUPPORTED);
    let all = set_port(&mut sma, 1 << 31, &wanted).unwrap();
    assert_eq!(all.link_width_enabled(), all.link_width_supported());
    assert_eq!(all.link_speed_enabled(), all.link_speed_supported());
    assert_eq!(all.link_speed_ext_enabled(), all.link_speed_ext_supported());
    wanted.set_link_speed_ext_enabled(LinkSpeedsExt::DISABLED);
    let none = set_port(&mut sma, 1 << 31, &wanted).unwrap();
    assert_eq!(none.link_speed_ext_enabled(), LinkSpeedsExt::DISABLED);
}

#[test]
fn extended_speeds_stay_where_the_manager_does_not_know_them() {
    let mut sma = ca();
    let mut wanted = unchanged(&port_info());
    wanted.set_link_speed_ext_enabled(LinkSpeedsExt::HDR);
    let shown = set_port(&mut sma, 0, &wanted).unwrap();
    assert_eq!(
        shown.link_speed_ext_enabled(),
        port_info().link_speed_ext_enabled()
    );
}

#[test]
fn read_only_fields_stay_and_violations_reset_at_zero_only() {
    let mut sma = ca();
    sma.port_mut(PortNum(1))
        .unwrap()
        .info
        .set_p_key_violations(3);
    let mut wanted = PortInfo::from_bytes([0xff; 64]);
    wanted
        .set_lid(Lid(8))
        .set_lmc(Lmc::ZERO)
        .set_master_sm_lid(Lid(2))
        .set_m_key(MKey(0))
        .set_m_key_protect_bits(MKeyProtect::GET_OPEN)
        .set_link_width_enabled(LinkWidths::empty())
        .set_link_speed_enabled(LinkSpeeds::empty())
        .set_neighbor_mtu(Mtu::MTU_4096)
        .set_operational_vls(VlCap(0))
        .set_port_state(PortState::NO_CHANGE)
        .set_port_physical_state(PortPhysicalState::NO_CHANGE)
        .set_link_down_default_state(LinkDownDefaultState::NO_CHANGE);
    let shown = set_port(&mut sma, 0, &wanted).unwrap();
    let old = port_info();
    assert_eq!(shown.capability_mask(), old.capability_mask());
    assert_eq!(shown.link_width_supported(), old.link_width_supported());
    assert_eq!(shown.guid_cap(), old.guid_cap());
    assert_eq!(shown.mtu_cap(), old.mtu_cap());
    assert_eq!(shown.vl_cap(), old.vl_cap());
    assert_eq!(shown.p_key_violations(), 3);
    assert_eq!(shown.local_port_num(), PortNum(1));
    assert_eq!(shown.lid(), Lid(8));
    assert_eq!(shown.vl_high_limit(), 255);
    // It reads back as written once, and is no state of the port.
    assert!(shown.client_reregister());
    let events = events(&mut sma);
    let port = PortNum(1);
    assert_eq!(
        events,
        [SmaEvent::Lid { port }, SmaEvent::ClientReregister { port }]
    );
    let now = PortInfo::from_bytes(get(&mut sma, PortInfo::ID, 0).unwrap());
    assert!(!now.client_reregister());
    let mut wanted = unchanged(&now);
    wanted.set_p_key_violations(0);
    assert_eq!(
        set_port(&mut sma, 0, &wanted).unwrap().p_key_violations(),
        0
    );
}

#[test]
fn external_switch_ports_have_a_link_but_no_addresses() {
    let mut sma = switch();
    let mut wanted = unchanged(&port_info());
    wanted
        .set_lid(Lid(0))
        .set_master_sm_lid(Lid(0))
        .set_m_key(KEY)
        .set_hoq_life(7)
        .set_partition_enforcement_inbound(true)
        .set_partition_enforcement_outbound(true)
        .set_client_reregister(true);
    let shown = set_port(&mut sma, 3, &wanted).unwrap();
    assert_eq!((shown.lid(), shown.m_key()), (Lid(5), MKey(0)));
    assert_eq!(shown.hoq_life(), 7);
    assert!(shown.partition_enforcement_inbound());
    assert!(!shown.partition_enforcement_outbound());
    assert!(!shown.client_reregister());
    assert_eq!(
        set_port(&mut sma, 21, &wanted),
        Err(MadStatus::INVALID_FIELD_VALUE)
    );
    // Port 0 of a base switch owns one LID.
    wanted.set_lid(Lid(8)).set_master_sm_lid(Lid(1));
    wanted.set_lmc(Lmc::try_new(1).unwrap());
    assert_eq!(
        set_port(&mut sma, 0, &wanted),
        Err(MadStatus::INVALID_FIELD_VALUE)
    );
    wanted.set_lmc(Lmc::ZERO);
    assert_eq!(set_port(&mut sma, 0, &wanted).unwrap().lid(), Lid(8));
}

#[test]
fn a_range_of_lids_begins_at_a_lid() {
    let mut sma = ca();
    let mut wanted = unchanged(&port_info());
    wanted.set_lid(Lid(0)).set_lmc(Lmc::try_new(2).unwrap());
    assert_eq!(
        set_port(&mut sma, 0, &wanted),
        Err(MadStatus::INVALID_FIELD_VALUE)
    );
}

#[test]
fn an_active_port_in_defer_stays_there() {
    let defer = PortState::ACTIVE_DEFER;
    assert_eq!(set_port_state(defer, PortState::ACTIVE), Ok(defer));
    assert!(set_port_state(defer, PortState::ARMED).is_err());
}

#[test]
fn violations_are_reset_by_zero_and_kept_by_anything_else() {
    type Fields = [u16; 3];
    let fields = |info: &PortInfo| -> Fields {
        [
            info.m_key_violations(),
            info.p_key_violations(),
            info.q_key_violations(),
        ]
    };
    let counted = [7, 8, 9];
    for zeroed in 0..8u8 {
        let mut sma = ca();
        let info = sma.port_info_mut(PortNum(1)).unwrap();
        info.set_m_key_violations(7)
            .set_p_key_violations(8)
            .set_q_key_violations(9);
        let written: Fields = [0, 1, 2].map(|at| if zeroed >> at & 1 == 1 { 0 } else { 0xffff });
        let mut wanted = unchanged(&port_info());
        wanted
            .set_m_key_violations(written[0])
            .set_p_key_violations(written[1])
            .set_q_key_violations(written[2]);
        let shown = set_port(&mut sma, 0, &wanted).unwrap();
        let expected = [0, 1, 2].map(|at| if written[at] == 0 { 0 } else { counted[at] });
        assert_eq!(fields(&shown), expected);
    }
}

#[test]
fn an_external_port_enforces_what_the_switch_can() {
    let external = |inbound, outbound, raw_in, raw_out| PortKind::SwitchExternal {
        inbound_enforcement: inbound,
        outbound_enforcement: outbound,
        filter_raw_inbound: raw_in,
        filter_raw_outbound: raw_out,
    };
    for able in 0..16u8 {
        let bit = |at: u8| able >> at & 1 == 1;
        for asked in [false, true] {
            let mut wanted = unchanged(&port_info());
            wanted
                .set_partition_enforcement_inbound(asked)
                .set_partition_enforcement_outbound(asked)
                .set_filter_raw_inbound(asked)
                .set_filter_raw_outbound(asked);
            let kind = external(bit(0), bit(1), bit(2), bit(3));
            let new = crate::set_port_info(&port_info(), &wanted, kind, true).unwrap();
            let shown = [
                new.partition_enforcement_inbound(),
                new.partition_enforcement_outbound(),
                new.filter_raw_inbound(),
                new.filter_raw_outbound(),
            ];
            assert_eq!(shown, [0, 1, 2, 3].map(|at| asked && bit(at)), "{able:04b}");
        }
    }
}

#[test]
fn speeds_beyond_ndr_are_left_chosen_or_all() {
    let mut now = port_info();
    now.set_link_speed_ext_supported2(LinkSpeedsExt2::XDR)
        .set_link_speed_ext_enabled2(LinkSpeedsExt2::XDR);
    let set_to = |speed: LinkSpeedsExt2, before: LinkSpeedsExt2| {
        let mut now = now;
        now.set_link_speed_ext_enabled2(before);
        let mut wanted = unchanged(&now);
        wanted.set_link_speed_ext_enabled2(speed);
        crate::set_port_info(&now, &wanted, PortKind::EndPort, true)
            .map(|new| new.link_speed_ext_enabled2())
    };
    let (none, xdr) = (LinkSpeedsExt2::empty(), LinkSpeedsExt2::XDR);
    assert_eq!(set_to(none, xdr), Ok(xdr));
    assert_eq!(set_to(none, none), Ok(none));
    assert_eq!(set_to(xdr, none), Ok(xdr));
    assert_eq!(set_to(LinkSpeedsExt2::SET_TO_SUPPORTED, none), Ok(xdr));
    assert!(set_to(LinkSpeedsExt2::from_bits_retain(2), none).is_err());
}

#[test]
fn all_data_lanes_of_a_port_may_be_in_use() {
    let mut wanted = unchanged(&port_info());
    wanted.set_operational_vls(VlCap::VL0_7);
    let shown = set_port(&mut ca(), 0, &wanted).unwrap();
    assert_eq!(shown.operational_vls(), VlCap::VL0_7);
}

#[test]
fn a_link_that_is_set_down_falls_into_its_default_state() {
    for (default, expected) in [
        (LinkDownDefaultState::SLEEP, PortPhysicalState::SLEEP),
        (LinkDownDefaultState::POLLING, PortPhysicalState::POLLING),
    ] {
        let mut wanted = unchanged(&port_info());
        wanted
            .set_link_down_default_state(default)
            .set_port_state(PortState::DOWN);
        let shown = set_port(&mut ca(), 0, &wanted).unwrap();
        assert_eq!(shown.port_physical_state(), expected);
    }
}

#[test]
fn extended_speeds_are_hidden_from_who_does_not_know_them() {
    for hides in [false, true] {
        let mut sma = ca();
        if hides {
            sma = sma.with_hidden_extended_speeds();
        }
        for knows in [false, true] {
            let modifier = PortInfoModifier {
                port: PortNum(1),
                extended_speeds: knows,
            };
            let info = get(&mut sma, PortInfo::ID, modifier.bits()).unwrap();
            let info = PortInfo::from_bytes(info);
            let shown = !info.link_speed_ext_supported().is_empty();
            assert_eq!(shown, knows || !hides, "{hides} {knows}");
            assert_eq!(!info.link_speed_ext_enabled().is_empty(), shown);
        }
    }
}

#[test]
fn only_the_management_port_of_a_switch_has_addresses() {
    let mut sma = switch();
    let mut wanted = unchanged(&port_info());
    wanted.set_lid(Lid(40)).set_client_reregister(true);
    assert_eq!(set_port(&mut sma, 0, &wanted).unwrap().lid(), Lid(40));
    let port = PortNum::MANAGEMENT;
    let told = [SmaEvent::Lid { port }, SmaEvent::ClientReregister { port }];
    assert_eq!(events(&mut sma), told);
    wanted.set_lid(Lid(41));
    let shown = set_port(&mut sma, 3, &wanted).unwrap();
    assert_eq!((shown.lid(), shown.client_reregister()), (Lid(5), false));
    assert_eq!(events(&mut sma), []);
}
