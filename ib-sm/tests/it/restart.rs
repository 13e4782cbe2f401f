//! A restart costs little: the content of devices is read, and a manager that starts again on an unchanged subnet
//! sends no Set except those that announce it.

use std::time::Duration;

use ib_mad::{Attribute, MadHeader, Method};
use ib_sa::{JoinState, McMemberComponents as C, McMemberRecord};
use ib_sm::{Partitions, SmConfig};
use ib_smp::{MulticastForwardingTable, PortInfo};
use ib_testkit::lab::{Lab, Running, client::Client};
use ib_transport::Clock as _;
use ib_wire::{Gid, GidPrefix, Lmc, PKey, QKey};

/// Starts another manager on the subnet that this one brought up. Returns its Sets.
fn sets_after_restart(mut running: Running, config: SmConfig) -> Vec<MadHeader> {
    running.restart(SmConfig {
        sweep_interval: None,
        ..config
    });
    running.run_until_up();
    running.run_for(Duration::from_secs(5));
    running.transport.sent_with(Method::SET)
}

/// Configurations that cause each of the tables to be written, and the fabrics for them.
fn configurations() -> Vec<(&'static str, &'static str, SmConfig)> {
    let qos = "qos TRUE\nqos_max_vls 8\nqos_high_limit 9\nqos_sl2vl 0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7\n\
        qos_vlarb_low 0:1,1:2,2:3,3:4,4:5,5:6,6:7,7:8\nqos_vlarb_high 3:7\n";
    let mut partitioned = SmConfig::default();
    let rules = "Default=0x7fff, ipoib : ALL=full;\nlab=0x10, ipoib, defmember=full : ALL;\n";
    partitioned.partitions = Partitions::parse(rules).unwrap();
    let with_lmc = SmConfig {
        lmc: Lmc::try_new(2).unwrap(),
        ..SmConfig::default()
    };
    let of = |text: &str| SmConfig::parse(text).unwrap().0;
    vec![
        ("defaults", "gen-torus-4x4x4", SmConfig::default()),
        ("service levels", "gen-ft-48-broken10", of(qos)),
        (
            "lanes of routes",
            "gen-torus-5x5",
            of("routing_engine dfsssp\n"),
        ),
        ("partitions", "gen-ring-5", partitioned),
        ("LMC", "gen-karyn-4-2", with_lmc),
    ]
}

#[test]
fn a_manager_that_starts_again_on_an_unchanged_subnet_sets_only_what_announces_it() {
    for (name, fabric, config) in configurations() {
        let wished = config.clone();
        let running = Lab::new(fabric)
            .config(|config| {
                *config = SmConfig {
                    sweep_interval: None,
                    ..wished
                };
            })
            .up();
        let first = running.transport.sent_with(Method::SET);
        assert!(!first.is_empty(), "{name}");
        let sets = sets_after_restart(running, config);
        // Hosts are asked to subscribe and join again, as their registrations are not known.
        let announce = |id| id == PortInfo::ID;
        let others: Vec<_> = sets
            .iter()
            .filter(|set| !announce(set.attribute_id()))
            .collect();
        assert!(others.is_empty(), "{name}: {others:?}");
    }
}

#[test]
fn a_manager_that_starts_again_and_asks_no_host_to_register_sets_nothing() {
    for (name, fabric, config) in configurations() {
        let config = SmConfig {
            no_clients_rereg: true,
            ..config
        };
        let wished = config.clone();
        let running = Lab::new(fabric)
            .config(|config| {
                *config = SmConfig {
                    sweep_interval: None,
                    ..wished
                };
            })
            .up();
        let sets = sets_after_restart(running, config);
        assert!(sets.is_empty(), "{name}: {sets:?}");
    }
}

#[test]
fn multicast_trees_stay_as_they_are_if_the_registrations_were_kept() {
    let mut client = Client::new("gen-ring-5");
    let ports = client.running.sim.with(|sim| {
        let hosts = sim.nodes().iter_enumerated();
        let hosts = hosts.filter(|(_, node)| !node.is_switch());
        let ports = hosts.flat_map(|(host, _)| sim.end_ports(host));
        let linked = ports.filter(|port| port.is_link_up());
        linked.map(|port| port.guid()).collect::<Vec<_>>()
    });
    for &guid in ports.iter().take(3) {
        let mut record = McMemberRecord::default();
        record
            .set_mgid(Gid(
                0xff12_401b_ffff_0000_0000_0000_0000_0016_u128.to_be_bytes()
            ))
            .set_port_gid(Gid::new(GidPrefix::DEFAULT, guid))
            .set_join_state(JoinState::FULL_MEMBER)
            .set_p_key(PKey::DEFAULT_FULL)
            .set_q_key(QKey(0x1234));
        let mask = C::MGID
            | C::PORT_GID
            | C::JOIN_STATE
            | C::P_KEY
            | C::Q_KEY
            | C::SL
            | C::FLOW_LABEL
            | C::TCLASS;
        client.set(&record, mask.into()).unwrap();
    }
    let mut running = client.running;
    running.run_for(Duration::from_secs(1));
    let tables = running.transport.sent_with(Method::SET);
    let is_multicast = |set: &&MadHeader| set.attribute_id() == MulticastForwardingTable::ID;
    assert!(tables.iter().any(|set| is_multicast(&set)));
    let now = running.sim.now();
    let registrations = running.sm.registrations(now);
    let config = SmConfig {
        registrations,
        ..SmConfig::default()
    };
    let sets = sets_after_restart(running, config);
    assert!(sets.is_empty(), "{sets:?}");
}
