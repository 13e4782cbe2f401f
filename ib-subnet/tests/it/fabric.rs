//! The observed subnet as a fabric, and counts of its ports.

use ib_mad::{Attribute, MadStatus};
use ib_routing::{LinkSpeed, LinkWidth, NodeType, PortRef, generate::FabricSpec};
use ib_sim::{SimOptions, SupportedLinks};
use ib_smp::{
    CapabilityMask, LinkSpeedExtActive, LinkWidthActive, NodeDescription, NodeInfo, PortInfo,
    PortPhysicalState, PortState, SwitchInfo,
};
use ib_subnet::{FabricIndex, PortAt, PortId, PortSummary, ReadTarget, node_type};
use ib_testkit::fabrics::fabric;
use ib_wire::{Guid, Lid, Lmc, PortNum};

use crate::lab::{Lab, change, line, walked_line};

#[test]
fn the_fabric_has_all_that_the_devices_told() {
    let mut lab = line();
    lab.edit(|_, smp| {
        change(smp, |info: &mut SwitchInfo| {
            info.set_enhanced_port0(true);
        });
        change(smp, |info: &mut PortInfo| {
            // The fields of an external port of a switch have no meaning.
            info.set_lid(Lid(40)).set_lmc(Lmc::try_new(2).unwrap());
        });
        change(smp, |info: &mut NodeInfo| {
            info.set_system_image_guid(Guid(info.node_guid().0 + 7));
        });
        true
    });
    let odd = lab.real("host00001 HCA-1", 1);
    lab.sim
        .with(|sim| sim.set_port_guid(odd, Guid(0xabc)).unwrap());
    lab.everything();
    let original = fabric("gen-line-2");
    let index = FabricIndex::build(&lab.subnet, |_, _| true, |_| true);
    assert_eq!(index.fabric().nodes().len(), original.nodes().len());
    assert_eq!(index.fabric().num_links(), original.num_links());
    for (id, observed) in lab.subnet.nodes() {
        let guid = observed.info().node_guid();
        let there = original.node(original.node_by_guid(guid).unwrap());
        let at = index.node(id).unwrap();
        let here = index.fabric().node(at);
        assert_eq!(here.guid, there.guid);
        assert_eq!(here.type_, there.type_);
        assert_eq!(here.num_ports(), there.num_ports());
        assert_eq!(here.system_image_guid, Guid(guid.0 + 7));
        assert_eq!(here.vendor_id, there.vendor_id);
        assert_eq!(here.device_id, there.device_id);
        assert_eq!(here.description, there.description);
        assert_eq!(here.enhanced_port_0, there.type_.is_switch());
        assert_eq!(index.switch(id), index.fabric().switch_of(at));
        assert_eq!(index.switch(id).is_some(), there.type_.is_switch());
        for (number, port) in here.ports() {
            let original = there.port(number).unwrap();
            let end = ib_subnet::PortId {
                node: id,
                port: number,
            };
            assert_eq!(index.port(end).unwrap().port, number);
            assert_eq!(index.port(end).unwrap().node, at);
            let peer = lab.subnet.port(end).and_then(|port| port.peer());
            assert_eq!(index.peer(end), peer);
            assert_eq!(port.peer.is_some(), original.peer.is_some());
            let is_end_port = lab.subnet.is_end_port(end);
            assert_eq!(is_end_port, here.type_.is_switch() == (number.0 == 0));
            assert_eq!(port.lid, Lid(if is_end_port { 40 } else { 0 }));
            assert_eq!(port.lmc.bits(), if is_end_port { 2 } else { 0 });
            if port.peer.is_some() {
                assert_eq!((port.width, port.speed), (original.width, original.speed));
            }
            if !here.type_.is_switch() {
                let is_odd = guid == Guid(0x0010_0000_0000_0010) && number == PortNum(1);
                let expected = if is_odd { Guid(0xabc) } else { original.guid };
                assert_eq!(port.guid, expected);
            }
        }
    }
    assert_eq!(index.clone().into_fabric().nodes().len(), 8);
}

#[test]
fn nodes_and_cables_that_take_no_part_are_left_out() {
    let lab = walked_line();
    let (left_out, uncabled) = (lab.node("host00004 HCA-1"), lab.port("t0", 1));
    let (there, host) = (lab.port("t1", 2), lab.port("t1", 3));
    let peer = lab.port("t1", 4);
    let index = FabricIndex::build(
        &lab.subnet,
        |id, _| id != left_out,
        |port| port != uncabled && port != there,
    );
    assert_eq!(index.node(left_out), None);
    assert_eq!(index.switch(left_out), None);
    assert_eq!(index.port(lab.port("host00004 HCA-1", 1)), None);
    assert_eq!(index.peer(peer), None);
    assert_eq!(index.peer(uncabled), None);
    assert_eq!(index.peer(host), Some(lab.port("host00003 HCA-1", 1)));
    assert_eq!(index.fabric().nodes().len(), 7);
    assert_eq!(index.fabric().num_links(), 5);
    // One end that takes part is enough.
    let index = FabricIndex::build(&lab.subnet, |_, _| true, |port| port == uncabled);
    assert_eq!(index.peer(there), Some(uncabled));
    assert_eq!(index.fabric().num_links(), 1);
}

#[test]
fn an_index_is_current_until_something_that_it_holds_changes() {
    let tree = "fat-tree:radix=4,levels=2".parse::<FabricSpec>().unwrap();
    let tree = tree.build().unwrap();
    let mut lab = Lab::new(&tree, SimOptions::default());
    lab.everything();
    let index = FabricIndex::build(&lab.subnet, |_, _| true, |_| true);
    let since = lab.subnet.version();
    let is_current = |lab: &Lab| index.is_current(&lab.subnet, since, |_, _| true, |_| true);
    let after_losing = |lab: &Lab| {
        let now = index.after_losing(&lab.subnet, since, |_, _| true, |_| true);
        now.map(|now| now.fabric().num_links())
    };
    assert!(is_current(&lab));
    // All ports change their state, as while a subnet comes up.
    lab.edit(crate::lab::all_active);
    lab.everything();
    assert!(lab.subnet.version() > since && is_current(&lab));
    let links = index.fabric().num_links();
    assert_eq!(after_losing(&lab), Some(links));
    let is_switch = |end: PortRef| tree.switch_of(end.node).is_some();
    let mut cables = tree.links();
    let (real, _) = cables
        .find(|&(one, other)| is_switch(one) && is_switch(other))
        .unwrap();
    let cable = PortId {
        node: lab.subnet.find(tree.node(real.node).guid).unwrap(),
        port: real.port,
    };
    assert!(!index.is_current(&lab.subnet, since, |id, _| id != cable.node, |_| true));
    assert!(!index.is_current(&lab.subnet, since, |_, _| true, |port| port != cable));
    lab.sim.with(|sim| sim.unlink(real).unwrap());
    lab.everything();
    assert!(!is_current(&lab));
    assert_eq!(after_losing(&lab), Some(links - 1));
    lab.edit(|_, smp| {
        change(smp, |info: &mut PortInfo| {
            info.set_lid(Lid(40));
        });
        true
    });
    lab.everything();
    assert!(!is_current(&lab) && after_losing(&lab).is_none());
}

#[test]
fn an_unknown_type_of_node_does_not_forward() {
    let mut info = NodeInfo::default();
    for (told, expected) in [(1, 1), (2, 2), (3, 3), (0, 1), (4, 1), (255, 1)] {
        info.set_node_type(NodeType(told));
        assert_eq!(node_type(&info), NodeType(expected), "{told}");
    }
}

#[test]
fn extended_speeds_count_where_the_end_port_announces_them() {
    for announced in [true, false] {
        let mut lab = line();
        lab.edit(move |_, smp| {
            change(smp, |info: &mut PortInfo| {
                let mut mask = info.capability_mask();
                mask.set(CapabilityMask::IS_EXTENDED_SPEEDS_SUPPORTED, announced);
                info.set_capability_mask(mask)
                    .set_link_speed_active(ib_smp::LinkSpeedActive::QDR)
                    .set_link_speed_ext_active(LinkSpeedExtActive::EDR);
            });
            true
        });
        lab.everything();
        let index = FabricIndex::build(&lab.subnet, |_, _| true, |_| true);
        let expected = match announced {
            true => LinkSpeed::Edr,
            false => LinkSpeed::Qdr,
        };
        for end in [lab.port("t0", 1), lab.port("host00001 HCA-1", 1)] {
            let end = index.port(end).unwrap();
            let speed = index.fabric().port(end).unwrap().speed;
            assert_eq!(speed, Some(expected), "{end:?}");
        }
    }
}

#[test]
fn fdr10_of_the_vendor_lasts_as_long_as_the_link() {
    let mut lab = line();
    lab.options.vendor_speeds = true;
    lab.edit(crate::lab::all_active);
    lab.edit(|_, smp| {
        change(smp, |info: &mut NodeInfo| {
            info.set_device_id(0xc738);
        });
        change(smp, |info: &mut PortInfo| {
            info.set_capability_mask(CapabilityMask::empty())
                .set_link_speed_active(ib_smp::LinkSpeedActive::QDR);
        });
        smp.set_status(MadStatus::default());
        change(smp, |info: &mut ib_smp::MlnxExtPortInfo| {
            info.set_link_speed_active(ib_smp::VendorLinkSpeeds::FDR10);
        });
        true
    });
    lab.everything();
    let speed = |lab: &Lab| {
        let index = FabricIndex::build(&lab.subnet, |_, _| true, |_| true);
        let end = index.port(lab.port("t0", 4)).unwrap();
        index.fabric().port(end).unwrap().speed
    };
    assert!(lab.record("t0", 4).is_fdr10());
    assert_eq!(speed(&lab), Some(LinkSpeed::Fdr10));
    lab.options.vendor_speeds = false;
    lab.everything();
    assert_eq!(speed(&lab), Some(LinkSpeed::Fdr10));
    lab.honest();
    lab.everything();
    assert!(!lab.record("t0", 4).is_fdr10());
}

#[test]
fn ports_are_counted_by_state_width_and_speed() {
    let mut lab = Lab::new(
        &fabric("gen-line-2"),
        SimOptions {
            supported_links: SupportedLinks::OfDevice,
            ..SimOptions::default()
        },
    );
    let (narrow, slow) = (
        lab.real("host00001 HCA-1", 1),
        lab.real("host00004 HCA-1", 1),
    );
    let guids = lab
        .sim
        .with(|sim| [narrow, slow].map(|port| sim.node(port.node).unwrap().guid()));
    let disabled = lab.real("t1", 1);
    let disabled_guid = lab.sim.with(|sim| sim.node(disabled.node).unwrap().guid());
    lab.sim.with(|sim| {
        let silent = sim.find("host00005 HCA-1").unwrap();
        sim.set_behaviour(silent, ib_sim::Behaviour::Silent);
    });
    lab.everything();
    let mut honest = PortSummary::of(&lab.subnet, None);
    // t0 and t1 with five ports each, five hosts; the sixth is silent.
    assert_eq!((honest.nodes, honest.ports), (7, 15));
    assert_eq!(honest.states[&PortState::INITIALIZE], 13);
    assert_eq!(honest.states[&PortState::DOWN], 2);
    assert_eq!(
        honest.widths.into_iter().collect::<Vec<_>>(),
        [(LinkWidth::X4, 13)]
    );
    assert_eq!(
        honest.speeds.into_iter().collect::<Vec<_>>(),
        [(LinkSpeed::Edr, 13)]
    );
    assert_eq!(honest.disabled, []);
    assert_eq!((honest.narrow.len(), honest.slow.len()), (0, 0));
    let before_silent = PortAt {
        node_guid: disabled_guid,
        port_num: PortNum(5),
    };
    assert_eq!(std::mem::take(&mut honest.unanswered), [before_silent]);

    let of_type = |lab: &Lab, type_| {
        let summary = PortSummary::of(&lab.subnet, Some(type_));
        (summary.nodes, summary.ports)
    };
    assert_eq!(of_type(&lab, NodeType::CA), (5, 5));
    assert_eq!(of_type(&lab, NodeType::SWITCH), (2, 10));
    assert_eq!(of_type(&lab, NodeType::ROUTER), (0, 0));

    let ids = [
        lab.port("host00001 HCA-1", 1),
        lab.port("host00004 HCA-1", 1),
    ];
    let dark = lab.port("t1", 1);
    lab.edit(move |read, smp| {
        change(smp, |info: &mut PortInfo| {
            if read.target == ReadTarget::Port(ids[0]) {
                info.set_link_width_active(LinkWidthActive::X1);
            }
            if read.target == ReadTarget::Port(ids[1]) {
                info.set_link_speed_ext_active(LinkSpeedExtActive::FDR);
            }
            if read.target == ReadTarget::Port(dark) {
                info.set_port_physical_state(PortPhysicalState::DISABLED);
            }
        });
        true
    });
    lab.everything();
    let summary = PortSummary::of(&lab.subnet, None);
    let at = |node_guid| PortAt {
        node_guid,
        port_num: PortNum(1),
    };
    assert_eq!(summary.narrow, [at(guids[0])]);
    assert_eq!(summary.slow, [at(guids[1])]);
    assert_eq!(summary.disabled, [at(disabled_guid)]);
    assert_eq!(summary.widths[&LinkWidth::X1], 1);
    assert_eq!(summary.speeds[&LinkSpeed::Fdr], 1);
}

#[test]
fn a_description_is_that_of_the_device() {
    let lab = walked_line();
    let node = lab.subnet.node(lab.node("t1")).unwrap();
    let mut expected = NodeDescription::default();
    expected.set_node_string(&ib_wire::table::Text::new("t1"));
    assert_eq!(node.description(), &expected);
    assert_eq!(ib_subnet::description(node.description()), "t1");
}

#[test]
fn devices_that_announce_speeds_beyond_hdr_are_asked_for_them() {
    use ib_smp::{CapabilityMask2, LinkSpeedsExt};
    // What the end port announces, what an external port does, and whether all is asked for.
    let second = CapabilityMask::IS_CAPABILITY_MASK2_SUPPORTED;
    let ndr = CapabilityMask2::IS_LINK_SPEED_NDR_SUPPORTED;
    let none = CapabilityMask2::empty();
    let hdr = LinkSpeedsExt::HDR;
    for (at, mask, mask2, speeds, expected) in [
        (0, second, ndr, hdr, true),
        (0, CapabilityMask::empty(), ndr, hdr, false),
        (0, second, none, hdr, false),
        (0, second, none, LinkSpeedsExt::NDR, true),
        (3, second, ndr, hdr, false),
        (3, second, ndr, LinkSpeedsExt::NDR, true),
    ] {
        let mut lab = walked_line();
        let port = lab.port("t1", at);
        lab.edit(move |read, smp| {
            change(smp, |info: &mut PortInfo| {
                info.set_link_speed_ext_supported(hdr)
                    .set_capability_mask(CapabilityMask::empty())
                    .set_capability_mask2(none);
                if read.target == ReadTarget::Port(port) {
                    info.set_capability_mask(mask)
                        .set_capability_mask2(mask2)
                        .set_link_speed_ext_supported(speeds);
                }
            });
            true
        });
        lab.everything();
        let t1 = lab.subnet.node(port.node).unwrap();
        assert_eq!(t1.shows_all_speeds(), expected, "{at} {mask:?} {mask2:?}");
        let others = lab.subnet.nodes().filter(|&(id, _)| id != port.node);
        assert!(others.into_iter().all(|(_, node)| !node.shows_all_speeds()));
        // Ports that were read before are read again, all with the bit and each once.
        let reads = (0..=5).map(|number| {
            let target = ReadTarget::Port(lab.port("t1", number));
            let sent = lab.sent_to(target);
            let with_bit = sent.iter().filter(|(smp, _)| {
                smp.attribute_id() == PortInfo::ID && smp.attribute_modifier() >> 31 == 1
            });
            with_bit.count()
        });
        let reads: Vec<_> = reads.collect();
        assert_eq!(reads, [usize::from(expected); 6], "{at} {mask:?} {mask2:?}");
    }
}
