//! Walks over marked ports, and walks that look for changes.

use ib_mad::{Attribute, MadStatus};
use ib_sim::{Behaviour, SimOptions};
use ib_smp::{
    LinearForwardingTable, NodeDescription, NodeInfo, NodeType, PortInfo, PortPhysicalState,
    PortState, SmInfo, SmpDirected, SwitchInfo,
};
use ib_subnet::{PortId, Read, ReadTarget, Walk, WalkFinding, WalkOptions};
use ib_testkit::fabrics::fabric;
use ib_wire::{Guid, Lid, PortNum};

use crate::lab::{Lab, active_line, all_active, change, walked_line};

/// The ports that a walk for changes marks.
fn marks(lab: &mut Lab) -> Vec<PortId> {
    let walked = lab.changes(&[]);
    assert!(!walked.outcome.inconsistent, "{:?}", walked.outcome);
    assert!(walked.findings.is_empty(), "{:?}", walked.findings);
    walked.outcome.marked.into_iter().collect()
}

/// Shows PortInfo of one port as it is after `edit`.
fn port_info(port: PortId, edit: fn(&mut PortInfo)) -> impl FnMut(Read, &mut SmpDirected) -> bool {
    move |read, smp| {
        if read.target == ReadTarget::Port(port) {
            change(smp, edit);
        }
        true
    }
}

fn switch_info(
    switch: PortId,
    edit: fn(&mut SwitchInfo),
) -> impl FnMut(Read, &mut SmpDirected) -> bool {
    move |read, smp| {
        if read.target == ReadTarget::Port(switch) {
            change(smp, edit);
        }
        true
    }
}

#[test]
fn a_quiet_subnet_marks_nothing_and_costs_a_read_per_switch() {
    let mut lab = active_line();
    lab.edit(|_, smp| {
        change(smp, |info: &mut SwitchInfo| {
            info.set_port_state_change(false);
        });
        true
    });
    lab.everything();
    assert_eq!(marks(&mut lab), []);
    assert_eq!(lab.asked.len(), 3);
    assert_eq!(lab.reads(SwitchInfo::ID).len(), 2);
    let own = lab.subnet.own_port().unwrap();
    assert_eq!(lab.reads(PortInfo::ID), [(ReadTarget::Port(own), 1)]);
}

/// [`active_line`] whose switches have seen no change.
fn quiet_line() -> Lab {
    let mut lab = active_line();
    lab.edit(|_, smp| {
        change(smp, |info: &mut SwitchInfo| {
            info.set_port_state_change(false);
        });
        true
    });
    lab.everything();
    lab
}

#[test]
fn a_switch_is_marked_by_its_bit_and_by_its_top() {
    let edits: [fn(&mut SwitchInfo); 2] = [
        |info| {
            info.set_port_state_change(true);
        },
        |info| {
            info.set_linear_fdb_top(Lid(3));
        },
    ];
    for edit in edits {
        let mut lab = quiet_line();
        let t1 = lab.port("t1", 0);
        lab.edit(switch_info(t1, edit));
        assert_eq!(marks(&mut lab), [t1]);
    }
}

#[test]
fn the_own_port_is_marked_by_its_state_and_its_lid() {
    let mut lab = quiet_line();
    let own = lab.subnet.own_port().unwrap();
    let edit = |lab: &mut Lab, edit: fn(&mut PortInfo)| {
        lab.edit(port_info(own, edit));
    };
    edit(&mut lab, |info| {
        info.set_lid(Lid(5)).set_master_sm_lid(Lid(5));
    });
    // A LID that a port has got is a manager's work.
    assert_eq!(marks(&mut lab), []);
    lab.everything();
    assert_eq!(marks(&mut lab), []);
    edit(&mut lab, |info| {
        info.set_port_state(PortState::INITIALIZE);
    });
    assert_eq!(marks(&mut lab), [own]);
    edit(&mut lab, |info| {
        info.set_port_state(PortState::ACTIVE).set_lid(Lid(0));
    });
    assert_eq!(marks(&mut lab), [own]);
    // Another manager was at work, if the port kept its LID.
    edit(&mut lab, |info| {
        info.set_master_sm_lid(Lid(6));
    });
    assert_eq!(marks(&mut lab), [own], "restarted");
    edit(&mut lab, |info| {
        info.set_lid(Lid(5));
    });
    let outcome = lab.changes(&[]).outcome;
    assert!(outcome.inconsistent && outcome.marked.is_empty());
    edit(&mut lab, |info| {
        info.set_master_sm_lid(Lid(5));
    });
    assert_eq!(marks(&mut lab), []);
}

#[test]
fn a_port_without_a_lid_before_says_nothing_about_managers() {
    let mut lab = quiet_line();
    let own = lab.subnet.own_port().unwrap();
    lab.edit(port_info(own, |info| {
        info.set_master_sm_lid(Lid(9));
    }));
    assert_eq!(marks(&mut lab), []);
}

#[test]
fn ports_of_a_switch_whose_bit_was_cleared_are_compared_once() {
    let mut lab = quiet_line();
    let (t1, port) = (lab.node("t1"), lab.port("t1", 4));
    lab.edit(port_info(port, |info| {
        info.set_port_state(PortState::DOWN);
    }));
    assert_eq!(marks(&mut lab), []);
    lab.subnet.set_ports_unsure(t1);
    assert_eq!(marks(&mut lab), [port]);
    assert_eq!(lab.reads(PortInfo::ID).len(), 7, "the own one and six");
    assert_eq!(marks(&mut lab), [], "once");
    // A walk that reads the ports anyway needs no second look.
    lab.subnet.set_ports_unsure(t1);
    lab.everything();
    assert_eq!(marks(&mut lab), []);
}

#[test]
fn a_device_that_cannot_be_read_is_marked_with_the_switches_around_it() {
    for refuses in [false, true] {
        let mut lab = quiet_line();
        let t1 = lab.port("t1", 0);
        let around = lab.port("t0", 1);
        lab.edit(move |read, smp| {
            if read.target == ReadTarget::Port(t1) {
                smp.set_status(MadStatus::BUSY);
                return refuses;
            }
            true
        });
        let walked = lab.changes(&[]);
        let marked: Vec<_> = walked.outcome.marked.into_iter().collect();
        let mut expected = [t1, around];
        expected.sort();
        assert_eq!(marked, expected, "{refuses}");
        assert_eq!(walked.findings.len(), usize::from(refuses));
        // What a walk for changes finds out, it does not record.
        assert!(!lab.subnet.node(t1.node).unwrap().is_silent());
    }
}

#[test]
fn a_manager_that_does_not_answer_marks_nothing() {
    let mut lab = quiet_line();
    let manager = lab.port("host00004 HCA-1", 1);
    lab.edit(|read, _| read.attribute != SmInfo::ID);
    let walked = lab.changes(&[manager]);
    assert_eq!(lab.reads(SmInfo::ID), [(ReadTarget::Port(manager), 0)]);
    assert!(walked.outcome.marked.is_empty() && walked.findings.is_empty());
    lab.honest();
    lab.edit(|_, smp| {
        if smp.attribute_id() == SmInfo::ID {
            smp.set_status(MadStatus::default());
        }
        true
    });
    let walked = lab.changes(&[manager]);
    assert!(matches!(walked.findings[..], [WalkFinding::Manager { port, .. }] if port == manager));
}

#[test]
fn a_silent_neighbour_is_asked_by_each_walk_for_changes() {
    let mut lab = quiet_line();
    let host = lab.real("host00004 HCA-1", 1).node;
    let port = lab.port("t1", 4);
    lab.sim
        .with(|sim| sim.set_behaviour(host, Behaviour::Silent));
    lab.everything();
    assert!(lab.record("t1", 4).is_neighbor_silent());
    let walked = lab.changes(&[]);
    assert_eq!(lab.reads(NodeInfo::ID), [(ReadTarget::Behind(port), 0)]);
    assert!(walked.outcome.marked.is_empty());
    lab.sim
        .with(|sim| sim.set_behaviour(host, Behaviour::Honest));
    assert_eq!(marks(&mut lab), [port]);
    let walked = lab.ports(&[port]);
    assert!(matches!(walked.findings[..], [WalkFinding::NodeFound(_)]));
    assert_eq!(
        lab.record("t1", 4).peer(),
        Some(lab.port("host00004 HCA-1", 1))
    );
    assert_eq!(marks(&mut lab), []);
    assert_eq!(lab.reads(NodeInfo::ID), []);
}

#[test]
fn a_node_of_an_unknown_type_is_asked_for_its_type_again() {
    let mut lab = quiet_line();
    let host = lab.port("host00004 HCA-1", 1);
    let guid = lab.subnet.node(host.node).unwrap().info().node_guid();
    lab.edit(move |_, smp| {
        change(smp, |info: &mut NodeInfo| {
            if info.node_guid() == guid {
                info.set_node_type(NodeType(9));
            }
        });
        true
    });
    lab.everything();
    assert!(lab.subnet.node(lab.node("host00004 HCA-1")).is_some());
    assert_eq!(marks(&mut lab), []);
    assert_eq!(lab.reads(NodeInfo::ID), [(ReadTarget::Port(host), 0)]);
    lab.honest();
    lab.edit(all_active);
    assert!(lab.changes(&[]).outcome.inconsistent);
}

#[test]
fn a_partial_walk_reads_the_marked_switch_and_nothing_else() {
    let mut lab = quiet_line();
    let t1 = lab.port("t1", 3);
    let walked = lab.ports(&[t1]);
    assert!(walked.findings.is_empty() && !walked.outcome.inconsistent);
    assert_eq!(
        walked.outcome.changed.into_iter().collect::<Vec<_>>(),
        [t1.node]
    );
    assert_eq!(lab.reads(SwitchInfo::ID).len(), 1);
    assert_eq!(lab.reads(PortInfo::ID).len(), 6);
    // Links that stayed Active were never down, so nobody is asked behind them.
    assert_eq!(lab.asked.len(), 7);
    // A marked port of a host is read alone.
    let host = lab.port("host00004 HCA-1", 1);
    lab.ports(&[host]);
    assert_eq!(lab.reads(PortInfo::ID), [(ReadTarget::Port(host), 1)]);
    assert_eq!(lab.asked.len(), 1);
    let nobody = PortId {
        port: PortNum(1),
        ..t1
    };
    let mut other = Lab::new(&fabric("gen-single"), SimOptions::default());
    assert!(other.ports(&[nobody]).outcome.inconsistent);
}

#[test]
fn a_host_that_comes_back_through_a_marked_port_is_read() {
    let mut lab = quiet_line();
    let (port, real) = (lab.port("t1", 4), lab.real("host00004 HCA-1", 1));
    let host = lab.node("host00004 HCA-1");
    lab.sim.with(|sim| sim.power_off(real.node));
    let walked = lab.ports(&[port]);
    assert_eq!(walked.outcome.vanished.len(), 1);
    assert!(walked.outcome.changed.contains(&host));
    assert_eq!(lab.find("host00004 HCA-1"), None);
    lab.sim.with(|sim| sim.power_on(real.node));
    lab.settle();
    let walked = lab.ports(&[port]);
    assert!(matches!(walked.findings[..], [WalkFinding::NodeFound(id)] if id == host));
    assert_eq!(lab.record("host00004 HCA-1", 1).peer(), Some(port));
    assert_eq!(lab.reads(NodeDescription::ID).len(), 1);
    assert!(!walked.outcome.inconsistent);
}

#[test]
fn a_host_behind_a_port_that_flapped_is_read_again() {
    let mut lab = quiet_line();
    let (port, host) = (lab.port("t1", 4), lab.port("host00004 HCA-1", 1));
    lab.edit(port_info(port, |info| {
        info.set_port_state(PortState::INITIALIZE);
    }));
    let walked = lab.ports(&[port]);
    assert!(walked.findings.is_empty());
    assert_eq!(lab.reads(NodeInfo::ID), [(ReadTarget::Behind(port), 0)]);
    let reads = lab.reads(PortInfo::ID);
    assert!(reads.contains(&(ReadTarget::Port(host), 1)), "{reads:?}");
    assert_eq!(
        lab.reads(NodeDescription::ID),
        [(ReadTarget::Port(host), 0)]
    );
    assert_eq!(lab.record("t1", 4).peer(), Some(host));
}

#[test]
fn a_switch_behind_a_port_that_flapped_is_read_again_with_all_its_ports() {
    let mut lab = quiet_line();
    let port = lab.port("t0", 1);
    lab.edit(port_info(port, |info| {
        info.set_port_state(PortState::INITIALIZE);
    }));
    let walked = lab.ports(&[port]);
    assert!(walked.findings.is_empty() && !walked.outcome.inconsistent);
    assert_eq!(lab.reads(SwitchInfo::ID).len(), 2);
    assert_eq!(lab.reads(PortInfo::ID).len(), 12);
}

#[test]
fn the_ports_around_a_switch_that_lost_a_cable_are_read_at_once() {
    let mut lab = Lab::new(&fabric("gen-ring-5"), SimOptions::default());
    lab.edit(all_active);
    lab.everything();
    // A switch of the ring that is not the own one, and its two neighbours.
    let own = lab.subnet.own_port().unwrap();
    let first = lab.subnet.port(own).unwrap().peer().unwrap().node;
    let dead = lab.subnet.switches().map(|(id, _)| id).find(|&id| {
        let node = lab.subnet.node(id).unwrap();
        node.path().hop_count() == 2 && id != first
    });
    let dead = dead.unwrap();
    let node = lab.subnet.node(dead).unwrap();
    let guid = node.info().node_guid();
    let peers = node.ports().filter_map(|(_, port)| port.peer());
    let mut around: Vec<_> = peers
        .filter(|peer| lab.subnet.switch(peer.node).is_some())
        .collect();
    around.sort_by_key(|peer| lab.subnet.node(peer.node).unwrap().path().hop_count());
    let [near, far] = around[..] else {
        panic!("{around:?}")
    };
    lab.sim.with(|sim| {
        let node = sim.find_guid(guid).unwrap();
        sim.power_off(node);
    });
    let walked = lab.ports(&[near]);
    let reads = lab.reads(PortInfo::ID);
    let of_far = reads
        .iter()
        .filter(|(target, _)| *target == ReadTarget::Port(far));
    assert_eq!(of_far.count(), 1, "{reads:?}");
    // Neither its hosts nor the other ports of that neighbour are asked, and nobody waits for a time-out.
    let others = reads.iter().filter_map(|(target, _)| target.port());
    let others = others.filter(|port| port.node != near.node);
    assert_eq!(others.collect::<Vec<_>>(), [far]);
    assert!(walked.findings.is_empty(), "{:?}", walked.findings);
    assert!(walked.outcome.vanished.contains(&guid));
    assert!(lab.subnet.node(far.node).is_some());
}

#[test]
fn a_cable_that_was_moved_to_an_unmarked_port_is_a_contradiction() {
    let mut lab = quiet_line();
    let (before, after) = (lab.port("t1", 4), lab.port("t0", 2));
    let host = lab.port("host00004 HCA-1", 1);
    let (real, to) = (lab.real("host00004 HCA-1", 1), lab.real("t0", 2));
    lab.sim.with(|sim| {
        sim.unlink(real).unwrap();
        sim.link(real, to).unwrap();
    });
    lab.settle();
    let walked = lab.ports(&[after]);
    assert!(walked.outcome.inconsistent);
    // With both ends marked it is none.
    let mut lab = quiet_line();
    lab.sim.with(|sim| {
        sim.unlink(real).unwrap();
        sim.link(real, to).unwrap();
    });
    lab.settle();
    let walked = lab.ports(&[before, after]);
    assert!(!walked.outcome.inconsistent, "{:?}", walked.outcome);
    assert_eq!(lab.subnet.port(after).unwrap().peer(), Some(host));
    assert_eq!(lab.subnet.port(host).unwrap().peer(), Some(after));
    assert_eq!(lab.subnet.port(before).unwrap().peer(), None);
    assert_eq!(walked.outcome.vanished, []);
    let node = lab.subnet.node(host.node).unwrap();
    assert_eq!(node.found_via(), Some(after));
    let route = lab.subnet.route(host).unwrap();
    assert_eq!(route.path().to_string(), "0,1,2");
}

#[test]
fn a_switch_whose_only_cable_was_moved_is_read_along_the_new_one() {
    // The links to its hosts were Active all the time, so they are not asked; or they were not, and are.
    for mut lab in [quiet_line(), walked_line()] {
        let (before, after) = (lab.real("t0", 1), lab.real("t0", 2));
        let (t0, t1) = (lab.port("t0", 0), lab.port("t1", 2));
        lab.sim.with(|sim| {
            let there = sim.peer(before).unwrap();
            sim.unlink(before).unwrap();
            sim.link(after, there).unwrap();
        });
        lab.settle();
        let walked = lab.ports(&[t0]);
        assert_eq!(walked.findings, []);
        assert_eq!(walked.outcome.vanished, []);
        assert_eq!(walked.outcome.unreachable.len(), 4, "for a while");
        assert_eq!(lab.subnet.port(t1).unwrap().peer(), Some(lab.port("t0", 2)));
        for (name, path) in [("t1", "0,1,2"), ("host00005 HCA-1", "0,1,2,5")] {
            let node = lab.subnet.node(lab.node(name)).unwrap();
            assert_eq!(node.path().to_string(), path, "{name}");
        }
        let host = lab.port("host00005 HCA-1", 1);
        let route = lab.subnet.route(host).unwrap();
        assert_eq!(route.path().to_string(), "0,1,2,5");
    }
}

#[test]
fn two_nodes_of_one_guid_are_reported_and_the_first_is_kept() {
    let mut lab = walked_line();
    let (first, second) = (lab.node("host00001 HCA-1"), lab.real("host00005 HCA-1", 1));
    let guid = lab.subnet.node(first).unwrap().info().node_guid();
    let before = (lab.port("t1", 5), lab.port("t0", 4));
    lab.sim.with(|sim| sim.set_guid(second.node, guid).unwrap());
    let walked = lab.everything();
    let at = lab.subnet.port_at(before.0);
    let expected = WalkFinding::DuplicateGuid {
        node_guid: guid,
        behind: Some(at),
    };
    assert_eq!(walked.findings, [expected]);
    assert_eq!(
        lab.subnet.port(before.1).unwrap().peer().unwrap().node,
        first
    );
    assert_eq!(lab.subnet.port(before.0).unwrap().peer(), None);
    // The switch before the second one was asked whether it still has its own GUID: it has.
    let t1 = lab.port("t1", 0);
    let asked = lab.reads(NodeInfo::ID);
    assert!(asked.contains(&(ReadTarget::Port(t1), 0)), "{asked:?}");
    assert!(lab.subnet.is_steady(t1.node));
    // One such question is enough, however many such hosts there are.
    let third = lab.real("host00003 HCA-1", 1);
    lab.sim.with(|sim| sim.set_guid(third.node, guid).unwrap());
    lab.everything();
    let asked = lab.reads(NodeInfo::ID).into_iter();
    assert_eq!(
        asked
            .filter(|read| *read == (ReadTarget::Port(t1), 0))
            .count(),
        1
    );
    // A partial walk leaves that to a walk of everything.
    let walked = lab.ports(&[before.0]);
    assert!(walked.outcome.inconsistent);
    assert!(walked.findings.is_empty());
}

#[test]
fn a_second_node_of_another_kind_is_a_duplicate_as_well() {
    for type_ in [NodeType::ROUTER, NodeType::SWITCH] {
        let mut lab = walked_line();
        let first = lab.node("host00001 HCA-1");
        let guid = lab.subnet.node(first).unwrap().info().node_guid();
        let port = lab.port("t1", 5);
        lab.edit(move |read, smp| {
            if read.target == ReadTarget::Behind(port) {
                change(smp, |info: &mut NodeInfo| {
                    info.set_node_guid(guid).set_node_type(type_);
                });
            }
            true
        });
        let walked = lab.everything();
        assert!(
            matches!(walked.findings[..], [WalkFinding::DuplicateGuid { node_guid, .. }] if node_guid == guid)
        );
        let kept = lab.subnet.node(first).unwrap().info().node_type();
        assert_eq!(kept, NodeType::CA);
    }
}

#[test]
fn a_switch_that_changes_its_guid_is_not_trusted_and_hides_what_is_behind_it() {
    let mut lab = walked_line();
    let t1 = lab.node("t1");
    let (hosts, port) = (lab.port("t1", 5), lab.port("t0", 1));
    let stolen = lab.subnet.node(lab.node("host00001 HCA-1")).unwrap();
    let stolen = stolen.info().node_guid();
    lab.edit(move |read, smp| {
        change(smp, |info: &mut NodeInfo| {
            if read.target == ReadTarget::Behind(hosts) {
                info.set_node_guid(stolen);
            }
            // The second question has another answer.
            if read.target == ReadTarget::Port(PortId::management(t1)) {
                info.set_node_guid(Guid(77));
            }
        });
        true
    });
    let walked = lab.everything();
    let changed = walked.findings.iter().find_map(|finding| match finding {
        WalkFinding::GuidChanged {
            path,
            behind,
            before,
            now,
        } => Some((*path, *behind, *before, *now)),
        _ => None,
    });
    let (path, behind, before, now) = changed.unwrap();
    assert_eq!(path.to_string(), "0,1,1");
    assert_eq!(behind, Some(lab.subnet.port_at(port)));
    assert_eq!((before, now), (Guid(0x0020_0000_0000_0100), Guid(77)));
    assert!(!lab.subnet.is_steady(t1));
    assert!(lab.subnet.is_steady(lab.node("t0")));
    if let Some(host) = lab.find("host00003 HCA-1") {
        assert!(!lab.subnet.is_steady(host), "beyond it");
    }
    // The next walk of everything trusts it again.
    lab.honest();
    lab.everything();
    assert!(lab.subnet.is_steady(t1));
    assert_eq!(lab.subnet.nodes().count(), 8);
}

#[test]
fn a_port_that_goes_down_loses_its_cable() {
    let mut lab = quiet_line();
    let (port, host) = (lab.port("t1", 4), lab.port("host00004 HCA-1", 1));
    lab.edit(port_info(port, |info| {
        info.set_port_state(PortState::DOWN)
            .set_port_physical_state(PortPhysicalState::POLLING);
    }));
    let walked = lab.ports(&[port]);
    assert!(walked.outcome.changed.contains(&port.node));
    assert!(walked.outcome.changed.contains(&host.node));
    assert_eq!(lab.subnet.port(port).unwrap().peer(), None);
    assert_eq!(walked.outcome.vanished.len(), 1);
    assert_eq!(lab.asked.len(), 7, "nobody is asked behind it");
}

#[test]
fn a_restarted_switch_is_read_anew_by_a_partial_walk() {
    let mut lab = quiet_line();
    lab.options.tables = true;
    let t1 = lab.port("t1", 0);
    lab.edit(|_, smp| {
        change(smp, |info: &mut PortInfo| {
            info.set_lid(Lid(4));
        });
        change(smp, |info: &mut SwitchInfo| {
            info.set_linear_fdb_top(Lid(4));
        });
        true
    });
    lab.everything();
    let walked = lab.ports(&[t1]);
    assert!(walked.findings.is_empty());
    assert_eq!(lab.reads(LinearForwardingTable::ID), []);
    lab.edit(port_info(t1, |info| {
        info.set_lid(Lid(0));
    }));
    lab.ports(&[t1]);
    assert_eq!(
        lab.reads(LinearForwardingTable::ID),
        [(ReadTarget::Port(t1), 0)]
    );
}

#[test]
fn an_unmarked_walk_is_over_at_once() {
    let mut lab = quiet_line();
    let mut walk = Walk::ports(&mut lab.subnet, [], WalkOptions::default());
    assert!(walk.next_read(&lab.subnet).is_none());
    let outcome = walk.finish(&mut lab.subnet);
    assert_eq!(outcome, ib_subnet::WalkOutcome::default());
    assert_eq!(lab.subnet.nodes().count(), 8);
}

/// A link in Initialize may lead to a host that was restarted, so its port is read again.
#[test]
fn the_own_port_that_is_found_from_outside_keeps_its_route_of_no_hops() {
    let mut lab = walked_line();
    let own = lab.subnet.own_port().unwrap();
    let t0 = PortId::management(lab.node("t0"));
    lab.ports(&[t0]);
    assert!(
        lab.reads(PortInfo::ID)
            .contains(&(ReadTarget::Port(own), 1))
    );
    let route = lab.subnet.route(own).unwrap();
    assert_eq!(route.path().hop_count(), 0);
}
