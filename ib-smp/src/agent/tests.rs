use ib_mad::{
    Attribute, AttributeId, Instant, MadStatus, Method, NoticeDetails, NoticeSm, NoticeType,
    ProducerType, TransactionId, TrapNumber,
};
use ib_wire::table::Text;
use ib_wire::{Guid, Lid, Lmc, MKey, Mtu, PKey, PortNum, QKey, Qpn, Sl, Vl};

use super::*;
use crate::{
    DrDirection, DrPath, LinkDownDefaultState, LinkSpeed, LinkSpeedExt, LinkSpeeds, LinkSpeedsExt,
    LinkWidth, LinkWidths, MftModifier, SmpDirected, VlArbitrationEntry, VlArbitrationHalf, VlCap,
};

const T0: Instant = Instant::ZERO;
const KEY: MKey = MKey(0x1122_3344_5566_7788);
const WRONG: MKey = MKey(0xbad);

/// A port that can do everything up to NDR, and whose link is up in Initialize.
fn port_info() -> PortInfo {
    let mut info = PortInfo::default();
    info.set_lid(Lid(5))
        .set_master_sm_lid(Lid(1))
        .set_capability_mask(
            CapabilityMask::IS_TRAP_SUPPORTED | CapabilityMask::IS_LED_INFO_SUPPORTED,
        )
        .set_link_width_supported(LinkWidths::X1 | LinkWidths::X4)
        .set_link_width_enabled(LinkWidths::X1 | LinkWidths::X4)
        .set_link_width_active(LinkWidth::X4)
        .set_link_speed_supported(LinkSpeeds::all())
        .set_link_speed_enabled(LinkSpeeds::all())
        .set_link_speed_ext_supported(LinkSpeedsExt::FDR | LinkSpeedsExt::EDR)
        .set_link_speed_ext_enabled(LinkSpeedsExt::FDR | LinkSpeedsExt::EDR)
        .set_port_state(PortState::INITIALIZE)
        .set_port_physical_state(PortPhysicalState::LINK_UP)
        .set_link_down_default_state(LinkDownDefaultState::POLLING)
        .set_neighbor_mtu(Mtu::MTU_2048)
        .set_mtu_cap(Mtu::MTU_4096)
        .set_vl_cap(VlCap::VL0_7)
        .set_operational_vls(VlCap::VL0_3)
        .set_vl_arbitration_low_cap(8)
        .set_vl_arbitration_high_cap(64)
        .set_guid_cap(9)
        .set_subnet_timeout(18);
    info
}

/// What a manager sends to change nothing but what the caller then sets.
fn unchanged(info: &PortInfo) -> PortInfo {
    let mut wanted = *info;
    wanted
        .set_port_state(PortState::NO_CHANGE)
        .set_port_physical_state(PortPhysicalState::NO_CHANGE);
    wanted
}

fn node_info(node_type: NodeType) -> NodeInfo {
    let mut info = NodeInfo::default();
    info.set_node_type(node_type)
        .set_node_guid(Guid(0x10))
        .set_partition_cap(40);
    info
}

fn ca() -> Sma {
    let ports = [1, 2].map(|number| SmaPort::new(port_info(), Guid(0x10 + number)));
    Sma::new(node_info(NodeType::CA), NodeDescription::default(), ports)
}

fn switch() -> Sma {
    let mut info = SwitchInfo::default();
    info.set_linear_fdb_cap(1024)
        .set_multicast_fdb_cap(256)
        .set_partition_enforcement_cap(8)
        .set_optimized_sl_to_vl_mapping_programming(3)
        .set_inbound_enforcement_cap(true);
    let mut port0 = port_info();
    port0.set_port_state(PortState::ACTIVE);
    let external = (0..20).map(|_| SmaPort::new(port_info(), Guid::NONE));
    Sma::new_switch(
        node_info(NodeType::SWITCH),
        NodeDescription::default(),
        info,
        SmaPort::new(port0, Guid(0x10)),
        external,
    )
}

fn request(method: Method, id: AttributeId, modifier: u32, data: &[u8]) -> SmpLidRouted {
    let mut smp = SmpLidRouted::new(method, id, modifier);
    let mut all = [0xa5; 64];
    all[..data.len()].copy_from_slice(data);
    smp.set_smp_data(&all).set_transaction_id(TransactionId(7));
    smp
}

/// Asks port 1, and gives the verdict and what became of the SMP.
fn ask_at(sma: &mut Sma, now: Instant, smp: SmpLidRouted) -> (Verdict, SmpLidRouted) {
    let mut bytes = *smp.as_bytes();
    let arrival = Arrival {
        port: PortNum(1),
        slid: Lid(1),
    };
    let verdict = sma.respond(now, arrival, &mut bytes);
    (verdict, SmpLidRouted::from_bytes(bytes))
}

fn ask(sma: &mut Sma, smp: SmpLidRouted) -> SmpLidRouted {
    let (verdict, response) = ask_at(sma, T0, smp);
    assert_eq!(verdict, Verdict::Respond);
    assert_eq!(response.method(), Method::GET_RESP);
    assert_eq!(response.transaction_id(), TransactionId(7));
    response
}

fn get(sma: &mut Sma, id: AttributeId, modifier: u32) -> Result<[u8; 64], MadStatus> {
    let response = ask(sma, request(Method::GET, id, modifier, &[]));
    match response.status() {
        MadStatus::OK => Ok(*response.smp_data()),
        status => Err(status),
    }
}

fn set(sma: &mut Sma, id: AttributeId, modifier: u32, data: &[u8]) -> Result<[u8; 64], MadStatus> {
    let response = ask(sma, request(Method::SET, id, modifier, data));
    match response.status() {
        MadStatus::OK => Ok(*response.smp_data()),
        status => Err(status),
    }
}

fn set_port(sma: &mut Sma, modifier: u32, wanted: &PortInfo) -> Result<PortInfo, MadStatus> {
    set(sma, PortInfo::ID, modifier, wanted.as_bytes()).map(PortInfo::from_bytes)
}

fn events(sma: &mut Sma) -> Vec<SmaEvent> {
    std::iter::from_fn(|| sma.poll_event()).collect()
}

#[test]
fn node_info_shows_the_port_of_arrival() {
    for port in [1, 2] {
        let mut bytes = *request(Method::GET, NodeInfo::ID, 0, &[]).as_bytes();
        let arrival = Arrival {
            port: PortNum(port),
            slid: Lid(1),
        };
        assert_eq!(ca().respond(T0, arrival, &mut bytes), Verdict::Respond);
        let data = *SmpLidRouted::from_bytes(bytes).smp_data();
        let info = NodeInfo::from_bytes(*data.first_chunk().unwrap());
        assert_eq!(info.local_port_num(), PortNum(port));
        assert_eq!(info.port_guid(), Guid(0x10 + u64::from(port)));
        assert_eq!(info.num_ports(), 2);
        assert_eq!(data[40..], [0; 24]);
    }
    let data = get(&mut switch(), NodeInfo::ID, 0).unwrap();
    let info = NodeInfo::from_bytes(*data.first_chunk().unwrap());
    assert_eq!((info.port_guid(), info.num_ports()), (Guid(0x10), 20));
}

#[test]
fn a_directed_response_has_the_d_bit_and_keeps_its_route() {
    let path = DrPath::try_new(&[PortNum(1), PortNum(3)]).unwrap();
    let mut smp = SmpDirected::new(Method::GET, NodeInfo::ID, 0, &path);
    smp.set_hop_pointer(3).set_return_path(&[9; 64]);
    let mut bytes = *smp.as_bytes();
    let arrival = Arrival {
        port: PortNum(1),
        slid: Lid::PERMISSIVE,
    };
    assert_eq!(ca().respond(T0, arrival, &mut bytes), Verdict::Respond);
    let response = SmpDirected::from_bytes(bytes);
    assert_eq!(response.d(), DrDirection::RETURNING);
    assert_eq!(response.status(), MadStatus::OK);
    assert_eq!(response.method(), Method::GET_RESP);
    assert_eq!(response.hop_pointer(), 3);
    assert_eq!(response.initial_path(), smp.initial_path());
    assert_eq!(response.return_path(), smp.return_path());
}

#[test]
fn what_the_agent_does_not_know_gets_a_status() {
    let mut sma = ca();
    let unsupported = Err(MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
    for id in [
        0x00, 0x0012, 0x0019, 0x001a, 0x001b, 0x001c, 0x001e, 0x0033, 0xff90, 0xffff,
    ] {
        assert_eq!(get(&mut sma, AttributeId(id), 0), unsupported, "{id:#x}");
    }
    assert_eq!(set(&mut sma, NodeInfo::ID, 0, &[]), unsupported);
    assert_eq!(set(&mut sma, NodeDescription::ID, 0, &[]), unsupported);
    let mut smp = request(Method::GET, NodeInfo::ID, 0, &[]);
    smp.set_class_version(2);
    assert_eq!(ask(&mut sma, smp).status(), MadStatus(4));
    let smp = request(Method(0x19), NodeInfo::ID, 0, &[]);
    assert_eq!(ask(&mut sma, smp).status(), MadStatus::UNSUPPORTED_METHOD);
}

#[test]
fn what_is_for_a_manager_goes_there_untouched() {
    let sm_info = request(Method::GET, SmInfo::ID, 0, &[]);
    let response = request(Method::GET_RESP, NodeInfo::ID, 0, &[]);
    let trap = request(Method::TRAP, AttributeId(2), 0, &[]);
    for smp in [sm_info, response, trap] {
        assert_eq!(ask_at(&mut ca(), T0, smp), (Verdict::ForManager, smp));
    }
    let mut bytes = *sm_info.as_bytes();
    assert!(Sma::refuse(&mut bytes));
    let status = SmpLidRouted::from_bytes(bytes).status();
    assert_eq!(status, MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
    assert!(!Sma::refuse(&mut response.as_bytes().to_owned()));
}

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
fn a_set_takes_the_link_down_and_says_how() {
    use PortPhysicalState as P;
    let cases = [
        (PortState::DOWN, P::NO_CHANGE, P::POLLING),
        (PortState::NO_CHANGE, P::SLEEP, P::SLEEP),
        (PortState::NO_CHANGE, P::POLLING, P::POLLING),
        (PortState::DOWN, P::DISABLED, P::DISABLED),
    ];
    for (state, physical, physical_state) in cases {
        let mut sma = switch();
        let mut wanted = unchanged(&port_info());
        wanted
            .set_port_state(state)
            .set_port_physical_state(physical);
        let shown = set_port(&mut sma, 3, &wanted).unwrap();
        assert_eq!(shown.port_state(), PortState::DOWN);
        assert_eq!(shown.port_physical_state(), physical_state);
        let port = PortNum(3);
        let expected = SmaEvent::LinkDown {
            port,
            physical_state,
        };
        assert_eq!(events(&mut sma), [expected]);
        // What a manager did itself is no news to it.
        assert!(!sma.switch().unwrap().info().port_state_change());
    }
}

#[test]
fn a_disabled_port_stays_so_until_it_may_poll() {
    let mut sma = switch();
    let port = PortNum(3);
    let mut wanted = unchanged(&port_info());
    wanted.set_port_physical_state(PortPhysicalState::DISABLED);
    set_port(&mut sma, 3, &wanted).unwrap();
    sma.link_down(T0, port);
    let state = |sma: &Sma| sma.port(port).unwrap().info().port_physical_state();
    assert_eq!(state(&sma), PortPhysicalState::DISABLED);
    wanted.set_port_physical_state(PortPhysicalState::POLLING);
    set_port(&mut sma, 3, &wanted).unwrap();
    assert_eq!(state(&sma), PortPhysicalState::POLLING);
}

#[test]
fn links_that_come_and_go_set_port_state_change() {
    let mut sma = switch();
    let mode = LinkMode::negotiate(&port_info(), &port_info()).unwrap();
    assert_eq!(mode.width, LinkWidth::X4);
    assert_eq!(
        (mode.speed, mode.speed_ext),
        (LinkSpeed::EXTENDED, LinkSpeedExt::EDR)
    );
    sma.link_down(T0, PortNum(4));
    let info = *sma.switch().unwrap().info();
    assert!(info.port_state_change());
    // A Set with 0 leaves the bit, one with 1 clears it.
    let mut wanted = info;
    wanted.set_port_state_change(false);
    set(&mut sma, SwitchInfo::ID, 0, wanted.as_bytes()).unwrap();
    assert!(sma.switch().unwrap().info().port_state_change());
    set(&mut sma, SwitchInfo::ID, 0, info.as_bytes()).unwrap();
    assert!(!sma.switch().unwrap().info().port_state_change());
    sma.link_up(T0, PortNum(4), mode);
    assert!(sma.switch().unwrap().info().port_state_change());
    let port = sma.port(PortNum(4)).unwrap().info();
    assert_eq!(port.port_state(), PortState::INITIALIZE);
    assert_eq!(port.port_physical_state(), PortPhysicalState::LINK_UP);
}

#[test]
fn a_data_packet_makes_an_armed_port_active() {
    let mut sma = ca();
    sma.data_received(PortNum(1));
    assert_eq!(events(&mut sma), []);
    let mut wanted = unchanged(&port_info());
    wanted.set_port_state(PortState::ARMED);
    set_port(&mut sma, 0, &wanted).unwrap();
    sma.data_received(PortNum(1));
    let state = sma.port(PortNum(1)).unwrap().info().port_state();
    assert_eq!(state, PortState::ACTIVE);
}

#[test]
fn links_agree_on_the_best_that_both_may_use() {
    let mut old = port_info();
    old.set_link_speed_ext_enabled(LinkSpeedsExt::DISABLED)
        .set_link_speed_enabled(LinkSpeeds::SDR | LinkSpeeds::DDR)
        .set_link_width_enabled(LinkWidths::X1);
    let mode = LinkMode::negotiate(&port_info(), &old).unwrap();
    assert_eq!((mode.width, mode.speed), (LinkWidth::X1, LinkSpeed::DDR));
    assert_eq!(mode.speed_ext, LinkSpeedExt::NONE);
    old.set_link_width_enabled(LinkWidths::X12);
    assert_eq!(LinkMode::negotiate(&port_info(), &old), None);
}

/// A CA whose port 1 has a key with this protection and a lease of 10 s.
fn guarded(protect: MKeyProtect) -> Sma {
    let mut sma = ca();
    let mut wanted = unchanged(&port_info());
    wanted
        .set_m_key(KEY)
        .set_m_key_protect_bits(protect)
        .set_m_key_lease_period(10);
    set_port(&mut sma, 0, &wanted).unwrap();
    sma
}

fn keyed(method: Method, key: MKey) -> SmpLidRouted {
    let mut smp = request(method, PortInfo::ID, 0, unchanged(&port_info()).as_bytes());
    smp.set_m_key(key);
    smp
}

#[test]
fn protection_decides_who_reads_and_who_sees_the_key() {
    let shown_key = |protect, key| {
        let (verdict, smp) = ask_at(&mut guarded(protect), T0, keyed(Method::GET, key));
        let info = PortInfo::from_bytes(*smp.smp_data());
        (verdict == Verdict::Respond).then(|| info.m_key())
    };
    for protect in [0, 1, 2, 3].map(MKeyProtect) {
        assert_eq!(shown_key(protect, KEY), Some(KEY));
    }
    assert_eq!(shown_key(MKeyProtect(0), WRONG), Some(KEY));
    assert_eq!(shown_key(MKeyProtect(1), WRONG), Some(MKey(0)));
    assert_eq!(shown_key(MKeyProtect(2), WRONG), None);
    assert_eq!(shown_key(MKeyProtect(3), WRONG), None);
}

#[test]
fn a_set_with_a_wrong_key_is_dropped_and_counted() {
    for protect in [0, 1, 2, 3].map(MKeyProtect) {
        let mut sma = guarded(protect);
        for method in [Method::SET, Method::TRAP_REPRESS] {
            let before = sma.port(PortNum(1)).unwrap().info().m_key_violations();
            let (verdict, _) = ask_at(&mut sma, T0, keyed(method, WRONG));
            assert_eq!(verdict, Verdict::Drop(DropReason::BadMKey));
            let after = sma.port(PortNum(1)).unwrap().info().m_key_violations();
            assert_eq!(after, before + 1);
        }
        assert_eq!(
            ask_at(&mut sma, T0, keyed(Method::SET, KEY)).0,
            Verdict::Respond
        );
    }
    let mut sma = guarded(MKeyProtect(2));
    sma.port_mut(PortNum(1))
        .unwrap()
        .info
        .set_m_key_violations(0xffff);
    let (_, _) = ask_at(&mut sma, T0, keyed(Method::SET, WRONG));
    assert_eq!(
        sma.port(PortNum(1)).unwrap().info().m_key_violations(),
        0xffff
    );
}

#[test]
fn a_lease_that_runs_out_opens_the_port_for_reading() {
    let seconds = |s: u64| Instant::from_nanos(s * 1_000_000_000);
    let get = |sma: &mut Sma, at, key| ask_at(sma, seconds(at), keyed(Method::GET, key)).0;
    let dropped = Verdict::Drop(DropReason::BadMKey);
    let mut sma = guarded(MKeyProtect(2));
    assert_eq!(get(&mut sma, 0, WRONG), dropped);
    // Further violations do not start it anew.
    assert_eq!(get(&mut sma, 9, WRONG), dropped);
    assert_eq!(get(&mut sma, 10, WRONG), Verdict::Respond);
    let port = sma.port(PortNum(1)).unwrap().info();
    assert_eq!(port.m_key_protect_bits(), MKeyProtect(0));
    assert_eq!(port.m_key(), KEY);
    assert_eq!(
        ask_at(&mut sma, seconds(11), keyed(Method::SET, WRONG)).0,
        dropped
    );

    let mut sma = guarded(MKeyProtect(2));
    assert_eq!(get(&mut sma, 0, WRONG), dropped);
    assert_eq!(get(&mut sma, 9, KEY), Verdict::Respond);
    assert_eq!(
        get(&mut sma, 30, WRONG),
        dropped,
        "a good key stops the timer"
    );
}

#[test]
fn the_other_port_of_a_ca_has_a_key_of_its_own() {
    let mut sma = ca();
    let mut wanted = unchanged(&port_info());
    wanted
        .set_m_key(KEY)
        .set_m_key_protect_bits(MKeyProtect::GET_CLOSED);
    set_port(&mut sma, 2, &wanted).unwrap();
    let mut smp = request(Method::GET, PortInfo::ID, 2, &[]);
    assert_eq!(
        ask_at(&mut sma, T0, smp).0,
        Verdict::Drop(DropReason::BadMKey)
    );
    smp.set_m_key(KEY);
    assert_eq!(ask_at(&mut sma, T0, smp).0, Verdict::Respond);
}

#[test]
fn the_linear_table_takes_memory_up_to_the_last_block_in_use() {
    let mut sma = switch();
    let empty = [255; 64];
    assert_eq!(get(&mut sma, LinearForwardingTable::ID, 15), Ok(empty));
    set(&mut sma, LinearForwardingTable::ID, 15, &empty).unwrap();
    assert_eq!(sma.switch().unwrap().lft().len(), 0);
    assert_eq!(
        set(&mut sma, LinearForwardingTable::ID, 1, &[4; 64]),
        Ok([4; 64])
    );
    assert_eq!(sma.switch().unwrap().lft().len(), 128);
    // Nothing above the top is forwarded.
    assert_eq!(sma.switch().unwrap().unicast_port(Lid(64)), None);
    let mut info = *sma.switch().unwrap().info();
    info.set_linear_fdb_top(Lid(100));
    set(&mut sma, SwitchInfo::ID, 0, info.as_bytes()).unwrap();
    let tables = sma.switch().unwrap();
    assert_eq!(tables.unicast_port(Lid(64)), Some(PortNum(4)));
    assert_eq!(tables.unicast_port(Lid(63)), None);
    assert_eq!(tables.unicast_port(Lid(101)), None);
    let invalid = Err(MadStatus::INVALID_FIELD_VALUE);
    assert_eq!(get(&mut sma, LinearForwardingTable::ID, 16), invalid);
    assert_eq!(get(&mut sma, LinearForwardingTable::ID, u32::MAX), invalid);
    info.set_linear_fdb_top(Lid(1024));
    assert_eq!(set(&mut sma, SwitchInfo::ID, 0, info.as_bytes()), invalid);
}

#[test]
fn multicast_masks_name_ports_by_position() {
    let mut sma = switch();
    let mut block = MulticastForwardingTable::default();
    block.set_port_mask_block(2, 0x8001);
    let at = |position, block| MftModifier { position, block }.bits();
    let id = MulticastForwardingTable::ID;
    set(&mut sma, id, at(0, 1), block.as_bytes()).unwrap();
    block.set_port_mask_block(2, 0x0010);
    set(&mut sma, id, at(1, 1), block.as_bytes()).unwrap();
    let tables = sma.switch().unwrap();
    let ports: Vec<u8> = tables
        .multicast_ports(Lid(0xc022))
        .map(|port| port.0)
        .collect();
    assert_eq!(ports, [0, 15, 20]);
    assert_eq!(tables.multicast_ports(Lid(0xc023)).count(), 0);
    assert_eq!(tables.multicast_ports(Lid(0x22)).count(), 0);
    for bad in [at(2, 0), at(0, 8)] {
        assert_eq!(get(&mut sma, id, bad), Err(MadStatus::INVALID_FIELD_VALUE));
    }
}

#[test]
fn p_keys_fill_the_table_and_no_more() {
    let mut sma = ca();
    let id = PartitionKeyTable::ID;
    let port = |sma: &Sma| sma.port(PortNum(1)).unwrap().p_keys().collect::<Vec<_>>();
    assert_eq!(port(&sma), [PKey::DEFAULT_FULL]);
    let mut block = PartitionKeyTable::default();
    for index in 0..32 {
        block.set_p_key_block(index, PKey(0x8100 + index as u16));
    }
    // 40 entries: the second block has 8.
    let shown = set(&mut sma, id, 1, block.as_bytes()).unwrap();
    let shown = PartitionKeyTable::from_bytes(shown);
    assert_eq!(shown.p_key_block(7), Some(PKey(0x8107)));
    assert_eq!(shown.p_key_block(8), Some(PKey(0)));
    assert_eq!(port(&sma).len(), 9);
    assert_eq!(sma.port(PortNum(1)).unwrap().p_key(0), PKey::DEFAULT_FULL);
    assert_eq!(get(&mut sma, id, 2), Err(MadStatus::INVALID_FIELD_VALUE));
    let mut sma = switch();
    assert_eq!(sma.port(PortNum(5)).unwrap().p_keys().count(), 0);
    let modifier = PKeyModifier {
        port: PortNum(5),
        block: 0,
    };
    set(&mut sma, id, modifier.bits(), block.as_bytes()).unwrap();
    assert_eq!(sma.port(PortNum(5)).unwrap().p_keys().count(), 8);
    assert_eq!(sma.port(PortNum(6)).unwrap().p_keys().count(), 0);
}

#[test]
fn sl_to_vl_is_written_one_by_one_or_many_at_once() {
    let mut sma = switch();
    let id = SlToVlMappingTable::ID;
    let vl = |sma: &Sma, input, output| {
        let tables = sma.switch().unwrap();
        tables
            .vl(PortNum(input), PortNum(output), Sl::from_low_bits(3))
            .bits()
    };
    assert_eq!(vl(&sma, 1, 2), 3);
    let table = |vl: u8| [vl << 4 | vl; 8];
    let (input, output) = (PortNum(1), PortNum(2));
    let pair = SlToVlModifier::Pair { input, output };
    set(&mut sma, id, pair.bits(), &table(1)).unwrap();
    assert_eq!([vl(&sma, 1, 2), vl(&sma, 2, 1), vl(&sma, 1, 3)], [1, 3, 3]);
    set(
        &mut sma,
        id,
        SlToVlModifier::AllInputs { output }.bits(),
        &table(2),
    )
    .unwrap();
    assert_eq!([vl(&sma, 0, 2), vl(&sma, 20, 2), vl(&sma, 1, 3)], [2, 2, 3]);
    set(
        &mut sma,
        id,
        SlToVlModifier::AllOutputs { input }.bits(),
        &table(4),
    )
    .unwrap();
    assert_eq!([vl(&sma, 1, 0), vl(&sma, 1, 20), vl(&sma, 2, 2)], [4, 4, 2]);
    set(&mut sma, id, SlToVlModifier::All.bits(), &table(5)).unwrap();
    assert_eq!([vl(&sma, 1, 2), vl(&sma, 20, 20)], [5, 5]);
    let output = PortNum(21);
    let past = SlToVlModifier::Pair { input, output }.bits();
    assert_eq!(get(&mut sma, id, past), Err(MadStatus::INVALID_FIELD_VALUE));
    let mut sma = ca();
    set(&mut sma, id, 0, &table(6)).unwrap();
    let port = sma.port(PortNum(1)).unwrap();
    assert_eq!(port.vl(Sl::from_low_bits(3)).bits(), 6);
}

#[test]
fn arbitration_tables_have_the_halves_that_the_port_says() {
    let mut sma = ca();
    let id = VlArbitrationTable::ID;
    let at = |half| {
        let port = PortNum(0);
        VlArbitrationModifier { half, port }.bits()
    };
    let mut table = VlArbitrationTable::default();
    table.set_vl_weight_block(0, &VlArbitrationEntry::new(Vl::ZERO, 4));
    let half = VlArbitrationHalf::HighSecond;
    assert_eq!(
        set(&mut sma, id, at(half), table.as_bytes()),
        Ok(*table.as_bytes())
    );
    assert_eq!(sma.port(PortNum(1)).unwrap().vl_arbitration(half), table);
    let low = |sma: &Sma| {
        let port = sma.port(PortNum(1)).unwrap();
        port.vl_arbitration(VlArbitrationHalf::LowFirst)
    };
    assert_eq!(low(&sma), low(&ca()), "the other halves stay");
    let past = at(VlArbitrationHalf::LowSecond);
    assert_eq!(get(&mut sma, id, past), Err(MadStatus::INVALID_FIELD_VALUE));
    assert_eq!(
        get(&mut sma, id, 5 << 16),
        Err(MadStatus::INVALID_FIELD_VALUE)
    );
}

#[test]
fn the_first_guid_is_the_ports_own() {
    let mut sma = ca();
    let mut block = GuidInfo::default();
    for index in 0..8 {
        block.set_guid_block(index, Guid(0xa0 + index as u64));
    }
    let shown = GuidInfo::from_bytes(set(&mut sma, GuidInfo::ID, 0, block.as_bytes()).unwrap());
    assert_eq!(shown.guid_block(0), Some(Guid(0x11)));
    assert_eq!(shown.guid_block(7), Some(Guid(0xa7)));
    let shown = GuidInfo::from_bytes(set(&mut sma, GuidInfo::ID, 1, block.as_bytes()).unwrap());
    assert_eq!(shown.guid_block(0), Some(Guid(0xa0)));
    assert_eq!(shown.guid_block(1), Some(Guid::NONE), "GUIDCap is 9");
    assert_eq!(
        get(&mut sma, GuidInfo::ID, 2),
        Err(MadStatus::INVALID_FIELD_VALUE)
    );
}

#[test]
fn optional_attributes_are_there_where_the_masks_say_so() {
    let mut sma = ca();
    assert_eq!(
        set(&mut sma, LedInfo::ID, 0, &[0x80, 0, 0, 0]).unwrap()[0],
        0x80
    );
    assert_eq!(get(&mut sma, LedInfo::ID, 2).unwrap()[0], 0);
    assert_eq!(
        get(&mut sma, LedInfo::ID, 3),
        Err(MadStatus::INVALID_FIELD_VALUE)
    );
    let mut info = port_info();
    info.set_capability_mask2(
        CapabilityMask2::IS_PORT_INFO_EXTENDED_SUPPORTED
            | CapabilityMask2::IS_SET_NODE_DESCRIPTION_SUPPORTED,
    );
    let mut extended = PortInfoExtended::default();
    extended.set_edr_fec_mode_supported(6);
    let port = SmaPort::new(info, Guid(0x11)).with_extended(extended);
    let mut sma = Sma::new(node_info(NodeType::CA), NodeDescription::default(), [port]);
    extended.set_edr_fec_mode_enabled(4);
    let id = PortInfoExtended::ID;
    assert_eq!(
        set(&mut sma, id, 1, extended.as_bytes()),
        Ok(*extended.as_bytes())
    );
    extended.set_edr_fec_mode_enabled(8);
    assert_eq!(
        set(&mut sma, id, 1, extended.as_bytes()),
        Err(MadStatus::INVALID_FIELD_VALUE)
    );
    let mut description = NodeDescription::default();
    description.set_node_string(&Text::new("n1 mlx5_0"));
    set(&mut sma, NodeDescription::ID, 0, description.as_bytes()).unwrap();
    assert_eq!(sma.node_description(), &description);
}

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
    let repressed = Verdict::Drop(DropReason::Repressed);
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
    // An external port tells only where the switch can.
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
