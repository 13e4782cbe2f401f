//! Limits that a manager reports: a link that is down, a key that changes.

use std::time::Duration;

use ib_mad::{Attribute as _, Method};
use ib_routing::PortRef;
use ib_sm::Event;
use ib_smp::{PortInfo, SmState};
use ib_testkit::lab::{Lab, Running};
use ib_transport::Clock as _;
use ib_wire::MKey;

fn own_port(running: &Running) -> PortRef {
    let own = running.sm.subnet().own_port().unwrap();
    let guid = running.sm.subnet().port_at(own).node_guid;
    let node = running.sim.with(|sim| sim.find_guid(guid)).unwrap();
    PortRef {
        node,
        port: own.port,
    }
}

#[test]
fn a_manager_without_a_link_discovers_and_says_so_until_it_has_one_again() {
    let mut running = Lab::new("gen-ring-5")
        .config(|config| config.sweep_interval = Some(Duration::from_secs(10)))
        .up();
    let (own, before) = (own_port(&running), running.sm.summary().fabric.lids);
    running.sim.with(|sim| sim.unlink(own).unwrap());
    running.run_for(Duration::from_secs(15));
    assert!(!running.sm.is_up());
    assert_eq!(running.sm.state(), SmState::DISCOVERING);
    let said = |event: &Event| matches!(event, Event::OwnPortDown);
    assert!(running.events.iter().any(said));
    running.events.clear();
    running.sim.with(|sim| assert!(sim.relink(own).unwrap()));
    running.run_for(Duration::from_secs(15));
    assert!(running.sm.is_up());
    assert_eq!(running.sm.state(), SmState::MASTER);
    assert_eq!(running.sm.summary().fabric.lids, before);
}

#[test]
fn a_key_that_is_read_again_is_written_into_every_port() {
    let mut running = Lab::new("gen-ring-5")
        .config(|config| {
            config.m_key = MKey(0x1234);
            config.m_key_protect_bits = 2;
        })
        .up();
    let mut config = running.sm.config().clone();
    config.m_key = MKey(0x5678);
    let now = running.sim.now();
    assert!(running.sm.reconfigure(now, config).is_empty());
    let summary = running.run_until_up();
    assert_eq!(summary.fabric.switches, 5);
    running.sim.with(|sim| {
        for node in sim.nodes().indices() {
            for port in sim.end_ports(node).filter(|port| port.is_link_up()) {
                assert_eq!(port.info().m_key(), MKey(0x5678), "{:?}", port.at());
            }
        }
    });
    // Both keys are no longer needed: the next sweep changes nothing.
    running.resweep();
    let sets = running.transport.sent_with(Method::SET);
    assert!(sets.iter().all(|set| set.attribute_id() != PortInfo::ID));
}
