//! Links that come and go.

use super::*;

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
        // A change by the manager itself is not reported to it.
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
    assert_eq!(mode.speed, LinkSpeed::Edr);
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
    assert_eq!((mode.width, mode.speed), (LinkWidth::X1, LinkSpeed::Ddr));
    old.set_link_width_enabled(LinkWidths::X12);
    assert_eq!(LinkMode::negotiate(&port_info(), &old), None);
}

/// IBA vol. 1, 14.2.5.4: the bit follows the link's state machine and not a Set. A manager would else
/// find its own steps at each sweep.
#[test]
fn what_a_set_or_a_packet_does_to_a_state_is_no_port_state_change() {
    let mut sma = switch();
    let port = PortNum(4);
    let changed = |sma: &Sma| sma.switch().unwrap().info().port_state_change();
    let info = *sma.port(port).unwrap().info();
    for state in [PortState::ARMED, PortState::ACTIVE, PortState::DOWN] {
        let mut wanted = unchanged(&info);
        wanted.set_port_state(state);
        set_port(&mut sma, 4, &wanted).unwrap();
        assert!(!changed(&sma), "{state}");
    }
    // The other end of that link was not set: its agent sees the link go down.
    sma.link_down(T0, PortNum(5));
    assert!(changed(&sma));
    let mut other = switch();
    let at = other.port_info_mut(port).unwrap();
    at.set_port_state(PortState::ARMED);
    other.data_received(port);
    assert!(!changed(&other));
}

#[test]
fn each_change_of_the_link_itself_is_a_port_state_change() {
    let mode = LinkMode::negotiate(&port_info(), &port_info()).unwrap();
    for state in [PortState::INITIALIZE, PortState::ARMED, PortState::ACTIVE] {
        let mut sma = switch();
        sma.port_info_mut(PortNum(4)).unwrap().set_port_state(state);
        sma.link_down(T0, PortNum(4));
        assert!(sma.switch().unwrap().info().port_state_change(), "{state}");
    }
    let mut sma = switch();
    // A port that is down already, and one that is up already, change nothing.
    sma.port_info_mut(PortNum(4))
        .unwrap()
        .set_port_state(PortState::DOWN);
    sma.link_down(T0, PortNum(4));
    sma.link_up(T0, PortNum(5), mode);
    assert!(!sma.switch().unwrap().info().port_state_change());
    sma.link_up(T0, PortNum(4), mode);
    assert!(sma.switch().unwrap().info().port_state_change());
}
