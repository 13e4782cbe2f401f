//! Settings of the configuration in the devices: each reaches the ports and switches that it concerns, and no others.

use std::{ops::ControlFlow, time::Duration};

use ib_mad::{Attribute as _, Method};
use ib_sim::Behaviour;
use ib_sm::{Event, NotActive, SmConfig};
use ib_smp::{
    CapabilityMask, LinkSpeeds, LinkSpeedsExt, LinkWidths, MKeyProtect, PortInfo, PortState,
    SlToVlMappingTable, SmpDirected, VlArbitrationTable, VlCap,
};
use ib_testkit::{
    fabrics::{fabric, without},
    lab::{Lab, Running},
};
use ib_wire::{GidPrefix, Lid, MKey, Sl};

/// The kind of a port, by its node and its cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Port 0 of a switch.
    Management,
    /// A switch port at a cable to a host.
    Leaf,
    /// A switch port at a cable to another switch.
    Trunk,
    /// A port of a host.
    Host,
    /// A port without a cable.
    Unlinked,
}

/// PortInfo of every port, in the order of the nodes.
fn ports(running: &Running) -> Vec<(Place, PortInfo)> {
    running.sim.with(|sim| {
        let mut all = Vec::new();
        for (node, entry) in sim.nodes().iter_enumerated() {
            for port in sim.ports_of(node) {
                let peer = sim.peer(port.at()).filter(|_| port.is_link_up());
                let to_switch = peer.is_some_and(|peer| sim.node(peer.node).unwrap().is_switch());
                let place = match (entry.is_switch(), peer) {
                    (true, _) if port.at().port.0 == 0 => Place::Management,
                    (_, None) => Place::Unlinked,
                    (true, _) if to_switch => Place::Trunk,
                    (true, _) => Place::Leaf,
                    (false, _) => Place::Host,
                };
                all.push((place, *port.info()));
            }
        }
        all
    })
}

/// A ring without one of its cables, so that two ports of switches have none.
fn lab() -> Lab {
    let ring = fabric("gen-ring-5");
    let (cable, _) = ring.switch_links().next().unwrap();
    Lab::of(without(&ring, &[cable]))
}

fn wished(config: &mut SmConfig) {
    config.m_key = MKey(0x1234);
    config.m_key_protect_bits = 1;
    config.m_key_lease_period = 77;
    config.subnet_prefix = GidPrefix(0xfe80_0000_0000_0042);
    config.sm_sl = Sl::try_new(3).unwrap();
    config.subnet_timeout = 15;
    config.packet_life_time = 14;
    config.head_of_queue_lifetime = 11;
    config.leaf_head_of_queue_lifetime = 9;
    config.vl_stall_count = 5;
    config.leaf_vl_stall_count = 2;
    config.local_phy_errors_threshold = 4;
    config.overrun_errors_threshold = 6;
    config.max_op_vls = 2;
}

#[test]
fn each_setting_reaches_the_ports_that_it_concerns() {
    let plain = ports(&lab().start());
    let mut running = lab().config(wished).up();
    let all = ports(&running);
    assert_eq!(all.len(), plain.len());
    let mut seen = Vec::new();
    for ((place, port), (_, before)) in all.iter().zip(&plain) {
        seen.push(*place);
        let own_address = matches!(place, Place::Management | Place::Host);
        let address = |info: &PortInfo| {
            (
                info.m_key(),
                info.m_key_protect_bits(),
                info.m_key_lease_period(),
                info.gid_prefix(),
                info.master_sm_sl(),
                info.subnet_timeout(),
            )
        };
        let expected = match own_address {
            true => (
                MKey(0x1234),
                MKeyProtect(1),
                77,
                GidPrefix(0xfe80_0000_0000_0042),
                Sl::try_new(3).unwrap(),
                15,
            ),
            false => address(before),
        };
        assert_eq!(address(port), expected, "{place:?}");
        assert_eq!(port.lid() != Lid::NONE, own_address, "{place:?}");
        assert_eq!(port.master_sm_lid() != Lid::NONE, own_address, "{place:?}");

        let queueing = |info: &PortInfo| (info.hoq_life(), info.vl_stall_count());
        let expected = match place {
            Place::Leaf => (9, 2),
            Place::Trunk => (11, 5),
            _ => queueing(before),
        };
        assert_eq!(queueing(port), expected, "{place:?}");

        let is_linked = !matches!(place, Place::Management | Place::Unlinked);
        let thresholds = |info: &PortInfo| (info.local_phy_errors(), info.overrun_errors());
        let expected = if is_linked {
            (4, 6)
        } else {
            thresholds(before)
        };
        assert_eq!(thresholds(port), expected, "{place:?}");
        if is_linked {
            assert_eq!(port.operational_vls(), VlCap(2).min(port.vl_cap()));
            assert_eq!(port.neighbor_mtu(), port.mtu_cap());
        }
    }
    for place in [
        Place::Management,
        Place::Leaf,
        Place::Trunk,
        Place::Host,
        Place::Unlinked,
    ] {
        assert!(seen.contains(&place), "{place:?}");
    }
    running.sim.with(|sim| {
        for switch in sim.nodes().iter().filter_map(|node| node.switch_info()) {
            assert_eq!(switch.life_time_value(), 14);
        }
    });
    running.resweep();
    let sets = running.transport.sent_with(ib_mad::Method::SET);
    assert!(sets.is_empty(), "what is right stays: {sets:?}");
}

#[test]
fn the_data_of_switches_and_hosts_that_no_option_names_stay() {
    let plain = ports(&Lab::new("gen-ring-5").start());
    let running = Lab::new("gen-ring-5").config(wished).up();
    for ((place, after), (_, before)) in ports(&running).iter().zip(&plain) {
        let kept = |info: &PortInfo| {
            (
                info.link_width_enabled(),
                info.link_speed_enabled(),
                info.link_speed_ext_enabled(),
                info.link_down_default_state(),
                info.port_physical_state(),
            )
        };
        assert_eq!(kept(after), kept(before), "{place:?}");
    }
}

/// A silent device is asked as often, and waited for as long, as the options say.
#[test]
fn the_number_of_attempts_and_the_time_for_each_are_those_of_the_options() {
    for (retries, milliseconds) in [(0, 300), (2, 50), (5, 20)] {
        let lab = Lab::new("gen-ring-5").config(|config| {
            config.transaction_retries = retries;
            config.transaction_timeout = Duration::from_millis(milliseconds);
            config.first_transaction_id = ib_mad::TransactionId(0x4321);
        });
        let host = lab
            .fabric
            .nodes()
            .iter()
            .rfind(|node| !node.type_.is_switch());
        let host = host.unwrap().name.clone();
        let mut running = lab.start();
        running.sim.with(|sim| {
            let node = sim.find(&host).unwrap();
            sim.set_behaviour(node, ib_sim::Behaviour::Silent);
        });
        let summary = running.run_until_up();
        assert_eq!(summary.unresponsive.len(), 1);
        let attempts = u32::from(retries) + 1;
        let waited = Duration::from_millis(milliseconds) * attempts;
        let total = summary.phases.total();
        assert!(total >= waited, "{retries}: {total:?}");
        assert!(
            total < waited + Duration::from_millis(50),
            "{retries}: {total:?}"
        );
        let first = running.transport.sent[0].header().transaction_id();
        assert_eq!(first.low(), 0x4321);
    }
}

/// The Sets of PortInfo that the manager has sent: the number of hops to the node, and the data.
fn port_infos_set(running: &Running) -> Vec<(u8, PortInfo)> {
    let sent = running.transport.sent.iter().filter(|mad| {
        let header = mad.header();
        header.method() == Method::SET && header.attribute_id() == PortInfo::ID
    });
    sent.map(|mad| {
        let (smp, _) = SmpDirected::parse(&mad.bytes, 0).unwrap();
        (smp.hop_count(), PortInfo::from_bytes(*smp.smp_data()))
    })
    .collect()
}

#[test]
fn a_set_leaves_out_widths_and_speeds_that_are_enabled() {
    let running = Lab::new("gen-ring-5").up();
    let sets = port_infos_set(&running);
    assert!(!sets.is_empty());
    for (_, set) in sets {
        assert_eq!(set.link_width_enabled(), LinkWidths::empty());
        assert_eq!(set.link_speed_enabled(), LinkSpeeds::empty());
        assert_eq!(set.link_speed_ext_enabled(), LinkSpeedsExt::empty());
    }
}

#[test]
fn hosts_are_asked_to_register_again_when_their_ports_become_active_and_not_before() {
    let running = Lab::new("gen-ring-5").up();
    let sets = port_infos_set(&running);
    let asked = sets.iter().filter(|(_, set)| set.client_reregister());
    let asked: Vec<PortState> = asked.map(|(_, set)| set.port_state()).collect();
    let capable = CapabilityMask::IS_CLIENT_REREGISTRATION_SUPPORTED;
    let hosts = ports(&running)
        .into_iter()
        .filter(|(place, info)| *place == Place::Host && info.capability_mask().contains(capable));
    assert_eq!(asked, vec![PortState::ACTIVE; hosts.count()]);
}

#[test]
fn the_manager_gives_its_own_port_an_address_before_it_changes_the_state_of_any_port() {
    let running = Lab::new("gen-ring-5").up();
    let sets = port_infos_set(&running).into_iter();
    let before = sets.take_while(|(_, set)| set.port_state() == PortState::NO_CHANGE);
    let own: Vec<_> = before.filter(|(hops, _)| *hops == 0).collect();
    let subnet = running.sm.subnet();
    let port = subnet.own_port().and_then(|own| subnet.port(own)).unwrap();
    let lid = port.lids().unwrap().base();
    assert_eq!(
        own.iter().map(|(_, set)| set.lid()).collect::<Vec<_>>(),
        [lid]
    );
}

#[test]
fn a_port_that_is_not_active_is_reported_with_the_state_of_its_other_end() {
    let mut running = Lab::new("gen-ring-5").start();
    let prepared = running.run(|event| match event {
        Event::RoutesVerified { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    assert!(prepared.is_some());
    let host = running.sim.with(|sim| {
        let nodes = sim.nodes().iter_enumerated();
        let mut hosts = nodes.filter(|(_, node)| !node.is_switch());
        hosts.next_back().unwrap().0
    });
    running
        .sim
        .with(|sim| sim.set_behaviour(host, Behaviour::Silent));
    running.run_for(Duration::from_secs(5));
    let (own, other) = running.sim.with(|sim| {
        let port = sim.end_ports(host).next().unwrap().at();
        let peer = sim.peer(port).unwrap();
        let guid = |node| sim.node(node).unwrap().guid();
        (guid(port.node), (guid(peer.node), peer.port))
    });
    let reasons: Vec<_> = running
        .events
        .iter()
        .filter_map(|event| match event {
            Event::PortNotActive { at, reason, .. } => Some((*at, *reason)),
            _ => None,
        })
        .collect();
    let of_switch = reasons
        .iter()
        .find(|(at, _)| (at.node_guid, at.port_num) == other);
    let initialize = NotActive::OtherEnd(PortState::INITIALIZE);
    assert_eq!(of_switch.map(|(_, reason)| *reason), Some(initialize));
    let of_host = reasons.iter().find(|(at, _)| at.node_guid == own);
    assert_eq!(of_host.map(|(_, reason)| *reason), Some(NotActive::NotSet));
}

#[test]
fn the_lanes_of_a_fabric_that_was_just_started_are_written_without_a_read() {
    let lab = Lab::new("gen-ring-5").config(|config| config.qos.enabled = true);
    let running = lab.up();
    let tables = [SlToVlMappingTable::ID, VlArbitrationTable::ID];
    let count = |method| {
        let sent = running.transport.sent_with(method);
        let of_tables = sent
            .iter()
            .filter(|mad| tables.contains(&mad.attribute_id()));
        of_tables.count()
    };
    assert!(count(Method::SET) > 0);
    assert_eq!(count(Method::GET), 0);
}
