//! Walks of everything: what is asked, by which route, and what is believed.

use ib_mad::{Attribute, MadStatus};
use ib_sim::{Behaviour, SimOptions};
use ib_smp::{
    CapabilityMask, LinearForwardingTable, MlnxExtPortInfo, NodeDescription, NodeInfo, NodeType,
    PKeyModifier, PartitionKeyTable, PortInfo, PortState, SmInfo, SwitchInfo,
};
use ib_subnet::{PortId, ReadTarget, Scope, Subnet, Unresponsive, Walk, WalkFinding, WalkOptions};
use ib_testkit::fabrics::fabric;
use ib_wire::{Guid, Lid, PKey, PortNum};

use crate::lab::{Lab, active_line, all_active, change, line, walked_line};

#[test]
fn each_device_is_asked_once_by_the_shortest_route() {
    let mut lab = line();
    let walked = lab.everything();
    assert_eq!(walked.outcome.vanished, []);
    assert!(!walked.outcome.inconsistent && walked.outcome.unreachable.is_empty());
    let found = walked.findings.iter();
    assert!(
        found
            .clone()
            .all(|finding| matches!(finding, WalkFinding::NodeFound(_)))
    );
    assert_eq!(found.count(), 8);
    // NodeInfo once for the own node and once for each of the seven cables.
    assert_eq!(lab.reads(NodeInfo::ID).len(), 8);
    assert_eq!(lab.reads(NodeDescription::ID).len(), 8);
    assert_eq!(lab.reads(SwitchInfo::ID).len(), 2);
    // Twelve of the switches, port 0 included, and one of each host.
    assert_eq!(lab.reads(PortInfo::ID).len(), 18);
    assert_eq!(lab.asked.len(), 36);
    let paths = [
        ("host00000 HCA-1", "0"),
        ("t0", "0,1"),
        ("host00001 HCA-1", "0,1,4"),
        ("t1", "0,1,1"),
        ("host00005 HCA-1", "0,1,1,5"),
    ];
    for (name, path) in paths {
        let node = lab.subnet.node(lab.node(name)).unwrap();
        assert_eq!(node.path().to_string(), path, "{name}");
        assert!(!node.is_silent() && !node.shows_all_speeds());
    }
    let via = |name| lab.subnet.node(lab.node(name)).unwrap().found_via();
    assert_eq!(via("host00000 HCA-1"), None);
    assert_eq!(via("host00005 HCA-1"), Some(lab.port("t1", 5)));
    assert_eq!(lab.subnet.own_port(), Some(lab.port("host00000 HCA-1", 1)));
    // The last read of a host went along its route.
    let host = ReadTarget::Port(lab.port("host00005 HCA-1", 1));
    for (smp, address) in lab.sent_to(host) {
        assert_eq!(smp.path().unwrap().to_string(), "0,1,1,5");
        assert_eq!(address.lid, Lid::PERMISSIVE);
    }
}

#[test]
fn the_reads_of_a_switch_are_those_of_all_its_ports() {
    let mut lab = line();
    lab.everything();
    let t1 = lab.node("t1");
    let expected = (0..=5).map(|port| {
        let port = PortId {
            node: t1,
            port: PortNum(port),
        };
        (ReadTarget::Port(port), u32::from(port.port.0))
    });
    let reads = lab.reads(PortInfo::ID).into_iter();
    let of_t1 = reads.filter(|(target, _)| target.port().is_some_and(|port| port.node == t1));
    assert_eq!(of_t1.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

#[test]
fn both_ends_of_a_cable_know_each_other() {
    let lab = walked_line();
    let (here, there) = (lab.port("t0", 1), lab.port("t1", 2));
    assert_eq!(lab.record("t0", 1).peer(), Some(there));
    assert_eq!(lab.record("t1", 2).peer(), Some(here));
    assert!(lab.subnet.is_link(here) && lab.subnet.is_link(there));
    assert_eq!(lab.record("t0", 2).peer(), None);
    assert!(!lab.subnet.is_link(lab.port("t0", 2)));
    assert_eq!(lab.record("t0", 2).state(), PortState::DOWN);
    assert!(!lab.record("t0", 2).is_up());
    let at = lab.subnet.port_at(here);
    assert_eq!(
        at.node_guid,
        lab.subnet.node(here.node).unwrap().info().node_guid()
    );
    assert_eq!(at.port_num, PortNum(1));
    assert_eq!(at.to_string(), "0x0020000000000000[1]");
}

#[test]
fn guids_name_nodes_and_end_ports() {
    let lab = walked_line();
    let host = lab.port("host00001 HCA-1", 1);
    assert_eq!(
        lab.subnet.find_port(Guid(0x0010_0000_0000_0011)),
        Some(host)
    );
    let switch = lab.port("t1", 0);
    assert_eq!(
        lab.subnet.find_port(Guid(0x0020_0000_0000_0100)),
        Some(switch)
    );
    assert_eq!(lab.subnet.find_port(Guid(1)), None);
    assert_eq!(lab.subnet.find(Guid(1)), None);
    assert_eq!(lab.record("t1", 0).guid(), Guid(0x0020_0000_0000_0100));
    assert_eq!(lab.record("t1", 1).guid(), Guid::NONE);
    assert_eq!(lab.subnet.switches().count(), 2);
    assert!(lab.subnet.switch(host.node).is_none());
    assert!(!lab.subnet.node(host.node).unwrap().is_switch());
}

#[test]
fn what_node_info_says_is_what_it_said_last() {
    let mut lab = walked_line();
    lab.edit(|_, smp| {
        change(smp, |info: &mut NodeInfo| {
            info.set_revision(0x77);
        });
        true
    });
    lab.everything();
    assert!(
        lab.subnet
            .nodes()
            .all(|(_, node)| node.info().revision() == 0x77)
    );
}

#[test]
fn a_changed_port_guid_is_found_and_the_old_one_is_not() {
    let mut lab = walked_line();
    let at = lab.real("host00001 HCA-1", 1);
    lab.sim
        .with(|sim| sim.set_port_guid(at, Guid(0xabc)).unwrap());
    let before = Guid(0x0010_0000_0000_0011);
    lab.everything();
    let host = lab.port("host00001 HCA-1", 1);
    assert_eq!(lab.subnet.find_port(Guid(0xabc)), Some(host));
    assert_eq!(lab.subnet.find_port(before), None);
    // If two ports have one GUID, it names the one that was found first, until that one goes.
    let thief = lab.real("host00004 HCA-1", 1);
    lab.sim
        .with(|sim| sim.set_port_guid(thief, Guid(0xabc)).unwrap());
    lab.everything();
    assert_eq!(lab.subnet.find_port(Guid(0xabc)), Some(host));
    lab.sim
        .with(|sim| sim.set_port_guid(thief, before).unwrap());
    lab.everything();
    assert_eq!(lab.subnet.find_port(Guid(0xabc)), Some(host));
    lab.sim.with(|sim| sim.power_off(at.node));
    lab.everything();
    assert_eq!(lab.subnet.find_port(Guid(0xabc)), None);
}

#[test]
fn a_node_that_goes_and_comes_back_has_its_number() {
    let mut lab = walked_line();
    let (t1, node) = (lab.node("t1"), lab.real("t1", 0).node);
    let (cable, peer) = (lab.port("t0", 1), lab.port("t1", 2));
    let version = lab.subnet.version();
    lab.sim.with(|sim| sim.power_off(node));
    let walked = lab.everything();
    assert!(lab.subnet.version() > version);
    assert_eq!(walked.outcome.vanished.len(), 4);
    assert!(walked.outcome.changed.contains(&cable.node));
    assert_eq!(lab.find("t1"), None);
    assert!(lab.subnet.node(t1).is_none());
    assert_eq!(lab.subnet.nodes().count(), 4);
    assert_eq!(lab.subnet.port(cable).unwrap().peer(), None);
    lab.sim.with(|sim| sim.power_on(node));
    lab.settle();
    let walked = lab.everything();
    let found = walked.findings.iter();
    assert_eq!(
        found
            .filter(|finding| matches!(finding, WalkFinding::NodeFound(_)))
            .count(),
        4
    );
    assert_eq!(lab.node("t1"), t1);
    assert_eq!(lab.subnet.port(cable).unwrap().peer(), Some(peer));
}

#[test]
fn a_board_with_other_ports_under_the_same_guid_is_another_node() {
    let mut lab = walked_line();
    let host = lab.node("host00005 HCA-1");
    lab.subnet.assign_lids(
        lab.port("host00005 HCA-1", 1),
        ib_wire::addr::LidRange::try_new(Lid(9), ib_wire::Lmc::default()).ok(),
    );
    assert!(lab.record("host00005 HCA-1", 1).lids().is_some());
    let guid = lab.subnet.node(host).unwrap().info().node_guid();
    let edit_ports = |ports| {
        move |_, smp: &mut ib_smp::SmpDirected| {
            change(smp, |info: &mut NodeInfo| {
                if info.node_guid() == guid {
                    info.set_num_ports(ports);
                }
            });
            true
        }
    };
    lab.edit(edit_ports(2));
    let walked = lab.everything();
    assert_eq!(lab.node("host00005 HCA-1"), host);
    assert_eq!(lab.subnet.node(host).unwrap().ports().count(), 2);
    assert_eq!(lab.record("host00005 HCA-1", 1).lids(), None);
    // It was in the subnet under this GUID before.
    assert!(walked.findings.is_empty(), "{:?}", walked.findings);
    // As a router it is another one, too.
    lab.honest();
    lab.edit(move |_, smp| {
        change(smp, |info: &mut NodeInfo| {
            if info.node_guid() == guid {
                info.set_num_ports(2).set_node_type(NodeType::ROUTER);
            }
        });
        true
    });
    lab.everything();
    let info = *lab.subnet.node(host).unwrap().info();
    assert_eq!(info.node_type(), NodeType::ROUTER);
}

#[test]
fn a_silent_device_is_reported_once_and_asked_again_by_the_next_walk() {
    let mut lab = walked_line();
    let (t1, host) = (lab.node("t1"), lab.port("host00001 HCA-1", 1));
    let known = lab.subnet.port_at(PortId::management(t1));
    // Only SwitchInfo is lost: the rest of the questions is spared.
    lab.edit(move |read, _| {
        read.attribute != SwitchInfo::ID || read.target.port().map(|port| port.node) != Some(t1)
    });
    let walked = lab.everything();
    let expected = WalkFinding::Unresponsive {
        device: Unresponsive {
            at: Some(known),
            neighbor: false,
            attribute_id: SwitchInfo::ID,
        },
        path: "0,1,1".parse().unwrap(),
    };
    assert_eq!(walked.findings, [expected]);
    assert!(lab.subnet.node(t1).unwrap().is_silent());
    assert!(!lab.subnet.node(host.node).unwrap().is_silent());
    let asked = lab
        .asked
        .iter()
        .filter(|(read, _)| read.target.port().map(|port| port.node) == Some(t1));
    let asked: Vec<_> = asked.map(|(read, _)| read.attribute).collect();
    assert!(!asked.contains(&PortInfo::ID), "{asked:?}");
    // Its hosts may be there, so each walk for changes asks behind its ports.
    assert!(lab.record("t1", 3).is_neighbor_silent());
    assert!(!lab.record("t1", 1).is_neighbor_silent());
    lab.honest();
    // Its hosts were not found.
    let found = lab.everything().findings;
    assert!(matches!(
        found[..],
        [
            WalkFinding::NodeFound(_),
            WalkFinding::NodeFound(_),
            WalkFinding::NodeFound(_)
        ]
    ));
    assert!(!lab.subnet.node(t1).unwrap().is_silent());
    assert!(lab.subnet.set_silent(t1));
    assert!(!lab.subnet.set_silent(t1), "the first time only");
    assert!(lab.subnet.node(t1).unwrap().is_silent());
}

#[test]
fn a_silent_neighbour_is_known_by_the_port_before_it() {
    let mut lab = line();
    let node = lab.real("host00004 HCA-1", 1).node;
    lab.sim
        .with(|sim| sim.set_behaviour(node, Behaviour::Silent));
    let walked = lab.everything();
    let last = walked.findings.last().unwrap();
    let expected = WalkFinding::Unresponsive {
        device: Unresponsive {
            at: Some(lab.subnet.port_at(lab.port("t1", 4))),
            neighbor: true,
            attribute_id: NodeInfo::ID,
        },
        path: "0,1,1,4".parse().unwrap(),
    };
    assert!(walked.findings.contains(&expected), "{last:?}");
    assert!(lab.record("t1", 4).is_neighbor_silent());
    assert!(lab.record("t1", 4).is_up());
    assert!(!lab.record("t1", 3).is_neighbor_silent());
    lab.sim
        .with(|sim| sim.set_behaviour(node, Behaviour::Honest));
    lab.everything();
    assert!(!lab.record("t1", 4).is_neighbor_silent());
    // A host that stops to answer loses its cable, and is gone.
    lab.sim
        .with(|sim| sim.set_behaviour(node, Behaviour::Silent));
    let guid = lab.sim.with(|sim| sim.node(node).unwrap().guid());
    let walked = lab.everything();
    assert_eq!(walked.outcome.vanished, [guid]);
    assert_eq!(
        walked.outcome.unreachable.into_iter().collect::<Vec<_>>(),
        [guid]
    );
    assert!(lab.record("t1", 4).is_neighbor_silent());
    assert_eq!(lab.record("t1", 4).peer(), None);
    // Pulled out, nobody is expected there.
    let cable = lab.real("t1", 4);
    lab.sim.with(|sim| sim.unlink(cable).unwrap());
    lab.everything();
    assert!(!lab.record("t1", 4).is_neighbor_silent());
}

#[test]
fn an_own_node_that_does_not_answer_is_reported_without_a_place() {
    let mut lab = line();
    lab.edit(|_, _| false);
    let walked = lab.everything();
    let expected = WalkFinding::Unresponsive {
        device: Unresponsive {
            at: None,
            neighbor: false,
            attribute_id: NodeInfo::ID,
        },
        path: "0".parse().unwrap(),
    };
    assert_eq!(walked.findings, [expected]);
    assert_eq!(lab.subnet.nodes().count(), 0);
    assert_eq!(lab.subnet.own_port(), None);
}

#[test]
fn impossible_values_of_node_info_are_named() {
    type Case = (&'static str, fn(&mut NodeInfo));
    let cases: [Case; 4] = [
        ("node_guid", |info| {
            info.set_node_guid(Guid::NONE);
        }),
        ("num_ports", |info| {
            info.set_num_ports(0);
        }),
        ("local_port_num", |info| {
            info.set_local_port_num(PortNum(2));
        }),
        ("local_port_num", |info| {
            info.set_local_port_num(PortNum(0));
        }),
    ];
    for (field, edit) in cases {
        let mut lab = walked_line();
        let (behind, liar) = (lab.port("t1", 5), lab.node("host00005 HCA-1"));
        lab.edit(move |read, smp| {
            if read.target == ReadTarget::Behind(behind) {
                change(smp, edit);
            }
            true
        });
        let walked = lab.everything();
        let mut findings = walked.findings.into_iter();
        match findings.next() {
            Some(WalkFinding::InvalidNodeInfo {
                behind: at,
                field: named,
                ..
            }) => {
                assert_eq!(named, field);
                assert_eq!(at, Some(lab.subnet.port_at(behind)));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(findings.next(), None);
        assert!(lab.subnet.node(liar).is_none(), "{field}");
        assert_eq!(lab.subnet.port(behind).unwrap().peer(), None);
    }
}

#[test]
fn only_the_own_switch_answers_without_a_port() {
    // Port 0 is where a switch is asked that sends to itself.
    for (type_, port, is_fine) in [
        (NodeType::SWITCH, 0, true),
        (NodeType::SWITCH, 1, true),
        (NodeType::CA, 0, false),
        (NodeType::CA, 1, true),
    ] {
        let mut lab = line();
        lab.edit(move |read, smp| {
            if read.target == ReadTarget::OwnNode {
                change(smp, |info: &mut NodeInfo| {
                    info.set_node_type(type_).set_local_port_num(PortNum(port));
                });
            }
            // No more is needed.
            read.target == ReadTarget::OwnNode
        });
        let walked = lab.everything();
        let invalid = matches!(
            walked.findings[0],
            WalkFinding::InvalidNodeInfo {
                field: "local_port_num",
                ..
            }
        );
        assert_eq!(invalid, !is_fine, "{type_} {port}");
        assert_eq!(lab.subnet.nodes().count(), usize::from(is_fine));
        let own = lab.subnet.own_port();
        let expected = match type_ {
            NodeType::SWITCH => PortNum::MANAGEMENT,
            _ => PortNum(1),
        };
        assert_eq!(own.map(|own| own.port), is_fine.then_some(expected));
    }
}

#[test]
fn refusals_are_reported_but_those_of_what_a_device_may_lack() {
    let mut lab = line();
    lab.options.managers = true;
    lab.options.vendor_speeds = true;
    lab.options.tables = true;
    lab.edit(|_, smp| {
        change(smp, |info: &mut PortInfo| {
            info.set_capability_mask(CapabilityMask::IS_SM)
                .set_link_speed_active(ib_smp::LinkSpeedActive::QDR);
        });
        change(smp, |info: &mut NodeInfo| {
            info.set_device_id(0xc738);
        });
        if [SmInfo::ID, MlnxExtPortInfo::ID, PartitionKeyTable::ID].contains(&smp.attribute_id()) {
            smp.set_status(MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
        }
        true
    });
    let walked = lab.everything();
    assert_eq!(
        lab.reads(SmInfo::ID).len(),
        7,
        "the own one needs no question"
    );
    assert!(!lab.reads(MlnxExtPortInfo::ID).is_empty());
    let refused = walked.findings.iter().filter_map(|finding| match finding {
        WalkFinding::Refused {
            at,
            attribute_id,
            status,
        } => Some((at.unwrap(), *attribute_id, *status)),
        _ => None,
    });
    let refused: Vec<_> = refused.collect();
    // All eight end ports.
    assert_eq!(refused.len(), 8);
    for (_, attribute, status) in refused {
        assert_eq!(attribute, PartitionKeyTable::ID);
        assert_eq!(status, MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
    }
    // Without an answer nobody is silent because of them.
    lab.honest();
    lab.edit(|read, smp| {
        change(smp, |info: &mut PortInfo| {
            info.set_capability_mask(CapabilityMask::IS_SM)
                .set_link_speed_active(ib_smp::LinkSpeedActive::QDR);
        });
        read.attribute != SmInfo::ID && read.attribute != MlnxExtPortInfo::ID
    });
    let walked = lab.everything();
    assert!(walked.findings.is_empty(), "{:?}", walked.findings);
    assert!(lab.subnet.nodes().all(|(_, node)| !node.is_silent()));
}

#[test]
fn an_answer_of_another_attribute_is_a_refusal() {
    let mut lab = walked_line();
    let t1 = lab.port("t1", 0);
    lab.edit(move |read, smp| {
        if read.target == ReadTarget::Port(t1) && read.attribute == SwitchInfo::ID {
            smp.set_attribute_id(PortInfo::ID);
        }
        true
    });
    let walked = lab.everything();
    assert!(matches!(
        walked.findings[..],
        [WalkFinding::Refused {
            attribute_id: SwitchInfo::ID,
            ..
        }]
    ));
}

#[test]
fn managers_are_read_and_reported_where_their_bit_is_set() {
    let mut lab = line();
    let there = lab.real("host00004 HCA-1", 1);
    lab.sim.with(|sim| sim.set_is_sm(there, true).unwrap());
    lab.edit(|_, smp| {
        if smp.attribute_id() == SmInfo::ID {
            smp.set_status(MadStatus::default());
            change(smp, |info: &mut SmInfo| {
                info.set_priority(9);
            });
        }
        true
    });
    assert!(
        lab.everything()
            .findings
            .iter()
            .all(|finding| matches!(finding, WalkFinding::NodeFound(_)))
    );
    assert!(lab.reads(SmInfo::ID).is_empty());
    lab.options.managers = true;
    let walked = lab.everything();
    let there = lab.port("host00004 HCA-1", 1);
    assert_eq!(lab.reads(SmInfo::ID), [(ReadTarget::Port(there), 0)]);
    match walked.findings[..] {
        [WalkFinding::Manager { port, info }] => {
            assert_eq!(port, there);
            assert_eq!(info.priority(), 9);
        }
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn walks_go_neither_beyond_the_boundary_nor_too_far() {
    let mut lab = line();
    lab.options.max_hops = Some(1);
    lab.everything();
    // The own node, its switch, and nothing that the switch leads to.
    assert_eq!(lab.subnet.nodes().count(), 2);
    lab.options.max_hops = Some(2);
    assert!(
        lab.everything()
            .findings
            .iter()
            .all(|finding| matches!(finding, WalkFinding::NodeFound(_)))
    );
    assert_eq!(lab.subnet.nodes().count(), 5);
    lab.options.max_hops = None;
    let guid = Guid(0x0020_0000_0000_0000);
    lab.options.boundary.insert((guid, PortNum(1)));
    lab.options.boundary.insert((guid, PortNum(4)));
    lab.everything();
    assert_eq!(lab.subnet.nodes().count(), 3);
    assert!(lab.find("host00002 HCA-1").is_some());
}

#[test]
fn tables_are_read_up_to_their_tops_and_only_where_unknown() {
    let mut lab = line();
    lab.options.tables = true;
    let cap = move |lab: &mut Lab, top: u16| {
        lab.honest();
        lab.edit(move |_, smp| {
            change(smp, |info: &mut SwitchInfo| {
                info.set_linear_fdb_top(Lid(top));
            });
            change(smp, |info: &mut NodeInfo| {
                info.set_partition_cap(70);
            });
            // The first block of keys is full, the second is not.
            change(smp, |table: &mut PartitionKeyTable| {
                table.set_p_key_block(31, PKey(0x8123));
            });
            if smp.attribute_id() == PartitionKeyTable::ID && smp.attribute_modifier() == 1 {
                change(smp, |table: &mut PartitionKeyTable| {
                    table.set_p_key_block(31, PKey(0));
                });
            }
            true
        });
        lab.edit(all_active);
    };
    cap(&mut lab, 0);
    lab.everything();
    assert_eq!(lab.reads(LinearForwardingTable::ID), []);
    let host = lab.port("host00001 HCA-1", 1);
    let keys = |lab: &Lab| {
        let reads = lab.reads(PartitionKeyTable::ID).into_iter();
        let of_host = reads.filter(|&(target, _)| target == ReadTarget::Port(host));
        of_host.map(|(_, modifier)| modifier).collect::<Vec<_>>()
    };
    assert_eq!(keys(&lab), [0, 1]);
    assert_eq!(lab.reads(PartitionKeyTable::ID).len(), 16, "end ports only");
    cap(&mut lab, 200);
    lab.everything();
    let t1 = lab.port("t1", 0);
    let expected: Vec<_> = (0..4).map(|block| (ReadTarget::Port(t1), block)).collect();
    let reads = lab.reads(LinearForwardingTable::ID);
    let of_t1: Vec<_> = reads
        .iter()
        .copied()
        .filter(|(target, _)| *target == ReadTarget::Port(t1))
        .collect();
    assert_eq!(of_t1, expected);
    assert_eq!(reads.len(), 8);
    assert!(keys(&lab).is_empty(), "known since");
    assert!(!lab.subnet.switch(t1.node).unwrap().is_fresh());
    lab.everything();
    assert_eq!(lab.reads(LinearForwardingTable::ID), [], "known since");
    // Another top: the switch may have been restarted, so nothing holds.
    cap(&mut lab, 63);
    lab.everything();
    assert_eq!(lab.reads(LinearForwardingTable::ID).len(), 2);
    lab.options.tables = false;
    cap(&mut lab, 64);
    lab.everything();
    assert_eq!(lab.reads(LinearForwardingTable::ID), []);
}

#[test]
fn keys_are_read_as_far_as_the_port_can_hold_any() {
    // Every block is full, so the capacity ends the reading.
    for (capacity, expected) in [(0, 1), (32, 1), (33, 2), (64, 2), (65, 3)] {
        let mut lab = line();
        lab.options.tables = true;
        lab.edit(move |_, smp| {
            change(smp, |info: &mut NodeInfo| {
                info.set_partition_cap(capacity);
            });
            change(smp, |table: &mut PartitionKeyTable| {
                table.set_p_key_block(31, PKey(0x8123));
            });
            if smp.attribute_id() == PartitionKeyTable::ID {
                smp.set_status(MadStatus::default());
            }
            true
        });
        lab.everything();
        let reads = lab.reads(PartitionKeyTable::ID);
        assert_eq!(reads.len(), 8 * expected, "{capacity}");
        let modifiers = reads
            .iter()
            .map(|&(_, modifier)| PKeyModifier::from_bits(modifier));
        assert!(modifiers.flatten().all(|at| at.port == PortNum(0)));
    }
}

#[test]
fn a_restarted_switch_has_lost_its_tables_though_its_top_is_back() {
    let mut lab = line();
    lab.options.tables = true;
    let lid = |lab: &mut Lab, lid: u16| {
        lab.honest();
        lab.edit(all_active);
        lab.edit(move |_, smp| {
            change(smp, |info: &mut SwitchInfo| {
                info.set_linear_fdb_top(Lid(10));
            });
            change(smp, |info: &mut PortInfo| {
                info.set_lid(Lid(lid));
            });
            true
        });
    };
    lid(&mut lab, 5);
    lab.everything();
    assert_eq!(lab.reads(LinearForwardingTable::ID).len(), 2);
    let t1 = lab.node("t1");
    lab.subnet.continue_from(t1);
    lid(&mut lab, 0);
    lab.everything();
    assert_eq!(lab.reads(LinearForwardingTable::ID).len(), 2, "read again");
    lab.everything();
    assert_eq!(lab.reads(LinearForwardingTable::ID).len(), 0);
}

#[test]
fn a_port_that_was_not_active_has_lost_its_tables() {
    let mut lab = active_line();
    let (host, switch) = (lab.port("host00001 HCA-1", 1), lab.port("t0", 4));
    assert!(lab.record("host00001 HCA-1", 1).was_active());
    lab.subnet.set_reregistered(host);
    assert!(lab.record("host00001 HCA-1", 1).is_reregistered());
    let keys = ib_subnet::Block {
        port: host,
        attribute: PartitionKeyTable::ID,
        modifier: 0,
    };
    lab.subnet.record(keys, &[1; 64]);
    lab.everything();
    assert!(lab.subnet.block(keys).is_some());
    assert!(lab.record("host00001 HCA-1", 1).is_reregistered());
    lab.honest();
    lab.everything();
    assert_eq!(
        lab.record("host00001 HCA-1", 1).state(),
        PortState::INITIALIZE
    );
    assert_eq!(lab.subnet.block(keys), None);
    assert!(!lab.record("host00001 HCA-1", 1).is_reregistered());
    assert!(!lab.record("host00001 HCA-1", 1).was_active());
    lab.edit(all_active);
    lab.everything();
    assert!(
        !lab.subnet.port(switch).unwrap().was_active(),
        "not when it was first seen"
    );
    lab.subnet.set_reregistered(host);
    lab.subnet.forget_registrations();
    assert!(!lab.record("host00001 HCA-1", 1).is_reregistered());
}

#[test]
fn routes_follow_the_cables_that_are_left() {
    let mut lab = Lab::new(&fabric("gen-ring-5"), SimOptions::default());
    lab.everything();
    let own = lab.subnet.own_port().unwrap();
    let first = lab.subnet.port(own).unwrap().peer().unwrap();
    // The switch that is two hops away by one cable, and five by the other way round the ring.
    let (far, via) = lab
        .subnet
        .nodes()
        .find_map(|(id, node)| {
            let via = node.found_via().filter(|via| via.node == first.node)?;
            (node.is_switch() && id != own.node).then_some((id, via))
        })
        .unwrap();
    assert_eq!(lab.subnet.node(far).unwrap().path().hop_count(), 2);
    let cable = lab.sim.with(|sim| {
        let guid = lab.subnet.node(via.node).unwrap().info().node_guid();
        let node = sim.find_guid(guid).unwrap();
        let port = ib_routing::PortRef {
            node,
            port: via.port,
        };
        sim.unlink(port).unwrap();
        port
    });
    let walked = lab.ports(&[PortId::management(via.node)]);
    assert_eq!(lab.subnet.node(far).unwrap().path().hop_count(), 5);
    assert!(walked.outcome.vanished.is_empty());
    assert!(walked.outcome.changed.contains(&far));
    assert_eq!(lab.subnet.port(via).unwrap().peer(), None);
    let host = lab
        .subnet
        .nodes()
        .find(|(_, node)| node.found_via().is_some_and(|via| via.node == far) && !node.is_switch());
    assert_eq!(host.unwrap().1.path().hop_count(), 6);
    let (host, _) = host.unwrap();
    let route = lab
        .subnet
        .route(PortId {
            node: host,
            port: PortNum(1),
        })
        .unwrap();
    assert_eq!(route.path().hop_count(), 6);
    assert_eq!(route.start(), None);
    assert_eq!(
        lab.subnet.refresh_paths(),
        ib_subnet::PathChanges::default()
    );
    lab.sim.with(|sim| sim.relink(cable).unwrap());
    lab.settle();
    lab.everything();
    assert_eq!(lab.subnet.node(far).unwrap().path().hop_count(), 2);
}

#[test]
fn a_walk_tells_its_scope_and_how_much_it_has_to_ask() {
    let mut lab = walked_line();
    let walk = Walk::everything(&mut lab.subnet, WalkOptions::default());
    assert_eq!(walk.scope(), Scope::Everything);
    assert_eq!((walk.len(), walk.is_empty()), (1, false));
    let host = lab.port("host00001 HCA-1", 1);
    let mut walk = Walk::ports(&mut lab.subnet, [host], WalkOptions::default());
    assert_eq!(walk.scope(), Scope::Ports);
    assert_eq!(walk.len(), 1);
    let (read, _) = walk.next_read(&lab.subnet).unwrap();
    assert_eq!(read.target, ReadTarget::Port(host));
    assert_eq!((walk.len(), walk.is_empty()), (0, true));
    walk.read_again(read);
    assert_eq!(walk.len(), 1);
    assert_eq!(walk.next_read(&lab.subnet).unwrap().0, read);
    let walk = Walk::changes(&mut lab.subnet, &[], WalkOptions::default());
    assert_eq!(walk.scope(), Scope::Changes);
    // The own port and two switches.
    assert_eq!(walk.len(), 3);
    let mut nothing = Subnet::default();
    assert_eq!(
        Walk::changes(&mut nothing, &[], WalkOptions::default()).len(),
        0
    );
}
