//! Changes that the device makes itself, and the state after a loss of power.

use super::*;

#[test]
fn a_device_changes_its_names_and_guids() {
    let mut sma = ca();
    sma.set_node_description("node 7");
    sma.set_node_guid(Guid(0x70));
    sma.set_port_guid(PortNum(2), Guid(0x72));
    sma.set_port_guid(PortNum(3), Guid(0x73));
    assert_eq!(sma.node_description(), &NodeDescription::named("node 7"));
    assert_eq!(sma.node_info().node_guid(), Guid(0x70));
    assert_eq!(sma.node_info().node_type(), NodeType::CA);
    let guids: Vec<Guid> = sma.ports().iter().map(SmaPort::guid).collect();
    assert_eq!(guids, [Guid(0x11), Guid(0x72)]);
    let mut sma = switch();
    sma.set_node_guid(Guid(0x80));
    let port0 = sma.port(PortNum::MANAGEMENT).unwrap();
    assert_eq!(port0.guid(), Guid(0x80));
    assert_eq!(sma.ports().len(), 21);
}

#[test]
fn a_loss_of_power_takes_what_managers_wrote() {
    let mut sma = switch();
    let capabilities = CapabilityMask::IS_NOTICE_SUPPORTED | CapabilityMask::IS_TRAP_SUPPORTED;
    let info = sma.port_info_mut(PortNum::MANAGEMENT).unwrap();
    info.set_capability_mask(capabilities)
        .set_m_key(KEY)
        .set_lmc(Lmc::try_new(1).unwrap());
    set_with_key(&mut sma, LinearForwardingTable::ID, 1, &[4; 64]);
    let mut info = *sma.switch().unwrap().info();
    info.set_linear_fdb_top(Lid(100));
    set_with_key(&mut sma, SwitchInfo::ID, 0, info.as_bytes());
    sma.link_down(T0, PortNum(4));
    assert!(sma.next_trap().is_some());
    sma.reset();
    let port = sma.port(PortNum::MANAGEMENT).unwrap().info();
    assert_eq!((port.lid(), port.lmc()), (Lid::NONE, Lmc::ZERO));
    assert_eq!((port.m_key(), port.master_sm_lid()), (MKey(0), Lid::NONE));
    assert_eq!(port.capability_mask(), capabilities);
    assert_eq!(sma.next_trap(), None);
    assert_eq!(events(&mut sma), []);
    let notice = NoticeSm::from_bytes(get(&mut sma, NoticeSm::ID, 0).unwrap());
    assert_eq!(notice.trap_number(), 0, "no notice waits");
    let tables = sma.switch().unwrap();
    assert_eq!(tables.lft().count(), 0);
    assert_eq!(tables.info().linear_fdb_top(), Lid::NONE);
    assert!(tables.info().port_state_change());
    assert_eq!(tables.info().linear_fdb_cap(), 1024);
}

fn set_with_key(sma: &mut Sma, id: AttributeId, modifier: u32, data: &[u8]) {
    let mut smp = request(Method::SET, id, modifier, data);
    smp.set_m_key(KEY);
    assert_eq!(ask(sma, smp).status(), MadStatus::OK);
}

#[test]
fn lanes_after_a_reset_are_those_that_the_device_begins_with() {
    let table = SlToVlMappingTable::from_bytes([0x22; 8]);
    let mut sma = switch().with_initial_sl_to_vl(table);
    let vl = |sma: &Sma| {
        let tables = sma.switch().unwrap();
        tables
            .vl(PortNum(1), PortNum(2), Sl::from_low_bits(5))
            .bits()
    };
    assert_eq!(vl(&sma), 2);
    let all = SlToVlModifier::All.bits();
    set(&mut sma, SlToVlMappingTable::ID, all, &[0x33; 8]).unwrap();
    assert_eq!(vl(&sma), 3);
    sma.reset();
    assert_eq!(vl(&sma), 2);
}

#[test]
fn a_lease_ends_by_itself_and_a_new_period_begins_anew() {
    let mut sma = super::m_key::guarded(MKeyProtect(2));
    let seconds = |n: u64| Instant::from_nanos(n * 1_000_000_000);
    let protection = |sma: &Sma| {
        let info = sma.port(PortNum(1)).unwrap().info();
        info.m_key_protect_bits()
    };
    // The fixture writes no number into PortInfo, which the device does.
    for number in [1, 2] {
        let info = sma.port_info_mut(PortNum(number)).unwrap();
        info.set_local_port_num(PortNum(number));
    }
    let wrong = super::m_key::keyed(Method::SET, WRONG);
    let (_, _) = ask_at(&mut sma, T0, wrong);
    sma.handle_timeout(seconds(9));
    assert_eq!(protection(&sma), MKeyProtect(2));
    sma.handle_timeout(seconds(10));
    assert_eq!(protection(&sma), MKeyProtect::GET_OPEN);
    assert_eq!(
        events(&mut sma).last(),
        Some(&SmaEvent::LeaseExpired { port: PortNum(1) })
    );
}

#[test]
fn links_agree_on_what_both_ends_may_use() {
    let speeds = |ext, ext2| {
        let mut info = port_info();
        info.set_link_speed_ext_enabled(ext)
            .set_link_speed_ext_supported(LinkSpeedsExt::FDR | LinkSpeedsExt::EDR)
            .set_link_speed_ext_enabled2(ext2);
        info
    };
    let (none, xdr) = (LinkSpeedsExt2::empty(), LinkSpeedsExt2::XDR);
    let both = LinkSpeedsExt::FDR | LinkSpeedsExt::EDR;
    let negotiated = |a: &PortInfo, b: &PortInfo| {
        let mode = LinkMode::negotiate(a, b).unwrap();
        assert_eq!(LinkMode::negotiate(b, a), Some(mode));
        assert_eq!(mode.width, ib_wire::LinkWidth::X4);
        mode.speed
    };
    use ib_wire::LinkSpeed as S;
    let plain = speeds(both, none);
    assert_eq!(negotiated(&plain, &plain), S::Edr);
    assert_eq!(
        negotiated(&plain, &speeds(LinkSpeedsExt::FDR, none)),
        S::Fdr
    );
    assert_eq!(
        negotiated(&plain, &speeds(LinkSpeedsExt::DISABLED, none)),
        S::Qdr
    );
    assert_eq!(negotiated(&speeds(both, xdr), &speeds(both, xdr)), S::Xdr);
    assert_eq!(negotiated(&speeds(both, xdr), &plain), S::Edr);
    // What a port cannot do, it does not use, whatever is enabled.
    let beyond = speeds(LinkSpeedsExt::FDR | LinkSpeedsExt::HDR, none);
    assert_eq!(negotiated(&beyond, &beyond), S::Fdr);
}
