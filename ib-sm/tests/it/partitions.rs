//! Partitions: from the file to the tables of the ports, and to the administrator's answers.

use std::collections::BTreeSet;

use ib_mad::Method;
use ib_routing::PortRef;
use ib_sa::{
    ComponentMask, LinkRecord, McMemberRecord, NodeRecord, PKeyTableRecord, PathComponents,
    PathRecord,
};
use ib_sm::{Event, Partitions};
use ib_testkit::lab::{Lab, Running, client::Client};
use ib_wire::{Guid, Lid, PKey};

/// Ports of hosts by GUID.
fn hosts(running: &Running) -> Vec<(PortRef, Guid)> {
    running.sim.with(|sim| {
        let hosts = sim
            .nodes()
            .iter_enumerated()
            .filter(|(_, node)| !node.is_switch());
        let ports = hosts.flat_map(|(host, _)| sim.end_ports(host));
        let up = ports.filter(|port| port.is_link_up());
        up.map(|port| (port.at(), port.guid())).collect()
    })
}

fn keys(running: &Running, port: PortRef) -> Vec<PKey> {
    running.sim.with(|sim| {
        let keys = sim.port(port).unwrap().p_keys();
        keys.filter(|key| key.base() != 0).collect()
    })
}

fn lab(rules: &str) -> Lab {
    let partitions = Partitions::parse(rules).unwrap();
    Lab::new("gen-ring-5").config(|config| config.partitions = partitions)
}

/// Two hosts are members of a partition; a third is a limited member.
fn rules(running: &Running) -> String {
    let hosts = hosts(running);
    let [(_, a), (_, b), (_, c)] = hosts[1..4] else {
        panic!("{hosts:?}")
    };
    format!(
        "Default=0x7fff : ALL, SELF=full;\nlab=0x10, ipoib, defmember=full : {a}, {b}, {c}=limited;"
    )
}

#[test]
fn without_a_file_every_port_is_a_full_member_and_nothing_is_written() {
    let running = Lab::new("gen-ring-5").up();
    for (port, _) in hosts(&running) {
        assert_eq!(keys(&running, port), [PKey::DEFAULT_FULL]);
    }
    let sets = running.transport.sent_with(Method::SET);
    assert!(sets.iter().all(|set| set.attribute_id().0 != 0x16));
}

#[test]
fn every_port_gets_the_keys_of_its_partitions() {
    let rules = rules(&Lab::new("gen-ring-5").up());
    let mut running = lab(&rules).up();
    let all = hosts(&running);
    let own = running
        .sm
        .subnet()
        .nodes()
        .next()
        .unwrap()
        .1
        .info()
        .node_guid();
    for (index, &(port, _)) in all.iter().enumerate() {
        let is_own = running.node(port.node, |node| node.guid()) == own;
        let default = if is_own { 0xffff } else { 0x7fff };
        let expected: &[u16] = match index {
            1 | 2 => &[default, 0x8010],
            3 => &[default, 0x0010],
            _ => &[default],
        };
        let found: Vec<_> = keys(&running, port).iter().map(|key| key.0).collect();
        assert_eq!(found, expected, "host {index}");
    }
    // The switch ports at hosts hold the same keys and enforce them; those between switches do not.
    running.sim.with(|sim| {
        for (_, node) in sim
            .nodes()
            .iter_enumerated()
            .filter(|(_, node)| node.is_switch())
        {
            let at = sim.find_guid(node.guid()).unwrap();
            for port in sim
                .ports_of(at)
                .filter(|port| port.is_link_up() && port.at().port.0 != 0)
            {
                let peer = sim.peer(port.at()).unwrap();
                let to_host = !sim.node(peer.node).unwrap().is_switch();
                assert_eq!(port.info().partition_enforcement_inbound(), to_host);
                assert_eq!(port.info().partition_enforcement_outbound(), to_host);
                if to_host {
                    let set = |keys: Vec<PKey>| {
                        let bases = keys.into_iter().map(PKey::base);
                        bases.filter(|&base| base != 0).collect::<BTreeSet<_>>()
                    };
                    let host = set(sim.port(peer).unwrap().p_keys().collect());
                    assert_eq!(set(port.p_keys().collect()), host);
                }
            }
        }
    });
    running.resweep();
    let sets = running.transport.sent_with(Method::SET);
    assert!(sets.is_empty(), "what is right stays: {sets:?}");
}

#[test]
fn a_key_keeps_its_index_and_one_that_is_gone_goes() {
    let first = hosts(&Lab::new("gen-ring-5").up())[1].1;
    let rules = format!("a=0x10: {first}; b=0x20: {first}; c=0x30: {first};");
    let mut running = lab(&rules).up();
    let port = hosts(&running)[1].0;
    let before: Vec<_> = keys(&running, port).iter().map(|key| key.0).collect();
    assert_eq!(before, [0x7fff, 0x10, 0x20, 0x30]);
    // Another manager with other rules takes over.
    let rules = format!("b=0x20: {first}; d=0x40: {first}; c=0x30: {first};");
    let config = lab(&rules).config;
    running.restart(config);
    running.run_until_up();
    let table: Vec<_> = running.sim.with(|sim| {
        let table = sim.port(port).unwrap().p_keys();
        table.take(5).map(|key| key.0).collect()
    });
    assert_eq!(table[..4], [0x7fff, 0x40, 0x20, 0x30]);
}

#[test]
fn a_table_too_small_is_named() {
    let first = hosts(&Lab::new("gen-ring-5").up())[1].1;
    let rules: String = (1..200)
        .map(|key| format!("p{key}={key}: {first};\n"))
        .collect();
    let mut running = lab(&rules).start();
    running.run_for(std::time::Duration::from_secs(20));
    assert!(!running.sm.is_up());
    let named = running
        .events
        .iter()
        .any(|event| matches!(event, Event::PKeyTableFull { .. }));
    assert!(named);
}

#[test]
fn who_shares_no_partition_is_told_of_no_path() {
    let running = Lab::new("gen-ring-5").up();
    let all = hosts(&running);
    let (a, b) = (all[1].1, all[2].1);
    // All ports are limited members of the default partition: only the manager can send to all.
    let mut client = Client::of(lab(&format!("one=0x10: {a}=full, {b}=full;")).up());
    let own = client.lid();
    let mut template = PathRecord::default();
    template.set_slid(own);
    let paths = client.table(&template, PathComponents::SLID.into());
    let master = client
        .running
        .sim
        .with(|sim| sim.port(client.port).unwrap().info().master_sm_lid());
    let reached: BTreeSet<Lid> = paths.iter().map(PathRecord::dlid).collect();
    assert_eq!(reached, BTreeSet::from([master]));
    assert_eq!(paths[0].p_key(), PKey(0x7fff));
    let nodes = client.table(&NodeRecord::default(), ComponentMask(0));
    assert_eq!(nodes.len(), 2, "itself and the manager");
    // It may not access the switches, so it is shown no cable to them, not even its own.
    let links = client.table(&LinkRecord::default(), ComponentMask(0));
    assert_eq!(links, []);
    // With the SM_Key a requester sees everything.
    let mut request =
        ib_sa::SaMad::query(Method::GET_TABLE, &NodeRecord::default(), ComponentMask(0));
    request.set_sm_key(ib_mad::SmKey(1));
    let all_nodes = client.many::<NodeRecord>(&request);
    assert_eq!(
        all_nodes.len(),
        client.running.sm.lids().destinations().len()
    );
    let mut request = ib_sa::SaMad::query(
        Method::GET_TABLE,
        &PKeyTableRecord::default(),
        ComponentMask(0),
    );
    request.set_sm_key(ib_mad::SmKey(1));
    let tables = client.many::<PKeyTableRecord>(&request);
    let with_one = tables.iter().filter(|table| {
        table.port_num().0 != 0
            && (0..32).any(|at| table.p_key_table().p_key_block(at) == Some(PKey(0x8010)))
    });
    assert!(with_one.count() >= 2);
}

#[test]
fn a_partition_with_ipoib_has_its_broadcast_group() {
    let running = lab("lab=0x10, ipoib, mtu=5, scope=2, scope=5 : ALL=full;").up();
    let mut client = Client::of(running);
    let groups = client.table(&McMemberRecord::default(), ComponentMask(0));
    let mgids: Vec<_> = groups
        .iter()
        .map(|group| group.mgid().to_string())
        .collect();
    assert_eq!(
        mgids,
        ["ff12:401b:8010::ffff:ffff", "ff15:401b:8010::ffff:ffff"]
    );
    assert!(groups.iter().all(|group| group.mtu() == ib_wire::Mtu(5)));
}

#[test]
fn keys_fill_as_many_blocks_as_they_need_and_keep_their_places() {
    let first = hosts(&Lab::new("gen-ring-5").up())[1].1;
    let rules = |numbers: std::ops::Range<u16>| -> String {
        let rules = numbers.map(|key| format!("p{key}={key}: {first}=full;\n"));
        rules.collect()
    };
    let many = |rules: &str| {
        lab(rules).options(|options| {
            options.partition_cap = 128;
            options.partition_enforcement_cap = 128;
        })
    };
    let mut running = many(&rules(0x10..0x40)).up();
    let port = hosts(&running)[1].0;
    let table = |running: &Running, port| -> Vec<u16> {
        running.sim.with(|sim| {
            let port = sim.port(port).unwrap();
            (0..64).map(|index| port.sma().p_key(index).0).collect()
        })
    };
    let before = table(&running, port);
    assert_eq!(before[0], 0x7fff);
    let full = (0x10..0x40).map(|key| key | 0x8000);
    assert_eq!(before[1..49], full.collect::<Vec<u16>>());
    assert!(before[49..].iter().all(|&key| key == 0));
    let at_switch = running.sim.with(|sim| sim.peer(port).unwrap());
    // A limited member's switch port holds the full key of the default partition.
    assert_eq!(table(&running, at_switch)[0], 0xffff);
    assert_eq!(table(&running, at_switch)[1..49], before[1..49]);

    // Fewer keys: those that stay keep their places in both blocks, and the others go.
    let config = many(&rules(0x18..0x3c)).config;
    running.restart(config);
    running.run_until_up();
    let after = table(&running, port);
    for (index, (&before, &after)) in before.iter().zip(&after).enumerate() {
        let stays = index == 0 || (0x8018..0x803c).contains(&before);
        assert_eq!(after, if stays { before } else { 0 }, "index {index}");
    }
    // A new key takes the lowest free place.
    let config = many(&rules(0x18..0x3d)).config;
    running.restart(config);
    running.run_until_up();
    assert_eq!(table(&running, port)[1], 0x803c);

    // Without the option the keys are in the order of the partitions.
    let mut config = many(&rules(0x18..0x3c)).config;
    config.keep_pkey_indexes = false;
    running.restart(config);
    running.run_until_up();
    let packed = table(&running, port);
    let full = (0x18..0x3c).map(|key| key | 0x8000);
    assert_eq!(packed[1..37], full.collect::<Vec<u16>>());
    assert!(packed[37..].iter().all(|&key| key == 0));
}

#[test]
fn a_switch_port_enforces_in_the_directions_that_are_chosen() {
    let rules = rules(&Lab::new("gen-ring-5").up());
    for (choice, inbound, outbound) in [
        ("both", true, true),
        ("in", true, false),
        ("out", false, true),
        ("off", false, false),
    ] {
        let running = lab(&rules)
            .config(|config| {
                let unknown = config.apply(&format!("part_enforce {choice}"));
                assert!(unknown.unwrap().is_empty());
            })
            .up();
        for (host, _) in hosts(&running) {
            let found = running.sim.with(|sim| {
                let port = sim.port(sim.peer(host).unwrap()).unwrap();
                let info = port.info();
                let keys = port.p_keys().filter(|key| key.base() != 0).count();
                (
                    info.partition_enforcement_inbound(),
                    info.partition_enforcement_outbound(),
                    keys > 0,
                )
            });
            assert_eq!((found.0, found.1), (inbound, outbound), "{choice:?}");
            if choice != "off" {
                assert!(found.2, "it holds the keys");
            }
        }
    }
}

#[test]
fn a_switch_with_too_short_a_table_enforces_nothing_and_is_no_error() {
    let first = hosts(&Lab::new("gen-ring-5").up())[1].1;
    let rules: String = (1..20)
        .map(|key| format!("p{key}={key}: {first};\n"))
        .collect();
    for (room, enforced) in [(19, false), (20, true)] {
        let running = lab(&rules)
            .options(|options| options.partition_enforcement_cap = room)
            .up();
        let port = hosts(&running)[1].0;
        let (at_switch, held) = running.sim.with(|sim| {
            let at_switch = sim.peer(port).unwrap();
            let port = sim.port(at_switch).unwrap();
            (
                *port.info(),
                port.p_keys().filter(|key| key.base() != 0).count(),
            )
        });
        assert_eq!(at_switch.partition_enforcement_inbound(), enforced);
        assert_eq!(at_switch.partition_enforcement_outbound(), enforced);
        assert_eq!(held == 20, enforced, "{held}");
        assert_eq!(keys(&running, port).len(), 20);
    }
}

#[test]
fn a_host_sees_the_groups_of_its_own_partitions_only() {
    let running = Lab::new("gen-ring-5").up();
    let all = hosts(&running);
    let (a, b) = (all[1].1, all[2].1);
    let rules = format!("Default=0x7fff, ipoib : ALL=full;\nlab=0x10, ipoib : {a}=full, {b}=full;");
    let mut client = Client::of(lab(&rules).up());
    let keys = |client: &mut Client| {
        let groups = client.table(&McMemberRecord::default(), ComponentMask(0));
        groups.iter().map(McMemberRecord::p_key).collect::<Vec<_>>()
    };
    assert_eq!(keys(&mut client), [PKey::DEFAULT_FULL]);
    client.port = all[1].0;
    client.transport = client.running.sim.attach(client.port).unwrap();
    assert_eq!(keys(&mut client), [PKey(0x8010), PKey::DEFAULT_FULL]);
}

/// Rules by which a host is in this many partitions besides the default one.
fn many(host: Guid, partitions: u16) -> String {
    let keys = 1..=partitions;
    keys.map(|key| format!("p{key}={key}: {host};\n")).collect()
}

#[test]
fn a_block_that_was_never_written_is_written_without_a_read() {
    let first = hosts(&Lab::new("gen-ring-5").up())[1].1;
    let running = lab(&many(first, 40)).up();
    assert_eq!(keys(&running, hosts(&running)[1].0).len(), 41);
    let reads = running.transport.sent_with(Method::GET);
    let mut reads = reads.iter().filter(|get| get.attribute_id().0 == 0x16);
    assert!(!reads.any(|get| get.attribute_modifier() & 0xffff != 0));
}

#[test]
fn keys_of_partitions_that_are_gone_leave_the_port_of_the_switch_as_well() {
    let first = hosts(&Lab::new("gen-ring-5").up())[1].1;
    let mut running = lab(&many(first, 40)).up();
    let host = hosts(&running)[1].0;
    let at_switch = running.sim.with(|sim| sim.peer(host).unwrap());
    assert_eq!(keys(&running, at_switch).len(), 41);
    let config = lab(&many(first, 3)).config;
    running.restart(config);
    running.run_until_up();
    assert_eq!(keys(&running, host).len(), 4);
    assert_eq!(keys(&running, at_switch).len(), 4);
}

#[test]
fn port_0_of_a_switch_has_the_capacity_of_its_node_whatever_the_external_ports_have() {
    let lab = lab("lab=0x10 : ALL=full;").options(|options| options.partition_enforcement_cap = 1);
    let running = lab.up();
    let own = running.sim.with(|sim| {
        let nodes = sim.nodes().iter_enumerated();
        let mut switches = nodes.filter(|(_, node)| node.is_switch());
        let (switch, _) = switches.next().unwrap();
        PortRef {
            node: switch,
            port: ib_wire::PortNum(0),
        }
    });
    assert_eq!(keys(&running, own), [PKey(0x7fff), PKey(0x8010)]);
}
