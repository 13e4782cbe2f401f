//! Switches with small forwarding tables.

use ib_mad::{Attribute, AttributeId};
use ib_sa::{JoinState, McMemberRecord};
use ib_sm::{Event, GroupRegistration, Registrations};
use ib_smp::{LinearForwardingTable, MulticastForwardingTable};
use ib_testkit::lab::{Lab, Running};
use ib_wire::{Gid, Lid, Lmc, Mtu, PKey, Rate};

/// The switches that are reported for this table, each with its number of entries and the number needed.
fn named(running: &Running, wanted: AttributeId) -> Vec<(u16, u16)> {
    let events = running.events.iter().filter_map(|event| match event {
        Event::TableTooSmall {
            table,
            entries,
            needed,
            ..
        } if *table == wanted => Some((*entries, *needed)),
        _ => None,
    });
    events.collect()
}

fn refusals(running: &Running) -> usize {
    let events = running.events.iter();
    events
        .filter(|event| matches!(event, Event::Refused { .. }))
        .count()
}

#[test]
fn a_lid_above_the_smallest_table_is_dealt_anew() {
    let mut running = Lab::new("gen-ring-5")
        .options(|options| options.linear_fdb_cap = 100)
        .start();
    let port = running.sim.with(|sim| {
        let nodes = sim.nodes().iter_enumerated();
        let hosts = nodes.filter(|(_, node)| !node.is_switch());
        let (host, _) = hosts.max_by_key(|(index, _)| *index).unwrap();
        let port = sim.end_ports(host).next().unwrap().at();
        sim.set_lid(port, Lid(5000), Lmc::ZERO).unwrap();
        port
    });
    running.run_until_up();
    let lid = running.sim.with(|sim| sim.port(port).unwrap().info().lid());
    assert!(lid < Lid(100), "{lid}");
    assert!(named(&running, LinearForwardingTable::ID).is_empty());
    assert_eq!(running.sm.report().unwrap().unreachable, 0);
}

#[test]
fn switches_whose_linear_tables_are_too_small_are_named_and_not_written_beyond() {
    let lab = Lab::new("gen-ft-oversub2-144").options(|options| options.linear_fdb_cap = 64);
    let switches = lab.fabric.num_switches();
    let running = lab.up();
    let all = named(&running, LinearForwardingTable::ID);
    assert_eq!(all.len(), switches);
    let needed = running.sm.lids().max_lid().0 + 1;
    assert!(all.iter().all(|&small| small == (64, needed)), "{all:?}");
    assert_eq!(refusals(&running), 0);
}

/// A ring with switches of this many multicast entries, and a group with this LID that all hosts joined before.
fn with_group(entries: u16, mlid: Lid) -> Running {
    let mut group = McMemberRecord::default();
    group
        .set_mgid(Gid(0xff12_1234_u128.rotate_left(96).to_be_bytes()))
        .set_mlid(mlid)
        .set_p_key(PKey::DEFAULT_FULL)
        .set_mtu(Mtu(4))
        .set_rate(Rate::GBPS_10);
    let lab = Lab::new("gen-ring-5").options(|options| options.multicast_fdb_cap = entries);
    let ports: Vec<_> = lab
        .fabric
        .nodes()
        .iter()
        .filter(|node| !node.type_.is_switch())
        .flat_map(|node| node.end_ports())
        .filter(|(_, port)| port.peer.is_some())
        .map(|(_, port)| port.guid)
        .collect();
    let members = ports.iter().map(|&guid| {
        let mut member = group;
        member
            .set_port_gid(Gid::new(ib_wire::GidPrefix::DEFAULT, guid))
            .set_join_state(JoinState::FULL_MEMBER);
        member
    });
    let registration = GroupRegistration {
        group,
        well_known: false,
        members: members.collect(),
    };
    let registrations = Registrations {
        groups: vec![registration],
        ..Registrations::default()
    };
    lab.config(|config| config.registrations = registrations)
        .up()
}

/// Number of switches with entries for a multicast LID.
fn switches_with(running: &Running, mlid: Lid) -> usize {
    running.sim.with(|sim| {
        let nodes = sim.nodes().iter();
        let switches = nodes.filter(|node| node.is_switch());
        switches
            .filter(|switch| switch.mft_ports(mlid).next().is_some())
            .count()
    })
}

#[test]
fn a_group_beyond_the_multicast_tables_is_named_and_not_written() {
    // The last entry of a table, and the first one after it, in the same block or in the next.
    for (entries, mlid, fits) in [
        (32, 0xc01f, true),
        (32, 0xc020, false),
        (32, 0xc064, false),
        (64, 0xc020, true),
        (1024, 0xc064, true),
    ] {
        let running = with_group(entries, Lid(mlid));
        let all = named(&running, MulticastForwardingTable::ID);
        let needed = mlid - 0xc000 + 1;
        assert_eq!(all.is_empty(), fits, "{entries}, {mlid:#x}");
        assert!(
            all.iter().all(|&small| small == (entries, needed)),
            "{all:?}"
        );
        assert_eq!(refusals(&running), 0);
        let switches = if fits { 5 } else { 0 };
        assert_eq!(switches_with(&running, Lid(mlid)), switches, "{mlid:#x}");
    }
}

#[test]
fn a_linear_table_that_ends_with_the_last_lid_suffices() {
    let last = Lab::new("gen-ring-5").up().sm.lids().max_lid().0;
    for (entries, small) in [(last + 1, 0), (last, 5)] {
        let lab = Lab::new("gen-ring-5").options(|options| options.linear_fdb_cap = entries);
        let running = lab.up();
        let all = named(&running, LinearForwardingTable::ID);
        assert_eq!(all, vec![(entries, last + 1); small]);
    }
}
