//! Multicast tables after hosts joined or left groups: what is written, when, and what is left as it was.

use std::{collections::BTreeSet, time::Duration};

use ib_mad::Attribute as _;
use ib_routing::PortRef;
use ib_sa::{McMemberComponents as C, McMemberRecord};
use ib_smp::{CapabilityMask, PortInfo, SmpDirected};
use ib_testkit::{
    fabrics::generated,
    lab::{Lab, client::Client},
};
use ib_transport::Clock as _;
use ib_wire::{Gid, Lid, table::padded};

use crate::groups::{BROADCAST, create_bits, flood, gid, hosts, join_bits, member, tables};

/// Numbers without order, the same in each run.
fn random(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        usize::try_from(state >> 33).unwrap() % below
    }
}

/// A second member joins a group at the switch of the first one: the work is the same in a small fabric and in a large one.
#[test]
fn a_join_looks_only_at_switches_whose_trees_change() {
    for qos in [false, true] {
        let looks = ["torus:6x6,hosts=2", "torus:9x9,hosts=2"].map(|spec| {
            let lab = Lab::of(generated(spec)).config(|config| config.qos.enabled = qos);
            let mut client = Client::of(lab.up());
            let ports = hosts(&client);
            let switch = |at: PortRef| client.running.sim.with(|sim| sim.peer(at).unwrap().node);
            let neighbour = |port: &&(PortRef, Gid)| switch(port.0) == switch(ports[0].0);
            let (first, second) = (ports[0], *ports.iter().filter(neighbour).nth(1).unwrap());
            client
                .set(&member(BROADCAST, first.1), join_bits())
                .unwrap();
            // The manager ends what it does in the background after a sweep.
            client.running.run_for(Duration::from_secs(2));
            let before = client.running.sm.subnet().looks();
            client
                .set(&member(BROADCAST, second.1), join_bits())
                .unwrap();
            client.running.run_for(Duration::from_millis(100));
            assert_eq!(flood(&client, first.0, Lid(0xc000)), [second.0]);
            client.running.sm.subnet().looks() - before
        });
        assert!(looks[0] > 0);
        assert_eq!(looks[0], looks[1], "quality of service: {qos}");
    }
}

/// The Sets of multicast tables that the manager has sent.
fn multicast_sets(client: &Client) -> usize {
    let sets = client.running.transport.sent_with(ib_mad::Method::SET);
    let id = ib_smp::MulticastForwardingTable::ID;
    sets.iter().filter(|set| set.attribute_id() == id).count()
}

#[test]
fn a_join_is_written_at_once_and_those_that_follow_it_closely_together() {
    // One switch, so that a write after each join would be a datagram for each.
    let mut client = Client::of(Lab::of(generated("mesh:1x1,hosts=24")).up());
    let ports = hosts(&client);
    let (first, others) = ports.split_first().unwrap();
    let before = multicast_sets(&client);
    client
        .set(&member(BROADCAST, first.1), join_bits())
        .unwrap();
    client.running.run_for(Duration::from_micros(100));
    let sets = || multicast_sets(&client) - before;
    assert_eq!(sets(), 1);
    let begun = client.running.sim.now();
    for port in others {
        client.set(&member(BROADCAST, port.1), join_bits()).unwrap();
    }
    let lasted = client.running.sim.now().since(begun);
    client.running.run_for(Duration::from_millis(10));
    let written = usize::try_from(lasted.as_millis()).unwrap() + 2;
    let positions = 2; // Ports 1 to 15, and 16 to 24.
    let sets = multicast_sets(&client) - before - 1;
    assert!(
        sets <= written * positions,
        "{sets} Sets for {} joins within {lasted:?}",
        others.len()
    );
    assert_eq!(flood(&client, first.0, Lid(0xc000)).len(), others.len());
}

/// The entries of the switches' tables for all groups are those that the manager wants.
fn assert_tables_are_those_of_the_trees(client: &Client, when: &str) {
    let wanted = client.running.sm.multicast();
    for mlid in (0xc000..0xc060).map(Lid) {
        let trees = wanted.get(&mlid).into_iter().flatten();
        let trees = trees.map(|(&guid, ports)| (guid, ports.iter().collect::<Vec<_>>()));
        let mut held = tables(client, mlid);
        held.sort();
        assert_eq!(held, trees.collect::<Vec<_>>(), "{when}: {mlid}");
    }
}

/// Joins and leaves that change the tables one after the other, some of them many at a time, leave nothing that a
/// comparison of all tables would find.
#[test]
fn after_any_joins_and_leaves_the_tables_are_those_that_a_sweep_would_write() {
    for (spec, seed) in [
        ("torus:4x4,hosts=2", 1),
        ("dragonfly:a=4,p=2,h=2", 2),
        ("jellyfish:switches=16,degree=5,hosts=2,seed=3", 3),
    ] {
        let lab = Lab::of(generated(spec)).config(|config| config.qos.enabled = seed == 1);
        let mut client = Client::of(lab.up());
        let ports = hosts(&client);
        let mut random = random(seed);
        let mut members: BTreeSet<(usize, usize)> = BTreeSet::new();
        for round in 0..60 {
            for _ in 0..=random(6) {
                // More groups than one block of a table has.
                let joined = (random(40), random(ports.len()));
                let record = member(0xff15_a01c_fe80 << 80 | joined.0 as u128, ports[joined.1].1);
                if members.remove(&joined) {
                    client.delete(&record, join_bits()).unwrap();
                } else {
                    client.set(&record, create_bits()).unwrap();
                    members.insert(joined);
                }
            }
            if random(3) > 0 {
                client.running.run_for(Duration::from_millis(50));
                let when = format!("{spec}, round {round}");
                assert_tables_are_those_of_the_trees(&client, &when);
            }
        }
        client.running.run_for(Duration::from_millis(50));
        assert!(client.running.sm.multicast().len() > 32, "{spec}");
        client.running.resweep();
        let sets = client.running.transport.sent_with(ib_mad::Method::SET);
        assert_eq!(sets.len(), 0, "{spec}");
        for &(group, from) in &members {
            let mgid = gid(0xff15_a01c_fe80 << 80 | group as u128);
            let template = *McMemberRecord::default().set_mgid(mgid);
            let mlid = client.table(&template, C::MGID.into())[0].mlid();
            let others = members
                .iter()
                .filter(|&&(other, port)| other == group && port != from);
            let expected: BTreeSet<_> = others.map(|&(_, port)| ports[port].0).collect();
            let heard = flood(&client, ports[from].0, mlid);
            assert_eq!(heard.len(), expected.len(), "{spec}");
            assert_eq!(
                heard.into_iter().collect::<BTreeSet<_>>(),
                expected,
                "{spec}"
            );
        }
    }
}

/// A manager that has lost its groups finds their old entries, also in switches that no new tree touches.
#[test]
fn the_first_group_of_a_block_clears_what_an_earlier_manager_left_in_it() {
    let mut client = Client::new("gen-torus-5x5");
    let ports = hosts(&client);
    for &(_, port) in &ports {
        client.set(&member(BROADCAST, port), join_bits()).unwrap();
    }
    client.running.run_for(Duration::from_millis(100));
    assert!(tables(&client, Lid(0xc000)).len() > 20);
    client.running.restart(Default::default());
    client.running.run_until_up();
    client
        .set(&member(BROADCAST, ports[0].1), join_bits())
        .unwrap();
    client.running.run_for(Duration::from_millis(100));
    assert_eq!(tables(&client, Lid(0xc000)).len(), 1);
    assert_tables_are_those_of_the_trees(&client, "after the join");
}

/// The top of the multicast table of each switch that says that it has the field.
fn multicast_tops(client: &Client) -> BTreeSet<Lid> {
    client.running.sim.with(|sim| {
        let infos = sim.nodes().iter().filter_map(|node| node.switch_info());
        infos.map(|info| info.multicast_fdb_top()).collect()
    })
}

#[test]
fn the_top_of_multicast_tables_follows_the_groups_where_switches_have_it() {
    for (has_field, used) in [(true, true), (true, false), (false, true)] {
        let lab = Lab::new("gen-ring-5").config(|config| config.use_mfttop = used);
        let mut running = lab.start();
        running.transport.alter = Some(Box::new(move |mad| {
            let header = mad.header();
            if has_field && header.attribute_id() == PortInfo::ID {
                let (smp, _) = SmpDirected::parse_mut(&mut mad.bytes, 0).unwrap();
                let mut info = PortInfo::from_bytes(*smp.smp_data());
                let mask = info.capability_mask();
                info.set_capability_mask(mask | CapabilityMask::IS_MULTICAST_FDB_TOP_SUPPORTED);
                smp.set_smp_data(&padded(info.as_bytes()));
            }
            true
        }));
        running.run_until_up();
        let mut client = Client::of(running);
        let follows = has_field && used;
        let before = multicast_tops(&client);
        assert_eq!(before, BTreeSet::from([Lid::NONE]), "no group has members");
        let (_, host) = *hosts(&client).last().unwrap();
        let member = member(BROADCAST, host);
        client.set(&member, join_bits()).unwrap();
        client.running.run_for(Duration::from_millis(50));
        let expected = if follows { Lid(0xc01f) } else { Lid::NONE };
        assert_eq!(multicast_tops(&client), BTreeSet::from([expected]));
        client.delete(&member, join_bits()).unwrap();
        client.running.run_for(Duration::from_millis(50));
        let expected = if follows { Lid(0xbfff) } else { Lid::NONE };
        assert_eq!(multicast_tops(&client), BTreeSet::from([expected]));
    }
}
