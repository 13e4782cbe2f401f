//! M_Keys: every port gets the manager's key, and a successor can take over after the lease has ended; and speeds
//! that are shown only to requesters with the key.

use std::time::Duration;

use ib_mad::{Attribute, Method};
use ib_routing::{LinkSpeed, PortRef};
use ib_smp::{MKeyProtect, PortInfo};
use ib_testkit::lab::{Lab, Running};
use ib_wire::{MKey, PortNum};

/// M_Key, protection and lease of every end port with a link.
fn guards(running: &Running) -> Vec<(MKey, MKeyProtect, u16)> {
    running.sim.with(|sim| {
        let ports =
            sim.nodes()
                .iter_enumerated()
                .flat_map(|(node, entry)| match entry.is_switch() {
                    true => vec![
                        sim.port(PortRef {
                            node,
                            port: PortNum(0),
                        })
                        .unwrap(),
                    ],
                    false => sim
                        .end_ports(node)
                        .filter(|port| port.is_link_up())
                        .collect(),
                });
        let infos = ports.map(|port| *port.info());
        infos
            .map(|info| {
                (
                    info.m_key(),
                    info.m_key_protect_bits(),
                    info.m_key_lease_period(),
                )
            })
            .collect()
    })
}

fn guarded(m_key: u64) -> Lab {
    Lab::new("gen-torus-5x5").config(|config| {
        config.m_key = MKey(m_key);
        config.m_key_protect_bits = 2;
        config.m_key_lease_period = 15;
        config.sweep_interval = Some(Duration::from_secs(10));
    })
}

#[test]
fn every_port_is_guarded_and_a_sweep_still_gets_through() {
    let mut running = guarded(0xfeed).up();
    let expected = (MKey(0xfeed), MKeyProtect(2), 15);
    assert!(guards(&running).iter().all(|guard| *guard == expected));
    running.resweep();
    let sets = running.transport.sent_with(Method::SET);
    assert!(sets.is_empty(), "{sets:?}");
}

#[test]
fn a_successor_owns_the_fabric_after_the_lease() {
    let mut running = guarded(0xfeed).up();
    let ports = guards(&running).len();
    // The master is gone; another manager does not have its key.
    running.restart(guarded(0xcafe).config);
    running.run_for(Duration::from_secs(10));
    assert!(!running.sm.is_up(), "the lease still runs");
    let held = guards(&running);
    assert!(held.iter().all(|guard| guard.0 == MKey(0xfeed)));
    running.run_for(Duration::from_secs(300));
    assert!(running.sm.is_up());
    let expected = (MKey(0xcafe), MKeyProtect(2), 15);
    let taken = guards(&running);
    assert_eq!(taken.len(), ports);
    assert!(taken.iter().all(|guard| *guard == expected), "{taken:?}");
}

#[test]
fn a_successor_that_knows_the_kept_keys_owns_the_fabric_at_once() {
    for (lookup, keep_neighbors, owns) in [
        (true, true, true),
        // Without the cables it is unknown whose key opens the device at the other end of a port.
        (true, false, false),
        (false, true, false),
    ] {
        let mut running = guarded(0xfeed).up();
        let kept = running.sm.m_keys();
        let mut config = guarded(0xcafe).config;
        config.m_key_lookup = lookup;
        config.m_keys.read_keys(&kept.keys_text()).unwrap();
        if keep_neighbors {
            config
                .m_keys
                .read_neighbors(&kept.neighbors_text())
                .unwrap();
        }
        running.restart(config);
        running.run_for(Duration::from_secs(5));
        let held = guards(&running);
        let taken = held.iter().filter(|guard| guard.0 == MKey(0xcafe)).count();
        // Only the own port is reached without a cable.
        let is_owned = taken == held.len();
        assert!(is_owned || taken <= 1, "{held:?}");
        assert_eq!(is_owned, owns, "{lookup} {keep_neighbors}");
    }
}

#[test]
fn a_kept_key_that_is_wrong_is_given_up_for_the_own_one() {
    let mut running = guarded(0xfeed).up();
    let mut wrong = ib_subnet::MKeys::default();
    let text = running.sm.m_keys().keys_text();
    wrong.read_keys(&text.replace("feed", "dead")).unwrap();
    let neighbors = running.sm.m_keys().neighbors_text();
    wrong.read_neighbors(&neighbors).unwrap();
    let mut config = guarded(0xfeed).config;
    config.m_keys = wrong;
    running.restart(config);
    running.run_for(Duration::from_secs(120));
    assert!(running.sm.is_up());
}

#[test]
fn a_fast_device_is_asked_for_all_its_speeds_and_an_old_one_is_not() {
    let cases = [
        (LinkSpeed::Xdr, true, true),
        (LinkSpeed::Ndr, true, true),
        (LinkSpeed::Ndr, false, true),
        (LinkSpeed::Hdr, true, false),
    ];
    for (speed, hidden, wants_bit) in cases {
        let mut builder = Lab::new("gen-ring-5").fabric.to_builder();
        let ports: Vec<_> = Lab::new("gen-ring-5").fabric.links().collect();
        for (a, b) in ports {
            for end in [a, b] {
                builder.port_mut(end).unwrap().speed = Some(speed);
            }
        }
        let running = Lab::of(builder.build())
            .options(|options| options.hidden_extended_speeds = hidden)
            .up();
        let fabric = running.sm.fabric();
        for (a, b) in fabric.links() {
            for end in [a, b] {
                assert_eq!(fabric.port(end).unwrap().speed, Some(speed), "{end:?}");
            }
        }
        let sets = running.transport.sent_with(Method::SET);
        let infos = sets.iter().filter(|set| set.attribute_id() == PortInfo::ID);
        let mut count = 0;
        for set in infos {
            assert_eq!(set.attribute_modifier() >> 31 == 1, wants_bit, "{set:?}");
            count += 1;
        }
        assert!(count > 20);
        assert_eq!(running.sm.summary().ports.not_active, 0);
    }
}
