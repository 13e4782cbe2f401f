//! Multicast groups: joins and leaves, and their effect on the switches.

use std::{collections::BTreeSet, time::Duration};

use ib_mad::{Attribute as _, MadStatus, SaStatus};
use ib_routing::PortRef;
use ib_sa::{
    ComponentMask, JoinState, McMemberComponents as C, McMemberRecord,
    MulticastForwardingTableRecord, PathComponents, PathRecord, Selector,
};
use ib_smp::SlToVlMappingTable;
use ib_testkit::{
    fabrics::generated,
    lab::{Lab, client::Client},
};
use ib_wire::{Gid, GidPrefix, Lid, Mtu, PKey, PortNum, QKey, Rate, Sl, Vl};

/// IPoIB's broadcast group of the default partition.
pub(crate) const BROADCAST: u128 = 0xff12_401b_ffff_0000_0000_0000_ffff_ffff;

pub(crate) fn gid(bits: u128) -> Gid {
    Gid(bits.to_be_bytes())
}

/// Hosts of a fabric with their GIDs.
pub(crate) fn hosts(client: &Client) -> Vec<(PortRef, Gid)> {
    client.running.sim.with(|sim| {
        let hosts = sim
            .nodes()
            .iter_enumerated()
            .filter(|(_, node)| !node.is_switch());
        let ports = hosts.flat_map(|(host, _)| sim.end_ports(host));
        let up = ports.filter(|port| port.is_link_up());
        up.map(|port| (port.at(), Gid::new(GidPrefix::DEFAULT, port.guid())))
            .collect()
    })
}

pub(crate) fn member(mgid: u128, port: Gid) -> McMemberRecord {
    let mut record = McMemberRecord::default();
    record
        .set_mgid(gid(mgid))
        .set_port_gid(port)
        .set_join_state(JoinState::FULL_MEMBER)
        .set_p_key(PKey::DEFAULT_FULL)
        .set_q_key(QKey(0x1234));
    record
}

pub(crate) fn join_bits() -> ComponentMask {
    (C::MGID | C::PORT_GID | C::JOIN_STATE).into()
}

pub(crate) fn create_bits() -> ComponentMask {
    let needed = C::Q_KEY | C::P_KEY | C::SL | C::FLOW_LABEL | C::TCLASS;
    (C::MGID | C::PORT_GID | C::JOIN_STATE | needed).into()
}

/// The ports at which a packet to `mlid` arrives, followed from `from` through the switches' tables; a port that
/// gets two copies is listed twice.
pub(crate) fn flood(client: &Client, from: PortRef, mlid: Lid) -> Vec<PortRef> {
    client.running.sim.with(|sim| {
        let mut arrived = Vec::new();
        let mut packets = vec![sim.peer(from).unwrap()];
        while let Some(at) = packets.pop() {
            let node = sim.node(at.node).unwrap();
            if !node.is_switch() {
                arrived.push(at);
                continue;
            }
            for port in node.mft_ports(mlid).filter(|&port| port != at.port) {
                let exit = PortRef {
                    node: at.node,
                    port,
                };
                match port {
                    PortNum(0) => arrived.push(exit),
                    _ => packets.extend(sim.peer(exit)),
                }
            }
            assert!(
                packets.len() + arrived.len() < 100_000,
                "it goes round and round"
            );
        }
        arrived
    })
}

#[test]
fn the_broadcast_group_is_there_before_anybody_joins() {
    let mut client = Client::new("gen-ring-5");
    let groups = client.table(&McMemberRecord::default(), ComponentMask(0));
    assert_eq!(groups.len(), 1);
    let group = groups[0];
    assert_eq!(group.mgid(), gid(BROADCAST));
    assert_eq!((group.mlid(), group.q_key()), (Lid(0xc000), QKey(0x0b1b)));
    assert_eq!(group.port_gid().bits(), 0);
}

/// On every fabric, hosts join the broadcast group one after the other; a packet of any member reaches all other
/// members exactly once.
#[test]
fn every_member_hears_every_other_exactly_once() {
    for name in [
        "gen-ring-5",
        "gen-torus-5x5",
        "real-sdr-2007-6",
        "gen-jellyfish-30-5",
        "gen-ft-48-broken10",
    ] {
        let mut client = Client::new(name);
        let members: Vec<_> = hosts(&client).into_iter().step_by(2).take(12).collect();
        for &(_, port) in &members {
            let joined = client.set(&member(BROADCAST, port), join_bits()).unwrap();
            assert_eq!(joined.mlid(), Lid(0xc000), "{name}");
        }
        client.running.run_for(Duration::from_millis(100));
        for &(from, _) in &members {
            let heard = flood(&client, from, Lid(0xc000));
            let others = members.iter().filter(|(port, _)| *port != from);
            let expected: BTreeSet<_> = others.map(|(port, _)| *port).collect();
            assert_eq!(
                heard.len(),
                expected.len(),
                "{name}: somebody hears it twice"
            );
            assert_eq!(
                heard.into_iter().collect::<BTreeSet<_>>(),
                expected,
                "{name}"
            );
        }
    }
}

/// Switches of this fabric join few pairs of their cables by routes, and their SLtoVL tables drop everything until they
/// are written.
#[test]
fn trees_pass_only_pairs_of_ports_whose_lanes_are_written() {
    let fabric = generated("jellyfish:switches=16,degree=9,hosts=3,seed=1");
    let lab = Lab::of(fabric).config(|config| config.qos.enabled = true);
    let dropping = SlToVlMappingTable::from_bytes([0xff; 8]);
    let lab = lab.options(|options| options.initial_sl_to_vl = Some(dropping));
    let mut client = Client::of(lab.up());
    for &(_, port) in hosts(&client).iter().step_by(7) {
        client.set(&member(BROADCAST, port), join_bits()).unwrap();
        client.running.run_for(Duration::from_millis(100));
        let passed = client.running.sim.with(|sim| {
            let mut passed = 0;
            for node in sim.nodes().iter().filter(|node| node.is_switch()) {
                let ports: Vec<PortNum> = node.mft_ports(Lid(0xc000)).collect();
                let pairs = ports
                    .iter()
                    .flat_map(|&input| ports.iter().map(move |&output| (input, output)));
                for (input, output) in pairs.filter(|(input, output)| input != output) {
                    let vl = node.vl(input, output, Sl::ZERO);
                    assert_eq!(vl, Vl::default(), "{input} to {output}");
                    passed += 1;
                }
            }
            passed
        });
        assert!(passed > 0 || hosts(&client)[0].1 == port);
    }
}

#[test]
fn a_group_lives_from_its_first_join_to_its_last_leave() {
    let mut client = Client::new("gen-ring-5");
    let ports = hosts(&client);
    let mgid = 0xff15_a01c_fe80_0000_0000_0000_0000_0007;
    let lone = client.set(&member(mgid, ports[0].1), join_bits());
    assert_eq!(
        lone,
        Err(MadStatus::from_sa(SaStatus::REQ_INSUFFICIENT_COMPONENTS)),
        "who creates a group says what it is like"
    );
    let created = client
        .set(&member(mgid, ports[0].1), create_bits())
        .unwrap();
    assert_eq!(created.mlid(), Lid(0xc001));
    let joined = client.set(&member(mgid, ports[1].1), join_bits()).unwrap();
    assert_eq!((joined.mlid(), joined.q_key()), (Lid(0xc001), QKey(0x1234)));
    let mut other = member(mgid, ports[2].1);
    other.set_q_key(QKey(5));
    let refused = client.set(
        &other,
        (C::MGID | C::PORT_GID | C::JOIN_STATE | C::Q_KEY).into(),
    );
    assert_eq!(refused, Err(MadStatus::from_sa(SaStatus::REQ_INVALID)));
    client.running.run_for(Duration::from_millis(50));
    assert_eq!(flood(&client, ports[0].0, Lid(0xc001)), [ports[1].0]);

    client
        .delete(&member(mgid, ports[0].1), join_bits())
        .unwrap();
    client
        .delete(&member(mgid, ports[1].1), join_bits())
        .unwrap();
    let again = client.delete(&member(mgid, ports[1].1), join_bits());
    assert_eq!(again, Err(MadStatus::from_sa(SaStatus::REQ_INVALID)));
    client.running.run_for(Duration::from_millis(50));
    assert!(flood(&client, ports[0].0, Lid(0xc001)).is_empty());
    let groups = client.table(&McMemberRecord::default(), ComponentMask(0));
    assert_eq!(groups.len(), 1, "only the broadcast group stays");
}

#[test]
fn a_member_that_vanishes_leaves_its_groups() {
    let mut client = Client::new("gen-ring-5");
    let ports = hosts(&client);
    let mgid = 0xff15_a01c_0000_0000_0000_0000_0000_0001;
    client
        .set(&member(mgid, ports[1].1), create_bits())
        .unwrap();
    let node = ports[1].0.node;
    client.running.sim.with(|sim| sim.power_off(node));
    client.running.resweep();
    let groups = client.table(&McMemberRecord::default(), ComponentMask(0));
    assert_eq!(groups.len(), 1);
}

#[test]
fn a_sweep_over_an_unchanged_fabric_writes_no_multicast_table() {
    let mut client = Client::new("gen-torus-5x5");
    for (_, port) in hosts(&client).into_iter().take(9) {
        client.set(&member(BROADCAST, port), join_bits()).unwrap();
    }
    client.running.run_for(Duration::from_millis(100));
    let blocks = client.table(&MulticastForwardingTableRecord::default(), ComponentMask(0));
    assert!(!blocks.is_empty());
    client.running.resweep();
    let sets = client.running.transport.sent_with(ib_mad::Method::SET);
    let what: Vec<_> = sets
        .iter()
        .map(|set| (set.attribute_id(), set.attribute_modifier()))
        .collect();
    assert_eq!(what, []);
}

#[test]
fn a_cut_cable_of_a_tree_is_replaced() {
    let mut client = Client::new("gen-torus-5x5");
    let members: Vec<_> = hosts(&client).into_iter().take(9).collect();
    for &(_, port) in &members {
        client.set(&member(BROADCAST, port), join_bits()).unwrap();
    }
    client.running.run_for(Duration::from_millis(100));
    let used = client.running.sim.with(|sim| {
        let switches = sim
            .nodes()
            .iter_enumerated()
            .filter(|(_, node)| node.is_switch());
        let mut exits = switches.flat_map(|(node, switch)| {
            let ports: Vec<_> = switch.mft_ports(Lid(0xc000)).collect();
            ports.into_iter().map(move |port| PortRef { node, port })
        });
        exits.find(|&exit| {
            sim.peer(exit)
                .is_some_and(|peer| sim.node(peer.node).unwrap().is_switch())
        })
    });
    client
        .running
        .sim
        .with(|sim| sim.unlink(used.unwrap()).unwrap());
    client.running.resweep();
    let heard = flood(&client, members[0].0, Lid(0xc000));
    assert_eq!(heard.len(), members.len() - 1);
}

/// A leave that names a join state which the member does not have changes nothing (IBA vol. 1, o15-0.1.14).
#[test]
fn a_leave_names_only_states_that_the_member_has() {
    let mut client = Client::new("gen-ring-5");
    let own = hosts(&client)[0].1;
    let mgid = 0xff12_a01c_fe80_0000_0000_0000_1234_5678;
    let with = |state| {
        let mut record = member(mgid, own);
        record.set_join_state(state);
        record
    };
    let full = JoinState::FULL_MEMBER;
    let (non_member, send_only) = (JoinState::NON_MEMBER, JoinState::SEND_ONLY_NON_MEMBER);
    client.set(&with(full), create_bits()).unwrap();
    client.set(&with(non_member), join_bits()).unwrap();

    let invalid = Err(MadStatus::from_sa(SaStatus::REQ_INVALID));
    for state in [non_member | send_only, send_only, JoinState::empty()] {
        let refused = client.delete(&with(state), join_bits());
        assert_eq!(refused, invalid, "{state:?}");
    }
    let left = client.delete(&with(non_member), join_bits());
    assert_eq!(left.map(|left| left.join_state()), Ok(full));
}

/// Any port may join another one, by proxy, and end that membership; only the port itself can end one that it
/// requested itself.
#[test]
fn only_the_member_itself_ends_its_membership() {
    let mut client = Client::new("gen-ring-5");
    let ports = hosts(&client);
    let own = ports
        .iter()
        .find(|(port, _)| *port == client.port)
        .unwrap()
        .1;
    let joined = client.set(&member(BROADCAST, own), join_bits()).unwrap();
    assert!(!joined.proxy_join());
    let proxy = client
        .set(&member(BROADCAST, ports[0].1), join_bits())
        .unwrap();
    assert!(proxy.proxy_join());
    client.port = ports[1].0;
    client.transport = client.running.sim.attach(client.port).unwrap();
    let invalid = Err(MadStatus::from_sa(SaStatus::REQ_INVALID));
    assert_eq!(client.delete(&member(BROADCAST, own), join_bits()), invalid);
    assert_eq!(client.set(&member(BROADCAST, own), join_bits()), invalid);
    assert!(
        client
            .delete(&member(BROADCAST, ports[0].1), join_bits())
            .is_ok()
    );
}

#[test]
fn a_name_is_made_for_who_has_none() {
    let mut client = Client::new("gen-ring-5");
    let ports = hosts(&client);
    let first = client.set(&member(0, ports[0].1), create_bits()).unwrap();
    let second = client.set(&member(0, ports[0].1), create_bits()).unwrap();
    assert!(first.mgid().is_multicast() && second.mgid().is_multicast());
    assert_ne!(first.mgid(), second.mgid());
    assert_ne!(first.mlid(), second.mlid());
}

#[test]
fn a_path_to_a_group_is_what_the_group_is_like() {
    let mut client = Client::new("gen-ring-5");
    let mut template = PathRecord::default();
    template.set_dgid(gid(BROADCAST)).set_slid(client.lid());
    let mask = PathComponents::DGID | PathComponents::SLID;
    let path = client.get(&template, mask.into()).unwrap();
    assert_eq!(
        (path.dlid(), path.mtu()),
        (Lid(0xc000), ib_wire::Mtu::MTU_2048)
    );
}

#[test]
fn without_multicast_nothing_is_kept() {
    let running = Lab::new("gen-ring-5")
        .config(|config| config.disable_multicast = true)
        .up();
    let mut client = Client::of(running);
    let groups = client.table(&McMemberRecord::default(), ComponentMask(0));
    assert!(groups.is_empty());
}

#[test]
fn a_value_without_its_selector_says_nothing_of_a_new_group() {
    let mut client = Client::new("gen-ring-5");
    let (_, port) = hosts(&client)[0];
    let mut created = |mgid: u128, given: C| {
        let mut wanted = member(mgid, port);
        wanted
            .set_mtu_selector(Selector::EXACTLY)
            .set_mtu(Mtu::MTU_256)
            .set_rate_selector(Selector::EXACTLY)
            .set_rate(Rate::GBPS_2_5);
        let mask = create_bits().0 | ComponentMask::from(given).0;
        let record = client.set(&wanted, ComponentMask(mask)).unwrap();
        (record.mtu(), record.rate())
    };
    let own = created(0xff12_401b_ffff_0000_0000_0000_0000_0001, C::empty());
    assert_ne!(own, (Mtu::MTU_256, Rate::GBPS_2_5));
    let values = C::MTU | C::RATE;
    assert_eq!(
        created(0xff12_401b_ffff_0000_0000_0000_0000_0002, values),
        own
    );
    let selectors = C::MTU_SELECTOR | C::RATE_SELECTOR;
    assert_eq!(
        created(
            0xff12_401b_ffff_0000_0000_0000_0000_0003,
            values | selectors
        ),
        (Mtu::MTU_256, Rate::GBPS_2_5)
    );
}

#[test]
fn a_join_with_other_parameters_is_refused_unless_that_is_not_looked_at() {
    const MGID: u128 = 0xff12_401b_ffff_0000_0000_0000_0000_0001;
    for validates in [true, false] {
        let lab = Lab::new("gen-ring-5");
        let lab = lab.config(|config| config.mcgroup_join_validation = validates);
        let mut client = Client::of(lab.up());
        let ports = hosts(&client);
        let group = client
            .set(&member(MGID, ports[0].1), create_bits())
            .unwrap();
        let mut other = member(MGID, ports[1].1);
        other.set_q_key(QKey(0x9999));
        let mask = ComponentMask(join_bits().0 | ComponentMask::from(C::Q_KEY).0);
        let joined = client.set(&other, mask);
        match validates {
            true => assert!(joined.is_err()),
            // The response carries the group's parameters nevertheless.
            false => assert_eq!(joined.unwrap().q_key(), group.q_key()),
        }
    }
}

#[test]
fn a_group_of_the_reserved_scope_is_created_and_one_without_a_scope_or_with_other_flags_is_not() {
    let mut client = Client::new("gen-ring-5");
    let (_, port) = hosts(&client)[1];
    let mut create = |mgid: u128| {
        let mut record = member(mgid, port);
        record.set_p_key(PKey::DEFAULT_FULL);
        let more = C::Q_KEY | C::P_KEY | C::SL | C::FLOW_LABEL | C::TCLASS;
        let mask = join_bits().0 | ComponentMask::from(more).0;
        client.set(&record, ComponentMask(mask)).map(|_| ())
    };
    assert_eq!(create(0xff1f_a01c_fe80_0000_0000_0000_1234_5678), Ok(()));
    let invalid = Err(MadStatus::from_sa(SaStatus::REQ_INVALID));
    assert_eq!(create(0xff10_a01c_fe80_0000_0000_0000_1234_5678), invalid);
    assert_eq!(create(0xff22_a01c_fe80_0000_0000_0000_1234_5678), invalid);
}

/// The ports of each switch's table for a multicast LID.
pub(crate) fn tables(client: &Client, mlid: Lid) -> Vec<(ib_wire::Guid, Vec<PortNum>)> {
    client.running.sim.with(|sim| {
        let switches = sim.nodes().iter().filter(|node| node.is_switch());
        let tables = switches.map(|node| (node.guid(), node.mft_ports(mlid).collect::<Vec<_>>()));
        tables.filter(|(_, ports)| !ports.is_empty()).collect()
    })
}

#[test]
fn a_tree_that_fits_its_members_stays_when_a_cable_comes_back() {
    let mut client = Client::new("gen-torus-5x5");
    let members: Vec<_> = hosts(&client).into_iter().step_by(5).take(4).collect();
    for &(_, port) in &members {
        client.set(&member(BROADCAST, port), join_bits()).unwrap();
    }
    client.running.run_for(Duration::from_millis(100));
    let mlid = Lid(0xc000);
    let first = tables(&client, mlid);
    // The manager says what the switches hold.
    let said = &client.running.sm.multicast()[&mlid];
    let said: Vec<_> = said
        .iter()
        .map(|(&guid, ports)| (guid, ports.iter().collect::<Vec<_>>()))
        .collect();
    let mut sorted = first.clone();
    sorted.sort();
    assert_eq!(said, sorted);
    assert_eq!(client.running.sm.multicast().len(), 1);

    let cable = client.running.sim.with(|sim| {
        let mut exits = first.iter().flat_map(|(guid, ports)| {
            let node = sim.find_guid(*guid).unwrap();
            ports.iter().map(move |&port| PortRef { node, port })
        });
        let exit = exits.find(|&exit| {
            sim.peer(exit)
                .is_some_and(|peer| sim.node(peer.node).unwrap().is_switch())
        });
        exit.unwrap()
    });
    client.running.sim.with(|sim| sim.unlink(cable).unwrap());
    client.running.resweep();
    let second = tables(&client, mlid);
    assert_ne!(second, first);
    assert!(second.iter().all(|(guid, ports)| {
        let node = client.running.sim.with(|sim| sim.find_guid(*guid).unwrap());
        node != cable.node || !ports.contains(&cable.port)
    }));
    client.running.sim.with(|sim| sim.relink(cable).unwrap());
    client.running.run_for(Duration::from_millis(50));
    client.running.resweep();
    assert_eq!(
        tables(&client, mlid),
        second,
        "nothing is gained by a change"
    );
    assert_eq!(flood(&client, members[0].0, mlid).len(), 3);
}

#[test]
fn the_lid_of_a_group_that_has_ended_is_free_although_a_similar_group_lives() {
    // Solicited-node groups of one partition, each with a LID of its own.
    let solicited: u128 = 0xff12_601b_ffff_0000_0000_0001_ff00_0000;
    let mut client = Client::new("gen-ring-5");
    let ports = hosts(&client);
    let mlids: Vec<_> = (1..4)
        .map(|node| {
            let record = member(solicited | node, ports[1].1);
            client.set(&record, create_bits()).unwrap().mlid()
        })
        .collect();
    client.running.run_for(Duration::from_millis(50));
    assert_eq!(mlids, [Lid(0xc001), Lid(0xc002), Lid(0xc003)]);
    assert!(mlids.iter().all(|&mlid| !tables(&client, mlid).is_empty()));
    client
        .delete(&member(solicited | 2, ports[1].1), join_bits())
        .unwrap();
    client.running.run_for(Duration::from_millis(50));
    let held: Vec<bool> = mlids
        .iter()
        .map(|&mlid| !tables(&client, mlid).is_empty())
        .collect();
    assert_eq!(held, [true, false, true]);
    let next = client.set(&member(solicited | 9, ports[2].1), create_bits());
    assert_eq!(next.unwrap().mlid(), Lid(0xc002));
}

#[test]
fn one_port_creates_at_most_a_quarter_of_the_groups_for_which_the_switches_have_room() {
    for (room, expected) in [(32, 8), (33, 9), (0, 20)] {
        let lab = Lab::new("gen-ring-5").options(|options| options.multicast_fdb_cap = room);
        let mut client = Client::of(lab.up());
        let own = hosts(&client).last().unwrap().1;
        let mut created = 0;
        for group in 0..20 {
            let mgid = 0xff15_a01c_0000_0000_0000_0000_0000_0001 + group;
            match client.set(&member(mgid, own), create_bits()) {
                Ok(_) => created += 1,
                Err(status) => {
                    assert_eq!(status, MadStatus::from_sa(SaStatus::NO_RESOURCES));
                }
            }
        }
        assert_eq!(created, expected, "{room}");
    }
}

#[test]
fn members_behind_switches_without_a_multicast_table_are_named() {
    use ib_sm::Event;
    let lab = Lab::new("gen-ring-5").options(|options| options.multicast_fdb_cap = 0);
    let mut client = Client::of(lab.up());
    let ports = hosts(&client);
    for (_, port) in &ports[1..3] {
        client.set(&member(BROADCAST, *port), join_bits()).unwrap();
    }
    client.running.run_for(Duration::from_millis(50));
    let named: BTreeSet<_> = client
        .running
        .events
        .iter()
        .filter_map(|event| match event {
            Event::MulticastCutOff { mgid, port_guid } if *mgid == gid(BROADCAST) => {
                Some(*port_guid)
            }
            _ => None,
        })
        .collect();
    assert!(!named.is_empty());
    let members: BTreeSet<_> = ports[1..3].iter().map(|(_, port)| port.guid()).collect();
    assert!(named.is_subset(&members), "{named:?}");
    assert!(tables(&client, Lid(0xc000)).is_empty());
    let sent = client.running.transport.sent_with(ib_mad::Method::SET);
    let tables = sent
        .iter()
        .filter(|set| set.attribute_id() == ib_smp::MulticastForwardingTable::ID);
    assert_eq!(tables.count(), 0);
}

/// IBA vol. 1, 15.2.5.17.2: Q_Key, P_Key, SL, FlowLabel and TClass are needed to create a group.
#[test]
fn each_component_that_a_new_group_needs_is_needed() {
    let mut client = Client::new("gen-ring-5");
    let port = hosts(&client)[1].1;
    let mgid = 0xff15_a01c_0000_0000_0000_0000_0000_0077;
    let few = Err(MadStatus::from_sa(SaStatus::REQ_INSUFFICIENT_COMPONENTS));
    let all = C::MGID
        | C::PORT_GID
        | C::JOIN_STATE
        | C::Q_KEY
        | C::P_KEY
        | C::SL
        | C::FLOW_LABEL
        | C::TCLASS;
    for missing in all.iter() {
        let mask = all.difference(missing);
        assert_eq!(
            client.set(&member(mgid, port), mask.into()),
            few,
            "{missing:?}"
        );
    }
    // A group is created by a full member, of a partition that it is in.
    let invalid = Err(MadStatus::from_sa(SaStatus::REQ_INVALID));
    for state in [JoinState::NON_MEMBER, JoinState::empty()] {
        let mut record = member(mgid, port);
        record.set_join_state(state);
        assert_eq!(client.set(&record, all.into()), invalid, "{state:?}");
    }
    let mut foreign = member(mgid, port);
    foreign.set_p_key(PKey(0x8123));
    assert_eq!(client.set(&foreign, all.into()), invalid);
    let groups = client.table(&McMemberRecord::default(), ComponentMask(0));
    assert_eq!(groups.len(), 1);
    let mut sender = member(mgid, port);
    sender.set_join_state(JoinState::SEND_ONLY_FULL_MEMBER);
    client.set(&sender, all.into()).unwrap();
    for (missing, status) in [C::MGID, C::PORT_GID, C::JOIN_STATE].map(|bit| (bit, &few)) {
        let mask = (C::MGID | C::PORT_GID | C::JOIN_STATE).difference(missing);
        let left = client.delete(&sender, mask.into());
        assert_eq!(left.as_ref(), status.as_ref(), "{missing:?}");
    }
    client.delete(&sender, join_bits()).unwrap();
}

#[test]
fn each_parameter_of_a_join_is_compared_with_those_of_the_group() {
    let mut client = Client::new("gen-ring-5");
    let ports = hosts(&client);
    let mgid = 0xff15_a01c_0000_0000_0000_0000_0000_0078;
    let mut creator = member(mgid, ports[1].1);
    creator
        .set_tclass(3)
        .set_sl(Sl::try_new(2).unwrap())
        .set_flow_label(0x12345)
        .set_hop_limit(9);
    let made = client
        .set(
            &creator,
            ComponentMask(create_bits().0 | C::HOP_LIMIT.bits()),
        )
        .unwrap();
    assert_eq!(made.hop_limit(), 9);
    let mut same = made;
    same.set_port_gid(ports[2].1);
    let invalid = Err(MadStatus::from_sa(SaStatus::REQ_INVALID));
    type Change = fn(&mut McMemberRecord);
    let others: [(C, Change); 9] = [
        (C::Q_KEY, |it| _ = it.set_q_key(QKey(7))),
        (C::MLID, |it| _ = it.set_mlid(Lid(0xc123))),
        (C::TCLASS, |it| _ = it.set_tclass(4)),
        (C::P_KEY, |it| _ = it.set_p_key(PKey(0x8123))),
        (C::SL, |it| _ = it.set_sl(Sl::try_new(3).unwrap())),
        (C::FLOW_LABEL, |it| _ = it.set_flow_label(0x12346)),
        (C::HOP_LIMIT, |it| _ = it.set_hop_limit(8)),
        (C::SCOPE, |it| _ = it.set_scope(ib_wire::MulticastScope(2))),
        (C::MTU_SELECTOR | C::MTU, |it| {
            it.set_mtu_selector(Selector::EXACTLY).set_mtu(Mtu(1));
        }),
    ];
    let join = C::MGID | C::PORT_GID | C::JOIN_STATE;
    for (bit, change) in others {
        let mut other = same;
        change(&mut other);
        let refused = client.set(&other, (join | bit).into());
        assert_eq!(refused, invalid, "{bit:?}");
        // What is not named is not compared, and what is named and equal is no obstacle.
        let joined = client.set(&other, join.into()).unwrap();
        assert_eq!(joined.mlid(), made.mlid(), "{bit:?}");
        client.delete(&other, join.into()).unwrap();
        client.set(&same, (join | bit).into()).unwrap();
        client.delete(&same, join.into()).unwrap();
    }
}

#[test]
fn a_group_is_one_record_with_the_states_of_all_members_unless_the_requester_is_trusted() {
    let mut client = Client::new("gen-ring-5");
    let ports = hosts(&client);
    let mgid = 0xff15_a01c_0000_0000_0000_0000_0000_0079;
    let full = JoinState::FULL_MEMBER;
    let sender = JoinState::SEND_ONLY_NON_MEMBER;
    for (port, state) in ports.iter().zip([full, full, sender, full | sender]) {
        let mut record = member(mgid, port.1);
        record.set_join_state(state);
        client.set(&record, create_bits()).unwrap();
    }
    let template = member(mgid, Gid::default());
    let one = client.get(&template, C::MGID.into()).unwrap();
    assert_eq!(one.join_state(), full | sender);
    assert_eq!(one.port_gid(), Gid::default());
    let mut request = ib_sa::SaMad::query(ib_mad::Method::GET_TABLE, &template, C::MGID);
    request.set_sm_key(ib_mad::SmKey(1));
    let all = client.many::<McMemberRecord>(&request);
    let members: BTreeSet<_> = all
        .iter()
        .map(|record| (record.port_gid(), record.join_state().bits()))
        .collect();
    let expected = ports
        .iter()
        .zip([full, full, sender, full | sender])
        .map(|(port, state)| (port.1, state.bits()));
    assert_eq!(members, expected.collect());
    // One that leaves one of its states stays with the other.
    let mut leaves = member(mgid, ports[3].1);
    leaves.set_join_state(full);
    client.delete(&leaves, join_bits()).unwrap();
    let all = client.many::<McMemberRecord>(&request);
    let left = all.iter().find(|record| record.port_gid() == ports[3].1);
    assert_eq!(left.unwrap().join_state(), sender);
}
